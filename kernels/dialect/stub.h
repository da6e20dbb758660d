// SPDX-License-Identifier: MIT
// What stands in the place of a function's body in a text that is compiled to time others: nothing
// that a compiler can see through. It may have changed what its arguments point to, and all else.

#if THREADS
#define STUB NOINLINE
#else
#define STUB static __attribute__((noinline, noipa))
#endif
#ifdef __CUDACC__
#define STUB_ENDS asm volatile("" ::: "memory")
#else
#define STUB_ENDS __asm__ volatile("" ::: "memory")
#endif
#define STUB_CHANGES(space, pointer) *(volatile space char *)(pointer) = 0
#define STUB_RETURNS(type)                                                                         \
    type result;                                                                                   \
    STUB_CHANGES(, &result);                                                                       \
    STUB_ENDS;                                                                                     \
    return result

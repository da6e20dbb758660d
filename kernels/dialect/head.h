// SPDX-License-Identifier: MIT
// What the arguments of every kernel begin with. Included by the host and by every kernel.
//
// The arguments of an engine's kernel are plain data without pointers: an array is a byte offset in
// one of three blocks, or SHOAL_NOWHERE. The kernel makes pointers of them itself, so whoever
// launches it need not know one array. `read` is copied to the device with every chunk, `written`
// comes back from there, `resident` (may be NULL) was copied once and serves many chunks.
//
// On a CPU, called once by every worker, with a workspace of ENTRY_workspace() bytes of its own:
//     void ENTRY(const struct ARGS *args, const char *read, char *written, const char *resident,
//                unsigned *next, const volatile int *stop, char *workspace)
//     unsigned long long ENTRY_workspace(void)
// On a device, in groups of threads that are a multiple of 32:
//     ENTRY(struct ARGS args, const char *read, char *written, const char *resident,
//           unsigned *next, const volatile int *stop, char *workspace)
// `workspace` is there the bytes of a thread, which the generator knows, times the threads; NULL
// when those are 0. Without refill a thread's row is its global number, and there are at least
// `rows` threads. With refill there are as many threads as run at a time, and all their rows come
// from *next. A launch may say that blocks of threads work together: then a block is that many
// rows, takes them together, and shares memory (SHARED_PARAMETER). A CPU's workers always take
// their rows there, a block at a time. *next starts at 0. *stop is non-zero when the kernel is to
// leave; a device may have none. A kernel that is compiled with LONE has a LONE_PARAMETER at the
// end, LONE_BEGIN before it reads and LONE_END when it has written all.
#ifndef SHOAL_HEAD
#define SHOAL_HEAD

#ifndef GLOBAL // address space of arrays
#define GLOBAL
#endif
#ifndef SHOAL_U64 // 64 bits, wherever
#define SHOAL_U64 unsigned long long
#endif

#define SHOAL_NOWHERE (~(SHOAL_U64)0) // byte offset of an array that is not wanted

// What a warp that is alone is given besides, since a copy of a little and an event take longer
// than many such warps do: what `read` begins with, and where to say that all is done.
#define SHOAL_LONE_WORDS 256
struct shoal_lone {
    SHOAL_U64 done;  // address of a word of the host's memory; 0: nobody looks
    unsigned number; // that it is set to
    unsigned words;
    unsigned word[SHOAL_LONE_WORDS] __attribute__((aligned(16)));
};

struct shoal_head {
    SHOAL_U64 base;  // row of the batch that row 0 of this chunk is
    unsigned rows;   // of this chunk
    unsigned block;  // rows a CPU's worker takes at a time
    unsigned refill; // 1: a finished lane takes the next row at once
    unsigned unused;
};

#endif

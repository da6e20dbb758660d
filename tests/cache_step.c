// SPDX-License-Identifier: MIT
// Traces a child by ptrace, counts its system calls, and changes or ends one of them.
#include "cache_step.h"

#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__

// Calls on files; the rest (memory, identity) is not interesting here.
static bool is_on_files(long number) {
    static const long numbers[] = {
        SYS_openat,  SYS_open,      SYS_read,       SYS_pread64,   SYS_write,      SYS_pwrite64,
        SYS_close,   SYS_fstat,     SYS_fsync,      SYS_renameat,  SYS_renameat2,  SYS_unlinkat,
        SYS_mkdirat, SYS_fstatfs,   SYS_fcntl,      SYS_fallocate, SYS_newfstatat, SYS_utimensat,
        SYS_statfs,  SYS_getrandom, SYS_getdents64, SYS_rename,    SYS_lseek,
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

static unsigned long get_register(pid_t pid, size_t offset) {
    return (unsigned long)ptrace(PTRACE_PEEKUSER, pid, offset, 0);
}

static void set_register(pid_t pid, size_t offset, unsigned long value) {
    ptrace(PTRACE_POKEUSER, pid, offset, value);
}

#define REGISTER(name) offsetof(struct user_regs_struct, name)

unsigned long step_argument(pid_t pid, int argument) {
    static const size_t places[] = {REGISTER(rdi), REGISTER(rsi), REGISTER(rdx), REGISTER(r10)};
    return get_register(pid, places[argument]);
}

void step_string(pid_t pid, int argument, char *text, int room) {
    unsigned long address = step_argument(pid, argument);
    for (int i = 0; i < room; i += (int)sizeof(long)) {
        long word = ptrace(PTRACE_PEEKDATA, pid, address + (unsigned long)i, 0);
        memcpy(text + i, &word, room - i < (int)sizeof word ? (size_t)(room - i) : sizeof word);
        if (memchr(text + i, 0, sizeof word))
            return;
    }
    text[room - 1] = 0;
}

// The call that the child is about to make is the one. True when its result is to be changed.
static bool act(struct step *s, pid_t pid) {
    s->done = true;
    switch (s->action) {
    case STEP_COUNT:
        return false;
    case STEP_KILL:
        kill(pid, SIGKILL);
        return false;
    case STEP_FAIL:
        set_register(pid, REGISTER(orig_rax), (unsigned long)-1);
        return true;
    case STEP_LIE:
        return true;
    case STEP_SHORT:
        set_register(pid, REGISTER(rdx), (step_argument(pid, 2) + 1) / 2);
        return false;
    case STEP_CALL:
        s->call(s->user, pid);
        return false;
    }
    return false;
}

static int wait_stop(pid_t pid) {
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    return status;
}

void step_run(struct step *s) {
    fflush(NULL);
    s->done = false;
    s->count = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
            _exit(77);
        raise(SIGSTOP);
        _exit(s->run(s->user));
    }
    int status = wait_stop(pid);
    if (!WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) < 0)
        check_skip("processes cannot be traced here");
    bool entering = true, change = false;
    for (;;) {
        ptrace(PTRACE_SYSCALL, pid, 0, 0); // fails when it was just killed
        status = wait_stop(pid);
        if (!WIFSTOPPED(status))
            break;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80))
            continue;
        long number = (long)get_register(pid, REGISTER(orig_rax));
        if (!entering && change)
            set_register(pid, REGISTER(rax), (unsigned long)-s->error);
        change = false;
        if (entering && (s->only >= 0 ? number == s->only : is_on_files(number)) &&
            s->count++ == s->at)
            change = act(s, pid);
        entering = !entering;
    }
    s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

#else

void step_run(struct step *s) {
    (void)s;
    check_skip("system calls are traced on x86-64 only");
}
void step_string(pid_t pid, int argument, char *text, int room) {
    (void)pid, (void)argument, (void)room;
    *text = 0;
}
unsigned long step_argument(pid_t pid, int argument) { return (void)pid, (void)argument, 0; }

#endif

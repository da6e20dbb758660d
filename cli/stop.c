// SPDX-License-Identifier: MIT
// Signals. While work is under way that looks at a flag, the first one sets it: what was finished
// is then kept, and the program ends with 128 + signal; a second one ends it at once. At any other
// time signals do what they do to every program. A closed terminal stops a run like Ctrl-C, unless
// nohup said to ignore it.
//
// Those by which a batch system says that time is nearly up, and the alarm of --time-limit, are a
// wish to be run again: they set the flag whenever they come, any number of times.
#include "cli.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
static const int again[] = {SIGUSR1, SIGXCPU, SIGALRM};
enum { NUMBERS = sizeof numbers / sizeof *numbers, AGAIN = sizeof again / sizeof *again };

// The only globals: a signal handler has nothing else.
static volatile int stop_signal;
static volatile int64_t stop_ms;
static bool caught;
static struct sigaction before[NUMBERS];

// timeout(1) and batch systems send the same signal to the process and to its group, so a second
// one right behind the first is not somebody's impatience.
static void on_signal(int number) {
    enum { SAME_MS = 200 };
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (stop_signal && ms - stop_ms > SAME_MS)
        _exit(EXIT_SIGNAL + number);
    if (!stop_signal)
        stop_ms = ms;
    stop_signal = number;
}

static void on_again(int number) {
    if (!stop_signal)
        stop_signal = number;
}

const volatile int *stop_flag(void) { return &stop_signal; }

bool stop_is_again(void) {
    for (int i = 0; i < AGAIN; i++)
        if (stop_signal == again[i])
            return true;
    return false;
}

static bool to_be_ignored(int i) { return numbers[i] == SIGHUP && before[i].sa_handler == SIG_IGN; }

void stop_catch(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < NUMBERS && !caught; i++)
        if (sigaction(numbers[i], NULL, &before[i]) == 0 && !to_be_ignored(i))
            sigaction(numbers[i], &action, NULL);
    caught = true;
}

// After a stop only the closing lines are left, which the second half of one wish must not cut off.
void stop_release(void) {
    for (int i = 0; i < NUMBERS && caught && !stop_signal; i++)
        sigaction(numbers[i], &before[i], NULL);
    caught = stop_signal != 0;
}

void stop_again(double seconds) {
    struct sigaction action = {.sa_handler = on_again, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_value.tv_sec = (time_t)seconds};
    timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < AGAIN; i++)
        sigaction(again[i], &action, NULL);
    if (seconds > 0)
        setitimer(ITIMER_REAL, &timer, NULL);
}

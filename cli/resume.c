// SPDX-License-Identifier: MIT
// shoal resume: a run again, as its journal says it was; shoal status: how far it is.
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

// The result that a word means, which may be that of its .part or its journal. Free it.
static char *result_of(const char *word) {
    static const char *const ends[] = {".journal", ".part"};
    char *path = cli_realloc(NULL, strlen(word) + 1);
    strcpy(path, word);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(path, ends[i]))
            path[strlen(path) - strlen(ends[i])] = 0;
    return path;
}

char *journal_path(const char *result) {
    static const char *const ends[] = {".part.journal", ".journal"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t room = strlen(result) + strlen(ends[i]) + 1;
        char *path = cli_realloc(NULL, room);
        snprintf(path, room, "%s%s", result, ends[i]);
        if (access(path, F_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

// The device that it began on gives the same bits; another is the user's to name. Which shard it is
// is not among the options of a job.
static void give_how(struct args *a, const char *journal) {
    shoal_journal_info info;
    if (shoal_journal_read(journal, &info, NULL) != SHOAL_OK)
        return;
    if (!args_value(a, "device") && info.device[0] &&
        shoal_option_read("device", info.device, NULL, NULL) == SHOAL_OK)
        args_give(a, "device", info.device);
    if (info.shard[0])
        args_give(a, "shard", info.shard);
}

int command_resume(struct args *a) {
    char *result = result_of(a->model), *journal = journal_path(result);
    int status = shoal_code_exit(SHOAL_INPUT);
    if (journal) {
        args_give(a, "job", journal);
        args_give(a, "output", result);
        args_give(a, "resume", "on");
        give_how(a, journal);
        a->model = NULL;
        status = command_run(a);
    } else
        fprintf(stderr, "error: %s: there is nothing to go on with: no journal is beside it\n",
                result);
    free(journal);
    free(result);
    return status;
}

// ---- Status -------------------------------------------------------------------------------------

static const char *state_of(const shoal_journal_info *j) {
    return j->complete  ? "complete"
           : j->running ? "running"
           : j->stopped ? "stopped"
                        : "interrupted";
}

static double seconds_left(const shoal_journal_info *j) {
    return j->running && j->rate > 0 ? (double)(j->rows - j->done) / j->rate : (double)NAN;
}

static void show_json(const shoal_journal_info *j) {
    printf("{\"state\": \"%s\", \"rows\": %llu, \"done\": %llu", state_of(j),
           (unsigned long long)j->rows, (unsigned long long)j->done);
    if (j->ahead)
        printf(", \"ahead\": %llu", (unsigned long long)j->ahead);
    if (j->rate > 0)
        printf(", \"rate\": %.6g", j->rate);
    if (seconds_left(j) >= 0)
        printf(", \"seconds_left\": %.6g", seconds_left(j));
    fputs(", \"by_status\": {", stdout);
    const char *comma = "";
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        if (j->by_status[i]) {
            printf("%s\"%s\": %llu", comma, shoal_status_word(i),
                   (unsigned long long)j->by_status[i]);
            comma = ", ";
        }
    fputs("}, \"device\": ", stdout);
    show_json_string(stdout, j->device);
    fputs("}\n", stdout);
}

static void show_time(const char *what, double seconds) {
    if (seconds < 120)
        printf("%s %.0f s\n", what, seconds);
    else if (seconds < 7200)
        printf("%s %.0f min\n", what, seconds / 60);
    else
        printf("%s %.1f h\n", what, seconds / 3600);
}

static void show_text(const shoal_journal_info *j) {
    char rate[32];
    double share = j->rows ? 100 * (double)j->done / (double)j->rows : 100;
    printf("%s: %llu of %llu runs (%.1f %%)\n", state_of(j), (unsigned long long)j->done,
           (unsigned long long)j->rows, share);
    if (j->ahead)
        printf("ahead    %llu, behind some that are not finished\n", (unsigned long long)j->ahead);
    if (j->rate > 0)
        printf("rate     %s runs/s on %s\n", show_rate(j->rate, rate), j->device);
    if (seconds_left(j) >= 0)
        show_time("left    ", seconds_left(j));
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        if (j->by_status[i])
            printf("%-8s %llu%s%s\n", shoal_status_word(i), (unsigned long long)j->by_status[i],
                   i == SHOAL_STATUS_ok ? "" : "  ",
                   i == SHOAL_STATUS_ok ? "" : shoal_status_text(i));
}

int command_status(struct args *a) {
    shoal_journal_info info;
    shoal_log *log = shoal_log_new();
    struct talk talk = talk_new(a);
    shoal_code code = shoal_journal_read(a->model, &info, log);
    talk_messages(&talk, log);
    if (!code && args_flag(a, "json"))
        show_json(&info);
    else if (!code)
        show_text(&info);
    shoal_log_free(log);
    return shoal_code_exit(code);
}

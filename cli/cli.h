// SPDX-License-Identifier: MIT
// The command line program: what its files share. It uses the public header and nothing else.
//
// stdout carries data, stderr carries talk. alone.c is the program, main.c picks the command,
// args.c reads argv, unknown.c helps with what it cannot read, run.c is `shoal run`, info.c the
// commands that only tell, cache.c and warm.c look after the kernels on disk, calibrate.c measures
// the machine, plot.c and report.c draw, resume.c goes on with runs and tells how far they are,
// grid.c is `shoal grid`, grid_bench.c times it, stop.c minds signals, show.c, rest.c and timing.c
// write what people read, progress.c the bar, help.c the help made from the option table.
#ifndef SHOAL_CLI_H
#define SHOAL_CLI_H

#include "shoal/shoal.h"

#include <stdio.h>

enum { EXIT_USAGE = 2, EXIT_IO = 4, EXIT_ALL_FAILED = 5, EXIT_AGAIN = 75, EXIT_SIGNAL = 128 };

// ---- args.c -------------------------------------------------------------------------------------

// One option as given; a list like --set a=1,b=2 is one item for each of its parts.
struct item {
    shoal_option_info option;
    const char *value; // "" for a flag
    const char *list;  // the whole list, at its first part; NULL at the others
    bool from_job;
    int at, words; // where it stands in argv; words 0: nowhere
};

struct args {
    const char *command;
    char **argv; // what follows the command
    int argc;
    const char *model;  // the first word; NULL: none given
    const char **words; // all of them
    size_t word_count;
    struct item *items;
    size_t count, room;
    char **owned; // texts that items point to
    size_t owned_count;
    bool leaves; // a device is not given back: the program ends without its handlers
};

struct command;
// Reads what follows the command. On a usage error prints it and returns EXIT_USAGE, else 0.
int args_parse(struct args *a, const struct command *command, int argc, char **argv);
bool args_takes(const char *command, const shoal_option_info *o);
// Every value by its type; all errors go to the log.
shoal_code args_check(const struct args *a, shoal_log *log);
// Puts the options of a job before those of the command line, which win.
void args_add_job(struct args *a, const shoal_job *job);
// Now that names have a meaning: what the job says about one that the command line gives goes.
void args_settle(struct args *a, const shoal_model *model);
// The values of --set and the fields of the options, in order.
// The events of the command line, which come before all else that changes the model.
shoal_code args_events(const struct args *a, shoal_model *model, shoal_log *log);
shoal_code args_apply(const struct args *a, shoal_model *model, shoal_options *options,
                      shoal_log *log);
const char *args_value(const struct args *a, const char *name); // the last one; NULL: not given
bool args_flag(const struct args *a, const char *name);
uint32_t args_choice(const struct args *a, const char *name, uint32_t otherwise);
void args_free(struct args *a);
// Gives an option that the command line does not.
void args_give(struct args *a, const char *name, const char *value);
// All that is part of the run, as a job file. Free it.
char *args_job_text(const struct args *a, const shoal_options *options);

void *cli_realloc(void *old, size_t size); // ends the program when memory runs out

// ---- unknown.c: print what is wrong and what may be meant; EXIT_USAGE ---------------------------

// A word, with the nearest of the known ones.
int args_unknown(const char *kind, const char *word, const char *const *known, size_t count,
                 const char *see);
// An option by the first `length` bytes of its name; next: the word behind it, or NULL.
int unknown_option(const char *command, const char *name, size_t length, const char *next);
int unknown_word(const struct args *a, const struct command *c, const char *word);
int unknown_command(const char *name);
bool refuse_result(const char *path); // a result is no model: says so
void suggest_model(const char *path); // a file that is not there: one with a name like it

// ---- show.c -------------------------------------------------------------------------------------

struct talk {
    bool quiet, verbose, colour;
    size_t shown; // messages of the log already printed
    size_t notes;
};

struct talk talk_new(const struct args *a);
// Prints the messages that came since the last time: errors always, the rest unless quiet.
void talk_messages(struct talk *talk, const shoal_log *log);
void talk_say(const struct talk *talk, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *show_bytes(uint64_t bytes, char text[32]);
const char *show_rate(double rate, char text[32]); // "2.5 million"
void show_plan(const shoal_plan *plan, const shoal_solver *solver, const char *output);
// What a batch was run with, to find out why runs failed.
struct asked {
    const shoal_model *model;
    const shoal_options *options;
    const shoal_batch *batch;
};
void show_tally(const struct talk *talk, const shoal_tally *tally, const struct asked *asked,
                bool durations);
// The first rows on stdout, aligned.
void show_rows(const shoal_solver *solver, const shoal_batch *batch, const shoal_result *result,
               bool final);
void show_json_string(FILE *out, const char *text);
uint32_t show_width(FILE *of); // columns of the terminal

// ---- rest.c -------------------------------------------------------------------------------------

// The command line that runs what a stop has left; file: what was finished is in one.
void rest_show(FILE *out, const struct args *a, const shoal_batch *batch, uint64_t done, bool file);

// One word behind a blank, as a shell reads it back.
void rest_put_word(FILE *out, const char *word);

// ---- resume.c -----------------------------------------------------------------------------------

// Where the journal of a result is; NULL: there is none. Free it.
char *journal_path(const char *result);

// ---- report.c -----------------------------------------------------------------------------------

// --report, where it was given: whether it can be written, and the page itself.
shoal_code report_check(const struct args *a, const char *output);
shoal_code report_write(const struct args *a, const shoal_solver *solver, const char *output,
                        shoal_log *log);

// ---- timing.c -----------------------------------------------------------------------------------

struct progress;
// --timing, --timing-json and --trace. What is printed as it happens erases the bar first.
shoal_code timing_begin(const struct args *a, const struct talk *talk, struct progress *progress,
                        shoal_log *log);
void timing_show(const shoal_log *log, const shoal_tally *tally); // at its verbosity

// ---- progress.c ---------------------------------------------------------------------------------

struct progress {
    bool bar, lines;
    double first, every; // seconds: of the first line or bar, and between two
    double next;         // when to draw again
    bool drawn;          // a bar is on the screen
    bool rates;          // tell durations
    bool waited;         // said that another process compiles
};

struct progress progress_new(uint32_t choice, bool quiet, bool rates); // auto, on, off
void progress_compile(struct progress *p, const shoal_compile *now);   // instead of a bar
void progress_draw(struct progress *p, const shoal_progress *now);
void progress_erase(struct progress *p);

// ---- info.c -------------------------------------------------------------------------------------

// A model with the options that the command line gave.
struct subject {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    struct talk talk;
};
shoal_code subject_load(struct subject *s, const struct args *a, const char *model);
// The options alone, for what has no model.
shoal_code subject_options(struct subject *s, const struct args *a);
// The batch that the command line describes; one run where it does not.
shoal_code subject_batch(struct subject *s, const struct args *a, shoal_batch **out);
// Says what there is to say and frees all; the exit code.
int subject_close(struct subject *s, shoal_code code);

// ---- grid.c, grid_bench.c -----------------------------------------------------------------------

// All of a file, - is standard input; NULL: it cannot be read, which was said. Free it.
char *read_text(const char *path);
// A pipeline as given: @FILE is what is in the file; NULL: it cannot be read. Free it.
char *grid_text(const char *word);
// Times of batches of several sizes, on stdout.
shoal_code grid_bench(const char *text, const shoal_options *options, const shoal_grids *in,
                      shoal_log *log);

// ---- alone.c, mpi/ ------------------------------------------------------------------------------

// A run into a file, for processes that share it.
struct ranks_job {
    shoal_solver *solver;
    const shoal_batch *batch;
    const char *path;
    void (*progress)(const shoal_progress *now, void *user); // of all
    void *user;
    shoal_tally *tally;
    shoal_log *log;
    bool verbose;
};

// Several processes that run one batch with the same words.
struct ranks {
    bool first; // this one tells and writes; the others are silent
    // The device and the threads of this process, where they were left open.
    void (*settle)(shoal_options *options);
    shoal_code (*run)(const struct ranks_job *job);
};
const struct ranks *cli_ranks(void); // NULL: this process is alone
int cli_main(int argc, char **argv);
// Whether it is a process that does what others say.
static inline bool cli_is_silent(void) {
    const struct ranks *ranks = cli_ranks();
    return ranks && !ranks->first;
}

// ---- stop.c -------------------------------------------------------------------------------------

const volatile int *stop_flag(void); // the number of the first signal that was caught, or 0
// Between these two a signal sets the flag; only work that looks at it belongs there.
void stop_catch(void);
void stop_release(void);
// From here on SIGUSR1, SIGXCPU and the end of so many seconds (0: no end) set the flag, too, and
// then the program is to be run again.
void stop_again(double seconds);
bool stop_is_again(void);

// ---- commands: return the exit code -------------------------------------------------------------

int command_run(struct args *a);
int command_resume(struct args *a);
int command_status(struct args *a);
int command_merge(struct args *a);
int command_info(struct args *a);
int command_calibrate(struct args *a);
int command_source(struct args *a);
int command_devices(struct args *a);
int command_methods(struct args *a);
int command_options(struct args *a);
int command_env(struct args *a);
int command_version(struct args *a);
int command_warm(struct args *a);
int command_plot(struct args *a);
int command_grid(struct args *a);
int command_help(struct args *a);
int command_man(struct args *a);
int command_completions(struct args *a);

enum { MANY_WORDS = 1000000 };

struct command {
    const char *name;
    const char *takes; // MODEL [options]
    const char *help;
    int (*call)(struct args *a); // NULL: not there yet, or it has parts
    bool needs_model;            // at least one word
    uint32_t words;              // how many at most; 0: one where it needs a model, else none
    const struct command *parts; // `shoal cache list`; they end with a NULL name
    const char *part_of;
    bool hidden;     // of use to builds only: not listed
    bool only_words; // what looks like an option is a word too
};
enum { COMMANDS_MOST = 32 };
extern const struct command cache_parts[];
extern const struct command commands[];
extern const size_t command_count;
const struct command *command_find(const char *name);
void help_command(FILE *out, const struct command *c);
void help_all(FILE *out);

// ---- Lists that help, the manual page and commands share ----------------------------------------

struct variable {
    const char *name, *what;
};
extern const struct variable variables[]; // of the environment: info.c
extern const size_t variable_count;
struct exit_status {
    const char *code, *what;
};
extern const struct exit_status exit_statuses[]; // help.c
extern const size_t exit_status_count;
extern const char *const examples[]; // of `run`: help.c
extern const size_t example_count;

#endif

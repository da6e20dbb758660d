// SPDX-License-Identifier: MIT
// What a plot is made of: the file, what was found in it, and the figure that comes of it.
//
// look.c finds inputs and metadata, load.c reads columns, choose.c decides what is drawn; values.c,
// heat.c, series.c, density.c, reduced.c, events.c, cells.c and flame.c make figures; plot.c is the
// public call around them.
#ifndef SHOAL_PLOT_DATA_H
#define SHOAL_PLOT_DATA_H

#include "base/arena.h"
#include "base/report.h"
#include "io/reader.h"
#include "plot/figure.h"
#include "shoal/shoal.h"

enum {
    INPUTS_MOST = 16,
    NAMES_MOST = 8,          // variables of a plot
    DISTINCT_MOST = 1 << 15, // values of an input that is an axis of a grid
    CELLS_MOST = 1 << 25,    // of a heat map
    ROWS_MOST = 1 << 22,     // that are kept in memory
    LINES_MOST = 7,          // of a series that was not asked for
};

struct input {
    uint32_t column;
    double *value; // distinct ones, going up; NULL: too many
    uint32_t count;
    double fixed;  // NaN: it is not
    uint64_t rows; // that were looked at
};

struct plot {
    const shoal_plot_options *o;
    struct reader *d;
    struct report *r;
    struct arena arena; // jumps when memory runs out
    struct figure f;
    bool text; // for a terminal
    double width, height, scale;
    // What look.c found.
    uint32_t inputs, status;
    struct input input[INPUTS_MOST];
    struct input over; // time or index of a table's rows, as an axis of a heat map
    uint64_t runs, failed;
    uint64_t title_runs; // that the title speaks of
    bool grid;
    const char *model, *method, *rtol, *t1, *time_unit;
    // What was chosen.
    shoal_plot_kind kind;
    uint32_t table;    // whose rows are drawn
    uint32_t x, z, ys; // z: the second input of a heat map
    uint32_t y[NAMES_MOST];
    bool log_x, log_y, log_z;
    enum colour_map map;
};

enum plot_form { PLOT_TEXT, PLOT_SVG, PLOT_PDF, PLOT_PNG, PLOT_FORMS };

// The whole way from a result, or from a time log in memory, to a figure; `ids` begins the names
// inside of an SVG, which must differ where several are on one page.
struct plot_source {
    const char *path;
    const shoal_log *log; // NULL: the file is drawn
};
shoal_code plot_draw(const struct plot_source *from, const shoal_plot_options *o,
                     enum plot_form form, const char *ids, struct buf *out, struct report *r);
shoal_code plot_write(const char *path, const struct buf *bytes, struct report *r);

const char *plot_name(const struct plot *p, uint32_t column);
const char *plot_label(struct plot *p, uint32_t column); // with its unit, where that is known

struct input *plot_input(struct plot *p, uint32_t column); // NULL: it is none
// "a = 1", or the word that the number stands for; in the arena.
const char *plot_says(struct plot *p, uint32_t column, double value);

shoal_code look_at(struct plot *p);
// The values of a column, as an input has them.
shoal_code look_at_column(struct plot *p, uint32_t table, uint32_t column, struct input *out);
shoal_code choose(struct plot *p);
shoal_code choose_map(struct plot *p); // of colours

// ---- Columns in memory --------------------------------------------------------------------------

struct columns {
    uint32_t count;
    size_t rows;
    double *column[NAMES_MOST + INPUTS_MOST + 4];
    uint64_t left_out; // rows beyond ROWS_MOST
};

// Rows whose inputs are fixed to another value are not there; where `runs` is not NULL, only those
// of these runs. In the arena.
struct run_list;
shoal_code load(struct plot *p, uint32_t table, const uint32_t *columns, uint32_t count,
                const struct run_list *runs, struct columns *out);

bool failed_status(double status); // neither ok nor stopped

// All columns in the order of the first.
void sort_rows(struct plot *p, struct columns *c);

// A pass over the rows that the plot is of: `use` gets those that are wanted.
typedef void use_rows(void *user, const double *const *column, size_t rows);
shoal_code pass_over(struct plot *p, uint32_t table, const uint32_t *columns, uint32_t count,
                     const struct run_list *runs, use_rows *use, void *user);

// "3,10:20": runs by number.
struct run_list {
    uint32_t count;
    uint64_t from[64], to[64]; // to: behind the last
};
shoal_code run_list_read(const char *text, struct run_list *out, struct report *r);

// The interval of finite values (of those above 0, where `log`).
struct range {
    double low, high;
};
struct range range_none(void);
void range_add(struct range *g, const double *values, size_t count, bool log);
// A note, where there are values that a logarithmic axis has no place for.
void tell_no_log(struct plot *p, uint32_t column, const double *values, size_t count);
// What was asked for, or else that of the values.
shoal_code range_asked(const char *text, struct range *g, struct report *r);

// ---- Figures ------------------------------------------------------------------------------------

shoal_code make_values(struct plot *p); // line, points
shoal_code make_histogram(struct plot *p);
shoal_code make_heat(struct plot *p);
shoal_code make_series(struct plot *p); // series, phase
shoal_code make_fan(struct plot *p);
shoal_code make_density(struct plot *p);
shoal_code make_reduced(struct plot *p); // a fan of statistics
shoal_code make_raster(struct plot *p);
shoal_code make_next(struct plot *p);                    // return maps
shoal_code make_cells(struct plot *p, const char *path); // of a file of grids
shoal_code make_flame(struct plot *p, const char *path); // of a time log
// SHOAL_INPUT without a word: it holds nothing.
shoal_code make_flame_of(struct plot *p, const shoal_log *log);

struct panel *plot_panels(struct plot *p, uint32_t count, uint32_t columns);
// How many pixels a raster in the first panel should have, once the rest is there.
struct box plot_pixels(const struct plot *p);
void plot_titles(struct plot *p, const char *what);
// Fills 256 colours for places 1 to 255; the first is nothing.
void plot_palette(const struct plot *p, bool faint_first, colour out[256]);

#endif

// SPDX-License-Identifier: MIT
// Grids by the public header: stacks and grids of all shapes, marked ones, room, edges of sizes,
// kernels that are warmed, found again and shared; results of the calling thread and of many.
#include "check.h"
#include "shoal/shoal.h"

struct call {
    shoal_log *log;
    shoal_options options;
    shoal_grid *grid;
    shoal_grids in;
    shoal_grids_out out;
    int32_t shapes[400];
    uint64_t offsets[200];
    uint8_t status[200];
    int32_t cells[4096];
};

static struct call *open_call(const char *text, const char *device) {
    struct call *c = check_keep(calloc(1, sizeof *c));
    c->log = shoal_log_new();
    REQUIRE(!shoal_options_init(&c->options, NULL, c->log));
    c->options.device = device;
    shoal_code code = shoal_grid_new(text, &c->options, &c->grid, c->log);
    CHECK_MSG(!code, "%s", code ? shoal_log_message(c->log, 0).text : "");
    REQUIRE(c->grid);
    c->in = (shoal_grids){.size = sizeof c->in, .type = SHOAL_I32};
    c->out = (shoal_grids_out){.size = sizeof c->out,
                               .type = SHOAL_I32,
                               .cells = c->cells,
                               .room = 4096,
                               .shapes = c->shapes,
                               .offsets = c->offsets,
                               .status = c->status};
    return c;
}

static void close_call(struct call *c) {
    shoal_grid_free(c->grid);
    shoal_log_free(c->log);
}

static const char *word(const struct call *c, int i) {
    return shoal_grid_status_word(c->status[i]);
}

TEST(grid_api_stack) {
    struct call *c = open_call("100/in", "cpu");
    static const int32_t cells[] = {1, 2, 3, 4, 5, 0, 7, 8};
    c->in.count = 2;
    c->in.cells = cells;
    c->in.height = c->in.width = 2;
    REQUIRE(!shoal_grid_run(c->grid, &c->in, &c->out, c->log));
    CHECK(c->out.height == 2 && c->out.width == 2 && c->out.needed == 8);
    CHECK(c->cells[0] == 100 && c->cells[3] == 25);
    CHECK_STR(word(c, 1), "division");
    for (int i = 4; i < 8; i++)
        CHECK_INT(c->cells[i], 0);
    close_call(c);
}

static void count_rows(const shoal_progress *now, void *user) { *(uint64_t *)user = now->total; }

// Who watches is told of rows, and what a file holds is read as it was written.
TEST(grid_api_files_and_progress) {
    struct call *c = open_call("flip_h", "cpu");
    shoal_grid_file *file = NULL;
    shoal_warm_result warm;
    uint64_t total = 0;
    check_write(check_path("g.json"), "[[1,2],[3,4]]");
    REQUIRE(!shoal_grid_file_read(check_path("g.json"), NULL, &file, c->log));
    CHECK(shoal_grid_file_exact(file) && shoal_grid_file_single(file));
    c->in = shoal_grid_file_grids(file);
    CHECK(c->in.count == 1 && c->in.height == 2 && c->in.type == SHOAL_I32);
    CHECK_HAS(shoal_grid_device(c->grid), "lanes");
    CHECK_STR(shoal_grid_status_text(0), "done");
    REQUIRE(!shoal_grid_warm("flip_h", &c->options, SHOAL_I32, SHOAL_I32, NULL, &warm, c->log));
    shoal_grid_on_progress(c->grid, count_rows, &total);
    REQUIRE(!shoal_grid_run(c->grid, &c->in, &c->out, c->log));
    REQUIRE(!shoal_grid_file_write(check_path("h.json"), &c->in, &c->out, true, c->log));
    CHECK_STR(check_keep(check_read(check_path("h.json"))), "[[2, 1], [4, 3]]\n");
    CHECK(total <= 1);
    shoal_grid_file_free(file);
    close_call(c);
}

TEST(grid_api_types) {
    struct call *c = open_call("in*2", "cpu");
    static const uint8_t cells[] = {1, 2, 200, 4};
    uint8_t out[4] = {9, 9, 9, 9};
    c->in.count = 2;
    c->in.type = c->out.type = SHOAL_U8;
    c->in.cells = cells;
    c->in.height = 1;
    c->in.width = 2;
    c->out.cells = out;
    REQUIRE(!shoal_grid_run(c->grid, &c->in, &c->out, c->log));
    CHECK(out[0] == 2 && out[1] == 4 && out[2] == 0 && out[3] == 0);
    CHECK_STR(word(c, 0), "ok");
    CHECK_STR(word(c, 1), "range");
    close_call(c);
}

TEST(grid_api_shapes_of_their_own) {
    struct call *c = open_call("crop_to_content(0)", "cpu");
    static const int32_t cells[] = {0, 0, 0, 5, 0, 0, 0, 0, 1, 2, 3};
    static const int32_t shapes[] = {2, 3, 1, 2, 1, 3, 0, 0};
    static const uint64_t offsets[] = {0, 6, 8, 11};
    c->in.count = 4;
    c->in.cells = cells;
    c->in.shapes = shapes;
    c->in.offsets = offsets;
    REQUIRE(!shoal_grid_shapes(c->grid, &c->in, &c->out, c->log));
    CHECK_INT(c->out.needed, 4);
    c->out.room = 3;
    CHECK_INT(shoal_grid_run(c->grid, &c->in, &c->out, c->log), SHOAL_USAGE);
    c->out.room = 4;
    REQUIRE(!shoal_grid_run(c->grid, &c->in, &c->out, c->log));
    CHECK_STR(word(c, 0), "ok");
    CHECK_STR(word(c, 1), "empty");
    CHECK_STR(word(c, 2), "ok");
    CHECK_STR(word(c, 3), "empty");
    CHECK(c->shapes[0] == 1 && c->shapes[1] == 1 && c->cells[c->offsets[0]] == 5);
    CHECK(c->shapes[2] == 0 && c->shapes[5] == 3 && c->cells[c->offsets[2] + 2] == 3);
    close_call(c);
}

// No grids, grids without cells, and such as are too large.
TEST(grid_api_edges_of_sizes) {
    static const char *const texts[] = {"rot90", "crop_to_content(0)", "in - min"};
    static const int32_t sides[][2] = {{0, 0}, {0, 5}, {1025, 1}, {1, 1024}, {1024, 1}};
    static const char *const words[] = {"empty", "empty", "size", "ok", "ok"};
    int32_t *cells = check_keep(calloc(2050, sizeof *cells));
    cells[5] = cells[1500] = 1;
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < 5; i++) {
            struct call *c = open_call(texts[t], "cpu");
            REQUIRE(!shoal_grid_run(c->grid, &c->in, &c->out, c->log)); // none at all
            c->in.count = 2;
            c->in.cells = cells;
            c->in.height = sides[i][0];
            c->in.width = sides[i][1];
            REQUIRE(!shoal_grid_run(c->grid, &c->in, &c->out, c->log));
            CHECK_STR(word(c, 0), words[i]);
            CHECK_STR(word(c, 1), words[i]);
            close_call(c);
        }
}

TEST(grid_api_refuses) {
    struct call *c = open_call("rot90", "cpu");
    static const int32_t shapes[] = {1, 2, -1, 1};
    static const uint64_t offsets[] = {0, 1};
    shoal_grid *none = NULL;
    CHECK_INT(shoal_grid_new(NULL, &c->options, &none, c->log), SHOAL_USAGE);
    CHECK_INT(shoal_grid_new("rot90", NULL, &none, c->log), SHOAL_USAGE);
    CHECK_INT(shoal_grid_new("rot", &c->options, &none, c->log), SHOAL_INPUT);
    CHECK(!none);
    CHECK_INT(shoal_grid_run(NULL, &c->in, &c->out, c->log), SHOAL_USAGE);
    c->in.count = 2;
    c->in.cells = c->cells;
    c->in.shapes = shapes;
    CHECK_INT(shoal_grid_run(c->grid, &c->in, &c->out, c->log), SHOAL_USAGE); // no offsets
    c->in.offsets = offsets;
    CHECK_INT(shoal_grid_run(c->grid, &c->in, &c->out, c->log), SHOAL_USAGE); // they overlap
    c->in.type = (shoal_cell)7;
    CHECK_INT(shoal_grid_run(c->grid, &c->in, &c->out, c->log), SHOAL_USAGE);
    shoal_grid_free(NULL);
    CHECK(!shoal_grid_status_word(-1) && !shoal_grid_status_word(99));
    close_call(c);
}

// The same cells by stages and by a kernel, by one thread and by two, whatever the batch.
TEST(grid_api_ways_agree) {
    enum { GRIDS = 3000, SIDE = 12, CELLS = GRIDS * SIDE * SIDE };
    uint8_t *cells = check_keep(malloc(CELLS)), *out[3];
    static const char text[] = "rot90(in)*(in>0) + (nsum4(in)>0)";
    int32_t *shapes = check_keep(calloc(2 * GRIDS, sizeof *shapes));
    uint64_t *offsets = check_keep(calloc(GRIDS, sizeof *offsets));
    uint8_t *status = check_keep(calloc(GRIDS, 1));
    for (int i = 0; i < CELLS; i++)
        cells[i] = (uint8_t)(i % 7919 % 251 % 10);
    for (int way = 0; way < 3; way++) {
        struct call *c = open_call(text, "cpu");
        shoal_warm_result warm;
        out[way] = check_keep(calloc(CELLS, 1));
        if (way == 1)
            REQUIRE(!shoal_grid_warm(text, &c->options, SHOAL_U8, SHOAL_U8, NULL, &warm, c->log));
        c->in.count = way == 0 ? 10 : GRIDS;
        c->in.type = c->out.type = SHOAL_U8;
        c->in.cells = cells;
        c->in.height = c->in.width = SIDE;
        c->out.cells = out[way];
        c->out.room = CELLS;
        c->out.shapes = shapes;
        c->out.offsets = offsets;
        c->out.status = status;
        REQUIRE(!shoal_grid_run(c->grid, &c->in, &c->out, c->log));
        close_call(c);
        for (int i = 0; i < GRIDS; i++)
            CHECK(status[i] == 0);
    }
    CHECK(!memcmp(out[0], out[1], 10 * SIDE * SIDE));
    CHECK(!memcmp(out[1], out[2], CELLS));
}

TEST(grid_api_kernels_are_kept) {
    setenv("SHOAL_CACHE_DIR", check_path("cache"), 1);
    struct call *c = open_call("rot90 | mask(v>5)", "cpu");
    shoal_warm_result one, two;
    REQUIRE(!shoal_grid_warm("mask(v>5)", &c->options, SHOAL_U8, SHOAL_U8, NULL, &one, c->log));
    REQUIRE(!shoal_grid_warm("mask(v>6)", &c->options, SHOAL_U8, SHOAL_U8, NULL, &two, c->log));
    CHECK(one.compiled && !two.compiled);
    CHECK_STR(one.key, two.key); // the number is an argument
    char *source = NULL;
    REQUIRE(!shoal_grid_source("rot90", &c->options, SHOAL_U8, SHOAL_U8, &source, c->log));
    CHECK_HAS(source, "grid_body");
    free(source);
    close_call(c);
}

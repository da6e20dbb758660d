// SPDX-License-Identifier: MIT
// Random grids and pipelines, and their comparison with the oracle.
#include "grid_rig.h"

#include "device/device.h"
#include "log/log.h"

#include <sys/mman.h>
#include <unistd.h>

uint32_t rig_random(uint64_t *seed, uint32_t below) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % below);
}

static int32_t random_cell(uint64_t *seed, enum grid_type type, int values) {
    static const int32_t ends[] = {INT32_MIN, INT32_MAX, -1, INT32_MIN + 1, 65536, 0, 1, -32768};
    if (values == 0 || type == GRID_U8)
        return (int32_t)rig_random(seed, values == 2 ? 256 : 10);
    if (values == 1)
        return (int32_t)rig_random(seed, 11) - 5;
    if (type == GRID_I16)
        return (int32_t)rig_random(seed, 65536) - 32768;
    return rig_random(seed, 2) ? ends[rig_random(seed, 8)] : (int32_t)rig_random(seed, 1u << 31);
}

static void set_cell(struct grid_rig *g, uint64_t i, int32_t v) {
    if (g->batch.type == GRID_U8)
        ((uint8_t *)g->cells)[i] = (uint8_t)v;
    else if (g->batch.type == GRID_I16)
        ((int16_t *)g->cells)[i] = (int16_t)v;
    else
        ((int32_t *)g->cells)[i] = v;
}

static int random_side(uint64_t *seed, int side) {
    uint32_t kind = rig_random(seed, 6);
    return kind == 0 ? 1 : kind == 1 ? side : (int)rig_random(seed, (uint32_t)side) + 1;
}

// Memory that begins or ends at a page that nobody may touch.
static void *cells_new(struct grid_rig *g, size_t bytes, bool at_end) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) / page * page;
    inside = inside ? inside : page;
    g->map_bytes = inside + 2 * page;
    g->map = mmap(NULL, g->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(g->map != MAP_FAILED);
    char *first = (char *)g->map + page;
    REQUIRE(!mprotect(first, inside, PROT_READ | PROT_WRITE));
    return at_end ? first + inside - bytes : first;
}

struct grid_rig grid_rig_new(uint64_t seed, uint32_t count, enum grid_type type, int side, int h,
                             int w, int values) {
    struct grid_rig g = {.batch = {.count = count, .type = type, .height = h, .width = w}};
    g.shapes = calloc(2 * (size_t)count + 2, sizeof *g.shapes);
    g.offsets = calloc((size_t)count + 1, sizeof *g.offsets);
    for (uint32_t i = 0; i < count; i++) {
        g.shapes[2 * i] = h ? h : random_side(&seed, side);
        g.shapes[2 * i + 1] = h ? w : random_side(&seed, side);
        if (!h && rig_random(&seed, 3) == 0)
            g.shapes[2 * i + 1] = g.shapes[2 * i]; // a square
        g.offsets[i] = g.cell_count;
        g.cell_count += (uint64_t)g.shapes[2 * i] * (uint64_t)g.shapes[2 * i + 1];
    }
    g.cells = cells_new(&g, g.cell_count * grid_type_bytes(type), rig_random(&seed, 2));
    for (uint64_t i = 0; i < g.cell_count; i++)
        set_cell(&g, i, random_cell(&seed, type, values));
    g.batch.cells = g.cells;
    g.batch.shapes = h ? NULL : g.shapes;
    g.batch.offsets = h ? NULL : g.offsets;
    return g;
}

void grid_rig_free(struct grid_rig *g) {
    free(g->shapes);
    free(g->offsets);
    munmap(g->map, g->map_bytes);
}

static int32_t cell_at(const void *cells, enum grid_type type, uint64_t i) {
    return type == GRID_U8    ? ((const uint8_t *)cells)[i]
           : type == GRID_I16 ? ((const int16_t *)cells)[i]
                              : ((const int32_t *)cells)[i];
}

struct oracle_grid grid_rig_at(const struct grid_rig *g, uint64_t i) {
    struct oracle_grid r = {g->shapes[2 * i], g->shapes[2 * i + 1], NULL};
    size_t n = (size_t)r.h * (size_t)r.w;
    r.cells = malloc(n * sizeof *r.cells + 1);
    for (size_t k = 0; k < n; k++)
        r.cells[k] = cell_at(g->cells, g->batch.type, g->offsets[i] + k);
    return r;
}

// ---- Pipelines ----------------------------------------------------------------------------------

struct author {
    uint64_t *seed;
    char *at, *end;
    int depth;
};

static void say(struct author *a, const char *text) {
    while (*text && a->at < a->end)
        *a->at++ = *text++;
}
static uint32_t pick(struct author *a, uint32_t n) { return rig_random(a->seed, n); }

static void say_grid(struct author *a);

static void say_digit(struct author *a) {
    char text[16];
    static const int32_t large[] = {100, 255, 1024, 2147483647};
    int32_t n = pick(a, 40) == 0 ? large[pick(a, 4)] : (int32_t)pick(a, 8);
    snprintf(text, sizeof text, "%s%d", pick(a, 8) == 0 ? "-" : "", n);
    say(a, text);
}

static void say_number(struct author *a) {
    static const char *const some[] = {"h",   "w",           "sum",          "min", "max",
                                       "h/2", "most_common", "least_common", "w%3", "w/h"};
    if (a->depth > 2 || pick(a, 3)) {
        say_digit(a);
        return;
    }
    a->depth++;
    switch (pick(a, 5)) {
    case 0:
        say(a, "count(");
        say_grid(a);
        say(a, ">");
        say_digit(a);
        say(a, ")");
        break;
    case 1:
        say(a, "(");
        say_number(a);
        say(a, pick(a, 2) ? "%" : "-");
        say_number(a);
        say(a, ")");
        break;
    default:
        say(a, some[pick(a, sizeof some / sizeof *some)]);
    }
    a->depth--;
}

static void say_border(struct author *a, const char *before) {
    static const char *const borders[] = {"zero", "wrap", "edge"};
    if (pick(a, 2) == 0)
        return;
    say(a, before);
    say(a, borders[pick(a, 3)]);
}

static void say_args(struct author *a, const char *kinds) {
    for (const char *k = kinds; *k; k++) {
        if (k != kinds)
            say(a, ",");
        if (*k == 'n')
            say_number(a);
        else if (*k == 'd')
            say_digit(a);
        else
            say_grid(a);
    }
}

// A call, perhaps with the grid before its arguments.
static void say_call(struct author *a, bool own) {
    static const struct {
        const char *name, *kinds;
        bool border;
    } calls[] = {
        {"rot90", "", 0},    {"rot180", "", 0},  {"rot270", "", 0},     {"flip", "", 0},
        {"flip_h", "", 0},   {"flip_v", "", 0},  {"transpose", "", 0},  {"antitranspose", "", 0},
        {"shift", "nn", 1},  {"at", "nn", 1},    {"crop", "dddd", 0},   {"crop_to_content", "n", 0},
        {"pad", "dn", 0},    {"tile", "dd", 0},  {"upscale", "d", 0},   {"downscale", "d", 0},
        {"clamp", "nn", 0},  {"mask", "g", 0},   {"replace", "nn", 0},  {"swap", "nn", 0},
        {"nsum4", "", 1},    {"nsum8", "", 1},   {"ncount4", "g", 1},   {"ncount8", "g", 1},
        {"nmin4", "", 1},    {"nmax4", "", 1},   {"nmin8", "", 1},      {"nmax8", "", 1},
        {"label4", "", 0},   {"label8", "", 0},  {"size4", "", 0},      {"size8", "", 0},
        {"fill", "ddn", 0},  {"outline", "", 0}, {"histogram", "d", 0}, {"hconcat", "gg", 0},
        {"vconcat", "gg", 0}};
    uint32_t i = pick(a, sizeof calls / sizeof *calls + 3);
    a->depth++;
    if (i >= sizeof calls / sizeof *calls) {
        static const char *const rules[] = {"B3/S23", "B36/S23", "B/S012345678", "B012/S"};
        say(a, pick(a, 3) ? "step(" : "crop(bbox(");
        if (a->at[-2] == 'x') {
            say_grid(a);
            say(a, "==");
            say_digit(a);
            say(a, "))");
        } else {
            if (own)
                say_grid(a), say(a, ",");
            say(a, rules[pick(a, 4)]);
            say(a, ",");
            say(a, pick(a, 3) ? "2" : "0");
            say_border(a, ",");
            say(a, ")");
        }
        a->depth--;
        return;
    }
    say(a, calls[i].name);
    bool args = *calls[i].kinds;
    if (own || args) {
        say(a, "(");
        if (own)
            say_grid(a);
        if (own && args)
            say(a, ",");
        say_args(a, calls[i].kinds);
        if (calls[i].border)
            say_border(a, ",");
        say(a, ")");
    }
    a->depth--;
}

static void say_grid(struct author *a) {
    static const char *const leaves[] = {"in", "_", "v", "row", "col", "in", "_"};
    static const char *const signs[] = {"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">="};
    if (a->depth > 3 || a->end - a->at < 120) {
        say(a, leaves[pick(a, 7)]);
        return;
    }
    a->depth++;
    switch (pick(a, 8)) {
    case 0:
    case 1:
        say(a, leaves[pick(a, 7)]);
        break;
    case 2:
    case 3:
        say(a, "(");
        say_grid(a);
        say(a, signs[pick(a, 11)]);
        pick(a, 2) ? say_grid(a) : say_number(a);
        say(a, ")");
        break;
    case 4:
        say(a, pick(a, 3) ? "select(" : pick(a, 2) ? "min(" : "max(");
        if (a->at[-2] == 't')
            say_args(a, "ggn");
        else
            say_args(a, "gn");
        say(a, ")");
        break;
    case 5:
        say(a, "(");
        if (pick(a, 3) == 0)
            say(a, "not ");
        say_grid(a);
        say(a, pick(a, 2) ? " and " : " or ");
        say_grid(a);
        say(a, ")");
        break;
    default:
        say_call(a, pick(a, 2));
    }
    a->depth--;
}

void grid_rig_pipeline(uint64_t *seed, char *text, size_t room) {
    struct author a = {seed, text, text + room - 1, 0};
    uint32_t stages = rig_random(seed, 8) + 1;
    bool named = rig_random(seed, 4) == 0;
    if (named) {
        say(&a, "q = ");
        say_grid(&a);
        say(&a, "; ");
    }
    for (uint32_t i = 0; i < stages; i++) {
        if (i)
            say(&a, " | ");
        a.depth = stages > 3 ? 2 : 1;
        if (rig_random(seed, 3))
            say_call(&a, false);
        else
            say_grid(&a);
    }
    if (named && rig_random(seed, 2))
        say(&a, " | _ + (q > 0)");
    if (rig_random(seed, 12) == 0)
        say(&a, " | sum");
    *a.at = 0;
}

// ---- Comparison ---------------------------------------------------------------------------------

static const char *const words[] = {
#define WORD(name, word, text) word,
    GRID_STATUS(WORD)};

static void compare_one(const char *text, const struct grid_rig *g, const struct grid_result *out,
                        uint64_t i, const char *how) {
#define LIMITS(name, word, ctype, least, most) {least, most},
    static const int32_t limits[][2] = {GRID_TYPES(LIMITS)};
    struct oracle_grid in = grid_rig_at(g, i), want;
    const char *status = oracle_run(text, &in, limits[out->type][0], limits[out->type][1], &want);
    const char *got = words[out->status[i]];
    CHECK_MSG(status && !strcmp(status, got), "%s: grid %llu (%d by %d) of `%s` is %s, not %s", how,
              (unsigned long long)i, in.h, in.w, text, got, status ? status : "in the language");
    if (status && !strcmp(status, "ok") && !strcmp(got, "ok")) {
        int h = out->stack ? out->height : out->shapes[2 * i];
        int w = out->stack ? out->width : out->shapes[2 * i + 1];
        CHECK_MSG(h == want.h && w == want.w, "%s: grid %llu of `%s` is %d by %d, not %d by %d",
                  how, (unsigned long long)i, text, h, w, want.h, want.w);
        for (int k = 0; h == want.h && w == want.w && k < h * w; k++) {
            int32_t v = cell_at(out->cells, out->type, out->offsets[i] + (uint64_t)k);
            if (v != want.cells[k]) {
                check_fail(__FILE__, __LINE__,
                           "%s: grid %llu (%d by %d) of `%s`: cell %d,%d is %d, "
                           "not %d",
                           how, (unsigned long long)i, in.h, in.w, text, k / w, k % w, v,
                           want.cells[k]);
                break;
            }
        }
    }
    free(in.cells);
    free(want.cells);
}

static void compare_refused(const char *text, const struct grid_rig *g) {
    for (uint64_t i = 0; i < g->batch.count; i++) {
        struct oracle_grid in = grid_rig_at(g, i), want;
        const char *status = oracle_run(text, &in, INT32_MIN, INT32_MAX, &want);
        CHECK_MSG(!status || strcmp(status, "ok"), "`%s` is refused, and the oracle runs it", text);
        free(in.cells);
        free(want.cells);
    }
}

static struct grid_result result_for(const struct grid_rig *g, enum grid_type type) {
    size_t n = g->batch.count + 1;
    return (struct grid_result){.type = type,
                                .shapes = calloc(2 * n, sizeof(int32_t)),
                                .offsets = calloc(n, sizeof(uint64_t)),
                                .status = calloc(n, 1)};
}

enum { GUARD = 100 };

static void run_and_compare(struct grid_runner *r, const struct grid_rig *g, enum grid_type type,
                            const char *how, shoal_log *log) {
    const struct dispatch_control control = {0};
    const char *text = r->plan->source.text;
    struct grid_result out = result_for(g, type);
    shoal_code code = grid_shapes(r, &g->batch, &out, log);
    out.room = out.needed;
    size_t bytes = out.room * grid_type_bytes(type);
    out.cells = memset(malloc(bytes + GUARD), GUARD, bytes + GUARD);
    if (code == SHOAL_OK)
        code = grid_run(r, &g->batch, &out, &control, log);
    for (size_t i = 0; i < GUARD; i++)
        CHECK_MSG(((char *)out.cells)[bytes + i] == GUARD, "`%s` writes behind its results", text);
    CHECK_MSG(code == SHOAL_OK, "`%s`: %s: %s", text, shoal_code_text(code),
              shoal_log_message_count(log) ? shoal_log_message(log, 0).text : "");
    for (uint64_t i = 0; code == SHOAL_OK && i < g->batch.count; i++)
        compare_one(text, g, &out, i, how);
    free(out.cells);
    free(out.shapes);
    free(out.offsets);
    free(out.status);
}

bool grid_rig_compare(const char *text, const struct grid_rig *g, const char *device,
                      enum grid_way way, enum grid_type type) {
    shoal_log *log = shoal_log_new();
    struct grid_plan *plan = grid_parse("pipeline", text, strlen(text), log_report(log));
    struct grid_runner r = {.plan = plan, .threads = 2, .way = way};
    uint32_t index = 0;
    if (!plan) {
        compare_refused(text, g);
        shoal_log_free(log);
        return false;
    }
    REQUIRE(!device_choose(device, &r.backend, &index, NULL));
    REQUIRE(!kernel_device_open(r.backend, index, false, &r.device, NULL));
    run_and_compare(&r, g, type, way == GRID_BY_STAGES ? "stages" : device, log);
    grid_runner_free(&r);
    kernel_device_close(r.device);
    grid_plan_free(plan);
    shoal_log_free(log);
    return true;
}

// ---- Modules ------------------------------------------------------------------------------------

uint32_t rig_block;

struct rig_module rig_module_of(const char *const *texts, uint32_t count, const char *device,
                                enum grid_type in, enum grid_type out) {
    struct rig_module m = {.in = in, .out = out, .count = count};
    struct kernel_source source = {0};
    struct report r = {0};
    const struct grid_plan *plans[RIG_MODULE];
    uint32_t index = 0;
    REQUIRE(!device_choose(device, &m.backend, &index, NULL));
    REQUIRE(!kernel_device_open(m.backend, index, false, &m.device, NULL));
    for (uint32_t i = 0; i < count; i++) {
        plans[i] = m.plan[i] = grid_parse("pipeline", texts[i], strlen(texts[i]), NULL);
        REQUIRE(plans[i]);
    }
    struct shoal_target target = *m.backend->target(m.device);
    target.blocks |= rig_block && target.device;
    const struct grid_target t = {&target, in, out};
    REQUIRE(grid_codegen(plans, m.count, &t, m.code, &source));
    const struct shoal_kernel_text text = {
        .text = source.text.data, .length = source.text.length, .one_unit = true};
    shoal_code code = m.backend->build(m.device, &text, NULL, &m.bytes, &r);
    CHECK_MSG(code == SHOAL_OK, "%s", r.messages.count ? r.messages.items[0].text : "");
    REQUIRE(code == SHOAL_OK);
    kernel_source_free(&source);
    report_free(&r);
    return m;
}

struct rig_module rig_module_new(uint64_t seed, uint32_t count, const char *device,
                                 enum grid_type in, enum grid_type out) {
    char *text[RIG_MODULE];
    const char *taken[RIG_MODULE] = {0};
    uint32_t found = 0;
    for (; found < count; seed += 7919) {
        uint64_t own = seed;
        taken[found] = text[found] = malloc(600);
        grid_rig_pipeline(&own, text[found], 600);
        struct grid_plan *plan = grid_parse("pipeline", text[found], strlen(text[found]), NULL);
        if (!plan)
            free(text[found]);
        found += plan != NULL;
        grid_plan_free(plan);
    }
    struct rig_module m = rig_module_of(taken, count, device, in, out);
    while (found)
        free(text[--found]);
    return m;
}

void rig_module_compare(struct rig_module *m, uint32_t number, const struct grid_rig *g) {
    char entry[GRID_ENTRY_ROOM];
    struct kernel kernel = {0};
    struct grid_runner r = {.plan = m->plan[number],
                            .backend = m->backend,
                            .device = m->device,
                            .threads = 2,
                            .chunk = rig_block ? 1 : 0,
                            .way = GRID_BY_KERNEL};
    shoal_log *log = shoal_log_new();
    struct grid_made *made = &r.made[m->in][m->out];
    grid_entry(number, m->count, entry);
    REQUIRE(!m->backend->load(m->device, &m->bytes, entry, &kernel.module, &kernel.facts, NULL));
    kernel.facts.team = rig_block ? rig_block : kernel.facts.team;
    made->code = m->code[number];
    made->coded = true;
    made->kernel = &kernel;
    run_and_compare(&r, g, m->out, m->backend->name, log);
    made->kernel = NULL; // it is not of the table
    grid_runner_free(&r);
    m->backend->unload(kernel.module);
    shoal_log_free(log);
}

void rig_module_free(struct rig_module *m) {
    for (uint32_t i = 0; i < m->count; i++)
        grid_plan_free(m->plan[i]);
    free(m->bytes.data);
    kernel_device_close(m->device);
}

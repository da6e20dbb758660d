// SPDX-License-Identifier: MIT
// Looks at the machine code of a kernel: the hot loop is packed arithmetic and nothing else.
//
// The hot loop is the shortest stretch of shoal_kernel that ends with a jump back to its start and
// holds as many fused multiply-adds as any. Broadcasts from memory are fine; lanes that are moved
// one by one, scalar arithmetic, calls, gathers and, in an f32 kernel, doubles are not.
#include "check.h"
#include "rig.h"

static const char lorenz[] = "par rho=28; const sigma=10, beta=8/3; init x=1, y=0, z=0;"
                             "x'=sigma*(y-x); y'=x*(rho-z)-y; z'=x*y-beta*z";

struct instruction {
    unsigned long address, target; // target: of a jump, else 0
    char name[24], operands[80];
};

struct code {
    struct instruction *items;
    size_t count;
};

struct loop {
    size_t first, last;
    unsigned fmas;
};

static bool is_fma(const struct instruction *i) {
    return !strncmp(i->name, "vfm", 3) || !strncmp(i->name, "vfnm", 4);
}

// Instructions of one function in the output of objdump -d --no-show-raw-insn.
static struct code read_function(char *text, const char *function) {
    char title[64];
    struct code code = {0};
    snprintf(title, sizeof title, "<%s>:\n", function);
    char *line = strstr(text, title);
    REQUIRE(line);
    line = strchr(line, '\n') + 1;
    for (char *end; *line != '\n' && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        struct instruction i = {0};
        if (sscanf(line, " %lx: %23s %79[^\n]", &i.address, i.name, i.operands) < 2)
            continue;
        if (i.name[0] == 'j')
            sscanf(i.operands, "%lx", &i.target);
        code.items = realloc(code.items, (code.count + 1) * sizeof *code.items);
        REQUIRE(code.items);
        code.items[code.count++] = i;
    }
    return code;
}

static struct loop hot_loop(const struct code *code) {
    struct loop best = {0};
    for (size_t last = 0; last < code->count; last++) {
        unsigned long target = code->items[last].target;
        if (!target || target > code->items[last].address)
            continue;
        struct loop l = {.first = last, .last = last};
        while (l.first > 0 && code->items[l.first].address > target)
            l.fmas += is_fma(&code->items[l.first--]);
        if (l.fmas > best.fmas ||
            (l.fmas == best.fmas && l.last - l.first < best.last - best.first))
            best = l;
    }
    return best;
}

static bool starts(const char *text, const char *with) {
    return !strncmp(text, with, strlen(with));
}

static bool ends(const char *text, const char *with) {
    size_t n = strlen(text), k = strlen(with);
    return n >= k && !strcmp(text + n - k, with);
}

// Why an instruction has no place in a hot loop, or NULL.
static const char *objection(const struct instruction *i, bool f32) {
    static const char *const moves[] = {"vextract", "vinsert", "vpextr",  "vpinsr",
                                        "vmovlp",   "vmovhp",  "vunpckl", "vunpckh"};
    if (starts(i->name, "call"))
        return "a call";
    if (starts(i->name, "vgather") || starts(i->name, "vscatter") || starts(i->name, "vpgather"))
        return "gathers";
    for (size_t k = 0; k < sizeof moves / sizeof *moves; k++)
        if (starts(i->name, moves[k]))
            return "moves single lanes";
    if ((ends(i->name, "sd") || ends(i->name, "ss")) && !starts(i->name, "vbroadcast"))
        return "is scalar";
    if (f32 && (ends(i->name, "pd") || ends(i->name, "sd") || strstr(i->name, "2pd")) &&
        !starts(i->name, "vmov")) // bits that are moved have no type
        return "is double precision";
    return NULL;
}

static char *disassemble(struct rig *rig) {
    shoal_solver *s = rig->solver;
    char *source = rig_source(rig);
    struct shoal_kernel_text k = {.text = source, .length = strlen(source)};
    struct shoal_bytes bytes = {0};
    rig_need(rig, s->backend->build(s->device, &k, NULL, &bytes, log_report(rig->log)), "build");
    const char *path = check_path("kernel.so");
    FILE *f = fopen(path, "wb");
    REQUIRE(f && fwrite(bytes.data, 1, bytes.length, f) == bytes.length && fclose(f) == 0);
    struct check_output o = RUN("objdump", "-d", "--no-show-raw-insn", path);
    if (o.status != 0)
        check_skip("objdump does not work: %s", o.err);
    free(source);
    free(bytes.data);
    return o.out;
}

static void check_kernel(const char *target, const char *options, bool f32) {
    struct rig rig = rig_new(target, lorenz, options);
    char *text = disassemble(&rig);
    struct code code = read_function(text, "shoal_kernel");
    struct loop loop = hot_loop(&code);
    const char *wide = !strcmp(target, "x86-64-v4") ? "%zmm" : "%ymm";
    unsigned packed = 0;
    for (size_t i = loop.first; i <= loop.last; i++) {
        const struct instruction *x = &code.items[i];
        packed += is_fma(x) && ends(x->name, f32 ? "ps" : "pd") && strstr(x->operands, wide);
        const char *why = objection(x, f32);
        if (why)
            check_fail(__FILE__, __LINE__, "%s %s: %lx: %s %s: %s", target, options, x->address,
                       x->name, x->operands, why);
    }
    CHECK_MSG(loop.fmas >= 30 && packed == loop.fmas,
              "%s %s: %u of %u fused multiply-adds are packed", target, options, packed, loop.fmas);
    CHECK_MSG(loop.last - loop.first < 16 * (size_t)loop.fmas, "a loop of %zu instructions",
              loop.last - loop.first);
    free(code.items);
    free(text);
    rig_free(&rig);
}

static void check_target(const char *target) {
    if (!rig_has_target(target))
        check_skip("this CPU is no %s", target);
    if (RUN("objdump", "--version").status != 0 || RUN("gcc", "--version").status != 0)
        check_skip("no objdump, or no gcc");
    setenv("SHOAL_CC", "gcc", 1); // others lay out their loops differently
    check_kernel(target, "method=tsit5 t1=1", false);
    check_kernel(target, "method=rk4 dt=0.01 t1=1", false);
    check_kernel(target, "method=tsit5 t1=1 precision=f32", true);
    check_kernel(target, "method=rk4 dt=0.01 t1=1 precision=f32", true);
}

TEST(machine_code_v4) { check_target("x86-64-v4"); }
TEST(machine_code_v3) { check_target("x86-64-v3"); }

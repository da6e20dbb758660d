// SPDX-License-Identifier: MIT
// Texts of pipelines: what is refused, where and why; what plans come to.
#include "check.h"
#include "grid/codegen.h"
#include "grid/plan.h"

static struct grid_plan *parse(const char *text, struct report *r) {
    return grid_parse("pipeline", text, strlen(text), r);
}

TEST(grid_text_errors) {
    static const struct {
        const char *text, *where, *says;
    } wrong[] = {
        {"rot9", ":1:1:", "did you mean `rot90`?"},
        {"in |\n  flipp", ":2:3:", "did you mean `flip`? (in stage 2)"},
        {"", ":1:1:", "the text ends"},
        {"in +", ":1:5:", "the text ends"},
        {"in ? 2", ":1:4:", "begins nothing"},
        {"1 < 2 < 3", ":1:7:", "do not chain"},
        {"rot90(1,2)", ":1:1:", "`rot90` takes no arguments but its grid, not 2 arguments"},
        {"select(in,in)", ":1:1:", "three arguments"},
        {"min(1,2,3)", ":1:1:", "up to two arguments"},
        {"rot90(5)", ":1:1:", "needs a grid here"},
        {"crop(in,0,0)", ":1:1:", "`bbox`"},
        {"crop(in)", ":1:6:", "or a `bbox`"},
        {"shift(in>1,0)", ":1:7:", "one number a grid"},
        {"bbox(v) + 1", ":1:9:", "a result by itself"},
        {"rot90(zero)", ":1:7:", "takes no border"},
        {"shift(1,1,wrap,edge)", ":1:16:", "there is one already"},
        {"step(3)", ":1:1:", "needs a rule"},
        {"step(B9/S23,1)", ":1:6:", "B3/S23"},
        {"crop(0,0,0,1)", ":1:1:", "leaves no cells"},
        {"crop(-1,0,1,1)", ":1:1:", "outside of every grid"},
        {"upscale(2000)", ":1:1:", "above 1024"},
        {"crop(0,0,2,2) + crop(0,0,2,3)", ":1:15:", "never have the same shape"},
        {"2147483648", ":1:1:", "too large"},
        {"99999999999999999999", ":1:1:", "above 2147483648"},
        {"in = 3; in", ":1:1:", "a word of the language"},
        {"rot90 = in; in", ":1:1:", "a word of the language"},
        {"a = in; b = a | rot9; b", ":1:17:", "(in stage 2 of `b`)"},
        {"a = in", ":1:7:", "`;` is missing"},
        {"in)", ":1:3:", "there is no `(`"},
        {"(in", ":1:4:", "`)` is missing"},
        {"Rot90", ":1:1:", "begins nothing"},
        {"roT90", ":1:3:", "lower case"},
        {"12a", ":1:3:", "ends with its digits"},
        {"in(3)", ":1:1:", "takes no arguments"},
        {"histogram(5, in)", ":1:1:", "needs a grid here"},
        {"max(in)|rot90", ":1:9:", "needs a grid here"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct report r = {0};
        struct grid_plan *p = parse(wrong[i].text, &r);
        CHECK_MSG(!p && r.errors == 1, "`%s` is taken", wrong[i].text);
        if (r.messages.count) {
            CHECK_HAS(r.messages.items[0].text, wrong[i].where);
            CHECK_HAS(r.messages.items[0].text, wrong[i].says);
            CHECK_HAS(r.messages.items[0].text, "^");
        }
        grid_plan_free(p);
        report_free(&r);
    }
}

TEST(grid_text_nests_only_so_deep) {
    char *text = calloc(1, 40000);
    struct report r = {0};
    memset(text, '(', 5000);
    CHECK(!parse(text, &r) && r.errors == 1);
    report_free(&r);
    memset(text, '-', 30000); // which is not nested
    strcpy(text + 30000, "3");
    struct grid_plan *p = parse(text, NULL);
    CHECK(p);
    grid_plan_free(p);
    free(text);
}

// A kernel that is one pass: passes over cells of a text.
static uint32_t passes(const char *text, bool device, bool *vectors) {
    const struct shoal_target target = {.name = "x",
                                        .prelude = device ? "prelude_opencl.h" : "prelude_c.h",
                                        .device = device,
                                        .lanes64 = 4};
    const struct grid_target t = {&target, GRID_U8, GRID_U8};
    const struct grid_plan *p = parse(text, NULL);
    struct kernel_source source = {0};
    struct grid_code code;
    REQUIRE(p);
    CHECK(grid_codegen(&p, 1, &t, &code, &source));
    *vectors = code.vectors;
    kernel_source_free(&source);
    grid_plan_free((struct grid_plan *)(uintptr_t)p);
    return code.passes;
}

TEST(grid_text_is_one_pass) {
    static const char *const texts[] = {"rot90 | mask(v>5) | flip_h", "rot90(in) + (in>5)",
                                        "rot90(in)*(in>0) + (nsum4(in)>0)",
                                        "pad(1,7) | tile(2,2) | crop(1,1,3,3) | shift(1,0,wrap)"};
    bool vectors;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_INT(passes(texts[i], true, &vectors), 1);
        CHECK(!vectors);
        CHECK_INT(passes(texts[i], false, &vectors), 1);
        CHECK_INT(vectors, i < 3);
    }
    CHECK_INT(passes("in - min", true, &vectors), 2);
    CHECK(passes("nsum8 | nsum8 | nsum8 | nsum8", true, &vectors) > 1);
}

// Constants and rules are arguments: the text of a kernel is the same for others.
TEST(grid_text_constants_are_arguments) {
    static const char *const pairs[][2] = {{"mask(v>5)", "mask(v>7)"},
                                           {"step(B3/S23,10)", "step(B36/S23,99)"},
                                           {"crop(3,4,5,6)", "crop(4,3,7,8)"}};
    const struct shoal_target target = {.name = "x", .prelude = "prelude_cuda.h", .device = true};
    const struct grid_target t = {&target, GRID_I32, GRID_I32};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct kernel_source source[2] = {0};
        for (int k = 0; k < 2; k++) {
            const struct grid_plan *p = parse(pairs[i][k], NULL);
            struct grid_code code;
            REQUIRE(p && grid_codegen(&p, 1, &t, &code, &source[k]));
            grid_plan_free((struct grid_plan *)(uintptr_t)p);
        }
        CHECK_STR(source[0].text.data, source[1].text.data);
        kernel_source_free(&source[0]);
        kernel_source_free(&source[1]);
    }
}

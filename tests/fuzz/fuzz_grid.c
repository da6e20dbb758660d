// SPDX-License-Identifier: MIT
// libFuzzer target: arbitrary bytes as a pipeline. What is taken is run by stages on a small grid,
// and its kernel is written; neither may fail but for lack of memory.
#include "grid/codegen.h"
#include "grid/stages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(const struct grid_plan *plan) {
    static const unsigned char cells[] = {0, 1, 2, 3, 4, 5};
    const struct stages_in in = {cells, GRID_U8, 2, 3};
    struct stages *s = stages_new(plan);
    struct stages_out out;
    int32_t *result = malloc((size_t)GRID_SIDE_MOST * GRID_SIDE_MOST * sizeof *result);
    // Generations without end are no fault.
    bool steps = false;
    for (uint32_t i = 0; i < plan->nodes.count; i++)
        steps |= grid_at(plan, i)->op == GRID_STEP;
    if (s && result && !steps && stages_run(s, &in, false, NULL, &out) && !out.status)
        stages_store(s, GRID_I32, result);
    free(result);
    stages_free(s);
}

static void write_kernel(const struct grid_plan *plan) {
    const struct shoal_target targets[] = {
        {.name = "x86-64-v3", .prelude = "prelude_c.h", .lanes64 = 4},
        {.name = "sm_90", .prelude = "prelude_cuda.h", .device = true, .lanes64 = 1}};
    for (int i = 0; i < 2; i++) {
        struct kernel_source source = {0};
        struct grid_code code;
        const struct grid_target t = {&targets[i], GRID_U8, GRID_I32};
        grid_codegen(&plan, 1, &t, &code, &source);
        kernel_source_free(&source);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct report r = {0};
    struct grid_plan *plan = grid_parse("fuzz", (const char *)data, size, &r);
    if (!plan && !r.errors)
        abort(); // refused without a word
    if (plan && plan->nodes.count < 200)
        run(plan);
    if (plan)
        write_kernel(plan);
    grid_plan_free(plan);
    report_free(&r);
    return 0;
}

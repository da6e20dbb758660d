// SPDX-License-Identifier: MIT
// The axes of variants, as numbers and as words.
#include "ode/codegen/variant.h"

#include <stdio.h>
#include <string.h>

// Values go from 1 to `most`; words name them, without words they are numbers.
static const struct {
    const char *name;
    uint8_t most;
    const char *word[VARIANT_VALUES];
} axes[VARIANT_AXES] = {
    [VARIANT_WAYS] = {"ways", 4, {0}},
    [VARIANT_STATES] = {"states", VARIANT_LOOPS, {"written-out", "loops"}},
    [VARIANT_STAGES] = {"stages", VARIANT_LOOPS, {"written-out", "loops"}},
    [VARIANT_REGISTERS] = {"registers", 4, {"168", "128", "96", "64"}},
};

const uint8_t variant_blocks[VARIANT_VALUES + 1] = {0, 3, 4, 5, 8}; // of 65,536 registers

enum { AXIS_BITS = 4 };

bool variant_is_default(const struct kernel_variant *v) { return variant_pack(v) == 0; }

uint32_t variant_pack(const struct kernel_variant *v) {
    uint32_t packed = 0;
    for (int i = 0; i < VARIANT_AXES; i++)
        packed |= (uint32_t)v->value[i] << (i * AXIS_BITS);
    return packed;
}

bool variant_unpack(uint32_t packed, struct kernel_variant *out) {
    struct kernel_variant v = {{0}};
    *out = v;
    for (int i = 0; i < VARIANT_AXES; i++) {
        v.value[i] = (uint8_t)(packed >> (i * AXIS_BITS) & ((1u << AXIS_BITS) - 1));
        if (v.value[i] > axes[i].most)
            return false;
    }
    if (variant_pack(&v) != packed)
        return false;
    *out = v;
    return true;
}

void variant_text(const struct kernel_variant *v, char text[VARIANT_TEXT]) {
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < VARIANT_AXES; i++) {
        uint8_t value = v->value[i];
        if (!value || value > axes[i].most)
            continue;
        const char *word = axes[i].word[value - 1], *blank = at ? " " : "";
        at += (size_t)(word ? snprintf(text + at, VARIANT_TEXT - at, "%s%s=%s", blank, axes[i].name,
                                       word)
                            : snprintf(text + at, VARIANT_TEXT - at, "%s%s=%u", blank, axes[i].name,
                                       value));
        if (at >= VARIANT_TEXT)
            return;
    }
}

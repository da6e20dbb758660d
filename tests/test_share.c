// SPDX-License-Identifier: MIT
// How rows are shared out: blocks of a CPU's workers, refill of devices.
#include "check.h"

#include "dispatch/share.h"

TEST(share_blocks) {
    static const struct {
        uint32_t rows, threads;
        unsigned block;
    } table[] = {{0, 4, 8},     {1, 4, 8},         {100, 0, 12},          {1000, 1, 125},
                 {1000, 4, 31}, {1000000, 4, 256}, {8 * 256 * 2, 2, 256}, {UINT32_MAX, 64, 256},
                 {20, 1000, 8}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct shoal_head head = {.base = 7, .rows = table[i].rows};
        share_rows(&head, &(struct share){.threads = table[i].threads});
        CHECK_INT(head.block, table[i].block);
        CHECK_INT(head.refill, 0);
        CHECK(head.base == 7 && head.rows == table[i].rows);
    }
}

TEST(share_refill) {
    static const struct {
        bool wanted;
        size_t workspace;
        uint32_t resident, rows;
        unsigned refill;
    } table[] = {{true, 0, 0, 1, 1},     {false, 0, 0, 1, 0},     {true, 0, 128, 128, 0},
                 {true, 0, 128, 129, 1}, {false, 8, 128, 129, 1}, {false, 8, 128, 128, 0},
                 {false, 0, 128, 129, 0}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct shoal_head head = {.rows = table[i].rows, .refill = 9};
        share_rows(&head, &(struct share){.refill = table[i].wanted,
                                          .workspace = table[i].workspace,
                                          .resident = table[i].resident,
                                          .threads = 1});
        CHECK_INT(head.refill, table[i].refill);
    }
}

// SPDX-License-Identifier: MIT
// What a block of a device does with a grid as a whole (kernels/grid/room.h), by threads of the
// host that run side by side, against what one thread does (whole.h).
#include "check.h"
#include "grid/cell.h"

#include <pthread.h>
#include <string.h>

typedef unsigned u32;
typedef unsigned long long u64;
#define LOCAL
#define NOINLINE static
#define THREADS 1
#define ROLL
#define IN_T int
#define OUT_T int
#define stop_asked(stop) ((stop) && *(stop))
#include "../kernels/grid/bits.h"
#include "../kernels/grid/row.h"
#include "../kernels/grid/whole.h"

// ---- A block ------------------------------------------------------------------------------------

static pthread_barrier_t barrier;
#define block_barrier() pthread_barrier_wait(&barrier)
#define warp_leads() 1
#define warp_add(v) (v)
#define warp_min(v) (v)
#define warp_max(v) (v)

static int atomic_add(int *at, int v) { return __atomic_fetch_add(at, v, __ATOMIC_RELAXED); }
static int atomic_min(int *at, int v) {
    int was = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (v < was &&
           !__atomic_compare_exchange_n(at, &was, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return was;
}
static int atomic_max(int *at, int v) {
    int was = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (v > was &&
           !__atomic_compare_exchange_n(at, &was, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return was;
}
#include "../kernels/grid/block.h"
#define ROOM
#define IN_ROOM(name) name##_block
#include "../kernels/grid/room.h"

// ---- One grid by both ---------------------------------------------------------------------------

enum { CELLS_MOST = 64 * 70, TEAM_MOST = 8, STEPS = 3, RULE = 1 << 3 | 1 << 11 | 1 << 12 };
enum { ROOM_CELLS = GRID_STEP_CELLS(64, 70) > CELLS_MOST ? GRID_STEP_CELLS(64, 70) : CELLS_MOST };

enum work { LABEL4, LABEL8, SIZE4, SIZE8, FLOOD, STEP, HISTOGRAM, MOST, LEAST, FOLDS, WORKS };
static const char *const works[] = {"label4", "label8",    "size4",       "size8",        "flood",
                                    "step",   "histogram", "most_common", "least_common", "folds"};

static struct job {
    enum work work;
    int h, w, team, border;
    _Alignas(64) int cells[ROOM_CELLS], room[ROOM_CELLS];
    int out[CELLS_MOST], words[GRID_WORDS];
    int number[TEAM_MOST]; // that each thread has in the end
} job;
static int in[CELLS_MOST];

static int by_block(struct grid_row *g) {
    struct job *j = &job;
    int n = j->h * j->w, top = j->h, left = j->w, bottom = -1, right = -1;
    switch (j->work) {
    case LABEL4:
    case LABEL8:
        block_label_block(g, j->cells, j->room, j->out, j->h, j->w, j->work == LABEL8);
        return 0;
    case SIZE4:
    case SIZE8:
        block_size_block(g, j->cells, j->room, j->out, j->h, j->w, j->work == SIZE8);
        return 0;
    case FLOOD:
        block_flood_block(g, j->cells, j->room, j->out, j->h, j->w, j->h / 2, j->w / 2);
        return 0;
    case STEP:
        block_step_block(g, j->cells, j->room, j->out, j->h, j->w, RULE, STEPS, j->border, NULL);
        return 0;
    case HISTOGRAM:
        block_histogram_block(g, j->cells, j->room, j->out, n, j->w);
        return 0;
    case FOLDS:
        for (int i = g->first; i < n; i += g->team)
            if (in[i]) {
                top = c_least(top, i / j->w);
                left = c_least(left, i % j->w);
                bottom = c_most(bottom, i / j->w);
                right = c_most(right, i % j->w);
            }
        team_box(g, &top, &left, &bottom, &right);
        return team_add(g, g->first == 0 ? top + 64 * left : 0) + team_most(g, bottom) +
               team_least(g, right);
    default:
        return block_common_block(g, j->cells, j->room, n, j->work == MOST ? 1 : -1);
    }
}

// Twice, so that whatever the first has left is there for the second.
static void *run_thread(void *number) {
    struct grid_row g = {.first = (int)(uintptr_t)number, .team = job.team, .words = job.words};
    for (int k = 0; k < 2; k++) {
        for (int i = g.first; i < job.h * job.w; i += g.team)
            job.cells[i] = in[i];
        job.number[g.first] = by_block(&g);
    }
    return NULL;
}

static int by_one(int *out) {
    static _Alignas(64) int room[ROOM_CELLS];
    int h = job.h, w = job.w, top = h, left = w, bottom = -1, right = -1;
    switch (job.work) {
    case LABEL4:
    case LABEL8:
        whole_label(in, room, out, h, w, job.work == LABEL8);
        return 0;
    case SIZE4:
    case SIZE8:
        whole_size(in, room, out, h, w, job.work == SIZE8);
        return 0;
    case FLOOD:
        whole_flood(in, room, out, h, w, h / 2, w / 2);
        return 0;
    case STEP:
        whole_step(in, room, out, h, w, RULE, STEPS, job.border, NULL);
        return 0;
    case HISTOGRAM:
        whole_histogram(in, out, h * w, w);
        return 0;
    case FOLDS:
        for (int i = 0; i < h * w; i++)
            if (in[i]) {
                top = i / w < top ? i / w : top;
                left = i % w < left ? i % w : left;
                bottom = i / w;
                right = i % w > right ? i % w : right;
            }
        return top + 64 * left + bottom + right;
    default:
        return whole_common(in, room, h * w, job.work == MOST ? 1 : -1);
    }
}

static void compare(enum work work, int h, int w, int team, const char *what) {
    static int want[CELLS_MOST];
    pthread_t thread[TEAM_MOST];
    job.work = work;
    job.h = h;
    job.w = w;
    job.team = team;
    job.border = (h + w) % 3;
    pthread_barrier_init(&barrier, NULL, (unsigned)team);
    for (int i = 0; i < team; i++)
        REQUIRE(!pthread_create(&thread[i], NULL, run_thread, (void *)(uintptr_t)i));
    for (int i = 0; i < team; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);
    int number = by_one(want), cells = work >= MOST ? 0 : work == HISTOGRAM ? w : h * w;
    for (int i = 0; i < team; i++)
        CHECK_MSG(job.number[i] == number, "%s of %s, %d by %d, team of %d: %d is %d, not %d",
                  works[work], what, h, w, team, i, job.number[i], number);
    for (int i = 0; i < cells; i++)
        if (job.out[i] != want[i]) {
            check_fail(__FILE__, __LINE__, "%s of %s, %d by %d, team of %d: cell %d is %d, not %d",
                       works[work], what, h, w, team, i, job.out[i], want[i]);
            return;
        }
}

// ---- Grids --------------------------------------------------------------------------------------

enum kind { ALL_ALIKE, FEW, MANY, ANY, SNAKE, BOARD, ZEROS, KINDS };
static const char *const kinds[] = {"ones",    "few values", "many values", "any values",
                                    "a snake", "a board",    "zeros"};

static int cell_of(enum kind kind, int r, int c, int w, uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    uint32_t random = (uint32_t)(*seed >> 32);
    switch (kind) {
    case ALL_ALIKE:
        return 1;
    case FEW:
        return (int)(random % 3);
    case MANY:
        return (int)(random % 50) - 20;
    case ANY:
        return random % 4 ? (int)random : INT32_MIN;
    case SNAKE: // one way through all rows, from side to side
        return r % 2 == 0 || c == (r % 4 == 1 ? w - 1 : 0);
    case BOARD:
        return (r + c) % 2;
    default:
        return 0;
    }
}

TEST(grid_block_by_threads) {
    static const int shapes[][3] = {{1, 1, 4},  {1, 9, 2},   {9, 1, 4},  {3, 2, 8},
                                    {5, 17, 1}, {13, 11, 4}, {64, 70, 4}};
    uint64_t seed = 5;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (enum kind kind = 0; kind < KINDS; kind++) {
            int h = shapes[s][0], w = shapes[s][1];
            for (int i = 0; i < h * w; i++)
                in[i] = cell_of(kind, i / w, i % w, w, &seed);
            for (enum work work = 0; work < WORKS; work++)
                compare(work, h, w, shapes[s][2], kinds[kind]);
        }
}

// In the last pass a thread writes its own cells alone: one that also shortened a way it comes
// along could put back an older pointer where another thread has already written the root.
TEST(grid_block_ends_leave_ways_alone) {
    int room[] = {0, 0, 1, 2, 3, 4}, before[6];
    memcpy(before, room, sizeof room);
    for (int i = 0; i < 6; i++)
        CHECK_INT(forest_end_block(room, i), 0);
    CHECK(!memcmp(room, before, sizeof room));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of spatial gradients on the CPU: `gather` gives the bits of a plain loop in every order of blocks
 * and threads, `atomic` gives exact sums in every order, and sums that round in the order that a seed names.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "probes/kit/kernel.h"
#include "suite/tests/emulation/emulation.h"

#include "probes/cuda/resample.cu"

enum { N = 2, C = 3, SIDE = 8, OUT = 24, BLOCKS = 6, THREADS = 64, MOST = N * C * OUT * OUT };

static const char *const orders[] = {"order=fixed", "order=seeded", "order=seeded,seed=7", "order=race"};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static void set(const char *words)
{
    setenv("DETPROBE_EMULATE", words, 1);
}

/* Exponents spread and signs mixed; or small integers, whose sums need no rounding. */
static void fill(float *values, int count, bool exact)
{
    for (int i = 0; i < count; i++) {
        const u32 bits = (u32)(i + 1) * 2654435761u;
        values[i] = exact ? (float)(bits >> 16) / 8192 - 4
                          : float_of_bits((bits & 0x807fffffu) | (127u - 8 + (bits >> 8) % 16) << 23);
        values[i] = exact ? truncf(values[i]) : values[i];
    }
}

/* Places of every kind from SIDE x SIDE cells; weights are halves, quarters and eighths. */
static const struct place {
    const char *name;
    struct resample_axis axis;
} places[] = {
    {"centres",
     {.kind = RESAMPLE_LINEAR,
      .start = SIDE - 16,
      .step = 2 * SIDE,
      .of = 32,
      .ratio = 1,
      .cells = SIDE,
      .samples = 16}},
    {"corners", {.kind = RESAMPLE_LINEAR, .step = 7, .of = 14, .ratio = 1, .cells = SIDE, .samples = 15}},
    {"means",
     {.kind = RESAMPLE_LINEAR,
      .start = SIDE - 16,
      .step = 2 * SIDE,
      .of = 32,
      .ratio = 2,
      .cells = SIDE,
      .samples = 16}},
    {"reflect", {.kind = RESAMPLE_REFLECT, .pad = 7, .of = 1, .ratio = 1, .cells = SIDE, .samples = 22}},
    {"replicate", {.kind = RESAMPLE_REPLICATE, .pad = 8, .of = 1, .ratio = 1, .cells = SIDE, .samples = 24}},
    {"windows", {.kind = RESAMPLE_WINDOW, .of = 1, .ratio = 1, .cells = SIDE, .samples = 13}},
};
#define PLACES (sizeof(places) / sizeof(places[0]))

/* What share of a sample goes to a cell, said in another way than the kernels say it. */
static float share(const struct resample_axis *axis, int sample, int cell)
{
    const int last = axis->cells - 1, at = sample - axis->pad;
    if (axis->kind == RESAMPLE_LINEAR) {
        const float place = (float)(axis->start + sample * axis->step) / (float)axis->of;
        const float held = place < 0 ? 0 : place > (float)last ? (float)last : place;
        return fmaxf(1 - fabsf(held - (float)cell), 0) / (float)axis->ratio;
    }
    if (axis->kind == RESAMPLE_WINDOW) {
        const int from = sample * axis->cells / axis->samples;
        const int to = ((sample + 1) * axis->cells + axis->samples - 1) / axis->samples;
        return cell >= from && cell < to ? 1.0f / (float)(to - from) : 0;
    }
    if (axis->kind == RESAMPLE_REPLICATE) {
        return cell == (at < 0 ? 0 : at > last ? last : at);
    }
    return cell == (at < 0 ? -at : at > last ? 2 * last - at : at);
}

static struct resample_args arguments(const struct resample_axis *axis, const void *dy, void *dx, bool last)
{
    return (struct resample_args){.dy = dy,
                                  .dx = dx,
                                  .type = KERNEL_F32,
                                  .images = N,
                                  .regions = N,
                                  .channels = C,
                                  .rows = *axis,
                                  .columns = *axis,
                                  .last = last};
}

/* The plain loop: cells one after the other, samples in order. */
static void expect(const struct resample_args *args, float *ret)
{
    const struct resample_axis *const axis = &args->rows;
    const int outputs = axis->samples / axis->ratio;
    const float *const dy = args->dy;
    for (int i = 0; i < N * C * SIDE * SIDE; i++) {
        const int x = args->last ? i / C % SIDE : i % SIDE,
                  y = args->last ? i / C / SIDE % SIDE : i / SIDE % SIDE;
        const int image = i / (C * SIDE * SIDE), channel = args->last ? i % C : i / (SIDE * SIDE) % C;
        ret[i] = 0;
        for (int s = 0; s < axis->samples; s++) {
            for (int t = 0; t < axis->samples; t++) {
                const float weight = share(axis, s, y) * share(axis, t, x);
                const int pixel = s / axis->ratio * outputs + t / axis->ratio;
                const int plain = (image * C + channel) * outputs * outputs + pixel;
                const int from = args->last ? (image * outputs * outputs + pixel) * C + channel : plain;
                ret[i] += weight != 0 ? dy[from] * weight : 0;
            }
        }
    }
}

static void test_gather(void **state)
{
    static float dy[MOST], dx[N * C * SIDE * SIDE], wanted[N * C * SIDE * SIDE];
    fill(dy, MOST, false);
    for (size_t p = 0; p < PLACES; p++) {
        for (int last = 0; last < 2; last++) {
            const struct resample_args args = arguments(&places[p].axis, dy, dx, last);
            expect(&args, wanted);
            for (size_t o = 0; o < ORDERS; o++) {
                set(orders[o]);
                memset(dx, 0xff, sizeof(dx));
                emulate_launch(kit_twin_resample_gather_single, BLOCKS, THREADS, &args);
                if (memcmp(dx, wanted, sizeof(dx)) != 0) {
                    fail_msg("%s, channels %s, %s", places[p].name, last ? "last" : "first", orders[o]);
                }
            }
        }
    }
}

static void test_atomic_of_exact_values(void **state)
{
    static float dy[MOST], dx[N * C * SIDE * SIDE], wanted[N * C * SIDE * SIDE];
    fill(dy, MOST, true);
    for (size_t p = 0; p < PLACES; p++) {
        const struct resample_args args = arguments(&places[p].axis, dy, dx, p % 2);
        expect(&args, wanted);
        for (size_t o = 0; o < ORDERS; o++) {
            set(orders[o]);
            memset(dx, 0, sizeof(dx));
            emulate_launch(kit_twin_resample_atomic_single, BLOCKS, THREADS, &args);
            for (int i = 0; i < N * C * SIDE * SIDE; i++) {
                assert_true(dx[i] == wanted[i]); /* as values: a sum of nothing but -0 begins at +0 */
            }
        }
    }
}

/* Half floats and doubles take the same way: exact sums in them, too. */
static void test_types(void **state)
{
    enum { CELLS = N * 4 * SIDE * SIDE, OUTPUTS = N * 4 * 15 * 15 };
    static float values[OUTPUTS], single[CELLS];
    static double wide[OUTPUTS], wide_dx[CELLS];
    static f16 half[OUTPUTS], half_dx[CELLS], pairs_dx[CELLS];
    fill(values, OUTPUTS, true);
    for (int i = 0; i < OUTPUTS; i++) {
        wide[i] = values[i];
        half[i] = f16_of_float(values[i]);
    }
    struct resample_args args = arguments(&places[1].axis, values, single, true);
    args.channels = 4;
    set("order=race");
    memset(single, 0, sizeof(single));
    emulate_launch(kit_twin_resample_atomic_single, BLOCKS, THREADS, &args);
    args.dy = wide;
    args.dx = wide_dx;
    emulate_launch(kit_twin_resample_gather_double, BLOCKS, THREADS, &args);
    args.dy = half;
    args.type = KERNEL_F16;
    args.dx = half_dx;
    emulate_launch(kit_twin_resample_gather_single, BLOCKS, THREADS, &args);
    args.dx = pairs_dx;
    emulate_launch(kit_twin_resample_atomic_packed, BLOCKS, THREADS, &args);
    for (int i = 0; i < CELLS; i++) {
        assert_true(wide_dx[i] == (double)single[i]);
        assert_true(float_of_f16(half_dx[i]) == single[i]);
        assert_true(float_of_f16(pairs_dx[i]) == single[i]);
    }
}

/* Two boxes: one over the whole of its image, whose samples lie as those of a resize, and one that is moved.
 */
static void test_boxes(void **state)
{
    static float dy[MOST], dx[N * C * SIDE * SIDE], wanted[N * C * SIDE * SIDE];
    static const i32 whole[N * 4] = {0, 0, 0, 0, 0, 0, 0, 0}, moved[N * 4] = {4, 0, 0, 0, 4, 0, 0, 0};
    struct resample_args plain = arguments(&places[0].axis, dy, wanted, false);
    struct resample_args boxed = arguments(&places[0].axis, dy, dx, false);
    boxed.box_unit = 1; /* in cells: of = 2 * samples */
    boxed.box_least = SIDE;
    fill(dy, MOST, false);
    set("order=seeded");
    emulate_launch(kit_twin_resample_gather_single, BLOCKS, THREADS, &plain);
    boxed.boxes = whole;
    emulate_launch(kit_twin_resample_gather_single, BLOCKS, THREADS, &boxed);
    assert_memory_equal(dx, wanted, sizeof(dx));
    boxed.boxes = moved;
    emulate_launch(kit_twin_resample_gather_single, BLOCKS, THREADS, &boxed);
    for (int i = 0; i < N * C * SIDE * SIDE; i++) {
        const int x = i % SIDE;
        if (x < 3) {
            assert_true(dx[i] ==
                        0); /* the box begins four cells to the right, half a cell before its centre */
        } else if (x > 4 && x < SIDE - 1) {
            assert_memory_equal(&dx[i], &wanted[i - 4], sizeof(dx[i]));
        }
    }
}

static void test_points(void **state)
{
    enum { POINTS = 100, UNIT = 4, CELLS = N * C * SIDE * SIDE };
    static float dy[N * C * POINTS], x[CELLS], dx[CELLS], wanted[CELLS], dgrid[N * POINTS * 2];
    static i32 grid[N * POINTS * 2];
    fill(dy, N * C * POINTS, false);
    fill(x, CELLS, true);
    for (int i = 0; i < N * POINTS * 2; i++) {
        grid[i] = (i32)((u32)(i + 1) * 2654435761u >> 8) % (UNIT * (SIDE - 1));
    }
    struct sample_args args = {dy, x, grid, dx, KERNEL_F32, N, C, SIDE, SIDE, POINTS, UNIT};
    for (int i = 0; i < CELLS; i++) {
        wanted[i] = 0;
        for (int p = 0; p < POINTS; p++) {
            const i32 *const at = grid + 2 * (i / SIDE / SIDE / C * POINTS + p);
            const float right = fabsf((float)at[0] / UNIT - (float)(i % SIDE));
            const float down = fabsf((float)at[1] / UNIT - (float)(i / SIDE % SIDE));
            wanted[i] +=
                right < 1 && down < 1 ? dy[i / SIDE / SIDE * POINTS + p] * ((1 - right) * (1 - down)) : 0;
        }
    }
    for (size_t o = 0; o < ORDERS; o++) {
        set(orders[o]);
        emulate_launch(kit_twin_sample_gather_single, BLOCKS, THREADS, &args);
        assert_memory_equal(dx, wanted, sizeof(dx));
    }
    /* a plane that rises by 1 to the right and 2 downwards: so do the points, whatever the weights */
    for (int i = 0; i < CELLS; i++) {
        x[i] = (float)(i % SIDE + 2 * (i / SIDE % SIDE));
    }
    fill(dy, N * C * POINTS, true);
    args.result = dgrid;
    for (size_t o = 0; o < ORDERS; o++) {
        set(orders[o]);
        memset(dgrid, 0, sizeof(dgrid));
        emulate_launch(o % 2 ? kit_twin_sample_grid_atomic_single : kit_twin_sample_grid_gather_single,
                       BLOCKS, THREADS, &args);
        for (int i = 0; i < N * POINTS; i++) {
            const float *const first = dy + i / POINTS * C * POINTS + i % POINTS;
            const float sum = first[0] + first[POINTS] + first[2 * POINTS];
            assert_true(dgrid[2 * i] == sum && dgrid[2 * i + 1] == 2 * sum);
        }
    }
}

/* Windows of 3 at stride 1: the winner is the first of the largest, and gets the gradients in order. */
static void test_pool(void **state)
{
    enum { CELLS = N * C * SIDE * SIDE };
    static float x[CELLS], dy[CELLS], dx[CELLS], wanted[CELLS];
    static i32 winners[CELLS];
    fill(x, CELLS, true); /* few distinct values: maxima tie */
    fill(dy, CELLS, false);
    memset(wanted, 0, sizeof(wanted));
    for (int i = 0; i < CELLS; i++) {
        const int row = i / SIDE % SIDE, column = i % SIDE, plane = i - i % (SIDE * SIDE);
        int best = -1;
        for (int cell = 0; cell < SIDE * SIDE; cell++) {
            const bool inside = abs(cell / SIDE - row) <= 1 && abs(cell % SIDE - column) <= 1;
            best = inside && (best < 0 || x[plane + cell] > x[plane + best]) ? cell : best;
        }
        wanted[plane + best] += dy[i];
    }
    const struct pool_args args = {.dy = dy,
                                   .x = x,
                                   .dx = dx,
                                   .winners = winners,
                                   .type = KERNEL_F32,
                                   .planes = N * C,
                                   .height = SIDE,
                                   .width = SIDE,
                                   .out_height = SIDE,
                                   .out_width = SIDE,
                                   .window = 3,
                                   .stride = 1,
                                   .pad = 1};
    for (size_t o = 0; o < ORDERS; o++) {
        set(orders[o]);
        emulate_launch(kit_twin_pool_winners_single, BLOCKS, THREADS, &args);
        emulate_launch(kit_twin_pool_gather_single, BLOCKS, THREADS, &args);
        assert_memory_equal(dx, wanted, sizeof(dx));
    }
}

/* In how many of some launches a cell of three addends has each of its two sums; nothing else occurs. */
static void count_sums(int launches, int ret[2])
{
    enum { PLANES = 4, WIDTH = 18, WINDOWS = 8 };
    static float dy[PLANES * WINDOWS * WINDOWS], dx[PLANES * WIDTH * WIDTH];
    static i32 winners[PLANES * WINDOWS * WINDOWS], turns[PLANES * 16];
    const float a = -0.00055786536540836f, b = 0.00075417151674628f, c = -0.00029314149287529f;
    const struct addends_args make = {turns, dy, winners, PLANES, {a, b, c}, 1};
    const struct pool_args args = {.dy = dy,
                                   .dx = dx,
                                   .winners = winners,
                                   .type = KERNEL_F32,
                                   .planes = PLANES,
                                   .height = WIDTH,
                                   .width = WIDTH,
                                   .out_height = WINDOWS,
                                   .out_width = WINDOWS,
                                   .window = 3,
                                   .stride = 2};
    for (int i = 0; i < PLANES * 16; i++) {
        turns[i] = i % 4;
    }
    for (int i = 0; i < launches; i++) {
        memset(dx, 0, sizeof(dx));
        emulate_launch(kit_twin_pool_addends, BLOCKS, THREADS, &make);
        emulate_launch(kit_twin_pool_atomic_single, BLOCKS, THREADS, &args);
        for (int cell = 0; cell < PLANES * 16; cell++) {
            const float sum =
                dx[cell / 16 * WIDTH * WIDTH + (cell / 4 % 4 * 4 + 2) * WIDTH + cell % 4 * 4 + 2];
            const int which = bits_of_float(sum) == 0xb8cb1410u; /* c and a come before b */
            assert_true(which || bits_of_float(sum) == 0xb8cb1414u);
            ret[which]++;
        }
    }
}

static void test_three_addends(void **state)
{
    int seeded[2] = {0}, fixed[2] = {0};
    set("order=seeded");
    count_sums(20, seeded);
    assert_in_range(seeded[0], 1, 20 * 64 - 1); /* both occur */
    set("order=fixed");
    count_sums(20, fixed);
    assert_true(fixed[1] % 20 == 0); /* each cell has one of them */
}

static void add_wide(float *dx)
{
    static float dy[MOST];
    const struct resample_args args = arguments(&places[3].axis, dy, dx, false);
    fill(dy, MOST, false);
    memset(dx, 0, N * C * SIDE * SIDE * sizeof(*dx));
    emulate_launch(kit_twin_resample_atomic_single, BLOCKS, THREADS, &args);
}

static int differing(const char *order, int launches)
{
    static float first[N * C * SIDE * SIDE], dx[N * C * SIDE * SIDE];
    int count = 0;
    set(order);
    add_wide(first);
    for (int i = 0; i < launches; i++) {
        add_wide(dx);
        count += memcmp(dx, first, sizeof(dx)) != 0;
    }
    return count;
}

static void test_orders(void **state)
{
    assert_int_equal(differing("order=fixed", 8), 0);
    assert_int_equal(differing("order=seeded", 8), 8);
    assert_in_range(differing("order=race", 40), 1, 40);
}

/* What a new process gets for a seed, which begins with the same orders. */
static void in_new_process(const char *order, float *ret, size_t size)
{
    int ends[2], status = -1;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        set(order);
        add_wide(ret);
        _exit(write(ends[1], ret, size) == (ssize_t)size ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], ret, size), (ssize_t)size);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_seeds(void **state)
{
    static float one[N * C * SIDE * SIDE], again[N * C * SIDE * SIDE], other[N * C * SIDE * SIDE];
    in_new_process("order=seeded,seed=5", one, sizeof(one));
    in_new_process("order=seeded,seed=5", again, sizeof(again));
    in_new_process("order=seeded,seed=6", other, sizeof(other));
    assert_memory_equal(one, again, sizeof(one));
    assert_memory_not_equal(one, other, sizeof(one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather),        cmocka_unit_test(test_atomic_of_exact_values),
        cmocka_unit_test(test_types),         cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_points),        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_three_addends), cmocka_unit_test(test_orders),
        cmocka_unit_test(test_seeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

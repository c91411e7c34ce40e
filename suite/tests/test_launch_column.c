/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of column sums on the CPU: the fixed forms have the bits of a plain loop in whatever order blocks
 * and threads run, also when they race; atomics give exact sums in any order, and sums that round in several.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probes/kit/kernel.h"
#include "suite/tests/emulation/emulation.h"

#include "probes/cuda/column.cu"

enum { ROWS = 300, COLUMNS = 21, PARTS = 7, THREADS = 64, SIZE = ROWS * COLUMNS, TILES = COLUMNS };

static const char *const orders[] = {"order=fixed", "order=seeded", "order=seeded,seed=7", "order=race"};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static float dy[SIZE], x[SIZE], mean[ROWS], rstd[ROWS];
static float sums[2][COLUMNS], partial[PARTS * 2 * COLUMNS];
static u32 tickets[TILES];

static void set(const char *words)
{
    setenv("DETPROBE_EMULATE", words, 1);
}

/* Exponents spread and signs mixed; or integers from -4 to 3, whose sums of products need no rounding. */
static void fill(float *values, int count, u32 seed, bool exact)
{
    for (int i = 0; i < count; i++) {
        const u32 bits = ((u32)i * 2 + seed) * 2654435761u;
        values[i] = exact ? (float)(bits >> 29) - 4
                          : float_of_bits((bits & 0x807fffffu) | (127u - 8 + (bits >> 8) % 16) << 23);
    }
}

static void fill_all(bool exact)
{
    fill(dy, SIZE, 1, exact);
    fill(x, SIZE, 3, exact);
    fill(mean, ROWS, 5, exact);
    fill(rstd, ROWS, 7, exact);
}

static struct column_args arguments(int form, int width, int inner, bool norm)
{
    return (struct column_args){.dy = dy,
                                .x = norm ? x : NULL,
                                .mean = mean,
                                .rstd = rstd,
                                .result = {sums[0], sums[1]},
                                .partial = partial,
                                .tickets = tickets,
                                .type = KERNEL_F32,
                                .form = form,
                                .rows = ROWS,
                                .columns = COLUMNS,
                                .inner = inner,
                                .parts = PARTS,
                                .width = width};
}

static void launch(const struct column_args *args)
{
    const int tiles = (COLUMNS + args->width - 1) / args->width;
    memset(sums, args->form == COLUMN_ATOMIC ? 0 : 0xff, sizeof(sums));
    memset(partial, 0xff, sizeof(partial));
    memset(tickets, 0, sizeof(tickets));
    emulate_launch(kit_twin_column_sums_single, (unsigned)(tiles * PARTS), THREADS, args);
    if (args->form == COLUMN_TWO_PASS) {
        emulate_launch(kit_twin_column_combine_single, 1, THREADS, args);
    }
}

static float term(const struct column_args *args, int sum, int row, int column)
{
    const int inner = args->inner;
    const int at = inner ? (row / inner * COLUMNS + column) * inner + row % inner : row * COLUMNS + column;
    return sum ? dy[at] * ((x[at] - mean[row]) * rstd[row]) : dy[at];
}

/* The plain loop: in a part, threads take rows in turn and meet as a tree; then the parts in order. */
static float expected(const struct column_args *args, int sum, int column)
{
    const int lanes = THREADS / args->width;
    float total = 0;
    for (int part = 0; part < PARTS; part++) {
        float lane[THREADS] = {0};
        const int from = ROWS * part / PARTS, to = ROWS * (part + 1) / PARTS;
        for (int row = from; row < to; row++) {
            lane[(row - from) % lanes] += term(args, sum, row, column);
        }
        for (int half = lanes / 2; half > 0; half /= 2) {
            for (int i = 0; i < half; i++) {
                lane[i] += lane[i + half];
            }
        }
        total += lane[0];
    }
    return total;
}

static const struct {
    int width, inner;
    bool norm;
} layouts[] = {{8, 0, true}, {32, 0, true}, {64, 0, false}, {1, 30, false}, {1, ROWS, false}, {4, 100, true}};
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

static void check(int form, bool exact)
{
    fill_all(exact);
    for (size_t l = 0; l < LAYOUTS; l++) {
        const struct column_args args = arguments(form, layouts[l].width, layouts[l].inner, layouts[l].norm);
        for (size_t o = 0; o < ORDERS; o++) {
            set(orders[o]);
            launch(&args);
            for (int i = 0; i < (layouts[l].norm ? 2 : 1) * COLUMNS; i++) {
                const float wanted = expected(&args, i / COLUMNS, i % COLUMNS);
                if (sums[i / COLUMNS][i % COLUMNS] != wanted) {
                    fail_msg("layout %zu, %s, sum %d: %a, not %a", l, orders[o], i,
                             (double)sums[i / COLUMNS][i % COLUMNS], (double)wanted);
                }
            }
        }
    }
}

static void test_two_pass(void **state)
{
    check(COLUMN_TWO_PASS, false);
}

static void test_last_block(void **state)
{
    check(COLUMN_LAST_BLOCK, false);
}

static void test_atomics_of_exact_values(void **state)
{
    check(COLUMN_ATOMIC, true);
}

/* Half floats and doubles hold the same small integers. */
static void test_types(void **state)
{
    static f16 half[SIZE], half_x[SIZE];
    static bf16 brain[SIZE], brain_x[SIZE];
    static double wide[SIZE], wide_x[SIZE], wide_mean[ROWS], wide_rstd[ROWS], wide_sums[2][COLUMNS];
    static float wanted[2][COLUMNS];
    fill_all(true);
    set("order=race");
    struct column_args args = arguments(COLUMN_ATOMIC, 32, 0, true);
    launch(&args);
    memcpy(wanted, sums, sizeof(sums));
    for (int i = 0; i < SIZE; i++) {
        half[i] = f16_of_float(dy[i]);
        half_x[i] = f16_of_float(x[i]);
        brain[i] = bf16_of_float(dy[i]);
        brain_x[i] = bf16_of_float(x[i]);
        wide[i] = dy[i];
        wide_x[i] = x[i];
        wide_mean[i % ROWS] = mean[i % ROWS];
        wide_rstd[i % ROWS] = rstd[i % ROWS];
    }
    args.dy = half;
    args.x = half_x;
    args.type = KERNEL_F16;
    launch(&args);
    assert_memory_equal(sums, wanted, sizeof(sums));
    args.dy = brain;
    args.x = brain_x;
    args.type = KERNEL_BF16;
    launch(&args);
    assert_memory_equal(sums, wanted, sizeof(sums));
    args = arguments(COLUMN_ATOMIC, 32, 0, true);
    args.dy = wide;
    args.x = wide_x;
    args.mean = wide_mean;
    args.rstd = wide_rstd;
    args.result[0] = wide_sums[0];
    args.result[1] = wide_sums[1];
    emulate_launch(kit_twin_column_sums_double, PARTS, THREADS, &args);
    for (int i = 0; i < COLUMNS; i++) {
        assert_true(wide_sums[0][i] == (double)wanted[0][i] && wide_sums[1][i] == (double)wanted[1][i]);
    }
}

static int differing(const char *order, int launches)
{
    static float first[2][COLUMNS];
    const struct column_args args = arguments(COLUMN_ATOMIC, 8, 0, true);
    int count = 0;
    set(order);
    launch(&args);
    memcpy(first, sums, sizeof(sums));
    for (int i = 0; i < launches; i++) {
        launch(&args);
        count += memcmp(first, sums, sizeof(sums)) != 0;
    }
    return count;
}

static void test_atomics_in_orders(void **state)
{
    fill_all(false);
    assert_int_equal(differing("order=fixed", 8), 0);
    assert_int_equal(differing("order=seeded", 8), 8);
    assert_in_range(differing("order=race", 40), 1, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_pass),
        cmocka_unit_test(test_last_block),
        cmocka_unit_test(test_atomics_of_exact_values),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_atomics_in_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

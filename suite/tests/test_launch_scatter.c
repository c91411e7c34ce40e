/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of scatter and index operations on the CPU, beside plain loops: what is sorted has the bits of
 * a loop in index order, whatever order threads run in; integers and exact sums have one result in any order;
 * other sums have several; of unordered writes one of those written stays.
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

#include "probes/cuda/scatter.cu"

static const char *const orders[] = {"order=fixed", "order=seeded", "order=seeded,seed=7", "order=race"};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

/* Many items a target; rows of one and of several elements, an index for each element, some skipped. */
static const struct {
    i64 groups, n, rows, width;
    i64 padding;
    bool elementwise, onto;
} shapes[] = {
    {1, 5000, 7, 1, -1, false, false}, {3, 400, 40, 6, -1, false, true}, {2, 300, 11, 10, 3, false, false},
    {2, 400, 9, 4, -1, true, false},   {1, 300, 20, 8, 0, true, true},   {1, 40, 3000, 2, -1, false, true},
    {3, 900, 30, 1, 5, false, false},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))
#define MOST 8192 /* elements of a source or a destination */
#define BYTES (MOST * sizeof(u64))

static i64 indices[MOST];
static void *source, *before, *after, *expected; /* BYTES each, of any type */
static u32 words[4 * MOST + 1];

static void set(const char *order)
{
    setenv("DETPROBE_EMULATE", order, 1);
}

static u32 random_word(void)
{
    static u64 state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (u32)(state >> 32);
}

static struct scatter_args make(size_t shape)
{
    const i64 columns = shapes[shape].elementwise ? shapes[shape].width : 1;
    struct scatter_args args = {.indices = indices,
                                .src = source,
                                .dst = after,
                                .items = shapes[shape].groups * shapes[shape].n * columns,
                                .targets = shapes[shape].groups * shapes[shape].rows * columns,
                                .width = shapes[shape].width / columns,
                                .span = shapes[shape].n * columns,
                                .rows = shapes[shape].rows,
                                .columns = columns,
                                .padding = shapes[shape].padding,
                                .onto = shapes[shape].onto};
    assert_in_range(args.items * args.width, 1, MOST);
    assert_in_range(args.targets * args.width, 1, MOST);
    args.starts = words;
    args.used = args.starts + args.targets + 1;
    args.slots = args.used + args.targets;
    args.order = args.slots + args.items;
    for (i64 i = 0; i < args.items; i++) {
        indices[i] = random_word() % (u32)args.rows;
    }
    return args;
}

/* Where an element of the source goes, or -1: by the words of the operation, not of the kernels. */
static i64 goes_to(size_t shape, i64 element)
{
    const i64 width = shapes[shape].width, row = element / width, column = element % width;
    const i64 index = shapes[shape].elementwise ? indices[element] : indices[row];
    const i64 group = row / shapes[shape].n;
    return index == shapes[shape].padding ? -1 : (group * shapes[shape].rows + index) * width + column;
}

static void launch(emulate_kernel kernel, const struct scatter_args *args)
{
    emulate_launch(kernel, 5, 64, args);
}

static void sort(const struct scatter_args *args)
{
    struct scatter_args count = *args;
    memset(words, 0, (size_t)(2 * args->targets + 1) * sizeof(*words));
    count.dst = args->starts;
    launch(kit_twin_scatter_count_s32, &count);
    emulate_launch(kit_twin_scatter_starts, 1, 256, args);
    launch(kit_twin_scatter_slots, args);
    launch(kit_twin_scatter_ranks, args);
}

/* --- element types: values of spread exponents or small integers, and sums by a plain loop --- */

#define TYPE(name, type, sum_type, load, store)                                                              \
    static void put_##name(void *to, i64 i, double value)                                                    \
    {                                                                                                        \
        ((type *)to)[i] = store((sum_type)value);                                                            \
    }                                                                                                        \
    static void sum_##name(size_t shape, const struct scatter_args *args)                                    \
    {                                                                                                        \
        for (i64 cell = 0; cell < args->targets * args->width; cell++) {                                     \
            sum_type sum = args->onto ? load(((const type *)before)[cell]) : (sum_type)0;                    \
            for (i64 i = 0; i < args->items * args->width; i++) {                                            \
                if (goes_to(shape, i) == cell) {                                                             \
                    sum += load(((const type *)source)[i]);                                                  \
                }                                                                                            \
            }                                                                                                \
            ((type *)expected)[cell] = store(sum);                                                           \
        }                                                                                                    \
    }
TYPE(f32, float, float, (float), (float))
TYPE(f64, double, double, (double), (double))
TYPE(f16, f16, float, float_of_f16, f16_of_float)
TYPE(bf16, bf16, float, float_of_bf16, bf16_of_float)
TYPE(s32, i32, i32, (i32), (i32))
TYPE(s64, i64, i64, (i64), (i64))

static const struct type {
    size_t size;
    void (*put)(void *to, i64 i, double value);
    void (*sum)(size_t shape, const struct scatter_args *args);
    emulate_kernel add, sorted, pair, privatized;
    bool integer;
} types[] = {
    {4, put_f32, sum_f32, kit_twin_scatter_add_f32, kit_twin_scatter_sum_f32, NULL,
     kit_twin_scatter_private_f32, false},
    {8, put_f64, sum_f64, kit_twin_scatter_add_f64, kit_twin_scatter_sum_f64, NULL, NULL, false},
    {2, put_f16, sum_f16, kit_twin_scatter_add_f16, kit_twin_scatter_sum_f16, kit_twin_scatter_pair_f16, NULL,
     false},
    {2, put_bf16, sum_bf16, kit_twin_scatter_add_bf16, kit_twin_scatter_sum_bf16, kit_twin_scatter_pair_bf16,
     NULL, false},
    {4, put_s32, sum_s32, kit_twin_scatter_add_s32, NULL, NULL, NULL, true},
    {8, put_s64, sum_s64, kit_twin_scatter_add_s64, NULL, NULL, NULL, true},
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* Of full mantissa in every type and of spread exponents, or -1, 0, 1. */
static double random_value(bool whole)
{
    const u32 bits = random_word();
    const double value = (double)random_word() * (double)(bits | 1) * 0x1p-60 / (double)(1 << bits % 8);
    return whole ? (double)(i32)(bits % 3) - 1 : bits & 256 ? -value : value;
}

static void fill(const struct type *type, bool exact)
{
    for (i64 i = 0; i < MOST; i++) {
        type->put(source, i, random_value(exact || type->integer));
        type->put(before, i, random_value(exact || type->integer));
    }
}

/* Before a launch: what dst holds. */
static void restore(const struct scatter_args *args)
{
    if (args->onto) {
        memcpy(after, before, BYTES);
    } else {
        memset(after, 0x5a, BYTES);
    }
}

static void check(const struct scatter_args *args, const struct type *type)
{
    assert_memory_equal(after, expected, (size_t)(args->targets * args->width) * type->size);
}

static void test_sorted(void **state)
{
    for (size_t shape = 0; shape < SHAPES; shape++) {
        const struct scatter_args args = make(shape);
        for (const struct type *type = types; type < types + TYPES && type->sorted; type++) {
            fill(type, false);
            type->sum(shape, &args);
            for (size_t o = 0; o < ORDERS; o++) {
                set(orders[o]);
                restore(&args);
                sort(&args);
                launch(type->sorted, &args);
                check(&args, type);
            }
        }
    }
}

/* Integers, and floats whose sums are exact: each kernel of atomics reaches the cells it should, once. */
static void test_atomics_of_exact_sums(void **state)
{
    for (size_t shape = 0; shape < SHAPES; shape++) {
        const struct scatter_args args = make(shape);
        for (const struct type *type = types; type < types + TYPES; type++) {
            fill(type, true);
            type->sum(shape, &args);
            const emulate_kernel kernels[] = {type->add, args.width % 2 ? NULL : type->pair,
                                              shapes[shape].width == 1 ? type->privatized : NULL};
            for (size_t o = 0; o < 3 * ORDERS; o++) {
                const emulate_kernel kernel = kernels[o / ORDERS];
                if (!kernel) {
                    continue;
                }
                set(orders[o % ORDERS]);
                restore(&args);
                if (!args.onto) {
                    memset(after, 0, BYTES);
                }
                launch(kernel, &args);
                check(&args, type);
            }
        }
    }
}

static void test_atomics_of_other_sums(void **state)
{
    set("order=seeded");
    const struct scatter_args args = make(1);
    for (const struct type *type = types; type < types + TYPES && type->sorted; type++) {
        fill(type, false);
        for (int pair = 0; pair < (type->pair ? 2 : 1); pair++) {
            restore(&args);
            launch(pair ? type->pair : type->add, &args);
            memcpy(expected, after, BYTES);
            restore(&args);
            launch(pair ? type->pair : type->add, &args);
            assert_memory_not_equal(after, expected, (size_t)(args.targets * args.width) * type->size);
        }
    }
}

static void test_counts(void **state)
{
    for (size_t shape = 0; shape < SHAPES; shape++) {
        struct scatter_args args = make(shape);
        args.width = 1;
        i64 *const counts = expected;
        memset(counts, 0, BYTES);
        for (i64 item = 0; item < args.items; item++) {
            const i64 target = goes_to(shape, item * (shapes[shape].elementwise ? 1 : shapes[shape].width));
            if (target >= 0) {
                counts[shapes[shape].elementwise ? target : target / shapes[shape].width]++;
            }
        }
        for (size_t o = 0; o < ORDERS; o++) {
            set(orders[o]);
            memset(after, 0, BYTES);
            launch(kit_twin_scatter_count_s64, &args);
            assert_memory_equal(after, expected, (size_t)args.targets * sizeof(*counts));
            memset(after, 0, BYTES);
            launch(kit_twin_scatter_count_f32, &args);
            for (i64 target = 0; target < args.targets; target++) {
                assert_true(((const float *)after)[target] == (float)counts[target]);
            }
            if (shapes[shape].width == 1) {
                memset(after, 0, BYTES);
                launch(kit_twin_scatter_tally_s32, &args);
                for (i64 target = 0; target < args.targets; target++) {
                    assert_int_equal(((const i32 *)after)[target], counts[target]);
                }
            }
        }
    }
}

static void test_last_writer(void **state)
{
    static const struct {
        size_t size;
        emulate_kernel unordered, sorted;
    } sizes[] = {{2, kit_twin_scatter_put_2, kit_twin_scatter_last_2},
                 {4, kit_twin_scatter_put_4, kit_twin_scatter_last_4},
                 {8, kit_twin_scatter_put_8, kit_twin_scatter_last_8}};
    for (size_t shape = 0; shape < SHAPES; shape++) {
        struct scatter_args args = make(shape);
        args.onto = 1;
        for (size_t s = 0; s < 3; s++) {
            const size_t size = sizes[s].size;
            char *const from = source, *const to = after, *const last = expected;
            for (i64 i = 0; i < MOST; i++) { /* all different, also from what dst holds */
                memcpy(from + (size_t)i * size, &i, size);
            }
            memset(before, 0xff, BYTES);
            memcpy(expected, before, BYTES);
            for (i64 i = 0; i < args.items * args.width; i++) {
                const i64 cell = goes_to(shape, i);
                if (cell >= 0) {
                    memcpy(last + (size_t)cell * size, from + (size_t)i * size, size);
                }
            }
            for (size_t o = 0; o < ORDERS; o++) {
                set(orders[o]);
                restore(&args);
                sort(&args);
                launch(sizes[s].sorted, &args);
                assert_memory_equal(after, expected, (size_t)(args.targets * args.width) * size);
                restore(&args);
                launch(sizes[s].unordered, &args);
                for (i64 cell = 0; cell < args.targets * args.width; cell++) {
                    i64 writer = 0;
                    memcpy(&writer, to + (size_t)cell * size, size);
                    const bool written = memcmp(last + (size_t)cell * size, before, size) != 0;
                    assert_true(written ? goes_to(shape, writer) == cell
                                        : memcmp(to + (size_t)cell * size, before, size) == 0);
                }
            }
        }
    }
}

static int allocate(void **state)
{
    source = calloc(1, BYTES);
    before = calloc(1, BYTES);
    after = calloc(1, BYTES);
    expected = calloc(1, BYTES);
    return source && before && after && expected ? 0 : -1;
}

static int release(void **state)
{
    free(source);
    free(before);
    free(after);
    free(expected);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorted),
        cmocka_unit_test(test_atomics_of_exact_sums),
        cmocka_unit_test(test_atomics_of_other_sums),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_last_writer),
    };
    return cmocka_run_group_tests(tests, allocate, release);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What a difference looks like: each region, class and signature where it is there, and beside it where it is
 * not; against a slow comparison, element by element, of random bits of every type.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/kit/dtype.h"
#include "probes/kit/explain.h"
#include "probes/kit/tests/fake.h"

enum { ROWS = 7, COLUMNS = 9, CELLS = ROWS * COLUMNS };

/* A matrix of floats in which the marked elements differ. */
struct matrix {
    struct kit_operand operand;
    float first[CELLS], other[CELLS];
};

static void matrix_init(struct matrix *matrix)
{
    matrix->operand =
        (struct kit_operand){.dtype = KIT_F32, .ndim = 2, .shape = {ROWS, COLUMNS}, .batch_dim = -1};
    for (int i = 0; i < CELLS; i++) {
        matrix->first[i] = matrix->other[i] = (float)(i + 1);
    }
}

static void mark(struct matrix *matrix, int row, int column, int rows, int columns)
{
    for (int i = row; i < row + rows; i++) {
        for (int j = column; j < column + columns; j++) {
            matrix->other[i * COLUMNS + j] *= 1.5f;
        }
    }
}

static void each_region_is_recognised(void **state)
{
    static const struct {
        int row, column, rows, columns;
        const char *name;
    } rows[] = {
        {0, 0, ROWS, COLUMNS, "all"},
        {3, 4, 1, 1, "element"},
        {3, 0, 1, COLUMNS, "row"},
        {3, 2, 1, 3, "row"},
        {0, 4, ROWS, 1, "column"},
        {2, 4, 3, 1, "column"},
        {ROWS - 2, 0, 2, COLUMNS, "tail"},
        {ROWS - 1, 0, 1, COLUMNS, "row"}, /* a tail too, but the row says more */
        {0, 0, 2, COLUMNS, "tile"},       /* the same at the start is no tail */
        {2, 3, 4, 4, "tile"},
        {ROWS - 2, COLUMNS - 2, 2, 2, "tile"}, /* with the last element, but not to the end */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct matrix matrix;
        struct kit_difference difference;
        matrix_init(&matrix);
        mark(&matrix, rows[i].row, rows[i].column, rows[i].rows, rows[i].columns);
        kit_explain(&matrix.operand, NULL, matrix.first, matrix.other, &difference);
        assert_string_equal(kit_region_name(difference.region), rows[i].name);
        assert_int_equal(difference.elements, rows[i].rows * rows[i].columns);
        assert_int_equal(difference.first_index, rows[i].row * COLUMNS + rows[i].column);
        assert_int_equal(difference.box.low[0], rows[i].row);
        assert_int_equal(difference.box.high[0], rows[i].row + rows[i].rows - 1);
        assert_int_equal(difference.box.low[1], rows[i].column);
        assert_int_equal(difference.box.high[1], rows[i].column + rows[i].columns - 1);
    }
}

static const char *region_of(struct matrix *matrix)
{
    struct kit_difference difference;
    kit_explain(&matrix->operand, NULL, matrix->first, matrix->other, &difference);
    return kit_region_name(difference.region);
}

static void what_is_not_dense_is_scattered(void **state)
{
    struct matrix matrix;
    matrix_init(&matrix);
    mark(&matrix, 3, 0, 1, 1);
    mark(&matrix, 3, COLUMNS - 1, 1, 1); /* two elements of one row, seven between them */
    assert_string_equal(region_of(&matrix), "scattered");
    mark(&matrix, 3, 2, 1, 3); /* now five of nine */
    assert_string_equal(region_of(&matrix), "row");
    mark(&matrix, 5, 5, 1, 1);
    assert_string_equal(region_of(&matrix), "scattered");
    matrix_init(&matrix);
    mark(&matrix, 0, 0, ROWS, COLUMNS - 1); /* all rows, but in each the last is equal: a box, and no tail */
    assert_string_equal(region_of(&matrix), "tile");
    mark(&matrix, 2, COLUMNS - 1, 1, 1); /* the box is the tensor */
    assert_string_equal(region_of(&matrix), "scattered");
}

/* In a tensor that is one row, a row says nothing. */
static void a_vector_has_no_rows(void **state)
{
    struct matrix matrix;
    matrix_init(&matrix);
    matrix.operand.shape[0] = 1;
    matrix.operand.shape[1] = CELLS;
    mark(&matrix, 2, 3, 1, 4);
    assert_string_equal(region_of(&matrix), "tile");
    matrix.operand.ndim = 1;
    matrix.operand.shape[0] = CELLS;
    assert_string_equal(region_of(&matrix), "tile");
    mark(&matrix, 2, 7, 1, 2);
    mark(&matrix, 3, 0, 4, COLUMNS);
    assert_string_equal(region_of(&matrix), "tail");
    matrix.operand.ndim = 0;
    matrix.other[0] = 7;
    assert_string_equal(region_of(&matrix), "all");
}

/* One plane of four dimensions, and one place in all of them. */
static void boxes_have_all_dimensions(void **state)
{
    enum { N = 2, C = 3, H = 4, W = 5 };
    const struct kit_operand operand = {.dtype = KIT_S32, .ndim = 4, .shape = {N, C, H, W}, .batch_dim = 0};
    int32_t first[N * C * H * W] = {0}, other[N * C * H * W] = {0};
    struct kit_difference difference;
    for (int i = 0; i < H * W; i++) {
        other[(1 * C + 2) * H * W + i] = 3;
    }
    kit_explain(&operand, NULL, first, other, &difference);
    assert_int_equal(difference.region, KIT_REGION_TAIL); /* the last plane */
    memset(other, 0, sizeof(other));
    for (int i = 0; i < H * W; i++) {
        other[(0 * C + 2) * H * W + i] = 3;
    }
    kit_explain(&operand, NULL, first, other, &difference);
    assert_int_equal(difference.region, KIT_REGION_TILE);
    static const int64_t low[] = {0, 2, 0, 0}, high[] = {0, 2, H - 1, W - 1};
    for (int d = 0; d < 4; d++) {
        assert_int_equal(difference.box.low[d], low[d]);
        assert_int_equal(difference.box.high[d], high[d]);
    }
    json_t *const whole = kit_difference_json(&difference, false), *const slice =
                                                                       kit_difference_json(&difference, true);
    assert_int_equal(int_of(whole, "first_index"), 2 * H * W);
    assert_int_equal(int_of(slice, "first_index"), 2 * H * W);
    other[(1 * C + 1) * H * W] = 3;
    memset(other, 0, sizeof(other[0]) * C * H * W);
    kit_explain(&operand, NULL, first, other, &difference);
    json_t *const second = kit_difference_json(&difference, true);
    assert_int_equal(difference.first_index, (C + 1) * H * W);
    assert_int_equal(int_of(second, "first_index"), H * W); /* in the sample */
    assert_int_equal(json_integer_value(json_array_get(json_object_get(second, "box_at"), 0)), 0);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(second, "box_at"), 1)), 1);
    json_decref(whole);
    json_decref(slice);
    json_decref(second);
}

/* What is not compared leaves gaps, and what is in them counts for nothing. */
static void places_are_those_in_the_tensor(void **state)
{
    struct matrix matrix;
    struct kit_difference difference;
    uint8_t mask[CELLS];
    matrix_init(&matrix);
    for (int i = 0; i < CELLS; i++) {
        mask[i] = i % COLUMNS >= i / COLUMNS; /* upper */
        if (!mask[i]) {
            matrix.first[i] = 1e30f;
            matrix.other[i] = (float)NAN;
        }
    }
    mark(&matrix, 4, 6, 1, 1);
    kit_explain(&matrix.operand, mask, matrix.first, matrix.other, &difference);
    assert_int_equal(difference.elements, 1);
    assert_int_equal(difference.of, 9 + 8 + 7 + 6 + 5 + 4 + 3);
    assert_int_equal(difference.first_index, 4 * COLUMNS + 6);
    assert_true(difference.max_rel == 0.5 * (4 * COLUMNS + 7) / CELLS && difference.specials == 0);
    for (int i = 5 * COLUMNS; i < CELLS; i++) {
        matrix.other[i] *= 2;
    }
    matrix.other[4 * COLUMNS + 6] = matrix.first[4 * COLUMNS + 6];
    kit_explain(&matrix.operand, mask, matrix.first, matrix.other, &difference);
    assert_int_equal(difference.elements, 4 + 3);
    assert_int_equal(difference.region, KIT_REGION_TAIL); /* all that is compared, from there to the end */
}

static void signs_zeros_and_nan_are_told_apart(void **state)
{
    enum { COUNT = 10 };
    const float quiet = __builtin_nanf("1"), other_quiet = __builtin_nanf("2"), far = (float)INFINITY;
    const struct kit_operand vector = {.dtype = KIT_F32, .ndim = 1, .shape = {COUNT}, .batch_dim = -1};
    const float first[COUNT] = {1, 0, 2, far, quiet, 3, far, quiet, -0.0f, 5};
    const float other[COUNT] = {-1, -0.0f, far, -far, other_quiet, quiet, quiet, quiet, 1, 5};
    struct kit_difference difference;
    kit_explain(&vector, NULL, first, other, &difference);
    assert_int_equal(difference.elements, 8);
    assert_int_equal(difference.signs, 2); /* 1 and infinity; -0 against 1 is none */
    assert_int_equal(difference.zeros, 1);
    assert_int_equal(difference.specials, 3); /* a number and infinity, a number and NaN, infinity and NaN */
    assert_int_equal(difference.payloads, 1);
    const uint8_t bytes[4] = {0x7f, 0xff, 0x38, 0x7e}, moved[4] = {0xff, 0x7f, 0x7f, 0xfe};
    const struct kit_operand narrow = {.dtype = KIT_F8E4M3, .ndim = 1, .shape = {4}, .batch_dim = -1};
    kit_explain(&narrow, NULL, bytes, moved, &difference); /* all ones is its NaN, of either sign */
    assert_true(difference.payloads == 2 && difference.specials == 1 && difference.signs == 1);
    const int8_t minus[3] = {-1, 0, -128}, plus[3] = {1, -1, 127};
    const struct kit_operand integers = {.dtype = KIT_S8, .ndim = 1, .shape = {3}, .batch_dim = -1};
    kit_explain(&integers, NULL, minus, plus, &difference);
    assert_true(difference.signs == 2 && difference.zeros == 0 && difference.max_ulp == 255);
    assert_true(difference.max_rel == 255.0 / 128);
}

static void single_bits_are_recognised(void **state)
{
    struct matrix matrix;
    struct kit_difference difference, worst = {0};
    uint32_t bits;
    matrix_init(&matrix);
    memcpy(&bits, &matrix.other[20], sizeof(bits));
    bits ^= 1u << 27;
    memcpy(&matrix.other[20], &bits, sizeof(bits));
    kit_explain(&matrix.operand, NULL, matrix.first, matrix.other, &difference);
    assert_true(difference.one_bit && difference.bits == 1u << 27);
    kit_difference_merge(&worst, &difference);
    json_t *const one = kit_difference_json(&worst, false);
    assert_string_equal(string_of(one, "flipped"), "0x8000000");
    matrix.other[5] = -matrix.other[5]; /* another bit of another element: still one of each */
    kit_explain(&matrix.operand, NULL, matrix.first, matrix.other, &difference);
    assert_true(difference.one_bit && difference.bits == (1u << 27 | 1u << 31));
    kit_difference_merge(&worst, &difference);
    assert_true(worst.one_bit && worst.region == KIT_REGION_SCATTERED);
    matrix.other[5] = -1.5f * matrix.first[5]; /* one and a half times six: three bits */
    kit_explain(&matrix.operand, NULL, matrix.first, matrix.other, &difference);
    assert_false(difference.one_bit);
    kit_difference_merge(&worst, &difference);
    json_t *const many = kit_difference_json(&worst, false);
    assert_false(worst.one_bit);
    assert_null(json_object_get(many, "flipped"));
    json_decref(one);
    json_decref(many);
}

/* Spread over all that differ, ascending, and the farthest is there whatever else is. */
static void cells_are_spread_and_hold_the_farthest(void **state)
{
    enum { COUNT = 5000, FARTHEST = 4321 };
    static float first[COUNT], other[COUNT];
    const struct kit_operand vector = {.dtype = KIT_F32, .ndim = 1, .shape = {COUNT}, .batch_dim = -1};
    struct kit_difference difference;
    for (int i = 0; i < COUNT; i++) {
        other[i] = i % 3 ? 1 : 0;
    }
    other[FARTHEST] = 7;
    kit_explain(&vector, NULL, first, other, &difference);
    assert_in_range(difference.cell_count, KIT_CELLS_DIFFERENT / 2, KIT_CELLS_DIFFERENT);
    bool there = false;
    for (int i = 0; i < difference.cell_count; i++) {
        assert_true(other[difference.cells[i]] != 0);
        assert_true(i == 0 || difference.cells[i] > difference.cells[i - 1]);
        there = there || difference.cells[i] == FARTHEST;
    }
    assert_true(there && difference.cells[0] == 1);
    assert_true(difference.cells[difference.cell_count - 1] > COUNT - COUNT / 16);
    memset(other, 0, sizeof(other));
    other[7] = other[3000] = 1;
    kit_explain(&vector, NULL, first, other, &difference);
    assert_true(difference.cell_count == 2 && difference.cells[0] == 7 && difference.cells[1] == 3000);
}

/* ---- against the slow way ---- */

enum { MANY = 3000 };

struct slow {
    int64_t elements, ulps[KIT_ULP_BINS];
    uint64_t max_ulp;
    long double max_abs, norm;
};

static void compare_slowly(enum kit_dtype dtype, const void *first, const void *other, struct slow *ret)
{
    *ret = (struct slow){0};
    for (int64_t i = 0; i < MANY; i++) {
        const uint64_t a = kit_bits(dtype, first, i), b = kit_bits(dtype, other, i);
        const long double x = kit_value(dtype, first, i), y = kit_value(dtype, other, i);
        ret->norm = isfinite(x) && fabsl(x) > ret->norm ? fabsl(x) : ret->norm;
        if (a == b) {
            continue;
        }
        const uint64_t ulps = kit_ulps(dtype, a, b);
        const long double apart = !isfinite(x) || !isfinite(y) ? (long double)INFINITY
                                  : dtype == KIT_F64           ? (long double)fabs((double)x - (double)y)
                                                               : fabsl(x - y);
        ret->elements++;
        ret->ulps[ulps ? 63 - __builtin_clzll(ulps) : 0]++;
        ret->max_ulp = ulps > ret->max_ulp ? ulps : ret->max_ulp;
        ret->max_abs = apart > ret->max_abs ? apart : ret->max_abs;
    }
}

/* Some bits of some elements; without `wild` those of the exponent and of the sign stay. */
static void fill(enum kit_dtype dtype, uint64_t seed, bool wild, unsigned char *first, unsigned char *other)
{
    const struct kit_format *format = kit_format_of(dtype);
    const size_t size = format->size;
    uint64_t state = seed;
    for (int64_t i = 0; i < MANY; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = state ^ state >> 29, change = state >> 41;
        if (!wild) {
            bits &= ~((uint64_t)1 << (8 * size - 2)); /* below two: no infinity, no NaN */
            change &= ((uint64_t)1 << (format->mantissa ? format->mantissa : 4)) - 1;
        }
        memcpy(first + (size_t)i * size, &bits, size);
        bits ^= i % 5 == 0 ? change : 0;
        memcpy(other + (size_t)i * size, &bits, size);
    }
}

static void every_type_is_as_the_slow_way_says(void **state)
{
    static unsigned char first[MANY * 8], other[MANY * 8];
    for (int t = 0; t < 2 * KIT_DTYPE_MAX; t++) {
        const enum kit_dtype dtype = (enum kit_dtype)(t / 2);
        const struct kit_operand vector = {.dtype = dtype, .ndim = 1, .shape = {MANY}, .batch_dim = -1};
        struct kit_difference difference;
        struct slow slow;
        fill(dtype, 17 + (uint64_t)t, t % 2, first, other);
        kit_explain(&vector, NULL, first, other, &difference);
        compare_slowly(dtype, first, other, &slow);
        assert_in_range(slow.elements, 100, MANY - 1);
        assert_int_equal(difference.elements, slow.elements);
        assert_int_equal(difference.max_ulp, slow.max_ulp);
        assert_memory_equal(difference.ulps, slow.ulps, sizeof(slow.ulps));
        const double far = isfinite(slow.max_abs) && slow.max_abs < 1e308L ? (double)slow.max_abs : 1e308;
        assert_true(difference.max_abs == far);
        const long double relative = slow.max_abs / slow.norm;
        assert_true(far == 1e308 || fabsl(difference.max_rel - relative) <= 1e-15L * relative);
    }
}

/* ---- through the kit ---- */

static void observations_say_where_and_how_far(void **state)
{
    json_t *observation = ask_once(&(struct ask){.mode = "row"});
    const json_t *mismatch = json_object_get(observation, "mismatch");
    assert_string_equal(string_of(mismatch, "region"), "row");
    assert_int_equal(int_of(mismatch, "first_index"), 10);
    assert_string_equal(string_of(mismatch, "flipped"), "0x1");
    assert_true(json_real_value(json_object_get(mismatch, "error_over_bound")) < 1); /* one ulp each */
    json_decref(observation);
    observation = ask_once(&(struct ask){.mode = "row", .written = "upper"});
    mismatch = json_object_get(observation, "mismatch");
    assert_int_equal(int_of(mismatch, "first_index"), 12); /* [2, 2], of 6 x 5 */
    assert_int_equal(int_of(mismatch, "elements"), 3);
    json_decref(observation);
    observation = ask_once(&(struct ask){.mode = "row", .axis = "batch", .setting = "6/2"});
    mismatch = json_object_get(observation, "mismatch");
    assert_int_equal(int_of(mismatch, "first_index"), 0); /* of its sample */
    assert_string_equal(string_of(mismatch, "region"), "all");
    json_decref(observation);
}

static double over_bound(const struct ask *ask)
{
    json_t *const observation = ask_once(ask);
    const json_t *const mismatch = json_object_get(observation, "mismatch");
    assert_non_null(mismatch);
    const json_t *const ratio = json_object_get(mismatch, "error_over_bound");
    const double ret = ratio ? json_real_value(ratio) : -1;
    json_decref(observation);
    return ret;
}

/* What no order of the sum explains is above the bound, also where the first run is the one that is off. */
static void differences_are_held_against_the_bound(void **state)
{
    assert_true(over_bound(&(struct ask){.mode = "vary"}) > 1);
    assert_true(over_bound(&(struct ask){.mode = "strays-late"}) > 1);
    assert_true(over_bound(&(struct ask){.mode = "late"}) <= 1);
    assert_true(over_bound(&(struct ask){.mode = "vary", .arithmetic = "none"}) > 1);
    assert_true(over_bound(&(struct ask){.mode = "late", .arithmetic = "none"}) > 1); /* nothing may round */
    assert_true(over_bound(&(struct ask){.mode = "vary", .arithmetic = "reduced"}) <
                0); /* normwise: not known */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_region_is_recognised),
        cmocka_unit_test(what_is_not_dense_is_scattered),
        cmocka_unit_test(a_vector_has_no_rows),
        cmocka_unit_test(boxes_have_all_dimensions),
        cmocka_unit_test(places_are_those_in_the_tensor),
        cmocka_unit_test(signs_zeros_and_nan_are_told_apart),
        cmocka_unit_test(single_bits_are_recognised),
        cmocka_unit_test(cells_are_spread_and_hold_the_farthest),
        cmocka_unit_test(every_type_is_as_the_slow_way_says),
        cmocka_unit_test(observations_say_where_and_how_far),
        cmocka_unit_test(differences_are_held_against_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

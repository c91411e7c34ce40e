/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparison: classes and their counts, what a mismatch looks like, the sample of interest on axis batch, and
 * the numbers that explain.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/kit/dtype.h"
#include "probes/kit/explain.h"
#include "probes/kit/tally.h"
#include "probes/kit/tests/fake.h"
#include "suite/base/digest.h"

/* Of a vector. */
static void explain(enum kit_dtype dtype, const void *first, const void *other, int64_t count,
                    struct kit_difference *ret)
{
    static struct kit_operand vector;
    vector = (struct kit_operand){.dtype = dtype, .ndim = 1, .shape = {count}, .batch_dim = -1};
    kit_explain(&vector, NULL, first, other, ret);
}

static void expect_class(const json_t *observation, size_t index, int runs, int first_run)
{
    const json_t *class = class_of(observation, index);
    assert_non_null(class);
    assert_int_equal(int_of(class, "runs"), runs);
    assert_int_equal(int_of(class, "first_run"), first_run);
    assert_int_equal(strlen(string_of(class, "sha256")), 64);
}

static void equal_runs_are_one_class(void **state)
{
    json_t *const observation = ask_once(&(struct ask){.mode = "good", .runs = 30});
    assert_int_equal(int_of(output_of(observation), "distinct"), 1);
    expect_class(observation, 0, 30, 0);
    assert_null(class_of(observation, 1));
    assert_null(json_object_get(observation, "mismatch"));
    json_decref(observation);
}

static void one_bit_is_a_class_of_its_own(void **state)
{
    json_t *const observation = ask_once(&(struct ask){.mode = "bit", .runs = 30});
    const json_t *const mismatch = json_object_get(observation, "mismatch");
    assert_int_equal(int_of(output_of(observation), "distinct"), 2);
    expect_class(observation, 0, 20, 0);
    expect_class(observation, 1, 10, 1);
    assert_int_equal(int_of(mismatch, "runs"), 10);
    assert_int_equal(int_of(mismatch, "elements"), 1);
    assert_int_equal(int_of(mismatch, "of"), 30);
    assert_int_equal(int_of(mismatch, "first_index"), 3);
    assert_string_equal(string_of(mismatch, "max_ulp"), "1");
    assert_string_equal(string_of(mismatch, "kind"), "values");
    assert_string_equal(string_of(mismatch, "output"), "c");
    json_decref(observation);
}

/* When the first output is the rare one, mismatches are still counted from the largest class. */
static void mismatches_are_outside_the_largest_class(void **state)
{
    json_t *const observation = ask_once(&(struct ask){.mode = "late", .runs = 25});
    expect_class(observation, 0, 5, 0);
    expect_class(observation, 1, 20, 5);
    assert_int_equal(int_of(json_object_get(observation, "mismatch"), "runs"), 5);
    json_decref(observation);
    json_t *const early = ask_once(&(struct ask){.mode = "late", .runs = 5});
    assert_null(json_object_get(early, "mismatch")); /* not seen yet: nothing is claimed */
    json_decref(early);
}

static void classes_are_counted_beyond_those_sent(void **state)
{
    json_t *const observation = ask_once(&(struct ask){.mode = "vary", .runs = 40});
    assert_int_equal(int_of(output_of(observation), "distinct"), 40);
    expect_class(observation, KIT_MAX_DIGESTS - 1, 1, KIT_MAX_DIGESTS - 1);
    assert_null(class_of(observation, KIT_MAX_DIGESTS));
    assert_int_equal(int_of(json_object_get(observation, "mismatch"), "runs"), 39);
    json_decref(observation);
}

static void the_table_is_bounded(void **state)
{
    struct kit_tally tally;
    bool is_new;
    kit_tally_init(&tally);
    for (int run = 0; run < 3 * KIT_MAX_CLASSES; run++) {
        const int class = kit_tally_count(&tally, run, &run, sizeof(run), &is_new);
        assert_int_equal(class, run < KIT_MAX_CLASSES ? run : -1);
        assert_int_equal(is_new, run < KIT_MAX_CLASSES);
    }
    assert_int_equal(tally.count, KIT_MAX_CLASSES);
    assert_int_equal(kit_tally_mismatches(&tally), 3 * KIT_MAX_CLASSES - 1);
    const int again = 5;
    assert_int_equal(kit_tally_count(&tally, 9, &again, sizeof(again), &is_new), 5);
    assert_false(is_new);
    kit_tally_free(&tally);
}

static void permutations_are_told_from_values(void **state)
{
    json_t *const observation = ask_once(&(struct ask){.mode = "permute"});
    const json_t *const mismatch = json_object_get(observation, "mismatch");
    assert_string_equal(string_of(mismatch, "kind"), "permutation");
    assert_int_equal(int_of(mismatch, "elements"), 2);
    json_decref(observation);
    const float first[4] = {1, 2, 3, 3};
    const float moved[4] = {3, 1, 3, 2};
    const float other[4] = {3, 1, 2, 2}; /* the same values, not as often */
    struct kit_difference difference;
    explain(KIT_F32, first, moved, 4, &difference);
    assert_true(difference.permutation);
    explain(KIT_F32, first, other, 4, &difference);
    assert_false(difference.permutation);
    explain(KIT_F32, first, first, 4, &difference);
    assert_false(difference.permutation); /* nothing moved */
    assert_int_equal(difference.first_index, -1);
}

/* The digest is SHA-256 of the logical bytes: what anyone can compute from the output. */
static void digests_are_of_the_logical_bytes(void **state)
{
    const struct kit_source source = {"1/0", "fake/x", KIT_WIDE, 0};
    const struct kit_operand a = {.name = "a", .dtype = KIT_F32, .ndim = 2, .shape = {6, 5}, .batch_dim = 0};
    float values[30], upper[20];
    char hex[DP_SHA256_HEX];
    assert_int_equal(kit_input_fill(&a, &source, values), KIT_OK);
    for (int i = 0; i < 30; i++) {
        values[i] *= 2;
    }
    dp_sha256_hex(values, sizeof(values), hex);
    json_t *observation = ask_once(&(struct ask){.mode = "good", .pad = 3});
    assert_string_equal(sha_of(observation), hex);
    json_decref(observation);
    int count = 0;
    for (int i = 0; i < 6; i++) {
        for (int j = i; j < 5; j++) {
            upper[count++] = values[i * 5 + j];
        }
    }
    dp_sha256_hex(upper, (size_t)count * sizeof(float), hex);
    observation = ask_once(&(struct ask){.mode = "good", .written = "upper", .chosen = true});
    assert_string_equal(sha_of(observation), hex);
    json_decref(observation);
}

/* Sample 0 in every batch and place has one digest; an operation that couples samples would show. */
static void only_the_sample_of_interest_is_digested(void **state)
{
    static const char *const settings[] = {"1/0", "2/1", "6/0", "6/5", "33/13"};
    char first[65] = "";
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        json_t *const observation =
            ask_once(&(struct ask){.mode = "good", .axis = "batch", .setting = settings[i], .pad = (int)i});
        const json_t *const shape = json_object_get(output_of(observation), "shape");
        assert_int_equal(json_integer_value(json_array_get(shape, 0)), 1);
        assert_int_equal(json_integer_value(json_array_get(shape, 1)), 5);
        if (i == 0) {
            strcpy(first, sha_of(observation));
        }
        assert_string_equal(sha_of(observation), first);
        json_decref(observation);
    }
    /* element 1 is in sample 0: it shows at place 0, not at place 5 */
    json_t *const at_0 = ask_once(&(struct ask){.mode = "vary", .axis = "batch", .setting = "6/0"});
    json_t *const at_5 = ask_once(&(struct ask){.mode = "vary", .axis = "batch", .setting = "6/5"});
    assert_int_equal(int_of(output_of(at_0), "distinct"), 8);
    assert_int_equal(int_of(output_of(at_5), "distinct"), 1);
    json_decref(at_0);
    json_decref(at_5);
}

static void ulps_count_representable_values(void **state)
{
    static const struct {
        enum kit_dtype dtype;
        uint64_t a, b, ulps;
    } rows[] = {
        {KIT_F32, 0x3f800000, 0x3f800000, 0},
        {KIT_F32, 0x3f800000, 0x3f800001, 1},
        {KIT_F32, 0x3f800000, 0x3f7fffff, 1},
        {KIT_F32, 0x00000000, 0x80000000, 1}, /* +0 and -0 are other bits */
        {KIT_F32, 0x00000001, 0x80000001, 3},
        {KIT_F32, 0x3f800000, 0x40000000, 1 << 23},
        {KIT_F32, 0x7f7fffff, 0x7f800000, 1}, /* the largest number and infinity */
        {KIT_F64, 0x3ff0000000000000, 0x3ff0000000000003, 3},
        {KIT_F64, 0x8000000000000000, 0x0000000000000000, 1},
        {KIT_F16, 0x3c00, 0x3bff, 1},
        {KIT_BF16, 0x3f80, 0xbf80, 2 * 0x3f80 + 1},
        {KIT_F8E4M3, 0x7e, 0x38, 0x7e - 0x38},
        {KIT_F8E5M2, 0x3c, 0xbc, 2 * 0x3c + 1},
        {KIT_S8, 0xff, 0x01, 2},
        {KIT_U8, 0xff, 0x01, 254},
        {KIT_S32, 0x80000000, 0x7fffffff, 0xffffffff},
        {KIT_S64, 0, UINT64_MAX, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(kit_ulps(rows[i].dtype, rows[i].a, rows[i].b), rows[i].ulps);
        assert_int_equal(kit_ulps(rows[i].dtype, rows[i].b, rows[i].a), rows[i].ulps);
    }
}

static void distances_are_measured_together(void **state)
{
    const double first[4] = {1e6, 1e-9, 0, -2};
    double other[4] = {1e6, -1e-9, 0, -2};
    struct kit_difference difference, worst = {0};
    explain(KIT_F64, first, other, 4, &difference);
    assert_int_equal(difference.elements, 1);
    assert_int_equal(difference.first_index, 1);
    assert_true(difference.max_ulp > 1000000000000000000u); /* far in ULP, near in value */
    assert_true(difference.max_abs == 2e-9 && fabs(difference.max_rel - 2e-15) < 1e-20);
    kit_difference_merge(&worst, &difference);
    other[0] = (double)INFINITY;
    explain(KIT_F64, first, other, 4, &difference);
    assert_true(difference.max_abs == 1e308 && difference.max_rel == 1e308 && difference.elements == 2);
    kit_difference_merge(&worst, &difference);
    assert_true(worst.elements == 2 && worst.first_index == 0 && worst.max_abs == 1e308);
    other[0] = (double)NAN;
    explain(KIT_F64, first, other, 4, &difference);
    assert_true(difference.max_abs == 1e308);
}

/* Each element that differs stands in the bin of its distance, those of all runs together. */
static void distances_are_counted_by_powers_of_two(void **state)
{
    const float first[6] = {1, 1, 1, 1, 1, 0};
    const float other[6] = {1 + 0x1p-23f, 1 + 0x1p-22f, 1 + 0x1.8p-22f, 1 + 0x1p-21f, 1,
                            -0.0f}; /* 1, 2, 3, 4 ulp */
    struct kit_difference difference, worst = {0};
    explain(KIT_F32, first, other, 6, &difference);
    assert_int_equal(difference.ulps[0], 2); /* and the two zeros */
    assert_int_equal(difference.ulps[1], 2);
    assert_int_equal(difference.ulps[2], 1);
    kit_difference_merge(&worst, &difference);
    kit_difference_merge(&worst, &difference);
    int64_t sum = 0;
    for (int i = 0; i < KIT_ULP_BINS; i++) {
        sum += worst.ulps[i];
    }
    assert_true(worst.ulps[1] == 4 && sum == 10 && worst.elements == 5);
    const int64_t low = INT64_MIN, high = INT64_MAX;
    explain(KIT_S64, &low, &high, 1, &difference);
    assert_int_equal(difference.ulps[63], 1);
}

static void narrow_floats_are_read_exactly(void **state)
{
    const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000, 0x3555, 0x7c00};
    const double values[] = {1, -2, 0x1p-24, 65504, -0.0, 0.333251953125, (double)INFINITY};
    for (int i = 0; i < 7; i++) {
        assert_true(kit_value(KIT_F16, halves, i) == (long double)values[i]);
    }
    const uint16_t brain[] = {0x3f80, 0xc2f7, 0x0080, 0xff80};
    const double wide[] = {1, -123.5, 0x1p-126, -(double)INFINITY};
    for (int i = 0; i < 4; i++) {
        assert_true(kit_value(KIT_BF16, brain, i) == (long double)wide[i]);
        uint16_t stored;
        if (i < 3) {
            kit_store(KIT_BF16, &stored, 0, (long double)wide[i]);
            assert_int_equal(stored, brain[i]);
        }
    }
    const uint16_t not_a_number = 0x7e01;
    assert_true(isnan(kit_value(KIT_F16, &not_a_number, 0)));
}

/* Of the two formats with 8 bits, one uses its largest exponent for numbers too. */
static void bytes_of_floats_are_read_exactly(void **state)
{
    static const struct {
        enum kit_dtype dtype;
        uint8_t bits;
        long double value;
    } rows[] = {
        {KIT_F8E4M3, 0x38, 1},        {KIT_F8E4M3, 0x01, 0x1p-9L},
        {KIT_F8E4M3, 0x7e, 448},      {KIT_F8E4M3, 0xf8, -256},
        {KIT_F8E4M3, 0x80, -0.0L},    {KIT_F8E5M2, 0x3c, 1},
        {KIT_F8E5M2, 0x01, 0x1p-16L}, {KIT_F8E5M2, 0x7b, 57344},
        {KIT_F8E5M2, 0xc2, -3},       {KIT_F8E5M2, 0x7c, (long double)INFINITY},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t stored = 0;
        assert_true(kit_value(rows[i].dtype, &rows[i].bits, 0) == rows[i].value);
        if (isfinite(rows[i].value)) {
            kit_store(rows[i].dtype, &stored, 0, rows[i].value);
            assert_int_equal(stored, rows[i].bits);
        }
    }
    for (enum kit_dtype dtype = KIT_F8E4M3; dtype <= KIT_F8E5M2; dtype++) {
        uint8_t stored = 0;
        kit_store(dtype, &stored, 0, (long double)NAN);
        assert_true(isnan(kit_value(dtype, &stored, 0)));
        assert_true(isnan(kit_value(dtype, (const uint8_t[]){0xff}, 0)));
    }
}

/* What is read is stored again as it was, subnormal numbers too; between two it is the one nearer to zero. */
static void narrow_floats_come_back(void **state)
{
    static const enum kit_dtype types[] = {KIT_F16, KIT_BF16, KIT_F8E4M3, KIT_F8E5M2};
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        const uint32_t width = kit_dtype_size(types[t]) * 8, sign = 1u << (width - 1);
        for (uint32_t bits = 0; bits < 1u << width; bits++) {
            const uint16_t from = (uint16_t)bits;
            uint16_t to = 0;
            const long double value = kit_value(types[t], &from, 0);
            if (isfinite(value)) {
                kit_store(types[t], &to, 0, value);
                assert_int_equal(to, from);
            }
            if (isfinite(value) && (bits & ~sign) > 0) {
                kit_store(types[t], &to, 0, value * (1 - 0x1p-20L));
                assert_int_equal(to, from - 1);
            }
        }
    }
}

/* Of a loss for each of 4 steps and of weights, 2 for each: the weights of step 1 come before the loss of
 * step 2. */
static void the_earlier_step_is_told(void **state)
{
    const float still[8] = {0};
    const float loss[4] = {0, 0, 1, 1}, late[8] = {0, 0, 0, 0, 1, 1, 1, 1},
                early[8] = {0, 0, 0, 1, 1, 1, 1, 1};
    struct kit_difference of_loss, of_late, of_early;
    explain(KIT_F32, still, loss, 4, &of_loss);
    explain(KIT_F32, still, late, 8, &of_late);
    explain(KIT_F32, still, early, 8, &of_early);
    assert_true(kit_difference_is_earlier(&of_early, &of_loss));
    assert_false(kit_difference_is_earlier(&of_loss, &of_early));
    assert_false(kit_difference_is_earlier(&of_late, &of_loss));
    assert_false(kit_difference_is_earlier(&of_loss, &of_late));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_are_one_class),
        cmocka_unit_test(one_bit_is_a_class_of_its_own),
        cmocka_unit_test(mismatches_are_outside_the_largest_class),
        cmocka_unit_test(classes_are_counted_beyond_those_sent),
        cmocka_unit_test(the_table_is_bounded),
        cmocka_unit_test(permutations_are_told_from_values),
        cmocka_unit_test(digests_are_of_the_logical_bytes),
        cmocka_unit_test(bytes_of_floats_are_read_exactly),
        cmocka_unit_test(narrow_floats_come_back),
        cmocka_unit_test(only_the_sample_of_interest_is_digested),
        cmocka_unit_test(ulps_count_representable_values),
        cmocka_unit_test(distances_are_measured_together),
        cmocka_unit_test(distances_are_counted_by_powers_of_two),
        cmocka_unit_test(the_earlier_step_is_told),
        cmocka_unit_test(narrow_floats_are_read_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

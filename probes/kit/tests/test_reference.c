/* SPDX-License-Identifier: Apache-2.0
 *
 * References and bounds: the right answer is within its bound, an answer that is off is not, in every kind of
 * arithmetic; which cells are looked at; dot products and triangular solves.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "probes/kit/check.h"
#include "probes/kit/dtype.h"
#include "probes/kit/reference.h"
#include "probes/kit/tests/fake.h"

static double error_of(const struct ask *ask)
{
    json_t *const observation = ask_once(ask);
    assert_non_null(observation);
    const json_t *const error = json_object_get(output_of(observation), "error_over_bound");
    const double value = error ? json_real_value(error) : -1;
    json_decref(observation);
    return value;
}

static void faults_exceed_the_bound(void **state)
{
    static const char *const arithmetics[] = {"direct", "transform", "reduced", "none"};
    for (int a = 0; a < 4; a++) {
        for (int set = 0; set < 2; set++) {
            struct ask ask = {.mode = "good", .set = set ? "exact" : "unit", .arithmetic = arithmetics[a]};
            assert_true(error_of(&ask) == 0);
            ask.mode = "nan";
            assert_true(error_of(&ask) == KIT_WRONG);
            /* 0.1 % of the first element: it must not be 0 for this to be a fault */
            ask.mode = "wrong";
            ask.seed = set ? "1/2" : "1/1";
            assert_true(error_of(&ask) > 1);
            ask.mode = "unwritten"; /* poison is no small error */
            assert_true(error_of(&ask) > 1);
        }
        assert_true(error_of(&(struct ask){.mode = "nan", .arithmetic = arithmetics[a]}) == -1); /* wide */
    }
}

/* Cells outside the written region are no output. */
static void only_written_cells_are_checked(void **state)
{
    const struct ask ask = {.mode = "touch-outside", .written = "upper", .set = "unit"};
    assert_true(error_of(&ask) == 0);
    const struct ask all = {.mode = "touch-outside", .set = "unit"};
    assert_true(error_of(&all) > 1);
}

/* --- bounds, cell by cell, through an op that serves given cells --- */

static struct kit_cell given;

static int reference_given(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                           size_t count, struct kit_cell *ret)
{
    for (size_t i = 0; i < count; i++) {
        ret[i] = given;
    }
    return KIT_OK;
}

static double ratio(enum kit_arithmetic arithmetic, enum kit_set set, double bound, enum kit_dtype dtype,
                    const void *actual)
{
    const struct op op = {.name = "given", .reference = reference_given};
    const struct kit_operands operands = {
        .op = &op,
        .shape = {.count = 1,
                  .operand = {{.name = "c", .role = KIT_OUT, .dtype = dtype, .ndim = 1, .shape = {1}}}}};
    const struct kit_request request = {.arithmetic = arithmetic, .set = set, .bound = bound};
    double result = -1;
    const int rc = kit_check_reference(&operands, NULL, &request, 0, actual, NULL, &result);
    return rc ? -2 : result;
}

static void bounds_are_as_stated(void **state)
{
    const double u = 0x1p-24;
    const float off = 1 + 0x1p-20f; /* error 2^-20 = 16 u */
    given = (struct kit_cell){.value = 1, .scale = 4, .k = 8};
    /* direct: c gamma_8 4 = 32 u c: half of it at c = 1 */
    const double gamma8 = 8 * u / (1 - 8 * u);
    assert_true(fabs(ratio(KIT_DIRECT, KIT_UNIT, 1, KIT_F32, &off) - 0x1p-20 / (gamma8 * 4)) < 1e-12);
    assert_true(fabs(ratio(KIT_DIRECT, KIT_UNIT, 2, KIT_F32, &off) - 0x1p-20 / (gamma8 * 8)) < 1e-12);
    /* normwise: one cell, so the largest scale is its own */
    assert_true(fabs(ratio(KIT_TRANSFORM, KIT_UNIT, 1, KIT_F32, &off) - 0x1p-20 / (gamma8 * 4)) < 1e-12);
    assert_true(fabs(ratio(KIT_REDUCED, KIT_EXACT, 1, KIT_F32, &off) - 0x1p-20 / (gamma8 * 4)) < 1e-12);
    /* exact sums leave one rounding: gamma_2 |value| = 2 u */
    const double gamma2 = 2 * u / (1 - 2 * u);
    assert_true(fabs(ratio(KIT_DIRECT, KIT_EXACT, 1, KIT_F32, &off) - 0x1p-20 / gamma2) < 1e-9);
    /* none: any difference is infinite */
    assert_true(ratio(KIT_NONE, KIT_UNIT, 1, KIT_F32, &off) == KIT_WRONG);
    const float same = 1;
    assert_true(ratio(KIT_NONE, KIT_UNIT, 1, KIT_F32, &same) == 0);
    /* a bound of 0: no error is no error, any error is infinite */
    given.scale = 0;
    assert_true(ratio(KIT_DIRECT, KIT_UNIT, 1, KIT_F32, &same) == 0);
    assert_true(ratio(KIT_DIRECT, KIT_UNIT, 1, KIT_F32, &off) == KIT_WRONG);
    /* integers must be equal */
    const int32_t one = 1, two = 2;
    given = (struct kit_cell){.value = 1, .scale = 4, .k = 8};
    assert_true(ratio(KIT_DIRECT, KIT_UNIT, 1, KIT_S32, &one) == 0);
    assert_true(ratio(KIT_DIRECT, KIT_UNIT, 1, KIT_S32, &two) == KIT_WRONG);
}

/* Beyond the largest number infinity is right, of the true value's sign; below the smallest normal one the
 * error of a rounding is absolute; what is undefined must be NaN. And nowhere else. */
static void ends_of_the_range(void **state)
{
    const float infinite = INFINITY, minus = -INFINITY, none = NAN, largest = 0x1.fffffep127f,
                tiny = 0x1p-149f, more = 0x1p-147f, nothing = 0;
    const struct {
        long double value;
        const float *actual;
        bool right;
    } rows[] = {
        {(long double)INFINITY, &infinite, true},
        {(long double)INFINITY, &minus, false},
        {(long double)INFINITY, &largest, false},
        {(long double)INFINITY, &none, false},
        {0x1p128L, &infinite, true},
        {-0x1p128L, &infinite, false},
        {0x1p127L, &infinite, false},
        {(long double)NAN, &none, true},
        {(long double)NAN, &nothing, false},
        {1, &none, false},
        {0x1.8p-149L, &tiny, true},
        {0x1p-160L, &nothing, true},
        {0x1p-160L, &more, false},
        {0, &tiny, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        given = (struct kit_cell){.value = rows[i].value, .scale = fabsl(rows[i].value), .k = 1};
        const double found = ratio(KIT_DIRECT, KIT_UNIT, 1, KIT_F32, rows[i].actual);
        assert_int_equal(found >= 0 && found <= 1, rows[i].right);
    }
    const uint16_t f16 = 0x7c00;
    given = (struct kit_cell){.value = 65504, .scale = 65504, .k = 1};
    assert_true(ratio(KIT_DIRECT, KIT_UNIT, 1, KIT_F16, &f16) <= 1); /* a rounding away from the largest */
    given.value = given.scale = 60000;
    assert_true(ratio(KIT_DIRECT, KIT_UNIT, 1, KIT_F16, &f16) == KIT_WRONG);
    assert_true(kit_dtype_largest(KIT_F8E4M3) == 448 && kit_dtype_largest(KIT_F8E5M2) == 57344);
    assert_true(kit_dtype_largest(KIT_F16) == 65504 && kit_dtype_largest(KIT_F32) == largest);
    assert_true(kit_dtype_smallest(KIT_F32) == tiny && kit_dtype_smallest(KIT_F16) == 0x1p-24L);
}

static void too_many_terms_are_an_error(void **state)
{
    const uint16_t one = 0x3c00;
    given = (struct kit_cell){.value = 1, .scale = 1, .k = 1023};
    assert_true(ratio(KIT_DIRECT, KIT_UNIT, 1, KIT_F16, &one) == 0);
    given.k = 1024; /* k u = 1/2 */
    assert_true(ratio(KIT_DIRECT, KIT_UNIT, 1, KIT_F16, &one) == -2);
    assert_non_null(strstr(kit_outcome()->text, "k = 1024 terms are too many"));
}

static int64_t accepted_wrong;

static int accepts_given(struct kit_call *call, int output, const void *const *in, const void *logical,
                         int64_t *ret_wrong)
{
    *ret_wrong = accepted_wrong;
    return KIT_OK;
}

static void several_right_values_are_accepted(void **state)
{
    const struct op op = {.name = "given", .accepts = accepts_given};
    const struct kit_operands operands = {.op = &op, .shape = {.count = 1}};
    const struct kit_request request = {.set = KIT_UNIT};
    double result = -1;
    accepted_wrong = 0;
    assert_int_equal(kit_check_reference(&operands, NULL, &request, 0, NULL, NULL, &result), KIT_OK);
    assert_true(result == 0);
    accepted_wrong = 1;
    assert_int_equal(kit_check_reference(&operands, NULL, &request, 0, NULL, NULL, &result), KIT_OK);
    assert_true(result == KIT_WRONG);
    const struct op neither = {.name = "neither"};
    const struct kit_operands bare = {.op = &neither};
    assert_int_equal(kit_check_reference(&bare, NULL, &request, 0, NULL, NULL, &result), 1);
}

static struct kit_cell left_over[3];
static int forgotten = -1; /* an operand that the residual leaves as it found it */

static int residual_given(struct kit_call *call, const void *const *in, const void *const *out,
                          struct kit_cell *ret)
{
    for (int i = 0; i < 3; i++) {
        if (i != forgotten) {
            ret[i] = left_over[i];
        }
    }
    return KIT_OK;
}

/* Outputs that are right together: c gamma_k scale for each, in every arithmetic and set; inputs have none.
 */
static void residuals_have_a_bound(void **state)
{
    const struct op op = {.name = "given", .residual = residual_given};
    const struct kit_operands operands = {.op = &op,
                                          .shape = {.count = 3,
                                                    .operand = {{.role = KIT_CONSUMED, .dtype = KIT_F32},
                                                                {.role = KIT_INOUT, .dtype = KIT_F32},
                                                                {.role = KIT_OUT, .dtype = KIT_S32}}}};
    const struct kit_request request = {.arithmetic = KIT_DIRECT, .set = KIT_EXACT, .bound = 4};
    double ratios[KIT_MAX_OPERANDS] = {-1, -1, -1};
    left_over[1] = (struct kit_cell){.value = -0x1p-20L, .scale = 2, .k = 1};
    left_over[2] = (struct kit_cell){.value = 0, .scale = 1, .k = 0};
    assert_int_equal(kit_check_residual(&operands, NULL, &request, NULL, ratios), KIT_OK);
    assert_true(ratios[0] == -1 && fabs(ratios[1] - 2) < 1e-6 && ratios[2] == 0);
    for (forgotten = 2; forgotten >= 0;
         forgotten--) { /* of the outputs none is right unless the op says so */
        assert_int_equal(kit_check_residual(&operands, NULL, &request, NULL, ratios), KIT_OK);
        assert_int_equal(ratios[1] == KIT_WRONG, forgotten == 1);
        assert_int_equal(ratios[2] == KIT_WRONG, forgotten == 2);
        assert_true(ratios[0] == -1);
    }
    left_over[2].value = 1; /* one pivot that is none */
    left_over[1].value = NAN;
    assert_int_equal(kit_check_residual(&operands, NULL, &request, NULL, ratios), KIT_OK);
    assert_true(ratios[1] == KIT_WRONG && ratios[2] == KIT_WRONG);
    left_over[1].k = 1 << 24;
    assert_int_equal(kit_check_residual(&operands, NULL, &request, NULL, ratios), KIT_FAILED);
}

static size_t asked;

static int reference_counted(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                             size_t count, struct kit_cell *ret)
{
    asked += count;
    return KIT_OK;
}

/* Under a cap of the instruction set a sample of the cells is asked for, anywhere else every one. */
static void caps_check_a_sample(void **state)
{
    static const float zeros[64 * 64];
    static const struct {
        const char *axis, *setting;
        size_t most, least;
    } rows[] = {
        {"repeat", "", 64 * 64, 64 * 64},
        {"threads", "4", 64 * 64, 64 * 64},
        {"isa", "openblas/Haswell", 512, 400},
        {"isa*repeat", "onednn/AVX2", 512, 400},
    };
    const struct op op = {.name = "counted", .reference = reference_counted};
    const struct kit_operands operands = {
        .op = &op,
        .shape = {
            .count = 1,
            .operand = {{.name = "c", .role = KIT_OUT, .dtype = KIT_F32, .ndim = 2, .shape = {64, 64}}}}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kit_request request = {.set = KIT_UNIT, .bound = 1};
        double result = -1;
        asked = 0;
        assert_int_equal(kit_setting_parse(rows[i].axis, rows[i].setting, &request.setting), KIT_OK);
        assert_int_equal(kit_check_reference(&operands, NULL, &request, 0, zeros, NULL, &result), KIT_OK);
        assert_in_range(asked, rows[i].least, rows[i].most);
        assert_true(result == 0);
    }
}

static void cells_are_all_or_a_sample_with_edges(void **state)
{
    const struct kit_operand operand = {.name = "c", .dtype = KIT_F32, .ndim = 2, .shape = {1000, 2000}};
    size_t count;
    int64_t *cells = kit_check_cells(&operand, KIT_CHECK_ALL_FLOPS, NULL, &count);
    assert_int_equal(count, 2000000);
    free(cells);
    cells = kit_check_cells(&operand, KIT_CHECK_ALL_FLOPS + 1, NULL, &count);
    assert_in_range(count, 400, 512);
    int corners = 0, edges = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t row = cells[i] / 2000;
        const int64_t column = cells[i] % 2000;
        assert_true(i == 0 || cells[i] > cells[i - 1]);
        corners += (row == 0 || row == 999) && (column == 0 || column == 1999);
        edges += row == 0 || row == 999 || column == 0 || column == 1999;
    }
    assert_int_equal(corners, 4);
    assert_true(edges > 60);
    assert_int_equal(cells[0], 0);
    assert_int_equal(cells[count - 1], 1999999);
    free(cells);
    uint8_t *const mask = calloc(2000000, 1);
    mask[12345] = 1;
    cells = kit_check_cells(&operand, 0, mask, &count);
    assert_int_equal(count, 1);
    assert_int_equal(cells[0], 12345);
    free(cells);
    memset(mask + 1000000, 1, 1000000); /* half of it */
    cells = kit_check_cells(&operand, 1e12, mask, &count);
    assert_in_range(count, 400, 512);
    for (size_t i = 0; i < count; i++) {
        assert_true(mask[cells[i]]);
    }
    free(cells);
    free(mask);
}

static void dot_products_are_precise(void **state)
{
    float a[19], b[19];
    double c[19], d[19];
    long double sum = 0, scale = 0;
    for (int i = 0; i < 19; i++) {
        c[i] = a[i] = (float)(i % 2 ? 1e6 + i : -1e6 - i);
        d[i] = b[i] = (float)(1 + i) / 3;
        sum += (long double)a[i] * b[i];
        scale += fabsl((long double)a[i] * b[i]);
    }
    const struct kit_cell single = kit_reference_dot(KIT_F32, a, b, 19);
    const struct kit_cell twice = kit_reference_dot(KIT_F64, c, d, 19);
    assert_true(fabsl(single.value - sum) < 1e-8L && fabsl(single.scale - scale) < 1e-8L && single.k == 19);
    assert_true(fabsl(twice.value - sum) < 1e-10L && fabsl(twice.scale - scale) < 1e-10L && twice.k == 19);
    const float matrix[6] = {1, 2, 3, 4, 5, 6}; /* stored 2 x 3, read as its 3 x 2 transpose */
    float *const turned = kit_reference_matrix(KIT_F32, matrix, 3, 2, true);
    const float expected[6] = {1, 4, 2, 5, 3, 6};
    assert_memory_equal(turned, expected, sizeof(expected));
    free(turned);
}

/* T x = b with x known: small integers, so everything is exact. */
static void triangles_are_solved(void **state)
{
    const double nan = (double)NAN;
    const double lower[9] = {2, nan, nan, -1, 4, nan, 3, 5, -8};
    const double upper[9] = {2, -1, 3, nan, 4, 5, nan, nan, -8};
    const long double x[3] = {3, -2, 7};
    static const struct {
        bool upper, transposed;
    } forms[] = {{false, false}, {false, true}, {true, false}, {true, true}};
    for (int f = 0; f < 4; f++) {
        const double *const matrix = forms[f].upper ? upper : lower;
        long double b[3] = {0}, solved[3], scale[3];
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                const double t = forms[f].transposed ? matrix[j * 3 + i] : matrix[i * 3 + j];
                b[i] += isnan(t) ? 0 : (long double)t * x[j];
            }
        }
        struct kit_triangle triangle;
        kit_triangle_init(&triangle, KIT_F64, matrix, 3, forms[f].upper, forms[f].transposed);
        kit_triangle_solve(&triangle, b, solved, scale);
        for (int i = 0; i < 3; i++) {
            assert_true(solved[i] == x[i]);
            assert_true(scale[i] >= fabsl(x[i])); /* at least the unknown's own rounding */
        }
        kit_triangle_free(&triangle);
    }
}

/* scale = M(T)^-1 |T||x| by hand: T = [2 0; -6 3], x = (1, 1): |T||x| = (2, 9); M(T) = [2 0; -6 3];
 * y1 = 1, y2 = (9 + 6) / 3 = 5. */
static void the_scale_of_a_solve_is_the_comparison_matrix(void **state)
{
    const double matrix[4] = {2, 0, -6, 3};
    const long double b[2] = {2, -3};
    long double x[2], scale[2];
    struct kit_triangle triangle;
    kit_triangle_init(&triangle, KIT_F64, matrix, 2, false, false);
    kit_triangle_solve(&triangle, b, x, scale);
    assert_true(x[0] == 1 && x[1] == 1 && scale[0] == 1 && scale[1] == 5);
    kit_triangle_free(&triangle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_exceed_the_bound),
        cmocka_unit_test(only_written_cells_are_checked),
        cmocka_unit_test(bounds_are_as_stated),
        cmocka_unit_test(ends_of_the_range),
        cmocka_unit_test(too_many_terms_are_an_error),
        cmocka_unit_test(several_right_values_are_accepted),
        cmocka_unit_test(residuals_have_a_bound),
        cmocka_unit_test(caps_check_a_sample),
        cmocka_unit_test(cells_are_all_or_a_sample_with_edges),
        cmocka_unit_test(dot_products_are_precise),
        cmocka_unit_test(triangles_are_solved),
        cmocka_unit_test(the_scale_of_a_solve_is_the_comparison_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

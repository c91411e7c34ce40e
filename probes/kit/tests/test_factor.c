/* SPDX-License-Identifier: Apache-2.0
 *
 * Factorizations: right ones, made here in long double and rounded, are within their bounds, also with other
 * signs; each kind of fault is not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "probes/kit/check.h"
#include "probes/kit/dtype.h"
#include "probes/kit/factor.h"

/* What the kit makes of a cell at c = 2. */
static double over(const struct kit_cell *cell, enum kit_dtype dtype)
{
    const long double ku = (long double)cell->k * kit_dtype_roundoff(dtype);
    const long double bound = 2 * ku / (1 - ku) * cell->scale;
    return cell->value == 0                       ? 0
           : !isfinite(cell->value) || bound == 0 ? KIT_WRONG
                                                  : (double)(cell->value / bound);
}

static void is_right(const struct kit_cell *cell, enum kit_dtype dtype)
{
    assert_true(over(cell, dtype) <= 1);
}

static void is_wrong(const struct kit_cell *cell, enum kit_dtype dtype)
{
    assert_true(over(cell, dtype) > 1);
}

/* P A = L U with the rows of A exchanged once: A = {{1, 2}, {2, 1}, {-1, 4}}. */
static void lu(void **state)
{
    const double a[] = {1, 2, 2, 1, -1, 4};
    const struct kit_factored of = {.dtype = KIT_F64, .m = 3, .n = 2, .matrix = a};
    const double good[] = {2, 1, -0.5, 4.5, 0.5, 1.0 / 3}; /* then the second largest: -1 4 before 1 2 */
    const int32_t pivots[] = {2, 3};
    const int64_t wide[] = {2, 3};
    struct kit_cell factors, seats;
    kit_factor_lu(&of, good, KIT_S32, pivots, &factors, &seats);
    is_right(&factors, KIT_F64);
    is_right(&seats, KIT_S32);
    kit_factor_lu(&of, good, KIT_S64, wide, &factors, &seats);
    is_right(&factors, KIT_F64);
    is_right(&seats, KIT_S64);
    for (int i = 0; i < 6; i++) { /* one element off by 16 ulp */
        double bad[6];
        memcpy(bad, good, sizeof(bad));
        bad[i] *= 1 + 0x1p-48;
        kit_factor_lu(&of, bad, KIT_S32, pivots, &factors, &seats);
        is_wrong(&factors, KIT_F64);
    }
    const int32_t others[][2] = {{1, 3}, {2, 2}, {0, 3}, {2, 4}, {2, 1}};
    for (int i = 0; i < 5; i++) {
        kit_factor_lu(&of, good, KIT_S32, others[i], &factors, &seats);
        assert_true(over(&factors, KIT_F64) > 1 || over(&seats, KIT_S32) > 1);
    }
    const double unpivoted[] = {1, 2, 2, -3, -1, -2}; /* A = L U too, but L reaches 2 */
    const int32_t none[] = {1, 2};
    kit_factor_lu(&of, unpivoted, KIT_S32, none, &factors, &seats);
    is_right(&factors, KIT_F64);
    is_wrong(&seats, KIT_S32);
    const double nan[] = {2, 1, -0.5, NAN, 0.5, 1.0 / 3};
    kit_factor_lu(&of, nan, KIT_S32, pivots, &factors, &seats);
    is_wrong(&factors, KIT_F64);
}

static void solved(void **state)
{
    const float a[] = {1, 2, 2, 1}, factors[] = {2, 1, 0.5f, 1.5f}, b[] = {5, 3, 4, 3}, x[] = {1, 1, 2, 1};
    const int32_t pivots[] = {2, 2};
    const struct kit_factored of = {.dtype = KIT_F32, .m = 2, .n = 2, .matrix = a};
    struct kit_cell cell = kit_factor_solved(&of, factors, KIT_S32, pivots, b, x, 2);
    is_right(&cell, KIT_F32);
    for (int i = 0; i < 4; i++) {
        float bad[4];
        memcpy(bad, x, sizeof(bad));
        bad[i] += i == 3 ? NAN : 1e-4f;
        cell = kit_factor_solved(&of, factors, KIT_S32, pivots, b, bad, 2);
        is_wrong(&cell, KIT_F32);
    }
}

/* {{4, 2}, {2, 10}} = L L^T, L = {{2, 0}, {1, 3}}; the other half of both is NaN. */
static void cholesky(void **state)
{
    const float halves[2][4] = {{4, NAN, 2, 10}, {4, 2, NAN, 10}},
                factors[2][4] = {{2, NAN, 1, 3}, {2, 1, NAN, 3}};
    for (int upper = 0; upper < 2; upper++) {
        const struct kit_factored of = {
            .dtype = KIT_F32, .m = 2, .n = 2, .matrix = halves[upper], .upper = upper};
        struct kit_cell cell = kit_factor_cholesky(&of, factors[upper]);
        is_right(&cell, KIT_F32);
        for (int i = 0; i < 4; i++) {
            float bad[4];
            memcpy(bad, factors[upper], sizeof(bad));
            bad[i] *= 1.0001f;
            cell = kit_factor_cholesky(&of, bad);
            assert_int_equal(over(&cell, KIT_F32) > 1, i != (upper ? 2 : 1));
        }
        float negative[4];
        memcpy(negative, factors[upper], sizeof(negative));
        negative[3] = -3; /* multiplies back, but a factor has a positive diagonal */
        cell = kit_factor_cholesky(&of, negative);
        is_wrong(&cell, KIT_F32);
    }
}

/* The column (3, 4) becomes (-5, 0) or (5, 0): v = (1, 4 / (3 + 5)), tau = 1 + 3 / 5, or the other sign. */
static void qr(void **state)
{
    const double a[] = {3, 4};
    const struct kit_factored of = {.dtype = KIT_F64, .m = 2, .n = 1, .matrix = a};
    const double factors[2][2] = {{-5, 0.5}, {5, -2}}, taus[2] = {1.6, 0.4};
    struct kit_cell cell, skew;
    for (int i = 0; i < 2; i++) {
        kit_factor_qr(&of, factors[i], &taus[i], &cell, &skew);
        is_right(&cell, KIT_F64);
        is_right(&skew, KIT_F64);
    }
    const double off = 1.6 * (1 + 0x1p-48), bad[2][2] = {{-5, 0.5 + 0x1p-48}, {-5 + 0x1p-46, 0.5}};
    kit_factor_qr(&of, factors[0], &off, &cell, &skew);
    is_wrong(&skew, KIT_F64);
    for (int i = 0; i < 2; i++) {
        kit_factor_qr(&of, bad[i], &taus[0], &cell, &skew);
        is_wrong(&cell, KIT_F64);
    }
}

/* {{2, 1}, {1, 2}}: 1 with (1, -1), 3 with (1, 1). */
static void eigen(void **state)
{
    const double h = sqrt(0.5), a[] = {2, NAN, 1, 2}, values[] = {1, 3};
    const double vectors[2][4] = {{h, h, -h, h}, {-h, h, h, h}}; /* of either sign */
    const struct kit_factored of = {.dtype = KIT_F64, .m = 1, .n = 2, .matrix = a};
    struct kit_cell v, w;
    for (int i = 0; i < 2; i++) {
        kit_factor_eigen(&of, vectors[i], values, &v, &w);
        is_right(&v, KIT_F64);
        is_right(&w, KIT_F64);
    }
    const double swapped[] = {3, 1}, exchanged[] = {h, h, h, -h};
    kit_factor_eigen(&of, exchanged, swapped, &v, &w); /* multiplies back, in another order */
    is_right(&v, KIT_F64);
    is_wrong(&w, KIT_F64);
    const double off[] = {1, 3 + 0x1p-46};
    kit_factor_eigen(&of, vectors[0], off, &v, &w);
    is_wrong(&w, KIT_F64);
    const double parallel[] = {h, h, -h, -h}, longer[] = {h, 2 * h, -h, 2 * h}, nan[] = {h, h, NAN, h};
    const double *const bad[] = {parallel, longer, nan};
    for (int i = 0; i < 3; i++) { /* `longer` has no residual, but is not orthonormal */
        kit_factor_eigen(&of, bad[i], values, &v, &w);
        is_wrong(&v, KIT_F64);
    }
}

static void singular(void **state)
{
    const double tall[] = {3, 0, 0, 0, 0, 2}, wide[] = {3, 0, 0, 0, 0, 2};
    const double s[] = {3, 2}, tall_u[] = {1, 0, 0, 0, 0, -1}, tall_vt[] = {1, 0, 0, -1};
    const double wide_u[] = {1, 0, 0, 1}, wide_vt[] = {1, 0, 0, 0, 0, 1};
    const struct {
        struct kit_factored of;
        const double *u, *vt;
    } forms[] = {{{.dtype = KIT_F64, .m = 3, .n = 2, .matrix = tall}, tall_u, tall_vt},
                 {{.dtype = KIT_F64, .m = 2, .n = 3, .matrix = wide}, wide_u, wide_vt}};
    struct kit_cell u, values, vt;
    for (int f = 0; f < 2; f++) {
        kit_factor_singular(&forms[f].of, forms[f].u, s, forms[f].vt, &u, &values, &vt);
        is_right(&u, KIT_F64);
        is_right(&values, KIT_F64);
        is_right(&vt, KIT_F64);
        const double off[] = {3, 2 + 0x1p-46}, swapped[] = {2, 3}, negative[] = {3, -2};
        const double *const bad[] = {off, swapped, negative};
        for (int i = 0; i < 3; i++) {
            kit_factor_singular(&forms[f].of, forms[f].u, bad[i], forms[f].vt, &u, &values, &vt);
            is_wrong(&values, KIT_F64);
        }
        double skew_u[6], skew_vt[6];
        memcpy(skew_u, forms[f].u, (f ? 4 : 6) * sizeof(double));
        memcpy(skew_vt, forms[f].vt, (f ? 6 : 4) * sizeof(double));
        skew_u[1] = 0x1p-40;
        kit_factor_singular(&forms[f].of, skew_u, s, forms[f].vt, &u, &values, &vt);
        is_wrong(&u, KIT_F64);
        skew_vt[1] = 0x1p-40;
        kit_factor_singular(&forms[f].of, forms[f].u, s, skew_vt, &u, &values, &vt);
        is_wrong(&vt, KIT_F64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lu), cmocka_unit_test(solved), cmocka_unit_test(cholesky),
        cmocka_unit_test(qr), cmocka_unit_test(eigen),  cmocka_unit_test(singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Residuals of factorizations. What a backward stable algorithm gives is exact for a matrix close by, so the
 * product of its factors is close to the matrix, however far they are from other factors. Dot products are
 * the references' own, in higher precision.
 */
#include "probes/kit/factor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/reference.h"
#include "suite/base/text.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static const char *row_of(const struct kit_factored *of, const void *matrix, int64_t row, int64_t columns)
{
    return (const char *)matrix + (size_t)(row * columns) * kit_dtype_size(of->dtype);
}

/* Keeps the largest of `error` over `scale`; what is no number, and an error without scale, are infinite. */
static void take(long double *worst, long double error, long double scale)
{
    const long double ratio = error == 0 ? 0 : fabsl(error) / scale;
    if (!(ratio <= *worst)) {
        *worst = isfinite(ratio) ? ratio : (long double)INFINITY;
    }
}

static struct kit_cell cell_of(long double worst, int64_t k)
{
    return (struct kit_cell){.value = worst, .scale = 1, .k = k};
}

/* The whole of a matrix of which one half is stored. Owned. */
static void *whole(const struct kit_factored *of)
{
    const int64_t n = of->n;
    const size_t size = kit_dtype_size(of->dtype);
    char *const full = dp_alloc((size_t)(n * n), size);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const bool stored = of->upper ? i <= j : i >= j;
            memcpy(full + (size_t)(i * n + j) * size,
                   (const char *)of->matrix + (size_t)(stored ? i * n + j : j * n + i) * size, size);
        }
    }
    return full;
}

/* A triangle as rows: of the lower half, or the columns of the upper; the rest 0. `unit`: ones on the
 * diagonal. rows x columns, of a matrix with `stride` elements in a row. Owned. */
static void *triangle_rows(enum kit_dtype dtype, const void *matrix, int64_t rows, int64_t columns,
                           int64_t stride, bool upper, bool unit)
{
    const size_t size = kit_dtype_size(dtype);
    char *const dense = dp_alloc((size_t)(rows * columns), size);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k <= i && k < columns; k++) {
            const int64_t from = upper ? k * stride + i : i * stride + k;
            memcpy(dense + (size_t)(i * columns + k) * size, (const char *)matrix + (size_t)from * size,
                   size);
        }
        if (unit && i < columns) {
            kit_store(dtype, dense, i * columns + i, 1);
        }
    }
    return dense;
}

/* --- LU --- */

/* Which row of A stands in each seat after the exchanges. Owned. Counts pivots that are none. */
static int64_t *seats(const struct kit_factored *of, enum kit_dtype dtype, const void *pivots,
                      int64_t *ret_bad)
{
    int64_t *const seat = dp_alloc((size_t)of->m, sizeof(*seat));
    *ret_bad = 0;
    for (int64_t i = 0; i < of->m; i++) {
        seat[i] = i;
    }
    for (int64_t i = 0; i < least(of->m, of->n); i++) {
        const int64_t with = (int64_t)kit_value(dtype, pivots, i) - 1;
        if (with < i || with >= of->m) {
            ++*ret_bad;
            continue;
        }
        const int64_t kept = seat[i];
        seat[i] = seat[with];
        seat[with] = kept;
    }
    return seat;
}

/* Elements of L that no largest pivot leaves; a reciprocal may round them up by two. */
static int64_t count_large(const struct kit_factored *of, const void *factors)
{
    const long double most = 1 + 4 * kit_dtype_roundoff(of->dtype);
    int64_t large = 0;
    for (int64_t i = 0; i < of->m; i++) {
        for (int64_t k = 0; k < i && k < of->n; k++) {
            large += !(fabsl(kit_value(of->dtype, factors, i * of->n + k)) <= most);
        }
    }
    return large;
}

void kit_factor_lu(const struct kit_factored *of, const void *factors, enum kit_dtype pivot_dtype,
                   const void *pivots, struct kit_cell *ret_factors, struct kit_cell *ret_pivots)
{
    const int64_t r = least(of->m, of->n);
    int64_t bad;
    long double worst = 0;
    int64_t *const seat = seats(of, pivot_dtype, pivots, &bad);
    void *const lower = triangle_rows(of->dtype, factors, of->m, r, of->n, false, true);
    void *const upper = triangle_rows(of->dtype, factors, of->n, r, of->n, true, false);
    for (int64_t i = 0; i < of->m; i++) {
        for (int64_t j = 0; j < of->n; j++) {
            const struct kit_cell product =
                kit_reference_dot(of->dtype, row_of(of, lower, i, r), row_of(of, upper, j, r), r);
            take(&worst, product.value - kit_value(of->dtype, of->matrix, seat[i] * of->n + j),
                 product.scale);
        }
    }
    free(seat);
    free(lower);
    free(upper);
    *ret_factors = cell_of(worst, r);
    *ret_pivots = cell_of((long double)(bad + count_large(of, factors)), 0);
}

/* |L||U||x| of one column, in `ret`. */
static void magnify(const struct kit_factored *of, const void *factors, const long double *x,
                    long double *work, long double *ret)
{
    const int64_t n = of->n;
    for (int64_t i = 0; i < n; i++) {
        work[i] = 0;
        for (int64_t j = i; j < n; j++) {
            work[i] += fabsl(kit_value(of->dtype, factors, i * n + j) * x[j]);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        ret[i] = work[i];
        for (int64_t j = 0; j < i; j++) {
            ret[i] += fabsl(kit_value(of->dtype, factors, i * n + j)) * work[j];
        }
    }
}

struct kit_cell kit_factor_solved(const struct kit_factored *of, const void *factors,
                                  enum kit_dtype pivot_dtype, const void *pivots, const void *b,
                                  const void *x, int64_t columns)
{
    const int64_t n = of->n;
    int64_t bad;
    int64_t *const seat = seats(of, pivot_dtype, pivots, &bad);
    long double *const column = dp_alloc((size_t)n * 3, sizeof(*column));
    long double *const scale = column + n, *const work = scale + n;
    long double worst = 0;
    for (int64_t c = 0; c < columns; c++) {
        for (int64_t i = 0; i < n; i++) {
            column[i] = kit_value(of->dtype, x, i * columns + c);
        }
        magnify(of, factors, column, work, scale);
        for (int64_t i = 0; i < n; i++) {
            long double rest = kit_value(of->dtype, b, seat[i] * columns + c);
            for (int64_t j = 0; j < n; j++) {
                rest -= kit_value(of->dtype, of->matrix, seat[i] * n + j) * column[j];
            }
            take(&worst, rest, scale[i]);
        }
    }
    free(seat);
    free(column);
    return cell_of(worst, 3 * n);
}

/* --- Cholesky --- */

struct kit_cell kit_factor_cholesky(const struct kit_factored *of, const void *factor)
{
    const int64_t n = of->n;
    long double worst = 0;
    void *const rows = triangle_rows(of->dtype, factor, n, n, n, of->upper, false);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            const struct kit_cell product =
                kit_reference_dot(of->dtype, row_of(of, rows, i, n), row_of(of, rows, j, n), j + 1);
            const int64_t at = of->upper ? j * n + i : i * n + j;
            take(&worst, product.value - kit_value(of->dtype, of->matrix, at), product.scale);
        }
        take(&worst, kit_value(of->dtype, factor, i * n + i) > 0 ? 0 : 1, 0);
    }
    free(rows);
    return cell_of(worst, n + 1);
}

/* --- QR --- */

/* v of the k-th reflector from its place k on, for every k, in columns of m. Owned. */
static long double *reflectors(const struct kit_factored *of, const void *factors)
{
    const int64_t r = least(of->m, of->n);
    long double *const v = dp_alloc((size_t)(r * of->m), sizeof(*v));
    for (int64_t k = 0; k < r; k++) {
        v[k * of->m + k] = 1;
        for (int64_t i = k + 1; i < of->m; i++) {
            v[k * of->m + i] = kit_value(of->dtype, factors, i * of->n + k);
        }
    }
    return v;
}

/* Applies one reflector to one column; returns v^T v. */
static long double reflect(const long double *v, long double tau, int64_t k, int64_t m, long double *column)
{
    long double sum = 0, square = 0;
    for (int64_t i = k; i < m; i++) {
        sum += v[i] * column[i];
        square += v[i] * v[i];
    }
    for (int64_t i = k; i < m; i++) {
        column[i] -= tau * sum * v[i];
    }
    return square;
}

void kit_factor_qr(const struct kit_factored *of, const void *factors, const void *tau,
                   struct kit_cell *ret_factors, struct kit_cell *ret_tau)
{
    const int64_t m = of->m, n = of->n;
    long double *const column = dp_alloc((size_t)m, sizeof(*column)), *const v = reflectors(of, factors);
    long double worst = 0, skew = 0;
    for (int64_t j = 0; j < n; j++) {
        long double norm = 0, off = 0;
        for (int64_t i = 0; i < m; i++) {
            column[i] = kit_value(of->dtype, of->matrix, i * n + j);
            norm += column[i] * column[i];
        }
        for (int64_t k = 0; k < least(m, n); k++) {
            const long double t = kit_value(of->dtype, tau, k);
            take(&skew, t * (t * reflect(v + k * m, t, k, m, column) - 2), 1);
        }
        for (int64_t i = 0; i < m; i++) {
            const long double error = column[i] - (i <= j ? kit_value(of->dtype, factors, i * n + j) : 0);
            off += error * error;
        }
        take(&worst, sqrtl(off), sqrtl(norm));
    }
    free(column);
    free(v);
    *ret_factors = cell_of(worst, m);
    *ret_tau = cell_of(skew, m);
}

/* --- eigenvalues, singular values --- */

/* The largest |x_i . x_j - (i = j)| over rows x of a matrix. */
static long double skewness(const struct kit_factored *of, const void *rows, int64_t count, int64_t length)
{
    long double worst = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j <= i; j++) {
            take(
                &worst,
                kit_reference_dot(of->dtype, row_of(of, rows, i, length), row_of(of, rows, j, length), length)
                        .value -
                    (i == j),
                1);
        }
    }
    return worst;
}

/* |A X^T - Y^T diag(values)| over |A|, Frobenius: X and Y have the vectors in rows; of the first `count` of
 * them. A has rows x columns. */
static long double residual(const struct kit_factored *of, const void *a, int64_t rows, int64_t columns,
                            const void *x, const void *y, const void *values, int64_t count)
{
    long double off = 0, norm = 0, worst = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            const long double value = kit_value(of->dtype, a, i * columns + j);
            norm += value * value;
        }
        for (int64_t k = 0; k < count; k++) {
            const struct kit_cell product =
                kit_reference_dot(of->dtype, row_of(of, a, i, columns), row_of(of, x, k, columns), columns);
            const long double error =
                product.value - kit_value(of->dtype, y, k * rows + i) * kit_value(of->dtype, values, k);
            off += error * error;
        }
    }
    take(&worst, sqrtl(off), sqrtl(norm));
    return worst;
}

static bool in_order(const struct kit_factored *of, const void *values, int64_t count, bool ascending)
{
    bool good = ascending || kit_value(of->dtype, values, count - 1) >= 0;
    for (int64_t i = 1; i < count; i++) {
        const long double before = kit_value(of->dtype, values, i - 1);
        const long double value = kit_value(of->dtype, values, i);
        good = good && (ascending ? before <= value : before >= value);
    }
    return good;
}

void kit_factor_eigen(const struct kit_factored *of, const void *vectors, const void *values,
                      struct kit_cell *ret_vectors, struct kit_cell *ret_values)
{
    const int64_t n = of->n;
    void *const a = whole(of);
    void *const rows = kit_reference_matrix(of->dtype, vectors, n, n, true);
    const long double off = residual(of, a, n, n, rows, rows, values, n);
    const long double skew = skewness(of, rows, n, n);
    *ret_vectors = cell_of(skew > off ? skew : off, n);
    *ret_values = cell_of(in_order(of, values, n, true) ? off : (long double)INFINITY, n);
    free(a);
    free(rows);
}

/* From the side that has as many vectors as the matrix has: A V = U S, or A^T U = V S. */
void kit_factor_singular(const struct kit_factored *of, const void *u, const void *s, const void *vt,
                         struct kit_cell *ret_u, struct kit_cell *ret_s, struct kit_cell *ret_vt)
{
    const int64_t m = of->m, n = of->n, r = least(m, n), k = m > n ? m : n;
    void *const ut = kit_reference_matrix(of->dtype, u, r, m, true);
    void *const at = kit_reference_matrix(of->dtype, of->matrix, n, m, true);
    const long double off =
        m >= n ? residual(of, of->matrix, m, n, vt, ut, s, r) : residual(of, at, n, m, ut, vt, s, r);
    const long double skew_u = skewness(of, ut, r, m), skew_vt = skewness(of, vt, r, n);
    *ret_u = cell_of(skew_u > off ? skew_u : off, k);
    *ret_s = cell_of(in_order(of, s, r, false) ? off : (long double)INFINITY, k);
    *ret_vt = cell_of(skew_vt > off ? skew_vt : off, k);
    free(ut);
    free(at);
}

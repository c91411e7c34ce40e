/* SPDX-License-Identifier: Apache-2.0
 *
 * References in higher precision. Products of two floats are exact in double, so for them only the sum
 * rounds, 2^29 times finer than the operation under test.
 */
#include "probes/kit/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "suite/base/text.h"

#define LANES 8 /* partial sums: the compiler may then use vectors */

static struct kit_cell dot_f32(const float *a, const float *b, int64_t n)
{
    double sum[LANES] = {0};
    double scale[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            const double product = (double)a[i + l] * (double)b[i + l];
            sum[l] += product;
            scale[l] += fabs(product);
        }
    }
    for (; i < n; i++) {
        sum[0] += (double)a[i] * (double)b[i];
        scale[0] += fabs((double)a[i] * (double)b[i]);
    }
    struct kit_cell cell = {.k = n};
    for (int l = 0; l < LANES; l++) {
        cell.value += sum[l];
        cell.scale += scale[l];
    }
    return cell;
}

static struct kit_cell dot_f64(const double *a, const double *b, int64_t n)
{
    struct kit_cell cell = {.k = n};
    for (int64_t i = 0; i < n; i++) {
        const long double product = (long double)a[i] * b[i];
        cell.value += product;
        cell.scale += fabsl(product);
    }
    return cell;
}

struct kit_cell kit_reference_dot(enum kit_dtype dtype, const void *a, const void *b, int64_t n)
{
    if (dtype == KIT_F32) {
        return dot_f32(a, b, n);
    }
    if (dtype == KIT_F64) {
        return dot_f64(a, b, n);
    }
    struct kit_cell cell = {.k = n};
    for (int64_t i = 0; i < n; i++) {
        const long double product = kit_value(dtype, a, i) * kit_value(dtype, b, i);
        cell.value += product;
        cell.scale += fabsl(product);
    }
    return cell;
}

void *kit_reference_matrix(enum kit_dtype dtype, const void *matrix, int64_t rows, int64_t columns,
                           bool transposed)
{
    const size_t size = kit_dtype_size(dtype);
    char *const copy = dp_alloc((size_t)(rows * columns), size);
    if (!transposed) {
        memcpy(copy, matrix, (size_t)(rows * columns) * size);
        return copy;
    }
    for (int64_t j = 0; j < columns; j++) {
        for (int64_t i = 0; i < rows; i++) {
            memcpy(copy + (size_t)(i * columns + j) * size,
                   (const char *)matrix + (size_t)(j * rows + i) * size, size);
        }
    }
    return copy;
}

void kit_triangle_init(struct kit_triangle *triangle, enum kit_dtype dtype, const void *matrix, int64_t n,
                       bool upper, bool transposed)
{
    triangle->n = n;
    triangle->reversed = upper != transposed;
    triangle->lower = dp_alloc((size_t)(n * n), sizeof(*triangle->lower));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            const int64_t row = triangle->reversed ? n - 1 - i : i;
            const int64_t column = triangle->reversed ? n - 1 - j : j;
            triangle->lower[i * n + j] =
                kit_value(dtype, matrix, transposed ? column * n + row : row * n + column);
        }
    }
}

void kit_triangle_free(struct kit_triangle *triangle)
{
    free(triangle->lower);
    triangle->lower = NULL;
}

void kit_triangle_solve(const struct kit_triangle *triangle, const long double *b, long double *ret_x,
                        long double *ret_scale)
{
    const int64_t n = triangle->n;
    for (int64_t i = 0; i < n; i++) {
        const long double *const row = triangle->lower + i * n;
        const int64_t at = triangle->reversed ? n - 1 - i : i;
        long double rest = b[at];
        long double grown = 0; /* |T||x| of this row, then with what earlier rows pass on */
        for (int64_t j = 0; j < i; j++) {
            const int64_t from = triangle->reversed ? n - 1 - j : j;
            rest -= row[j] * ret_x[from];
            grown += fabsl(row[j]) * (fabsl(ret_x[from]) + ret_scale[from]);
        }
        ret_x[at] = rest / row[i];
        ret_scale[at] = (grown + fabsl(row[i] * ret_x[at])) / fabsl(row[i]);
    }
}

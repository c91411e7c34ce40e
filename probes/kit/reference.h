/* SPDX-License-Identifier: Apache-2.0
 *
 * References that many families need: dot products and triangular solves in higher precision, with the scale
 * of their error bounds.
 */
#ifndef KIT_REFERENCE_H
#define KIT_REFERENCE_H

#include "probes/kit/op.h"

/* What float operands lose as TF32, in roundings of a float: two of 11 bits, 2 * 2^-11 in units of 2^-24. */
#define KIT_TF32_K (1 << 14)

/* sum of a_i b_i over dense vectors, in double for types of at most 32 bits and in long double else.
 * scale = sum |a_i||b_i|, k = n. */
struct kit_cell kit_reference_dot(enum kit_dtype dtype, const void *a, const void *b, int64_t n);

/* A dense copy, row-major rows x columns, of a row-major matrix or (transposed) of its transpose, which then
 * is stored columns x rows. Owned. */
void *kit_reference_matrix(enum kit_dtype dtype, const void *matrix, int64_t rows, int64_t columns,
                           bool transposed);

/* A triangular system in long double. */
struct kit_triangle {
    int64_t n;
    bool reversed;      /* upper: solved from the last row */
    long double *lower; /* dense n x n, rows and columns reversed for an upper one; owned */
};
/* From an n x n row-major matrix of which only the half that `upper` names is read; `transposed`: the system
 * is with its transpose. */
void kit_triangle_init(struct kit_triangle *triangle, enum kit_dtype dtype, const void *matrix, int64_t n,
                       bool upper, bool transposed);
void kit_triangle_free(struct kit_triangle *triangle);
/* Solves T x = b: x[n], and scale[n] = M(T)^-1 |T||x| with M the comparison matrix: substitution in whatever
 * order errs by at most gamma_n times that, to first order (Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd ed., theorem 8.5, with |T^-1| <= M(T)^-1 of section 8.3). */
void kit_triangle_solve(const struct kit_triangle *triangle, const long double *b, long double *ret_x,
                        long double *ret_scale);

#endif

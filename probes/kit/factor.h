/* SPDX-License-Identifier: Apache-2.0
 *
 * Are the factors of a matrix right? They are not compared with other factors, whose signs and pivots may
 * differ and are as right: they are multiplied and held against the matrix. Each function returns cells for
 * struct op's `residual`; matrices are dense, row-major and of one float type.
 */
#ifndef KIT_FACTOR_H
#define KIT_FACTOR_H

#include "probes/kit/op.h"

/* Rows and columns of the matrix, its type. */
struct kit_factored {
    enum kit_dtype dtype;
    int64_t m, n;
    const void *matrix; /* before */
    bool upper;         /* of a symmetric matrix: the half that is stored */
};

/* P A = L U in place; `pivots` (s32 or s64, from 1) say which row changed seats with the i-th. Of the
 * factors: the largest |P A - L U| over |L||U|, k = min(m, n). Of the pivots: how many are no row below, or
 * do not make L's elements at most 1. */
void kit_factor_lu(const struct kit_factored *of, const void *factors, enum kit_dtype pivot_dtype,
                   const void *pivots, struct kit_cell *ret_factors, struct kit_cell *ret_pivots);
/* A X = B solved with those factors, columns of B and X: the largest |P B - P A X| over |L||U||X|, k = 3 n.
 */
struct kit_cell kit_factor_solved(const struct kit_factored *of, const void *factors,
                                  enum kit_dtype pivot_dtype, const void *pivots, const void *b,
                                  const void *x, int64_t columns);
/* A = L L^T or U^T U: the largest |A - L L^T| over |L||L^T|, k = n + 1. */
struct kit_cell kit_factor_cholesky(const struct kit_factored *of, const void *factor);
/* A = Q R by reflectors 1 - tau v v^T, v below R: the largest column of Q^T A - R over that of A; of tau, how
 * far the reflectors are from orthogonal. k = m. */
void kit_factor_qr(const struct kit_factored *of, const void *factors, const void *tau,
                   struct kit_cell *ret_factors, struct kit_cell *ret_tau);
/* Symmetric A with eigenvectors in columns and ascending values: |A V - V W| over |A| (Frobenius), and
 * |V^T V - 1| for the vectors; k = n. Values out of order are infinitely wrong. */
void kit_factor_eigen(const struct kit_factored *of, const void *vectors, const void *values,
                      struct kit_cell *ret_vectors, struct kit_cell *ret_values);
/* A = U S V^T, U m x r, V^T r x n, r = min(m, n): the same, with descending values of at least 0. k is the
 * larger of m and n. */
void kit_factor_singular(const struct kit_factored *of, const void *u, const void *s, const void *vt,
                         struct kit_cell *ret_u, struct kit_cell *ret_s, struct kit_cell *ret_vt);

#endif

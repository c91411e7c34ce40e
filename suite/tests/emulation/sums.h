/* SPDX-License-Identifier: Apache-2.0
 *
 * What the emulated libraries of matrix products share: elements of their types, and sums in pieces of 64
 * that an injection adds up in another order.
 */
#ifndef EMULATION_SUMS_H
#define EMULATION_SUMS_H

#include <library_types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t emulate_size(cudaDataType_t type);
double emulate_load(cudaDataType_t type, const void *from, int64_t i);
void emulate_store(cudaDataType_t type, void *to, int64_t i, double value);
/* Whether a column-major matrix is within device memory. */
bool emulate_is_matrix(const void *matrix, cudaDataType_t type, int64_t rows, int64_t columns, int64_t ld);

/* `count` vectors of `k` elements, one after the other: columns of a column-major matrix or (across) its
 * rows, rounded as tf32 units do where asked for. */
void emulate_gather(cudaDataType_t type, const void *matrix, int64_t ld, bool across, int64_t count,
                    int64_t k, bool tf32, double *ret);
float *emulate_narrow(const double *values, int64_t count); /* owned */

/* The order in which the pieces of a sum of n are added up. */
struct sum_order {
    int32_t *place; /* owned */
    int32_t pieces;
};
struct sum_order emulate_sum_order(int64_t n, bool shuffled);
float emulate_dot_float(const float *a, const float *b, int64_t n, const struct sum_order *order);
double emulate_dot_double(const double *a, const double *b, int64_t n, const struct sum_order *order);

#endif

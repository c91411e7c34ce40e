/* SPDX-License-Identifier: Apache-2.0
 *
 * Scatter and index operations but for the loops and kernels that do them: parameters, operands, references.
 * All backends take the same parameters and operands, so they share inputs and what is right.
 */
#ifndef KIT_SCATTER_H
#define KIT_SCATTER_H

#include "probes/kit/op.h"

/* dst[g][indices[g][i]][:] += src[g][i][:], g a group (the leading dimension), [:] a row of `width`.
 * Elementwise each element of src has an index: dst[g][indices[g][i][j]][j] += src[g][i][j]. */
struct kit_scatter {
    int64_t groups, n, rows, width;
    int64_t multiplicity; /* how often each index that occurs does; 0: as chance has it */
    int64_t padding;      /* this index is skipped; -1: none is */
    enum kit_dtype dtype;
    bool elementwise;
};

/* Operands by number. A count has no source: its result stands there. */
enum { KIT_SCATTER_INDICES, KIT_SCATTER_SOURCE, KIT_SCATTER_TARGET };

/* From `groups`, `n`, `rows`, `width`, `multiplicity`, `dtype` and, where given, `elementwise` and `padding`.
 */
int kit_scatter_read(const struct kit_params *params, struct kit_scatter *ret);

/* Offset in dst of element `element` of src, or -1 where its index is skipped. `indices` as the operand. */
int64_t kit_scatter_cell(const struct kit_scatter *g, const int64_t *indices, int64_t element);

/* Functions of struct op: dst starts at zero; onto what dst holds; counts of the indices. */
int kit_scatter_describe_add(const struct kit_params *params, struct kit_shape *ret);
int kit_scatter_describe_onto(const struct kit_params *params, struct kit_shape *ret);
int kit_scatter_describe_count(const struct kit_params *params, struct kit_shape *ret);
int kit_scatter_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret);
/* Without accumulation: a cell may hold any value that was written to it; one that nobody writes keeps what
 * it held. */
int kit_scatter_accepts(struct kit_call *call, int output, const void *const *in, const void *logical,
                        int64_t *ret_wrong);

#endif

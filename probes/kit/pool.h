/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling over the last two dimensions of N x C x H x W as every backend has it: parameters, operands and
 * references; a probe adds the call and the layout. Windows that overlap (stride below window) make several
 * outputs fall on one input element in the backward pass; only then can an order of additions show.
 */
#ifndef KIT_POOL_H
#define KIT_POOL_H

#include "probes/kit/op.h"

enum kit_pool_kind { KIT_POOL_MAX, KIT_POOL_AVERAGE_INCLUDE, KIT_POOL_AVERAGE_EXCLUDE };

/* Of one call. The first member of the probe's state: references find it at call->state. */
struct kit_pool {
    int64_t n, c, h, w, oh, ow, window, stride, pad;
    int64_t levels; /* distinct values of src, so that maxima tie; 0: as many as the set gives */
    int kind;
    enum kit_dtype dtype;
    bool
        any_tied; /* each of several equal maxima may get the whole gradient, not only one of them or parts */
};

/* Operand numbers, forward and backward. Backward has src where `needs_src`. */
enum { KIT_POOL_SRC, KIT_POOL_DST };
enum { KIT_POOL_DIFF_DST, KIT_POOL_DIFF_SRC, KIT_POOL_BACKWARD_SRC };

/* From `n`, `c`, `h`, `w`, `window`, `stride`, `pad`, `levels` and `kind`. */
int kit_pool_read(const struct kit_params *params, enum kit_dtype dtype, struct kit_pool *ret);
/* Operands, dense row-major: the probe then sets strides or `chosen`. */
void kit_pool_shape_forward(const struct kit_pool *pool, struct kit_shape *ret);
void kit_pool_shape_backward(const struct kit_pool *pool, bool needs_src, struct kit_shape *ret);

/* Functions of struct op: forward of every kind, backward of the averages, backward of the maximum. */
int kit_pool_reference_forward(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                               size_t count, struct kit_cell *ret);
int kit_pool_reference_backward(struct kit_call *call, int output, const void *const *in,
                                const int64_t *cells, size_t count, struct kit_cell *ret);
int kit_pool_accepts_max_backward(struct kit_call *call, int output, const void *const *in,
                                  const void *logical, int64_t *ret_wrong);

#endif

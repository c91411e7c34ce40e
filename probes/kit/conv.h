/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution (cross-correlation) over the last two dimensions of N x C x H x W as every backend has it:
 * parameters, operands and references; a probe adds the call and the layout. The filter is K x C/groups x R x
 * S.
 */
#ifndef KIT_CONV_H
#define KIT_CONV_H

#include "probes/kit/op.h"

enum kit_conv_pass { KIT_CONV_FORWARD, KIT_CONV_BACKWARD_DATA, KIT_CONV_BACKWARD_FILTER };

/* Of one call. The first member of the probe's state: references find it at call->state. */
struct kit_conv {
    int64_t n, c, h, w; /* input */
    int64_t k, oh, ow;  /* output channels and extents */
    int64_t window, stride, pad, dilation, groups;
    enum kit_dtype dtype;
    /* What a cell's error bound counts: its addends, or where the sum is held wider than the output, the
     * roundings at its end; and what the operands lost before. */
    int64_t roundings, lost;
};

/* Operand numbers. Forward: src, weights, dst; backward data: diff_dst, weights, diff_src; backward filter:
 * src, diff_dst, diff_weights. */
enum { KIT_CONV_FIRST, KIT_CONV_SECOND, KIT_CONV_RESULT };

/* From `n`, `c`, `h`, `w`, `k`, `window`, `stride`, `pad`, `groups` and `dilation` (1 where it is left out).
 */
int kit_conv_read(const struct kit_params *params, enum kit_dtype dtype, struct kit_conv *ret);
/* Rows of the input that one output reads over. */
int64_t kit_conv_reach(const struct kit_conv *conv);
/* Operands, dense row-major: the probe then sets strides or `chosen`. */
void kit_conv_shape(const struct kit_conv *conv, enum kit_conv_pass pass, struct kit_shape *ret);
/* Whether an operand is the filter or its gradient; else it is the input's side, or the output's. */
bool kit_conv_is_filter(enum kit_conv_pass pass, int operand);
bool kit_conv_is_input(enum kit_conv_pass pass, int operand);

/* Functions of struct op. */
int kit_conv_reference_forward(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                               size_t count, struct kit_cell *ret);
int kit_conv_reference_backward_data(struct kit_call *call, int output, const void *const *in,
                                     const int64_t *cells, size_t count, struct kit_cell *ret);
int kit_conv_reference_backward_filter(struct kit_call *call, int output, const void *const *in,
                                       const int64_t *cells, size_t count, struct kit_cell *ret);

#endif

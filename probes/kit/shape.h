/* SPDX-License-Identifier: Apache-2.0
 *
 * Shapes: what an op described, checked; strides, native sizes, the region of an output that is digested.
 */
#ifndef KIT_SHAPE_H
#define KIT_SHAPE_H

#include "probes/kit/op.h"

/* Calls describe on a zeroed shape and checks the answer and that every param was read. */
int kit_shape_make(const struct op *op, struct kit_params *params, struct kit_shape *ret);

int64_t kit_elements(const struct kit_operand *operand);
size_t kit_dense_bytes(const struct kit_operand *operand);
/* Bytes of the native buffer of an operand that is not `chosen`. */
size_t kit_strided_bytes(const struct kit_operand *operand);
/* Whether native and logical bytes are the same. */
bool kit_is_dense(const struct kit_operand *operand);
/* Bytes from its alignment at which an operand begins on axis align: `offset`, but at an element. */
size_t kit_operand_offset(const struct kit_operand *operand, size_t offset);
/* Makes leading dimensions `elements` longer. KIT_SKIPPED where no operand lets it. */
int kit_shape_widen(struct kit_shape *shape, int elements);
bool kit_is_input(const struct kit_operand *operand);   /* holds something before a run */
bool kit_is_output(const struct kit_operand *operand);  /* holds a result after it */
bool kit_is_changed(const struct kit_operand *operand); /* a run may change it */

/* Between the logical dense row-major bytes and the strided native ones. Padding is left alone. */
void kit_strided_pack(const struct kit_operand *operand, const void *logical, void *native);
void kit_strided_unpack(const struct kit_operand *operand, const void *native, void *logical);

/* Marks, per logical element, what `run` writes; `list` is the logical content of the operand numbered
 * operand->list. Returns false, with mask untouched, when that is everything. */
bool kit_written_mask(const struct kit_shape *shape, int operand, const void *list, uint8_t *mask);
/* Clears the marks of every sample but `place`. */
void kit_slice_mask(const struct kit_operand *operand, int64_t place, uint8_t *mask);

#endif

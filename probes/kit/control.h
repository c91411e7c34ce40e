/* SPDX-License-Identifier: Apache-2.0
 *
 * Controls but for the loops and kernels that do them: a histogram, value i is added to bin index[i]. Random
 * indices make threads meet in every bin. Backends share parameters, operands and what is right.
 */
#ifndef KIT_CONTROL_H
#define KIT_CONTROL_H

#include "probes/kit/op.h"

/* Operands by number. */
enum { KIT_CONTROL_INDICES, KIT_CONTROL_VALUES, KIT_CONTROL_BINS };

/* One run of so many has one bit flipped in the control `plant`. Which run, which bin and which bit come from
 * the inputs, so from the seed, and stay the same while the inputs do: any so many runs in a row hold exactly
 * one. */
#define KIT_PLANT_PERIOD 50

/* Functions of struct op: floats; integers; floats whose sums need no rounding, in every set. */
int kit_control_describe_float(const struct kit_params *params, struct kit_shape *ret);
int kit_control_describe_integer(const struct kit_params *params, struct kit_shape *ret);
int kit_control_describe_exact(const struct kit_params *params, struct kit_shape *ret);
int kit_control_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret);

#endif

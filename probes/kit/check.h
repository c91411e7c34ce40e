/* SPDX-License-Identifier: Apache-2.0
 *
 * Written and right: elements that no run wrote, and the error against a reference of higher precision.
 */
#ifndef KIT_CHECK_H
#define KIT_CHECK_H

#include "probes/kit/explain.h"
#include "probes/kit/operands.h"
#include "probes/kit/request.h"

#define KIT_WRONG 1e308 /* stands for an infinite ratio: JSON has no infinity */

/* Up to so many multiply-adds every cell is checked, above a sample. */
#define KIT_CHECK_ALL_FLOPS ((double)(1 << 26))

/* Elements that `mask` (NULL: all) declares written and that hold poison after two runs that started from two
 * different patterns. */
int64_t kit_check_unwritten(const struct kit_operand *operand, const uint8_t *mask, const void *one,
                            const struct kit_pattern *pattern, const void *other,
                            const struct kit_pattern *other_pattern);

/* The largest error over its bound among the checked cells of an output, by op->reference or op->accepts.
 * Returns 1 when the op has neither: *ret stays as it was. */
int kit_check_reference(const struct kit_operands *operands, struct kit_call *call,
                        const struct kit_request *request, int output, const void *logical,
                        const uint8_t *mask, double *ret_error_over_bound);

/* The same of the elements that differ between two logical contents of an output, the worse of both sides,
 * into difference->error_over_bound: what no order of the sum explains is above 1. Left alone where the op
 * has no bound for each element: without `reference` and `accepts`, and with a normwise one. */
void kit_check_different(const struct kit_operands *operands, struct kit_call *call,
                         const struct kit_request *request, int output, const void *first, const void *other,
                         struct kit_difference *difference);

/* The same for an op with `residual`, of all outputs at once: their logical contents and ratios by operand
 * number. */
int kit_check_residual(const struct kit_operands *operands, struct kit_call *call,
                       const struct kit_request *request, const void *const *out,
                       double ret_error_over_bound[KIT_MAX_OPERANDS]);

/* The ascending logical offsets to check: all, or the corners, some of the edges and a sample of the rest.
 * Owned. */
int64_t *kit_check_cells(const struct kit_operand *operand, double flops, const uint8_t *mask,
                         size_t *ret_count);

#endif

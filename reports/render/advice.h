/* SPDX-License-Identifier: Apache-2.0
 *
 * What to do about a report: which remedies apply to a result, and those of all results put together, so that
 * each stands once with what it is for.
 */
#ifndef DP_RENDER_ADVICE_H
#define DP_RENDER_ADVICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* [[kind, remedy]...]: the remedies that apply to a result. The kind is "varies" or "wrong", or the axis that
 * the bits change along; a case that repeats everywhere has none. Owned. */
json_t *dp_advice_of(const json_t *result);

/* Of all results [{remedy, kinds {kind: cases}, cases [ids], users [names]}...]: what varies or is wrong
 * first. Owned. */
json_t *dp_advice_collect(const json_t *results);

/* Of one of these: "10 vary, sensitive to threads 4". Owned. */
char *dp_advice_kinds(const json_t *advice);
/* "cpu/blas 16, cpu/gemm 11"; of few cases, or where `all` are wanted, their ids. Owned. */
char *dp_advice_where(const json_t *advice, bool all);
/* "aten::dot, aten::mm and 7 more", maybe "". Owned. */
char *dp_advice_users(const json_t *advice, bool all);

/* "fix the number of threads (OMP_NUM_THREADS) [oneDNN developer guide, page on threads]": what to do, with
 * the setting unless the text names it, and of the source what stands before the first ": ". Owned. */
char *dp_advice_text(const json_t *advice);

#endif

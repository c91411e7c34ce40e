/* SPDX-License-Identifier: Apache-2.0
 *
 * The search: each factor alone, then all others together and, where that has the effect, the smallest part
 * of them that still has it.
 */
#ifndef DP_ATTRIBUTE_SEARCH_H
#define DP_ATTRIBUTE_SEARCH_H

#include "suite/attribute/factor.h"

/* What is looked for. */
enum dp_effect {
    DP_EFFECT_MOVES,   /* other bits, or bits that vary, where they repeat without */
    DP_EFFECT_STEADIES /* bits that repeat where they vary without */
};

struct dp_search {
    struct dp_bench *bench;
    const struct dp_factors *factors;
    enum dp_effect effect;
    struct dp_amount first, again; /* of a trial, and of those that confirm it in new processes */
};

/* Runs it. *ret_causes (array): {"change": [{kind, name, from, to}], "effect": "other_bits" | "varies" |
 * "repeats", "runs", "processes"}, each change by itself before those that are needed together. *ret_without
 * (array): {kind, name, settings[]} of what had no effect alone or together; *ret_not_tried (array): {kind,
 * name, setting, reason}. All owned. -1 with the code of a signal, or where nothing can be run. */
int dp_search_run(const struct dp_search *search, json_t **ret_causes, json_t **ret_without,
                  json_t **ret_not_tried, struct dp_err *err);

/* Does this part of the choices have the effect? 1, 0 or -1: a signal came. */
int dp_search_try(const struct dp_search *search, const struct dp_choice *choices, size_t count,
                  struct dp_amount amount, const char **ret_effect, struct dp_err *err);
/* ddmin over choices, of which all together have the effect; returns how many are left. */
size_t dp_search_reduce(const struct dp_search *search, struct dp_choice *choices, size_t count,
                        struct dp_err *err);

#endif

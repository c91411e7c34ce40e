/* SPDX-License-Identifier: Apache-2.0
 *
 * Factors: what may move the bits of a case, each with the values that it can take. An axis of the protocol
 * takes settings, a variable of the process values.
 */
#ifndef DP_ATTRIBUTE_FACTOR_H
#define DP_ATTRIBUTE_FACTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/attribute/trial.h"

enum dp_factor_kind { DP_FACTOR_AXIS, DP_FACTOR_VARIABLE };

struct dp_factor {
    enum dp_factor_kind kind;
    const char *name; /* "threads", "isa"; "OMP_NUM_THREADS" */
    const char *from; /* the setting that others are compared with, "": the base setting; of a variable its
                         value, NULL: not set */
    const char **to;  /* the others, NULL among those of a variable: not set */
    size_t to_count;
    bool always;   /* an axis that is set to `from` also where it is not chosen */
    bool disturbs; /* an axis that only disturbs: it can make bits vary, never keep them */
};

struct dp_factors {
    struct dp_factor *items;
    size_t count;
    json_t *strings; /* what the names and values are borrowed from, beside tables. Owned */
};

/* What is there to try for a case whose program said `hello`: the axes that it takes, at the settings of
 * level default; the known variables that a report recorded (object; NULL: none), those that the case's
 * remedy sets and those that suite/audit/settings.json proves, where a library of the program reads them.
 * None that the case itself sets. */
void dp_factors_of_case(const struct dp_case *item, const json_t *hello, const json_t *recorded,
                        struct dp_factors *ret);
/* One more factor; the strings are copied. */
struct dp_factor *dp_factors_add(struct dp_factors *factors, enum dp_factor_kind kind, const char *name,
                                 const char *from);
void dp_factors_add_to(struct dp_factors *factors, struct dp_factor *factor, const char *to);
void dp_factors_free(struct dp_factors *factors);

/* A factor at one of its values, and what that is compared with: mostly the factor's own `from`; "" is the
 * base setting. */
struct dp_choice {
    size_t factor;
    const char *from, *value;
};
/* The setup in which the chosen factors have their values, or, `at_from`, in which they have what these are
 * compared with. Variables that are not chosen are as their factors' `from` says, and so are axes
 * that always are; others at the base setting. */
struct dp_setup dp_setup_of(const struct dp_factors *factors, const struct dp_choice *choices, size_t count,
                            bool at_from);

/* {kind, name, from, to} of a choice. Owned. */
json_t *dp_choice_json(const struct dp_factors *factors, const struct dp_choice *choice);

#endif

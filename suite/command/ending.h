/* SPDX-License-Identifier: Apache-2.0
 *
 * The options that decide a run's exit code, kept in its log: a run that is resumed is judged as the killed
 * one would have been, unless it is told otherwise.
 */
#ifndef DP_COMMAND_ENDING_H
#define DP_COMMAND_ENDING_H

#include "suite/base/options.h"
#include "suite/command/gating.h"

/* Where the options of a run stand. */
struct dp_ending {
    const char **fail_on;
    const char *usual; /* what *fail_on is where nobody named it */
    struct dp_gating *gating;
    struct dp_strings *require;
    bool *allow_insensitive;
};

/* Files by their whole names: a run may be resumed from another folder. Owned. */
json_t *dp_ending_keep(const struct dp_ending *ending);
/* Sets what is not set, to strings of `kept`. `log` names where it is from; code 65. */
int dp_ending_take(const struct dp_ending *ending, const json_t *kept, const char *log, struct dp_err *err);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the runner and of its log share: catalogue, plan and answers over the fake programs.
 */
#ifndef DP_TESTS_RIG_H
#define DP_TESTS_RIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/plan/plan.h"
#include "suite/run/runner.h"

struct rig {
    struct dp_catalogue catalogue;
    struct dp_plan_options options;
    struct dp_plan plan;
    struct dp_answers answers;
    struct dp_run_options run;
    enum dp_run_end end;
    int signal;
};

/* Plans the selected fakes (selectors and axes separated by blanks) of the folders (by colons, "." is the
 * polite one) at level quick. FAKES_DIR says where they were built. */
void rig_open(struct rig *rig, const char *folders, const char *selectors, const char *axes);
/* The same with runs per seed and fresh processes given. */
void rig_open_sized(struct rig *rig, const char *folders, const char *selectors, const char *axes, int runs,
                    int fresh);
void rig_run(struct rig *rig);
void rig_close(struct rig *rig);

size_t rig_answered(const struct rig *rig);
/* Are the answers of two runs the same, but for the time that each took to come, where it was asked for? */
bool same_answer(json_t *a, json_t *b);
/* Descriptors that this process has open. */
size_t open_descriptors(void);
/* Processes on the machine that a suite with process number `suite` started, or their descendants. */
size_t processes_of(int suite);

#endif

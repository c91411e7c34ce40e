/* SPDX-License-Identifier: Apache-2.0
 *
 * Axis isa: a process for each level of instructions that a library can be held to, beside the base process
 * in which it chose by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/later.h"
#include "suite/plan/scheme.h"

#define AXIS "isa"

/* Above every fresh process and device. */
static int process_of(const struct dp_plan *plan, const struct dp_cap *cap)
{
    return plan->fresh + DP_FRESH_MAX + 2 + (cap ? (int)(cap - dp_caps()) : 0);
}

static void append(const struct later *later, struct dp_request request, const struct dp_cap *cap,
                   char *dropped)
{
    request.axis = AXIS;
    request.setting = cap ? cap->setting : "";
    request.cap = cap;
    request.process = process_of(later->plan, cap);
    request.runs = INVARIANT_RUNS;
    request.dropped = dropped ? later_keep(later->plan, dropped) : NULL;
    plan_append(later->plan, &request);
}

/* NULL: nothing is in the way. Owned. */
static char *why_dropped(const struct later *later, const struct dp_program *program,
                         const struct dp_cap *cap)
{
    char *flag = dp_cap_lacks(cap, later->host);
    /* a variable that the case itself sets is part of what it measures */
    const char *own = dp_cap_own(cap, program->environment);
    /* the base process and the fresh ones have measured that */
    const bool native = dp_cap_is(cap, dp_hello_isa(later->hello, cap->library));
    char *why = flag     ? dp_printf("this processor has no '%s'", flag)
                : own    ? dp_printf("the case itself sets '%s'", own)
                : native ? dp_printf("it is what %s runs on by itself", cap->library)
                         : NULL;
    free(flag);
    return why;
}

/* What is asked at each level: the inputs that decide bits, and those that decide whether they are right. */
static bool is_asked_at(const struct dp_request *request)
{
    return strcmp(request->set, "wide") == 0 || strcmp(request->set, "unit") == 0;
}

/* That a level is not for this machine is said once for a case. */
static bool is_first(const struct dp_request *request)
{
    return strcmp(request->set, "wide") == 0 && request->seed_index == 0;
}

static bool takes_caps(const struct later *later, const struct dp_case *item)
{
    return strcmp(dp_json_string(later->hello, "type", ""), "hello") == 0 &&
           json_object_get(item->json, AXIS);
}

/* Is it a cap of a library that the program has, and one that the plan takes? */
static bool is_taken(const struct later *later, const struct dp_cap *cap)
{
    return dp_hello_isa(later->hello, cap->library) && (later->all || cap->generation);
}

void later_caps(const struct later *later, const struct dp_request *request)
{
    const struct dp_case *item = later->plan->cases[request->case_index];
    size_t known = 0;
    if (!takes_caps(later, item) || !is_asked_at(request)) {
        return;
    }
    for (const struct dp_cap *cap = dp_caps(); cap->setting; cap++) {
        if (!is_taken(later, cap)) {
            continue;
        }
        char *dropped = why_dropped(later, item->program, cap);
        known++;
        if (!dropped || is_first(request)) {
            append(later, *request, cap, dropped);
        } else {
            free(dropped);
        }
    }
    if (known == 0 && is_first(request)) {
        append(
            later, *request, NULL,
            dp_strdup("no library of the program says which instruction set it runs on and can be capped"));
    }
}

/* What is in the way of a cap is told by axis isa. */
void later_cap_orders(const struct later *later, const struct dp_request *base)
{
    const struct dp_case *item = later->plan->cases[base->case_index];
    struct dp_request request = {
        .case_index = base->case_index,
        .axis = AXIS "*order",
        .set = "unit",
        .runs = order_runs(dp_level_find(later->plan->options.level), item, later->asked)};
    if (!request.runs || !takes_caps(later, item) || !is_first(base)) {
        return;
    }
    for (const struct dp_cap *cap = dp_caps(); cap->setting; cap++) {
        char *dropped = is_taken(later, cap) ? why_dropped(later, item->program, cap) : dp_strdup("");
        if (!dropped) {
            request.setting = later_keep(later->plan, dp_printf("%s*" DP_ORDER_SUMMANDS, cap->setting));
            request.cap = cap;
            request.process = process_of(later->plan, cap);
            plan_append(later->plan, &request);
        }
        free(dropped);
    }
}

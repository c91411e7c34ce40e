/* SPDX-License-Identifier: Apache-2.0
 *
 * What became of a finding when it was tried again: each retest, in a process of its own, with what it
 * showed.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/judge/facts.h"

static bool was_made(const struct dp_view *view, int retest)
{
    for (size_t i = 0; i < view->count; i++) {
        if (view->facts[i]->request->retest == retest) {
            return true;
        }
    }
    return false;
}

/* Runs of the retest at the base setting; 0 where one of its requests was not answered. */
static size_t runs_of(const struct dp_view *view, int retest)
{
    size_t runs = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (fact->request->retest != retest) {
            continue;
        }
        if (fact->kind == DP_FACT_MISSING) {
            return 0;
        }
        if (fact->kind == DP_FACT_OBSERVATION && strcmp(fact->request->axis, "repeat") == 0) {
            runs += (size_t)fact->request->runs;
        }
    }
    return runs;
}

json_t *dp_attempts_json(const struct dp_view *view)
{
    json_t *attempts = json_array(), *confirmation = NULL;
    bool shown = false;
    for (int retest = 1; was_made(view, retest); retest++) {
        const bool again = dp_round_confirms(view, retest);
        const size_t runs = runs_of(view, retest);
        if (again || runs > 0) {
            json_array_append_new(attempts, json_pack("{si sI sb}", "retest", retest, "runs",
                                                      (json_int_t)runs, "shown", again));
        }
        shown = shown || again;
    }
    const bool all = json_array_size(attempts) == DP_RETEST_ROUNDS;
    if (json_array_size(attempts) > 0) {
        confirmation = json_pack("{sO}", "attempts", attempts);
    }
    if (shown || all) { /* else it was cut off before it could say */
        json_object_set_new(confirmation, "finding", json_string(shown ? "persistent" : "transient"));
    }
    json_decref(attempts);
    return confirmation;
}

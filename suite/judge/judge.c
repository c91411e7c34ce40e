/* SPDX-License-Identifier: Apache-2.0
 *
 * Judging a whole run: the controls first, since what they say decides what a case may say.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"
#include "suite/judge/facts.h"

/* Takes back what the controls of the backend do not support. */
static void apply_controls(const struct dp_view *view, const struct dp_controls *controls,
                           struct dp_judged *judged, struct dp_found *found)
{
    const struct dp_backend *backend = dp_controls_of(controls, view->item->backend);
    if (!backend) {
        return;
    }
    if (backend->insensitive && found->observed == DP_REPEATS) {
        judged->insensitive = judged->insensitive || strcmp(backend->insensitive, "interrupted") != 0;
        dp_found_untested(found, "%s", backend->insensitive);
    } else if (backend->misbehaved && found->status && strcmp(found->status, "broken") == 0) {
        dp_found_untested(found, "a control misbehaved: %s", backend->misbehaved);
    }
}

static void judge_case(const struct dp_view *view, const struct dp_controls *controls, int rounds,
                       struct dp_judged *judged)
{
    struct dp_found found;
    dp_find(view, rounds, &found);
    if (found.suspect) {
        judged->suspects[judged->suspect_count++] = view->case_index;
    }
    judged->unconfirmed = judged->unconfirmed || found.unconfirmed;
    apply_controls(view, controls, judged, &found);
    if (found.observed == DP_REPEATS) {
        judged->doubtful[judged->doubtful_count++] = view->case_index;
    }
    judged->counts[found.observed]++;
    judged->broken += found.status && strcmp(found.status, "broken") == 0;
    json_array_append_new(judged->results, dp_result_json(view, &found));
    json_array_append_new(judged->measurements, dp_measure_json(view));
    judged->wrong_under += found.status && json_array_size(found.wrong_under) > 0;
    json_decref(found.wrong_under);
    free(found.reason);
}

void dp_judge(const struct dp_plan *plan, const struct dp_answers *answers, int confirmed_rounds,
              struct dp_judged *ret)
{
    struct dp_facts facts;
    struct dp_controls controls;
    dp_facts_read(plan, answers, &facts);
    dp_controls_judge(&facts, plan, &controls);
    *ret = (struct dp_judged){.results = json_array(),
                              .measurements = json_array(),
                              .controls = controls.json,
                              .controls_good = controls.good,
                              .moved = dp_alloc(plan->request_count + 1, sizeof(*ret->moved)),
                              .suspects = dp_alloc(plan->case_count + 1, sizeof(*ret->suspects)),
                              .doubtful = dp_alloc(plan->case_count + 1, sizeof(*ret->doubtful))};
    const struct dp_view **views = dp_alloc(plan->case_count + 1, sizeof(*views));
    size_t count = 0;
    for (size_t i = 0; i < plan->case_count; i++) {
        if (!plan->cases[i]->control) {
            views[count++] = &facts.views[i];
        }
    }
    qsort(views, count, sizeof(*views), dp_view_compare);
    for (size_t i = 0; i < count; i++) {
        judge_case(views[i], &controls, confirmed_rounds, ret);
        ret->moved_count += dp_moved_settings(views[i], ret->moved + ret->moved_count);
    }
    ret->strength = dp_strength_json(&plan->options, ret->results, ret->measurements);
    free(views);
    dp_controls_free(&controls);
    dp_facts_free(&facts);
}

void dp_judged_free(struct dp_judged *judged)
{
    json_decref(judged->results);
    json_decref(judged->controls);
    json_decref(judged->measurements);
    json_decref(judged->strength);
    free(judged->suspects);
    free(judged->moved);
    free(judged->doubtful);
    *judged = (struct dp_judged){0};
}

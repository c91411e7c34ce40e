/* SPDX-License-Identifier: Apache-2.0
 *
 * Controls: cases of which the answer is known beforehand. One that ought to repeat and does not, or a
 * planted difference that is miscounted, makes the whole run invalid; one that ought to vary and does not
 * makes its backend insensitive, so that repeating there says nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/judge/facts.h"

struct outcome {
    enum dp_observed observed;
    bool behaved;
    bool interrupted;
    char *reason; /* owned, NULL when behaved */
};

static const json_t *expected_of(const struct dp_view *view)
{
    return json_object_get(view->item->json, "expected");
}

/* Runs and mismatches of the control's own inputs (set wide) at the base setting. */
static void count(const struct dp_view *view, size_t *ret_runs, size_t *ret_mismatches, bool *ret_varied)
{
    *ret_runs = *ret_mismatches = 0;
    *ret_varied = false;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (!dp_fact_is_base(fact) || fact->kind != DP_FACT_OBSERVATION) {
            continue;
        }
        *ret_varied = *ret_varied || fact->distinct > 1;
        if (strcmp(fact->request->set, "wide") == 0) {
            *ret_runs += (size_t)fact->request->runs;
            *ret_mismatches += fact->mismatches;
        }
    }
}

static char *miscounted(const json_t *expected, size_t runs, size_t mismatches)
{
    const json_int_t wanted = dp_json_int(expected, "mismatches", -1);
    const json_int_t wanted_runs = dp_json_int(expected, "runs", -1);
    if (wanted >= 0 && (json_int_t)mismatches != wanted) {
        return dp_printf("%zu runs of %zu differed, %lld were planted", mismatches, runs, (long long)wanted);
    }
    if (wanted_runs >= 0 && (json_int_t)runs != wanted_runs) {
        return dp_printf("%zu runs were made, %lld were asked for", runs, (long long)wanted_runs);
    }
    return NULL;
}

/* Compares what a control that ran did with what it ought to do. */
static void judge_run(const struct dp_view *view, struct outcome *outcome)
{
    const json_t *expected = expected_of(view);
    const bool fresh = strcmp(dp_json_string(expected, "axis", "repeat"), "fresh") == 0;
    const bool must_vary = strcmp(dp_json_string(expected, "observed", "repeats"), "varies") == 0;
    const bool counted = json_object_get(expected, "mismatches") != NULL;
    size_t runs, mismatches;
    bool varied;
    count(view, &runs, &mismatches, &varied);
    const struct dp_moved moved = dp_axis_moved(view, "fresh", 0);
    if (!counted && dp_round_is_wrong(view, 0, &outcome->reason)) {
        outcome->observed = DP_WRONG;
        return;
    }
    varied = fresh ? moved.moved : varied;
    outcome->observed = varied ? DP_VARIES : DP_REPEATS;
    if (fresh && moved.comparable == 0) {
        outcome->observed = DP_UNTESTED;
        outcome->reason = dp_strdup("no new process gave a result to compare");
    } else if (varied != must_vary) {
        outcome->reason = must_vary && !fresh
                              ? dp_printf("it did not vary in %zu runs", runs)
                              : dp_strdup(must_vary ? "no new process gave other bits" : "it varied");
    } else {
        outcome->reason = miscounted(expected, runs, mismatches);
    }
    outcome->behaved = outcome->reason == NULL;
}

/* A control has no guarantee to break, so its first pass is judged as that of any case. */
static struct outcome judge_control(const struct dp_view *view)
{
    struct outcome outcome = {.observed = DP_UNTESTED};
    struct dp_found found;
    dp_find(view, 0, &found);
    switch (found.observed) {
    case DP_SKIPPED:
        outcome.observed = DP_SKIPPED;
        outcome.reason = dp_printf("it was skipped (%s)", found.reason);
        break;
    case DP_ERROR:
        outcome.observed = DP_ERROR;
        outcome.reason = dp_printf("it ended in an error (%s)", found.reason);
        break;
    case DP_UNTESTED:
        outcome.interrupted = found.reason && strcmp(found.reason, "interrupted") == 0;
        if (!found.unconfirmed) {
            outcome.reason = dp_printf("it was not tested (%s)", found.reason);
            break;
        } /* fall through */
    default:
        judge_run(view, &outcome);
    }
    json_decref(found.wrong_under);
    free(found.reason);
    return outcome;
}

static json_t *control_json(const struct dp_view *view, const struct outcome *outcome)
{
    const json_t *expected = expected_of(view);
    json_t *control = json_object();
    json_object_set_new(control, "name", json_string(view->item->id));
    json_object_set_new(control, "expected", json_string(dp_json_string(expected, "observed", "repeats")));
    json_object_set_new(control, "axis", json_string(dp_json_string(expected, "axis", "repeat")));
    if (json_object_get(expected, "mismatches")) {
        json_object_set_new(control, "mismatches", json_integer(dp_json_int(expected, "mismatches", 0)));
    }
    json_object_set_new(control, "observed", json_string(dp_observed_name(outcome->observed)));
    json_object_set_new(control, "behaved", json_boolean(outcome->behaved));
    if (outcome->reason) {
        json_object_set_new(control, "reason", json_string(outcome->reason));
    }
    return control;
}

/* A case of the backend gave an observation: without one its controls prove nothing and are not asked for. */
static bool backend_ran(const struct dp_facts *facts, const struct dp_plan *plan, const char *backend)
{
    for (size_t i = 0; i < plan->case_count; i++) {
        const struct dp_view *view = &facts->views[i];
        if (view->item->control || strcmp(view->item->backend, backend) != 0) {
            continue;
        }
        for (size_t k = 0; k < view->count; k++) {
            if (view->facts[k]->kind == DP_FACT_OBSERVATION) {
                return true;
            }
        }
    }
    return false;
}

static struct dp_backend *backend_of(struct dp_controls *controls, const char *name)
{
    for (size_t i = 0; i < controls->backend_count; i++) {
        if (strcmp(controls->backends[i].name, name) == 0) {
            return &controls->backends[i];
        }
    }
    controls->backends =
        dp_realloc(controls->backends, controls->backend_count + 1, sizeof(*controls->backends));
    struct dp_backend *backend = &controls->backends[controls->backend_count++];
    *backend = (struct dp_backend){.name = name};
    return backend;
}

/* A control that was never reached says as little as one that could not vary; it is not misbehaviour. */
static void draw(const struct dp_view *view, const struct outcome *outcome, struct dp_controls *controls)
{
    const bool must_vary = strcmp(dp_json_string(expected_of(view), "observed", "repeats"), "varies") == 0 &&
                           !json_object_get(expected_of(view), "mismatches");
    const bool silent = outcome->observed == DP_SKIPPED || outcome->observed == DP_UNTESTED ||
                        (must_vary && outcome->observed == DP_REPEATS);
    struct dp_backend *backend = backend_of(controls, view->item->backend);
    if (outcome->behaved) {
        return;
    }
    if (!silent) {
        controls->good = false;
        if (!backend->misbehaved) {
            backend->misbehaved = dp_printf("control '%s': %s", view->item->id, outcome->reason);
        }
    } else if (!backend->insensitive && outcome->interrupted) {
        backend->insensitive = dp_strdup("interrupted");
    } else if (!backend->insensitive && must_vary) {
        backend->insensitive = dp_printf("insensitive: control '%s': %s", view->item->id, outcome->reason);
    }
}

void dp_controls_judge(const struct dp_facts *facts, const struct dp_plan *plan, struct dp_controls *ret)
{
    const struct dp_view **views = dp_alloc(plan->case_count + 1, sizeof(*views));
    size_t view_count = 0;
    *ret = (struct dp_controls){.json = json_array(), .good = true};
    for (size_t i = 0; i < plan->case_count; i++) {
        const struct dp_case *item = plan->cases[i];
        if (item->control) {
            views[view_count++] = &facts->views[i];
        }
    }
    qsort(views, view_count, sizeof(*views), dp_view_compare);
    for (size_t i = 0; i < view_count; i++) {
        struct outcome outcome = judge_control(views[i]);
        if (outcome.observed != DP_SKIPPED || backend_ran(facts, plan, views[i]->item->backend)) {
            json_array_append_new(ret->json, control_json(views[i], &outcome));
            draw(views[i], &outcome, ret);
        }
        free(outcome.reason);
    }
    free(views);
}

const struct dp_backend *dp_controls_of(const struct dp_controls *controls, const char *backend)
{
    for (size_t i = 0; i < controls->backend_count; i++) {
        if (strcmp(controls->backends[i].name, backend) == 0) {
            return &controls->backends[i];
        }
    }
    return NULL;
}

void dp_controls_free(struct dp_controls *controls)
{
    for (size_t i = 0; i < controls->backend_count; i++) {
        free(controls->backends[i].insensitive);
        free(controls->backends[i].misbehaved);
    }
    free(controls->backends);
}

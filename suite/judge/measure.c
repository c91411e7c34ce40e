/* SPDX-License-Identifier: Apache-2.0
 *
 * One entry of measurements.cases[]: the evidence behind a result, which moves from run to run.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/judge/diagnosis.h"
#include "suite/judge/facts.h"

static const json_t *classes_of(const struct dp_fact *fact)
{
    return json_object_get(fact->most, "classes");
}

/* The observation with most distinct outputs, at the base setting before others. */
static const struct dp_fact *worst_fact(const struct dp_view *view)
{
    const struct dp_fact *worst = NULL;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (fact->kind != DP_FACT_OBSERVATION || fact->distinct < 2) {
            continue;
        }
        const bool base = dp_fact_is_base(fact), worst_base = worst && dp_fact_is_base(worst);
        if (!worst || (base && !worst_base) || (base == worst_base && fact->distinct > worst->distinct)) {
            worst = fact;
        }
    }
    return worst;
}

static const struct {
    const char *key;
    json_type type; /* JSON_REAL: any number */
} mismatch_members[] = {
    {"runs", JSON_INTEGER},   {"output", JSON_STRING},         {"elements", JSON_INTEGER},
    {"of", JSON_INTEGER},     {"max_ulp", JSON_STRING},        {"max_abs", JSON_REAL},
    {"max_rel", JSON_REAL},   {"first_index", JSON_INTEGER},   {"kind", JSON_STRING},
    {"shape", JSON_ARRAY},    {"ulp_histogram", JSON_ARRAY},   {"region", JSON_STRING},
    {"box", JSON_ARRAY},      {"box_at", JSON_ARRAY},          {"signs", JSON_INTEGER},
    {"zeros", JSON_INTEGER},  {"specials", JSON_INTEGER},      {"payloads", JSON_INTEGER},
    {"flipped", JSON_STRING}, {"error_over_bound", JSON_REAL}, {"from_caller", JSON_TRUE},
};

/* The members of a program's mismatch that the report knows; others would not fit its schema. */
static json_t *mismatch_json(const json_t *mismatch)
{
    if (!json_is_object(mismatch)) {
        return NULL;
    }
    json_t *copy = json_object();
    for (size_t i = 0; i < sizeof(mismatch_members) / sizeof(mismatch_members[0]); i++) {
        json_t *value = json_object_get(mismatch, mismatch_members[i].key);
        const bool fits = mismatch_members[i].type == JSON_REAL
                              ? json_is_number(value) && json_number_value(value) >= 0
                              : value && json_typeof(value) == mismatch_members[i].type;
        const bool negative = json_is_integer(value) && json_integer_value(value) < 0;
        if (fits && !negative) {
            json_object_set(copy, mismatch_members[i].key, value);
        }
    }
    return copy;
}

static void add_worst(const struct dp_view *view, json_t *entry)
{
    const struct dp_fact *worst = worst_fact(view);
    if (!worst) {
        return;
    }
    json_t *classes = json_array();
    for (size_t i = 0; i < json_array_size(classes_of(worst)); i++) {
        const json_t *class = json_array_get(classes_of(worst), i);
        json_array_append_new(classes, json_pack("{sOsOsO}", "sha256", json_object_get(class, "sha256"),
                                                 "runs", json_object_get(class, "runs"), "first_run",
                                                 json_object_get(class, "first_run")));
    }
    char *seed = dp_seed_name(view->plan, worst->request->seed_index);
    json_object_set_new(entry, "classes", classes);
    json_object_set_new(entry, "worst",
                        json_pack("{ss ss ss ss ss}", "seed", seed, "set", worst->request->set, "axis",
                                  worst->request->axis, "setting", worst->request->setting, "output",
                                  dp_json_string(worst->most, "name", "")));
    json_t *mismatch = mismatch_json(json_object_get(worst->answer, "mismatch"));
    if (mismatch) {
        json_object_set_new(entry, "mismatch", mismatch);
    }
    free(seed);
}

/* What the first base request says of times and threads; the seconds that all runs took together, and those
 * that all requests did: with inputs, preparation, references and digests, confirmations too. */
static void add_times(const struct dp_view *view, json_t *entry)
{
    static const char *const keys[] = {"first_ns", "min_ns", "mean_ns"};
    double seconds = 0.0, spent = 0.0;
    bool first = true, asked = false;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        const json_int_t spent_ns = dp_json_int(fact->answer, "spent_ns", -1);
        asked = asked || spent_ns >= 0;
        spent += spent_ns >= 0 ? (double)spent_ns * 1e-9 : 0.0;
        if (fact->kind != DP_FACT_OBSERVATION) {
            continue;
        }
        const json_t *time = json_object_get(fact->answer, "time");
        seconds += dp_json_number(time, "mean_ns", 0.0) * 1e-9 * fact->request->runs;
        if (!first || !dp_fact_is_base(fact)) {
            continue;
        }
        first = false;
        json_t *copy = json_object();
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            const double value = dp_json_number(time, keys[k], -1.0);
            if (value >= 0.0 && value < 9e15) {
                json_object_set_new(copy, keys[k], json_integer((json_int_t)value));
            }
        }
        json_object_set_new(entry, "time", copy);
        const json_int_t threads = dp_json_int(fact->answer, "threads", 0);
        if (threads > 0) {
            json_object_set_new(entry, "threads", json_integer(threads));
        }
    }
    json_object_set_new(entry, "seconds", json_real(seconds >= 0.0 && seconds < 1e12 ? seconds : 0.0));
    if (asked) {
        json_object_set_new(entry, "spent_seconds", json_real(spent));
    }
}

#define KERNELS_LISTED 8 /* different sets of kernels of one case */

static bool starts_anew(const struct dp_request *request)
{
    static const char *const axes[] = {"repeat", "fresh", "device"};
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
        if (strcmp(request->axis, axes[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What was launched: each set of kernels once, with the first place where it was seen; first those of new
 * processes, where more than one means that the library chose anew. */
static void add_kernels(const struct dp_view *view, json_t *entry)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < 2 * view->count && json_array_size(rows) < KERNELS_LISTED; i++) {
        const struct dp_fact *fact = view->facts[i % view->count];
        json_t *launched =
            fact->kind == DP_FACT_OBSERVATION ? json_object_get(fact->answer, "kernels") : NULL;
        bool known = !launched || starts_anew(fact->request) != (i < view->count);
        for (size_t k = 0; k < json_array_size(rows) && !known; k++) {
            known = json_equal(json_object_get(json_array_get(rows, k), "launched"), launched);
        }
        if (!known) {
            json_array_append_new(rows,
                                  json_pack("{ss ss so}", "axis", fact->request->axis, "setting",
                                            fact->request->setting, "launched", json_deep_copy(launched)));
        }
    }
    if (json_array_size(rows) > 0) {
        json_object_set(entry, "kernels", rows);
    }
    json_decref(rows);
}

static void add_error(const struct dp_view *view, json_t *entry)
{
    double bound = -1.0;
    const struct dp_fact *error = NULL;
    size_t retests = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        retests += fact->request->retest > 0 && fact->kind != DP_FACT_MISSING;
        if (!dp_fact_is_base(fact)) {
            continue;
        }
        error = !error && fact->kind == DP_FACT_ERROR ? fact : error;
        if (fact->kind == DP_FACT_OBSERVATION && strcmp(fact->request->set, "wide") != 0) {
            bound = fact->error_over_bound > bound ? fact->error_over_bound : bound;
        }
    }
    if (bound >= 0.0) {
        json_object_set_new(entry, "error_over_bound", json_real(bound));
    }
    if (retests > 0) {
        json_object_set_new(entry, "retests", json_integer((json_int_t)retests));
    }
    json_t *confirmation = dp_attempts_json(view);
    if (confirmation) {
        json_object_set_new(entry, "confirmation", confirmation);
    }
    if (error) {
        json_t *copy = json_pack("{ssss}", "reason", error->reason, "text", error->text);
        const char *log = dp_json_string(error->answer, "log", NULL);
        if (log) {
            json_object_set_new(copy, "log", json_string(log));
        }
        json_object_set_new(entry, "error", copy);
    }
}

json_t *dp_measure_json(const struct dp_view *view)
{
    json_t *entry = json_object();
    json_object_set_new(entry, "case", json_string(view->item->id));
    json_object_set_new(entry, "axes", dp_measure_axes_json(view));
    json_object_set_new(entry, "first_call_differs", json_boolean(dp_first_run_differs(view)));
    add_worst(view, entry);
    json_t *diagnosis = dp_diagnosis_json(view);
    if (diagnosis) {
        json_object_set_new(entry, "diagnosis", diagnosis);
    }
    add_times(view, entry);
    add_kernels(view, entry);
    json_t *orders = dp_orders_json(view);
    if (orders) {
        json_object_set_new(entry, "orders", orders);
    }
    add_error(view, entry);
    return entry;
}

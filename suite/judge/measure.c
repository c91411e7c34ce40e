/* SPDX-License-Identifier: Apache-2.0
 *
 * One entry of measurements.cases[]: the evidence behind a result, which moves from run to run. Rates are per
 * run, pooled over the seeds.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/digest.h"
#include "suite/base/json.h"
#include "suite/base/statistics.h"
#include "suite/base/text.h"
#include "suite/judge/diagnosis.h"
#include "suite/judge/facts.h"
#include "suite/plan/levels.h"

/* Sums over the (seed, set) of repeat or fresh. */
struct tally {
    size_t runs, comparisons, distinct, of, mismatches, seeds, seeds_varied;
};

static json_t *tally_json(const struct tally *tally)
{
    json_t *axis = json_object();
    json_object_set_new(axis, "runs", json_integer((json_int_t)tally->runs));
    json_object_set_new(axis, "comparisons", json_integer((json_int_t)tally->comparisons));
    json_object_set_new(axis, "distinct", json_integer((json_int_t)tally->distinct));
    json_object_set_new(axis, "of", json_integer((json_int_t)tally->of));
    json_object_set_new(axis, "mismatches", json_integer((json_int_t)tally->mismatches));
    json_object_set_new(axis, "seeds", json_integer((json_int_t)tally->seeds));
    json_object_set_new(axis, "seeds_varied", json_integer((json_int_t)tally->seeds_varied));
    if (tally->mismatches == 0) {
        json_object_set_new(axis, "bound", json_real(dp_zero_bound(tally->comparisons)));
    } else {
        double low, high;
        dp_clopper_pearson(tally->mismatches, tally->comparisons, &low, &high);
        json_object_set_new(axis, "interval", json_pack("[ff]", low, high));
    }
    return axis;
}

static void add_to_tally(struct tally *tally, size_t runs, size_t distinct, size_t mismatches)
{
    tally->runs += runs;
    tally->comparisons += runs - 1;
    tally->mismatches += mismatches;
    tally->seeds++;
    tally->seeds_varied += distinct > 1;
    if (distinct > tally->distinct) {
        tally->distinct = distinct;
        tally->of = runs;
    }
}

/* Did an observation at the base setting vary, of set wide or of the others? */
static bool varied_in(const struct dp_view *view, bool wide)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (dp_fact_is_base(fact) && fact->kind == DP_FACT_OBSERVATION && fact->distinct > 1 &&
            (strcmp(fact->request->set, "wide") == 0) == wide) {
            return true;
        }
    }
    return false;
}

/* Set wide decides bits, so it alone makes the rate; the others, of which exact sums cannot even show an
 * order, count where only they varied. */
static json_t *measure_repeat(const struct dp_view *view)
{
    const bool all = varied_in(view, false) && !varied_in(view, true);
    struct tally tally = {0};
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (dp_fact_is_base(fact) && fact->kind == DP_FACT_OBSERVATION &&
            (all || strcmp(fact->request->set, "wide") == 0)) {
            add_to_tally(&tally, (size_t)fact->request->runs, fact->distinct, fact->mismatches);
        }
    }
    return tally.seeds > 0 ? tally_json(&tally) : NULL;
}

static bool is_fresh(const struct dp_fact *fact)
{
    return fact->kind == DP_FACT_OBSERVATION && fact->request->retest == 0 &&
           strcmp(fact->request->axis, "fresh") == 0;
}

/* The processes of one seed beside its base observation: how many distinct results. */
static void tally_fresh(const struct dp_view *view, const struct dp_fact *base, struct tally *tally)
{
    const struct dp_fact **seen = dp_alloc(view->count + 1, sizeof(*seen));
    size_t seen_count = 0, runs = 1;
    seen[seen_count++] = base;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (!is_fresh(fact) || dp_base_of(view, fact) != base) {
            continue;
        }
        bool known = false;
        for (size_t k = 0; k < seen_count && !known; k++) {
            known = dp_same_bits(seen[k], fact);
        }
        if (!known) {
            seen[seen_count++] = fact;
        }
        runs++;
    }
    if (runs > 1) {
        tally->seeds++;
        tally->seeds_varied += seen_count > 1;
        if (seen_count > tally->distinct) {
            tally->distinct = seen_count;
            tally->of = runs;
        }
    }
    free(seen);
}

/* The fact of a fresh process stands for it if it is the first that can be compared. */
static bool stands_for_process(const struct dp_view *view, size_t index)
{
    const struct dp_fact *fact = view->facts[index];
    if (!is_fresh(fact) || !dp_base_of(view, fact)) {
        return false;
    }
    for (size_t i = 0; i < index; i++) {
        const struct dp_fact *other = view->facts[i];
        if (is_fresh(other) && strcmp(other->request->setting, fact->request->setting) == 0 &&
            dp_base_of(view, other)) {
            return false;
        }
    }
    return true;
}

/* Does the process give other bits than the base one, of any inputs? */
static bool process_differs(const struct dp_view *view, const char *setting)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        const bool of_process = is_fresh(fact) && strcmp(fact->request->setting, setting) == 0;
        const struct dp_fact *base = of_process ? dp_base_of(view, fact) : NULL;
        if (base && !dp_same_bits(base, fact)) {
            return true;
        }
    }
    return false;
}

/* A process counts once, on however many inputs: what it draws, addresses or a choice, it draws for all of
 * them. */
static json_t *measure_fresh(const struct dp_view *view)
{
    struct tally tally = {.runs = 1};
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (dp_fact_is_base(fact) && fact->kind == DP_FACT_OBSERVATION) {
            tally_fresh(view, fact, &tally);
        }
        if (stands_for_process(view, i)) {
            tally.runs++;
            tally.comparisons++;
            tally.mismatches += process_differs(view, fact->request->setting);
        }
    }
    return tally.seeds > 0 ? tally_json(&tally) : NULL;
}

/* One digest for all outputs: its own where there is one, else that over "name digest" lines. */
static json_t *setting_digest(const struct dp_fact *fact)
{
    const json_t *outputs = json_object_get(fact->answer, "outputs");
    struct dp_text lines = DP_TEXT((size_t)1 << 20);
    char hex[DP_SHA256_HEX];
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *output = json_array_get(outputs, i);
        const json_t *class = json_array_get(json_object_get(output, "classes"), 0);
        if (json_array_size(outputs) == 1) {
            return json_string(dp_json_string(class, "sha256", ""));
        }
        dp_text_printf(&lines, "%s %s\n", dp_json_string(output, "name", ""),
                       dp_json_string(class, "sha256", ""));
    }
    dp_sha256_hex(lines.data, lines.length, hex);
    dp_text_free(&lines);
    return json_string(hex);
}

/* What the library ran on, and whether its results of this number of seed were right, of whatever set. */
static void add_capped(const struct dp_view *view, const struct dp_fact *fact, json_t *setting)
{
    const char *isa = dp_json_string(fact->answer, "isa", NULL);
    char *wrong = NULL;
    for (size_t i = 0; i < view->count && !wrong; i++) {
        const struct dp_request *request = view->facts[i]->request;
        if (request->retest == 0 && request->cap == fact->request->cap &&
            request->seed_index == fact->request->seed_index) {
            wrong = dp_capped_wrong(view, view->facts[i]);
        }
    }
    if (isa) {
        json_object_set_new(setting, "isa", json_string(isa));
    }
    if (wrong) {
        json_object_set_new(setting, "wrong", json_string(wrong));
    }
    free(wrong);
}

static json_t *setting_json(const struct dp_view *view, const struct dp_fact *fact)
{
    json_t *setting = json_object();
    char *seed = dp_seed_name(view->plan, fact->request->seed_index);
    const bool observed = fact->kind == DP_FACT_OBSERVATION;
    json_object_set_new(setting, "setting", json_string(fact->request->setting));
    json_object_set_new(setting, "seed", json_string(seed));
    json_object_set_new(setting, "repeats", json_boolean(observed && fact->distinct == 1));
    json_object_set_new(setting, "sha256",
                        observed && fact->distinct == 1 ? setting_digest(fact) : json_null());
    if (observed && fact->request->cap) {
        add_capped(view, fact, setting);
    }
    const char *chosen = dp_json_string(fact->answer, "chosen", NULL);
    if (observed && chosen && dp_request_varies(fact->request, "algorithm")) {
        json_object_set_new(setting, "chosen", json_string(chosen));
    }
    if (observed) {
        json_object_set_new(setting, "runs", json_integer(fact->request->runs));
        json_object_set_new(setting, "distinct", json_integer((json_int_t)fact->distinct));
    } else {
        char *why = fact->kind == DP_FACT_MISSING
                        ? dp_strdup("interrupted")
                        : dp_printf("%s: %s", fact->reason, fact->text[0] ? fact->text : "no text");
        json_object_set_new(setting, "dropped", json_string(why));
        free(why);
    }
    free(seed);
    return setting;
}

static json_t *measure_settings(const struct dp_view *view, const char *axis)
{
    json_t *settings = json_array();
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        /* a row of a setting and a seed: what was asked of other sets has none of its own */
        if (fact->request->retest == 0 && strcmp(fact->request->axis, axis) == 0 &&
            strcmp(fact->request->set, "wide") == 0) {
            json_array_append_new(settings, setting_json(view, fact));
        }
    }
    if (json_array_size(settings) == 0) {
        json_decref(settings);
        return NULL;
    }
    /* A product is confounded where its first factor is: that one is compared among its settings. */
    char *factor = dp_strdup(axis);
    factor[strcspn(factor, "*")] = '\0';
    const struct dp_moved moved = dp_axis_moved(view, factor, 0);
    free(factor);
    return json_pack("{sososo}", "settings", settings, "moved", json_boolean(moved.moved), "confounded",
                     json_boolean(moved.observed > 0 && moved.comparable == 0));
}

/* Whether nothing ran, for one reason: the result has it, and no setting has more to say. */
static bool skipped_as_one(const struct dp_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i], *first = view->facts[0];
        if (fact->kind != DP_FACT_SKIP || strcmp(fact->reason, first->reason) != 0 ||
            strcmp(fact->text, first->text) != 0) {
            return false;
        }
    }
    return true;
}

static json_t *measure_axes(const struct dp_view *view)
{
    json_t *axes = json_object();
    const size_t count = skipped_as_one(view) ? 0 : view->count;
    for (size_t i = 0; i < count; i++) {
        const char *axis = view->facts[i]->request->axis;
        if (view->facts[i]->request->retest > 0 || json_object_get(axes, axis) || dp_axis_reveals(axis)) {
            continue;
        }
        json_t *value = strcmp(axis, "repeat") == 0  ? measure_repeat(view)
                        : strcmp(axis, "fresh") == 0 ? measure_fresh(view)
                                                     : measure_settings(view, axis);
        if (value) {
            json_object_set_new(axes, axis, value);
        }
    }
    return axes;
}

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
    json_object_set_new(entry, "axes", measure_axes(view));
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

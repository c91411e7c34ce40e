/* SPDX-License-Identifier: Apache-2.0
 *
 * The axes of an entry of measurements.cases[]: how often runs, and new processes, gave other bits, and what
 * each setting of the others gave. Rates are per run, pooled over the seeds.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/digest.h"
#include "suite/base/json.h"
#include "suite/base/statistics.h"
#include "suite/base/text.h"
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
        char *why = dp_fact_dropped(fact);
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

json_t *dp_measure_axes_json(const struct dp_view *view)
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * First whether the case repeats here by itself; then what moves its bits, or, where it does not repeat, what
 * keeps them.
 */
#include "suite/attribute/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "suite/attribute/reproduce.h"
#include "suite/attribute/search.h"
#include "suite/base/json.h"
#include "suite/base/statistics.h"
#include "suite/base/text.h"
#include "suite/run/environment.h"

enum {
    SEEDS = 3,
    PROCESSES = 8,          /* what differs in half of them passes for repeating once in 128 times */
    PROCESSES_TO_KEEP = 12, /* in a third of them: once in a hundred times */
    RUNS = 25,
    LEAST_RUNS = 4,
    MOST_RUNS = 1000,   /* of one seed in one process, where variation is rare */
    SETTING_RUNS = 2,   /* one repeat tells whether a setting repeats */
    AGAIN_PROCESSES = 2 /* of what confirms a difference */
};
#define BASE_NS 3e9 /* what the runs that look whether a case repeats may take, roughly */
/* how probable it may be that variation stays unseen where it is said to have stopped */
#define MISSED 0.01

struct dp_amount dp_explain_amount(const struct dp_case *item, int runs)
{
    const double cost_ns = (item->cost_us > 0 ? item->cost_us : 1000) * 1000;
    const double fit = BASE_NS / (cost_ns * SEEDS * PROCESSES);
    const int own = fit > RUNS ? RUNS : fit < LEAST_RUNS ? LEAST_RUNS : (int)fit;
    return (struct dp_amount){.seeds = SEEDS, .runs = runs ? runs : own, .processes = PROCESSES};
}

/* So many runs that variation at the lowest rate that what was seen allows would be missed once in a hundred
 * times; never less than those that saw it. */
static int runs_to_see(const struct dp_trial *base, struct dp_amount amount)
{
    double low, high;
    if (base->comparisons == 0 || base->mismatches == 0) {
        return amount.runs;
    }
    dp_clopper_pearson(base->mismatches, base->comparisons, &low, &high);
    const double needed = low > 0.0 && low < 1.0 ? log(MISSED) / log1p(-low) : 1.0;
    const double each = ceil(needed / (amount.seeds * amount.processes)) + 1;
    return each <= amount.runs ? amount.runs : each > MOST_RUNS ? MOST_RUNS : (int)each;
}

struct dp_amount dp_amount_to_keep(const struct dp_trial *varying, struct dp_amount amount)
{
    amount.runs = runs_to_see(varying, amount);
    amount.processes = varying->between ? PROCESSES_TO_KEEP : amount.processes;
    return amount;
}

int dp_same_outputs(const json_t *outputs, const json_t *result)
{
    static const char *const keys[] = {"name", "seed", "set", "dtype"};
    const json_t *others = json_object_get(result, "outputs");
    int same = -1;
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        for (size_t k = 0; k < json_array_size(others); k++) {
            const json_t *a = json_array_get(outputs, i), *b = json_array_get(others, k);
            bool partners = json_equal(json_object_get(a, "shape"), json_object_get(b, "shape"));
            for (size_t m = 0; m < sizeof(keys) / sizeof(keys[0]); m++) {
                partners = partners && json_equal(json_object_get(a, keys[m]), json_object_get(b, keys[m]));
            }
            if (partners && same != 0) {
                same = json_equal(json_object_get(a, "sha256"), json_object_get(b, "sha256"));
            }
        }
    }
    return same;
}

/* --- the document --- */

static json_t *here_json(const struct dp_trial *base, struct dp_amount amount, const json_t *result)
{
    const bool varies = base->kind == DP_TRIAL_VARIES;
    const int same = dp_same_outputs(base->outputs, result);
    json_t *here = json_pack("{ss si si sI sI}", "observed", varies ? "varies" : "repeats", "inputs",
                             amount.seeds, "processes", amount.processes, "runs", (json_int_t)base->runs,
                             "mismatches", (json_int_t)base->mismatches);
    if (varies) {
        json_object_set_new(here, "varies_between", json_string(base->between ? "processes" : "runs"));
    } else if (same >= 0) {
        json_object_set_new(here, "bits_of_report", json_boolean(same));
    }
    return here;
}

static json_t *report_json(const json_t *result)
{
    json_t *ret = json_object(), *moved = json_object_get(result, "sensitive_to");
    json_object_set(ret, "observed", json_object_get(result, "observed"));
    json_object_set_new(ret, "sensitive_to", moved ? json_deep_copy(moved) : json_array());
    return ret;
}

static void add_commands(const struct dp_shown *shown, json_t *causes)
{
    size_t i;
    json_t *cause;
    json_array_foreach(causes, i, cause)
    {
        char *command = dp_change_command(shown, json_object_get(cause, "change"));
        if (command) {
            json_object_set_new(cause, "reproduce", json_string(command));
        }
        free(command);
    }
}

/* --- what the report says first --- */

/* Does a cause begin with an axis that the report names? */
static bool is_named(const json_t *cause, const json_t *result)
{
    const json_t *first = json_array_get(json_object_get(cause, "change"), 0);
    return dp_json_array_has(json_object_get(result, "sensitive_to"), dp_json_string(first, "name", ""));
}

static json_t *sorted_causes(const json_t *causes, const json_t *result)
{
    json_t *sorted = json_array();
    for (int named = 1; named >= 0; named--) {
        for (size_t i = 0; i < json_array_size(causes); i++) {
            json_t *cause = json_array_get(causes, i);
            if (is_named(cause, result) == (named == 1)) {
                json_array_append(sorted, cause);
            }
        }
    }
    return sorted;
}

/* --- the whole --- */

static json_t *document(struct dp_bench *bench, const struct dp_search *search, const struct dp_trial *base,
                        const json_t *result, struct dp_amount amount, struct dp_err *err)
{
    const bool varies = base->kind == DP_TRIAL_VARIES;
    json_t *causes, *without, *not_tried, *ret = NULL;
    if (dp_search_run(search, &causes, &without, &not_tried, err) == 0) {
        json_t *sorted = sorted_causes(causes, result);
        const char *outcome = json_array_size(causes) > 0 ? varies ? "steadied" : "moved"
                              : varies                    ? "varies"
                                                          : "repeats";
        const struct dp_shown shown = {.bench = bench,
                                       .varies = varies ? base->between ? "fresh" : "repeat" : NULL,
                                       .runs = amount.runs};
        add_commands(&shown, sorted);
        json_t *libraries = json_array();
        dp_environment_add_libraries(libraries, NULL, bench->hello);
        ret = json_pack("{ss ss ss so so so so sO sO}", "schema_version", "1.0", "case", bench->item->id,
                        "outcome", outcome, "libraries", libraries, "report", report_json(result), "here",
                        here_json(base, amount, result), "causes", sorted, "without_effect", without,
                        "not_tried", not_tried);
        if (varies) {
            char *command = dp_change_command(&shown, NULL);
            json_object_set_new(ret, "reproduce", json_string(command));
            free(command);
        }
    }
    json_decref(causes);
    json_decref(without);
    json_decref(not_tried);
    return ret;
}

static struct dp_search search_for(struct dp_bench *bench, const struct dp_factors *factors,
                                   const struct dp_trial *base, struct dp_amount amount)
{
    struct dp_search search = {.bench = bench,
                               .factors = factors,
                               .effect = DP_EFFECT_MOVES,
                               .first = {SEEDS, SETTING_RUNS, 1},
                               .again = {SEEDS, SETTING_RUNS, AGAIN_PROCESSES}};
    if (base->kind == DP_TRIAL_VARIES) {
        search.effect = DP_EFFECT_STEADIES;
        search.again = dp_amount_to_keep(base, amount);
        search.first = search.again;
        search.first.processes = base->between ? amount.processes : 1;
    }
    return search;
}

json_t *dp_explain(struct dp_bench *bench, const json_t *report, int runs, struct dp_err *err)
{
    const json_t *body = json_object_get(report, "body"), *environment = json_object_get(body, "environment");
    const json_t *result = dp_report_entry(json_object_get(body, "results"), bench->item->id);
    const struct dp_amount amount = dp_explain_amount(bench->item, runs);
    json_t *hello = dp_run_hello(bench->item->program, bench->stack, bench->timeout_ns), *ret = NULL;
    struct dp_factors factors;
    struct dp_trial base = {0};
    dp_factors_of_case(bench->item, hello, json_object_get(environment, "variables"), &factors);
    struct dp_setup setup = dp_setup_of(&factors, NULL, 0, true);
    if (dp_try(bench, &setup, 1, amount, &base, err) == 0) {
        const struct dp_search search = search_for(bench, &factors, &base, amount);
        if (base.kind == DP_TRIAL_UNKNOWN) {
            dp_err_set(err, base.skipped ? DP_EXIT_NOTHING_RAN : DP_EXIT_NO_VERDICT,
                       "'%s' cannot run here: %.300s", bench->item->id, base.why);
        } else {
            ret = document(bench, &search, &base, result, amount, err);
        }
    }
    dp_setup_free(&setup);
    dp_trial_free(&base);
    dp_factors_free(&factors);
    json_decref(hello);
    return ret;
}

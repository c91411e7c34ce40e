/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing two reports: that they are comparable, then case by case, then what may explain it.
 */
#include "reports/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

static const json_t *body_of(const struct dp_diff_side *side)
{
    return json_object_get(side->report, "body");
}

int dp_diff_comparable(const struct dp_diff_side sides[2], struct dp_err *err)
{
    static const char *const members[] = {"level", "seed", "seeds"};
    const json_t *before = json_object_get(body_of(&sides[0]), "plan");
    const json_t *after = json_object_get(body_of(&sides[1]), "plan");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const json_t *left = json_object_get(before, members[i]), *right = json_object_get(after, members[i]);
        if (json_equal(left, right)) {
            continue;
        }
        char *a = json_dumps(left, JSON_ENCODE_ANY), *b = json_dumps(right, JSON_ENCODE_ANY);
        dp_err_set(err, DP_EXIT_DATA,
                   "'%.200s' and '%.200s' are not comparable: %s %s against %s, run both alike",
                   sides[0].name, sides[1].name, members[i], a ? a : "", b ? b : "");
        free(a);
        free(b);
        return -1;
    }
    return 0;
}

/* --- pairs: results of both sides by id, in the order of ids --- */

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

struct index {
    json_t *results[2], *measured[2]; /* by id */
    const char **ids;                 /* of either side, sorted; the strings are the indexes' */
    size_t count;
};

static void index_make(const struct dp_diff_side sides[2], struct index *ret)
{
    const char *id;
    json_t *entry;
    for (int side = 0; side < 2; side++) {
        const json_t *measurements = json_object_get(sides[side].report, "measurements");
        ret->results[side] = dp_json_index(json_object_get(body_of(&sides[side]), "results"), "case");
        ret->measured[side] = dp_json_index(json_object_get(measurements, "cases"), "case");
    }
    ret->count = 0;
    ret->ids = dp_alloc(json_object_size(ret->results[0]) + json_object_size(ret->results[1]) + 1,
                        sizeof(*ret->ids));
    json_object_foreach(ret->results[0], id, entry)
    {
        ret->ids[ret->count++] = id;
    }
    json_object_foreach(ret->results[1], id, entry)
    {
        if (!json_object_get(ret->results[0], id)) {
            ret->ids[ret->count++] = id;
        }
    }
    qsort(ret->ids, ret->count, sizeof(*ret->ids), compare_names);
}

static void index_free(struct index *index)
{
    for (int side = 0; side < 2; side++) {
        json_decref(index->results[side]);
        json_decref(index->measured[side]);
    }
    free(index->ids);
}

static struct dp_pair pair_of(const struct index *index, const char *id)
{
    struct dp_pair pair = {.id = id};
    for (int side = 0; side < 2; side++) {
        pair.result[side] = json_object_get(index->results[side], id);
        pair.measured[side] = json_object_get(index->measured[side], id);
    }
    return pair;
}

/* --- rows --- */

static json_t *verdict_json(const json_t *result)
{
    if (!result) {
        return NULL;
    }
    return json_pack("{ss ss* ss*}", "observed", dp_json_string(result, "observed", ""), "status",
                     dp_json_string(json_object_get(result, "guarantee"), "status", NULL), "reason",
                     dp_json_string(result, "reason", NULL));
}

/* What the library chose, which kernels it launched and on how many threads, where the sides differ in it. */
static void add_choice(const struct dp_pair *pair, json_t *row)
{
    const char *before = dp_json_string(pair->result[0], "chosen", NULL);
    const char *after = dp_json_string(pair->result[1], "chosen", NULL);
    if (before && after && strcmp(before, after) != 0) {
        json_object_set_new(row, "chosen", json_pack("[ss]", before, after));
    }
    json_t *launched = json_object_get(pair->measured[0], "kernels");
    json_t *launches = json_object_get(pair->measured[1], "kernels");
    if (launched && launches && !json_equal(launched, launches)) {
        json_object_set_new(row, "kernels", json_pack("[OO]", launched, launches));
    }
    json_t *ran_on = json_object_get(pair->measured[0], "threads");
    json_t *runs_on = json_object_get(pair->measured[1], "threads");
    if (ran_on && runs_on && !json_equal(ran_on, runs_on)) {
        json_object_set_new(row, "threads", json_pack("[OO]", ran_on, runs_on));
    }
}

/* In which order it adds up, where both sides know; what they differ in, or not, is told of other bits alone.
 */
static void add_order(const struct dp_pair *pair, json_t *row)
{
    json_t *before = json_object_get(pair->result[0], "order");
    json_t *after = json_object_get(pair->result[1], "order");
    if (before && after) {
        json_object_set_new(row, "order", json_pack("[OO]", before, after));
    }
}

/* Variables that the case itself sets: those of the environment do not reach it. */
static void add_own_variables(const json_t *result, json_t *row)
{
    const json_t *own = json_object_get(result, "environment");
    if (own) {
        json_object_set_new(row, "sets", dp_json_keys(own));
    }
}

static json_t *change_row(const struct dp_pair *pair, enum dp_change kind, const struct dp_changes *changes)
{
    const json_t *any = pair->result[1] ? pair->result[1] : pair->result[0];
    json_t *row =
        json_pack("{ss ss ss ss so* so*}", "case", pair->id, "backend", dp_json_string(any, "backend", ""),
                  "family", dp_json_string(any, "family", ""), "kind", dp_change_name(kind), "before",
                  verdict_json(pair->result[0]), "after", verdict_json(pair->result[1]));
    if (kind == DP_CHANGE_SENSITIVE || kind == DP_CHANGE_INSENSITIVE) {
        json_object_set(row, "axes", changes->axes[kind == DP_CHANGE_INSENSITIVE]);
    }
    add_choice(pair, row);
    if (kind == DP_CHANGE_BITS) {
        add_order(pair, row);
    }
    add_own_variables(any, row);
    return row;
}

struct rows {
    json_t *of_kind[DP_CHANGE_MAX]; /* so that the weightiest come first */
    json_t *unlike;                 /* {case, reason} */
    json_t *undecided;              /* ids */
    size_t compared, changed, idle;
};

static void add_pair(const struct dp_pair *pair, struct rows *rows)
{
    struct dp_changes changes;
    bool changed = false;
    dp_changes_find(pair, &changes);
    for (int kind = 0; kind < DP_CHANGE_MAX; kind++) {
        if (changes.is[kind]) {
            json_array_append_new(rows->of_kind[kind], change_row(pair, (enum dp_change)kind, &changes));
            changed = true;
        }
    }
    if (changes.unlike) {
        json_array_append_new(rows->unlike, json_pack("{ssss}", "case", pair->id, "reason", changes.unlike));
    }
    if (changes.undecided) {
        json_array_append_new(rows->undecided, json_string(pair->id));
    }
    const bool both = pair->result[0] && pair->result[1];
    rows->compared += both;
    rows->idle += both && !dp_result_ran(pair->result[0]) && !dp_result_ran(pair->result[1]) && !changed &&
                  !changes.unlike;
    rows->changed += changed;
    dp_changes_free(&changes);
}

/* "OpenBLAS 0.3.21, oneDNN 2.6.3 on Intel(R) Xeon(R) Processor, NVIDIA H100". Owned. */
char *dp_diff_measured(const json_t *report)
{
    const json_t *environment = json_object_get(json_object_get(report, "body"), "environment");
    const json_t *libraries = json_object_get(environment, "libraries");
    const json_t *devices = json_object_get(environment, "devices");
    struct dp_text words = DP_TEXT(1000);
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        const json_t *library = json_array_get(libraries, i);
        const json_t *families = json_object_get(library, "families");
        const char *version = dp_json_string(library, "version", "");
        if (families && json_array_size(families) == 0) {
            continue; /* no case had it */
        }
        dp_text_printf(&words, "%s%s%s%s", words.length ? ", " : "", dp_json_string(library, "name", ""),
                       *version ? " " : "", version);
    }
    dp_text_printf(&words, "%son %s", words.length ? " " : "",
                   dp_json_string(json_object_get(environment, "host"), "cpu_model", "an unknown processor"));
    for (size_t i = 0; i < json_array_size(devices); i++) {
        dp_text_printf(&words, ", %s", dp_json_string(json_array_get(devices, i), "name", "a device"));
    }
    char *owned = dp_printable(words.data, words.length);
    dp_text_free(&words);
    return owned;
}

static json_t *side_json(const struct dp_diff_side *side)
{
    char *name = dp_printable(side->name, strlen(side->name));
    char *measured = dp_diff_measured(side->report);
    json_t *json =
        json_pack("{ss ss ss ss so}", "name", name, "measured", measured, "digest",
                  dp_json_string(side->report, "digest", ""), "tool",
                  dp_json_string(json_object_get(side->report, "tool"), "version", ""), "counts",
                  json_deep_copy(json_object_get(json_object_get(body_of(side), "summary"), "counts")));
    free(name);
    free(measured);
    return json;
}

static json_t *summary_json(const struct rows *rows, json_t *changes)
{
    json_t *kinds = json_object();
    for (int kind = 0; kind < DP_CHANGE_MAX; kind++) {
        const size_t count = json_array_size(rows->of_kind[kind]);
        if (count > 0) {
            json_object_set_new(kinds, dp_change_name((enum dp_change)kind), json_integer((json_int_t)count));
        }
        json_array_extend(changes, rows->of_kind[kind]);
    }
    return json_pack("{sb sI sI sI so}", "agree", rows->changed == 0, "compared", (json_int_t)rows->compared,
                     "changed", (json_int_t)rows->changed, "idle", (json_int_t)rows->idle, "kinds", kinds);
}

json_t *dp_diff_make(const struct dp_diff_side sides[2], struct dp_err *err)
{
    struct index index;
    struct rows rows = {.unlike = json_array(), .undecided = json_array()};
    if (dp_diff_comparable(sides, err) != 0) {
        json_decref(rows.unlike);
        json_decref(rows.undecided);
        return NULL;
    }
    for (int kind = 0; kind < DP_CHANGE_MAX; kind++) {
        rows.of_kind[kind] = json_array();
    }
    index_make(sides, &index);
    for (size_t i = 0; i < index.count; i++) {
        const struct dp_pair pair = pair_of(&index, index.ids[i]);
        add_pair(&pair, &rows);
    }
    json_t *changes = json_array();
    json_t *summary = summary_json(&rows, changes);
    json_t *environment = dp_diff_environment(json_object_get(body_of(&sides[0]), "environment"),
                                              json_object_get(body_of(&sides[1]), "environment"));
    json_t *causes = dp_diff_causes(changes, environment);
    const json_t *plan = json_object_get(body_of(&sides[0]), "plan");
    json_t *diff = json_pack("{ss s[oo] s{sOsO} so so so so so so}", "schema_version", DP_DIFF_SCHEMA_VERSION,
                             "sides", side_json(&sides[0]), side_json(&sides[1]), "plan", "level",
                             json_object_get(plan, "level"), "seed", json_object_get(plan, "seed"), "summary",
                             summary, "causes", causes, "changes", changes, "environment", environment,
                             "not_compared", rows.unlike, "undecided", rows.undecided);
    for (int kind = 0; kind < DP_CHANGE_MAX; kind++) {
        json_decref(rows.of_kind[kind]);
    }
    index_free(&index);
    return diff;
}

bool dp_diff_agrees(const json_t *diff)
{
    return json_is_true(json_object_get(json_object_get(diff, "summary"), "agree"));
}

bool dp_diff_compares(const json_t *diff)
{
    const json_int_t common = dp_json_int(json_object_get(diff, "summary"), "compared", 0);
    return common == 0 || (size_t)common > json_array_size(json_object_get(diff, "not_compared"));
}

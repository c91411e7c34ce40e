/* SPDX-License-Identifier: Apache-2.0
 *
 * Putting reports together. A case stays in where observed, status, definition and bits are the same in all
 * of them; any other is left out with the reason. Comparisons and mismatches are added up, and the limits of
 * the rate follow from the sums.
 */
#include "reports/gate/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "reports/gate/parts.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/statistics.h"
#include "suite/base/text.h"

#define NAMED_MOST 3                     /* differences of an environment */
#define COUNT_MOST ((json_int_t)1 << 30) /* more comparisons than options can ask for */

struct merge {
    const struct dp_diff_side *reports;
    size_t count;
    json_t **results, **measured; /* of each report, by id */
    json_t *left_out;             /* id -> reason */
};

static const json_t *body_of(const struct dp_diff_side *side)
{
    return json_object_get(side->report, "body");
}

/* --- whether they may be put together --- */

/* What was left out of a plan, and so how many cases it has, may differ. */
static int check_plan(const struct dp_diff_side *first, const struct dp_diff_side *other, struct dp_err *err)
{
    const json_t *wanted = json_object_get(body_of(first), "plan");
    const json_t *plan = json_object_get(body_of(other), "plan");
    const char *member;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)wanted, member, value)
    {
        if (strcmp(member, "left_out") != 0 && strcmp(member, "cases") != 0 &&
            !json_equal(value, json_object_get(plan, member))) {
            return dp_err_set(err, DP_EXIT_DATA, "'%.200s' is of another plan than '%.200s': %s differs",
                              other->name, first->name, member);
        }
    }
    return 0;
}

/* The same run twice would count its comparisons twice. */
static int check_once(const struct dp_diff_side *reports, size_t index, struct dp_err *err)
{
    for (size_t i = 0; i < index; i++) {
        if (json_equal(json_object_get(reports[i].report, "measurements"),
                       json_object_get(reports[index].report, "measurements"))) {
            return dp_err_set(err, DP_EXIT_DATA, "'%.200s' is the same run as '%.200s'", reports[index].name,
                              reports[i].name);
        }
    }
    return 0;
}

static int check_counts(const struct dp_diff_side *side, struct dp_err *err)
{
    static const char *const axes[] = {"repeat", "fresh"};
    size_t i;
    json_t *measured;
    json_array_foreach(json_object_get(json_object_get(side->report, "measurements"), "cases"), i, measured)
    {
        for (size_t k = 0; k < sizeof(axes) / sizeof(axes[0]); k++) {
            const json_t *tally = json_object_get(json_object_get(measured, "axes"), axes[k]);
            const json_int_t of = dp_json_int(tally, "comparisons", 0);
            if (of > COUNT_MOST || dp_json_int(tally, "mismatches", 0) > of) {
                return dp_err_set(err, DP_EXIT_DATA,
                                  "'%.200s' counts what no run can: case '%.160s', axis %s", side->name,
                                  dp_json_string(measured, "case", ""), axes[k]);
            }
        }
    }
    return 0;
}

static int check_report(const struct dp_diff_side *reports, size_t index, struct dp_err *err)
{
    const struct dp_diff_side *side = &reports[index];
    char *invalid = dp_report_invalid(side->report), *other = dp_other_class(&reports[0], side);
    int rc = 0;
    if (invalid) {
        rc = dp_err_set(err, DP_EXIT_DATA, "'%.200s' has no valid verdict: %.300s", side->name, invalid);
    } else if (other) {
        rc = dp_err_set(err, DP_EXIT_DATA, "'%.150s' and '%.150s' are of two classes of devices (%s)",
                        reports[0].name, side->name, other);
    }
    free(invalid);
    free(other);
    if (rc != 0 || check_plan(&reports[0], side, err) != 0 || check_once(reports, index, err) != 0) {
        return -1;
    }
    return check_counts(side, err);
}

/* --- whether they agree in a case --- */

/* "repeats in 2, varies in 1" of a member's words. NULL: all are alike. Owned. */
static char *words_of(const struct merge *m, const char *id, const char *object, const char *member)
{
    json_t *counts = json_object();
    const char *word;
    json_t *count;
    for (size_t i = 0; i < m->count; i++) {
        const json_t *result = json_object_get(m->results[i], id);
        word = dp_json_string(object ? json_object_get(result, object) : result, member, "none");
        dp_json_count(counts, word);
    }
    struct dp_text words = DP_TEXT(4096);
    json_object_foreach(counts, word, count)
    {
        dp_text_printf(&words, "%s%s in %lld", words.length ? ", " : "", word,
                       (long long)json_integer_value(count));
    }
    const bool alike = json_object_size(counts) == 1;
    json_decref(counts);
    return alike ? (dp_text_free(&words), NULL) : words.data;
}

static bool is_alike(const struct merge *m, const char *id, const char *member)
{
    const json_t *wanted = json_object_get(json_object_get(m->results[0], id), member);
    for (size_t i = 1; i < m->count; i++) {
        const json_t *value = json_object_get(json_object_get(m->results[i], id), member);
        if ((wanted || value) && !json_equal(wanted, value)) {
            return false;
        }
    }
    return true;
}

/* Why the case cannot stand in the baseline; NULL: it can. Owned. */
static char *disagreement(const struct merge *m, const char *id)
{
    size_t in = 0;
    for (size_t i = 0; i < m->count; i++) {
        in += json_object_get(m->results[i], id) != NULL;
    }
    if (in < m->count) {
        return dp_printf("in %zu of %zu reports", in, m->count);
    }
    if (!is_alike(m, id, "definition")) {
        return dp_strdup("the catalogues define it differently");
    }
    char *words = words_of(m, id, NULL, "observed");
    words = words ? words : words_of(m, id, "guarantee", "status");
    return words || is_alike(m, id, "outputs") ? words : dp_strdup("other bits from report to report");
}

static void leave_out(struct merge *m, const char *id, char *reason_owned)
{
    char *shown = dp_gate_shown(reason_owned);
    json_object_set_new(m->left_out, id, json_string(shown));
    free(shown);
    free(reason_owned);
}

static void find_disagreements(struct merge *m)
{
    const char *id;
    json_t *result;
    for (size_t i = 0; i < m->count; i++) {
        json_object_foreach(m->results[i], id, result)
        {
            char *reason = i == 0 || !json_object_get(m->results[0], id) ? disagreement(m, id) : NULL;
            if (reason) {
                leave_out(m, id, reason);
            }
        }
    }
}

/* --- results --- */

/* The names in all reports, or in any of them. Owned. */
static json_t *names_in(const struct merge *m, const char *id, const char *member, bool all)
{
    json_t *names = json_array();
    for (size_t i = 0; i < m->count; i++) {
        const json_t *of = json_object_get(json_object_get(m->results[i], id), member);
        for (size_t k = 0; k < json_array_size(of) && !(all && i > 0); k++) {
            json_t *name = json_array_get(of, k);
            bool everywhere = true;
            for (size_t r = 0; r < m->count && all; r++) {
                everywhere = everywhere &&
                             dp_json_array_has(json_object_get(json_object_get(m->results[r], id), member),
                                               json_string_value(name));
            }
            if (everywhere && !dp_json_array_has(names, json_string_value(name))) {
                json_array_append(names, name);
            }
        }
    }
    return names;
}

/* What any of the reports says to do along an axis. NULL: none does. Owned. */
static json_t *merged_along(const struct merge *m, const char *id)
{
    json_t *along = json_object();
    for (size_t i = 0; i < m->count; i++) {
        json_object_update_missing(along,
                                   json_object_get(json_object_get(m->results[i], id), "remedy_along"));
    }
    if (json_object_size(along) == 0) {
        json_decref(along);
        return NULL;
    }
    return along;
}

/* Of the first report. An axis that moved bits in any of them is known to, a cap under which any of them was
 * wrong is one, an axis that any of them measured was measured; what they do not agree in otherwise is not
 * told. */
static json_t *merged_result(const struct merge *m, const char *id)
{
    static const char *const optional[] = {"chosen", "declared", "order"};
    json_t *result = json_copy(json_object_get(m->results[0], id));
    if (json_object_get(result, "sensitive_to")) {
        json_t *along = merged_along(m, id);
        json_object_set_new(result, "sensitive_to", names_in(m, id, "sensitive_to", false));
        if (along) {
            json_object_set_new(result, "remedy_along", along);
        }
    }
    json_t *caps = names_in(m, id, "wrong_under", false);
    if (json_array_size(caps) > 0) {
        json_object_set(result, "wrong_under", caps);
    }
    json_decref(caps);
    if (json_object_get(result, "not_measured")) {
        json_object_set_new(result, "not_measured", names_in(m, id, "not_measured", true));
    }
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        if (!is_alike(m, id, optional[i])) {
            json_object_del(result, optional[i]);
        }
    }
    return result;
}

/* --- measurements --- */

static json_int_t sum_of(const struct merge *m, const char *id, const char *axis, const char *member)
{
    json_int_t sum = 0;
    for (size_t i = 0; i < m->count; i++) {
        const json_t *axes = json_object_get(json_object_get(m->measured[i], id), "axes");
        sum += dp_json_int(json_object_get(axes, axis), member, 0);
    }
    return sum;
}

/* The report with most distinct outputs along the axis, NULL: none has it. */
static const json_t *most_distinct(const struct merge *m, const char *id, const char *axis)
{
    const json_t *most = NULL;
    for (size_t i = 0; i < m->count; i++) {
        const json_t *tally =
            json_object_get(json_object_get(json_object_get(m->measured[i], id), "axes"), axis);
        if (tally && (!most || dp_json_int(tally, "distinct", 0) > dp_json_int(most, "distinct", 0))) {
            most = tally;
        }
    }
    return most;
}

static json_t *merged_tally(const struct merge *m, const char *id, const char *axis)
{
    static const char *const summed[] = {"runs", "comparisons", "mismatches", "seeds", "seeds_varied"};
    const json_t *most = most_distinct(m, id, axis);
    if (!most) {
        return NULL;
    }
    json_t *tally = json_pack("{sO sO}", "distinct", json_object_get(most, "distinct"), "of",
                              json_object_get(most, "of"));
    for (size_t i = 0; i < sizeof(summed) / sizeof(summed[0]); i++) {
        json_object_set_new(tally, summed[i], json_integer(sum_of(m, id, axis, summed[i])));
    }
    const size_t mismatches = (size_t)dp_json_int(tally, "mismatches", 0);
    const size_t comparisons = (size_t)dp_json_int(tally, "comparisons", 0);
    double low, high;
    if (mismatches == 0) {
        json_object_set_new(tally, "bound", json_real(dp_zero_bound(comparisons)));
    } else {
        dp_clopper_pearson(mismatches, comparisons, &low, &high);
        json_object_set_new(tally, "interval", json_pack("[ff]", low, high));
    }
    return tally;
}

/* What moved in any of them has moved. */
static bool moved_in_any(const struct merge *m, const char *id, const char *axis)
{
    for (size_t i = 0; i < m->count; i++) {
        const json_t *axes = json_object_get(json_object_get(m->measured[i], id), "axes");
        if (json_is_true(json_object_get(json_object_get(axes, axis), "moved"))) {
            return true;
        }
    }
    return false;
}

/* The evidence of the first report with the rates of all. How long it took is of one run alone. */
static json_t *merged_case(const struct merge *m, const char *id)
{
    static const char *const rated[] = {"repeat", "fresh"};
    json_t *entry = json_deep_copy(json_object_get(m->measured[0], id));
    json_t *axes = json_object_get(entry, "axes"), *settings;
    const char *axis;
    double seconds = 0;
    json_object_foreach(axes, axis, settings)
    {
        if (moved_in_any(m, id, axis)) {
            json_object_set_new(settings, "moved", json_true());
        }
    }
    for (size_t i = 0; i < sizeof(rated) / sizeof(rated[0]); i++) {
        json_t *tally = merged_tally(m, id, rated[i]);
        if (tally) {
            json_object_set_new(axes, rated[i], tally);
        }
    }
    for (size_t i = 0; i < m->count; i++) {
        seconds += dp_json_number(json_object_get(m->measured[i], id), "seconds", 0);
    }
    json_object_set_new(entry, "seconds", json_real(seconds));
    json_object_del(entry, "time");
    json_object_del(entry, "spent_seconds");
    return entry;
}

/* From the start of the first to the end of the last. */
static json_t *merged_measurements(const struct merge *m, json_t *cases)
{
    json_t *merged = json_object();
    const char *started = NULL, *finished = NULL, *host = NULL;
    double seconds = 0;
    bool one_host = true;
    for (size_t i = 0; i < m->count; i++) {
        const json_t *of = json_object_get(m->reports[i].report, "measurements");
        const char *began = dp_json_string(of, "started", ""), *ended = dp_json_string(of, "finished", "");
        const char *name = dp_json_string(of, "host_name", NULL);
        started = !started || strcmp(began, started) < 0 ? began : started;
        finished = !finished || strcmp(ended, finished) > 0 ? ended : finished;
        one_host = one_host && name && (!host || strcmp(name, host) == 0);
        host = name;
        seconds += dp_json_number(of, "seconds", 0);
    }
    char *what = dp_printf("baseline of %zu reports", m->count);
    json_object_set_new(merged, "started", json_string(started));
    json_object_set_new(merged, "finished", json_string(finished));
    json_object_set_new(merged, "seconds", json_real(seconds));
    json_object_set_new(merged, "interrupted", json_false());
    json_object_set_new(merged, "report_of", json_string(what));
    json_object_set_new(merged, "cases", cases);
    if (one_host) {
        json_object_set_new(merged, "host_name", json_string(host));
    }
    free(what);
    return merged;
}

/* --- the whole --- */

/* The plan with what is left out, now and before. */
static json_t *merged_plan(const struct merge *m, size_t cases)
{
    json_t *plan = json_copy(json_object_get(body_of(&m->reports[0]), "plan"));
    json_t *rows = json_array();
    const char *id;
    json_t *reason, *entry;
    size_t i;
    json_object_foreach(m->left_out, id, reason)
    {
        json_array_append_new(rows, json_pack("{ss sO}", "case", id, "reason", reason));
    }
    json_array_foreach(json_object_get(plan, "left_out"), i, entry)
    {
        id = dp_json_string(entry, "case", "");
        if (!json_object_get(m->left_out, id) && !json_object_get(m->results[0], id)) {
            json_array_append(rows, entry);
        }
    }
    json_object_set_new(plan, "left_out", rows);
    json_object_set_new(plan, "cases", json_integer((json_int_t)cases));
    return plan;
}

/* Members that only a newer version knows are kept, and so is what says that they may be there. */
static void keep_newest_version(const struct merge *m, json_t *made)
{
    long newest = 0;
    for (size_t i = 0; i < m->count; i++) {
        json_t *version = json_object_get(m->reports[i].report, "schema_version");
        const char *minor = strchr(json_string_value(version), '.');
        if (minor && strtol(minor + 1, NULL, 10) > newest) {
            newest = strtol(minor + 1, NULL, 10);
            json_object_set(made, "schema_version", version);
        }
    }
}

static json_t *put_together(struct merge *m, struct dp_err *err)
{
    json_t *results = json_array(), *cases = json_array();
    const char *id;
    json_t *result;
    json_object_foreach(m->results[0], id, result)
    {
        if (json_object_get(m->left_out, id)) {
            continue;
        }
        json_array_append_new(results, merged_result(m, id));
        if (json_object_get(m->measured[0], id)) {
            json_array_append_new(cases, merged_case(m, id));
        }
    }
    const json_t *body = body_of(&m->reports[0]);
    json_t *plan = merged_plan(m, json_array_size(results)), *measurements = merged_measurements(m, cases);
    const struct dp_report_parts parts = {.environment = json_object_get(body, "environment"),
                                          .plan = plan,
                                          .results = results,
                                          .controls = json_object_get(body, "controls"),
                                          .measurements = measurements};
    json_t *made = dp_report_make(&parts, err);
    if (made) {
        keep_newest_version(m, made);
    }
    json_decref(results);
    json_decref(plan);
    json_decref(measurements);
    return made;
}

json_t *dp_baseline_make(const struct dp_diff_side *reports, size_t count, struct dp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (check_report(reports, i, err) != 0) {
            return NULL;
        }
    }
    struct merge m = {.reports = reports,
                      .count = count,
                      .results = dp_alloc(count, sizeof(json_t *)),
                      .measured = dp_alloc(count, sizeof(json_t *)),
                      .left_out = json_object()};
    for (size_t i = 0; i < count; i++) {
        const json_t *measurements = json_object_get(reports[i].report, "measurements");
        m.results[i] = dp_json_index(json_object_get(body_of(&reports[i]), "results"), "case");
        m.measured[i] = dp_json_index(json_object_get(measurements, "cases"), "case");
    }
    find_disagreements(&m);
    json_t *baseline = put_together(&m, err);
    for (size_t i = 0; i < count; i++) {
        json_decref(m.results[i]);
        json_decref(m.measured[i]);
    }
    free(m.results);
    free(m.measured);
    json_decref(m.left_out);
    return baseline;
}

char *dp_baseline_other_environment(const json_t *first, const json_t *other)
{
    json_t *rows = dp_diff_environment(json_object_get(json_object_get(first, "body"), "environment"),
                                       json_object_get(json_object_get(other, "body"), "environment"));
    const size_t count = json_array_size(rows);
    struct dp_text words = DP_TEXT((size_t)1 << 16);
    for (size_t i = 0; i < count && i < NAMED_MOST; i++) {
        char *shown = dp_gate_shown(dp_json_string(json_array_get(rows, i), "words", ""));
        dp_text_printf(&words, "%s%s", i ? "; " : "", shown);
        free(shown);
    }
    if (count > NAMED_MOST) {
        dp_text_printf(&words, "; and %zu more", count - NAMED_MOST);
    }
    json_decref(rows);
    return words.data;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Two environments as factors: what can be changed here is, from the one's value to the other's; the rest is
 * named.
 */
#include "suite/attribute/bisect.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/diff/parts.h"
#include "reports/model.h"
#include "suite/attribute/explain.h"
#include "suite/attribute/reproduce.h"
#include "suite/attribute/search.h"
#include "suite/audit/audit.h"
#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/environment.h"

enum { SEEDS = 3, RUNS = 2, PROCESSES = 2 };

/* What is known of the two sides, and what comes of it. */
struct bisection {
    struct dp_bench *bench;
    const json_t *environment[2], *result[2], *measured[2];
    const json_t *hello;
    bool load;
    struct dp_factors factors;
    json_t *fixed; /* {words, reason} of what differs and cannot be changed here */
};

/* --- variables --- */

static bool is_own(const struct bisection *b, const char *name)
{
    return json_object_get(b->bench->item->program->environment, name) != NULL;
}

/* All that both recorded, so that what they have in common is as it was for them: a factor without another
 * value changes nothing. */
static void add_variables(struct bisection *b)
{
    json_t *names = json_object(), *unused;
    const char *name;
    const json_t *before = json_object_get(b->environment[0], "variables"),
                 *after = json_object_get(b->environment[1], "variables");
    json_object_update(names, (json_t *)(uintptr_t)before);
    json_object_update(names, (json_t *)(uintptr_t)after);
    json_object_foreach(names, name, unused)
    {
        const char *from = dp_json_string(before, name, NULL), *to = dp_json_string(after, name, NULL);
        if (is_own(b, name) || !dp_audit_may_set(name, from) || !dp_audit_may_set(name, to)) {
            continue;
        }
        struct dp_factor *factor = dp_factors_add(&b->factors, DP_FACTOR_VARIABLE, name, from);
        if (!from || !to || strcmp(from, to) != 0) {
            dp_factors_add_to(&b->factors, factor, to);
        }
    }
    json_decref(names);
}

static bool changes(const struct bisection *b, const char *part)
{
    for (size_t i = 0; i < b->factors.count; i++) {
        if (b->factors.items[i].to_count > 0 && strstr(b->factors.items[i].name, part)) {
            return true;
        }
    }
    return false;
}

/* --- threads, instruction sets, files --- */

static void add_axis(struct bisection *b, const char *axis, const char *from, const char *to)
{
    struct dp_factor *factor = dp_factors_add(&b->factors, DP_FACTOR_AXIS, axis, from);
    factor->always = true;
    dp_factors_add_to(&b->factors, factor, to);
}

/* How many ran is a difference of its own only where no variable says so. */
static void add_threads(struct bisection *b)
{
    const json_int_t from = dp_json_int(b->measured[0], "threads", 0),
                     to = dp_json_int(b->measured[1], "threads", 0);
    if (from > 0 && to > 0 && from != to && !changes(b, "NUM_THREADS") &&
        dp_json_array_has(json_object_get(b->hello, "axes"), "threads")) {
        char *left = dp_printf("%lld", (long long)from), *right = dp_printf("%lld", (long long)to);
        add_axis(b, "threads", left, right);
        free(left);
        free(right);
    }
}

/* The cap that holds a library to this level here: "" where it runs on it by itself, NULL where it cannot. */
static const char *cap_for(const struct bisection *b, const char *library, const char *isa)
{
    const char *own = dp_hello_isa(b->hello, library), *found = NULL;
    json_t *host = dp_host_facts();
    for (const struct dp_cap *cap = dp_caps(); own && cap->setting && !found; cap++) {
        char *lacks =
            strcmp(cap->library, library) == 0 && dp_cap_is(cap, isa) ? dp_cap_lacks(cap, host) : NULL;
        const bool fits = strcmp(cap->library, library) == 0 && dp_cap_is(cap, isa) && !lacks;
        found = fits ? dp_cap_is(cap, own) ? "" : cap->setting : NULL;
        free(lacks);
    }
    json_decref(host);
    return found;
}

/* Of a row of kind isa. */
static bool add_isa(struct bisection *b, const json_t *row)
{
    const char *library = dp_json_string(row, "subject", "");
    const char *from = cap_for(b, library, dp_json_string(row, "before", "")),
               *to = cap_for(b, library, dp_json_string(row, "after", ""));
    if (!from || !to || changes(b, "isa")) {
        return false;
    }
    add_axis(b, "isa", from, to);
    return true;
}

static const char *file_of(const json_t *environment, const char *role, const char *name)
{
    size_t i;
    json_t *library;
    json_array_foreach(json_object_get(environment, "libraries"), i, library)
    {
        if (strcmp(dp_json_string(library, "role", ""), role) == 0 &&
            (!name || strcmp(dp_json_string(library, "name", ""), name) == 0)) {
            return dp_json_string(library, "path", NULL);
        }
    }
    return NULL;
}

/* A library is loaded only where the user lets it, and both files are here. Returns why it is not changed. */
static const char *add_library(struct bisection *b, const json_t *row)
{
    const char *role = dp_json_string(row, "role", NULL);
    const char *from = role ? file_of(b->environment[0], role, NULL) : NULL,
               *to = role ? file_of(b->environment[1], role, NULL) : NULL;
    char name[80] = "DETPROBE_LIB_";
    size_t length = strlen(name);
    if (from && to && strcmp(from, to) == 0) {
        return "it is one file, and here in one version";
    }
    if (!from || !to || access(from, R_OK) != 0 || access(to, R_OK) != 0) {
        return "the two files are not both here";
    }
    if (!b->load) {
        return "libraries that reports name are loaded only with '--load-libraries'";
    }
    for (const char *c = role; *c && length + 1 < sizeof(name); c++) {
        name[length++] = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c == '-' ? '_' : *c);
    }
    struct dp_factor *factor = dp_factors_add(&b->factors, DP_FACTOR_VARIABLE, name, from);
    dp_factors_add_to(&b->factors, factor, to);
    return NULL;
}

/* --- what differs --- */

static void fix(struct bisection *b, const json_t *row, const char *reason)
{
    json_array_append_new(b->fixed, json_pack("{sO ss ss}", "words", json_object_get(row, "words"), "kind",
                                              dp_json_string(row, "kind", ""), "reason", reason));
}

static void take_row(struct bisection *b, const json_t *row)
{
    const char *kind = dp_json_string(row, "kind", ""), *subject = dp_json_string(row, "subject", "");
    if (strcmp(kind, "variable") == 0) {
        const char *before = dp_json_string(row, "before", NULL), *after = dp_json_string(row, "after", NULL);
        if (is_own(b, subject)) {
            fix(b, row, "the case itself sets it");
        } else if (!dp_audit_may_set(subject, before) || !dp_audit_may_set(subject, after)) {
            fix(b, row, "no setting that 'detprobe audit' knows, with a value that names no file");
        }
    } else if (strcmp(kind, "isa") == 0) {
        if (!changes(b, "CORETYPE") && !changes(b, "ISA") && !changes(b, "CBWR") && !add_isa(b, row)) {
            fix(b, row, "the library here cannot be held to both");
        }
    } else if (strcmp(kind, "library") == 0) {
        const char *reason = add_library(b, row);
        if (reason) {
            fix(b, row, reason);
        }
    } else if (strcmp(subject, "cores_allowed") != 0 || !changes(b, "threads")) {
        fix(b, row, "it is of the machine");
    }
}

/* Variables are tried whoever is known to read them, and the kernel is named where nothing else explains. */
static bool concerns(const struct bisection *b, const char *family, const json_t *row)
{
    return strcmp(dp_json_string(row, "kind", ""), "variable") == 0 ||
           strcmp(dp_json_string(row, "member", ""), "kernel") == 0 ||
           dp_difference_reaches(row, b->bench->item->backend, family);
}

static void find_factors(struct bisection *b)
{
    json_t *rows = dp_diff_environment(b->environment[0], b->environment[1]), *row;
    char *family = dp_printf("%s/%s", b->bench->item->backend, b->bench->item->family);
    size_t i;
    add_variables(b);
    add_threads(b);
    json_array_foreach(rows, i, row)
    {
        if (concerns(b, family, row)) {
            take_row(b, row);
        }
    }
    free(family);
    json_decref(rows);
}

/* --- the work --- */

/* A word of the schema for a side. Static. */
static const char *seen_here(const struct dp_trial *trial, const json_t *result)
{
    const bool varied = dp_result_is(result, "varies");
    if (trial->kind == DP_TRIAL_VARIES) {
        return varied ? "as_in_report" : "varies";
    }
    return varied ? "repeats" : dp_same_outputs(trial->outputs, result) == 1 ? "as_in_report" : "other_bits";
}

static size_t all_choices(const struct dp_factors *factors, struct dp_choice *ret)
{
    size_t count = 0;
    for (size_t f = 0; f < factors->count; f++) {
        if (factors->items[f].to_count > 0) {
            ret[count++] = (struct dp_choice){f, factors->items[f].from, factors->items[f].to[0]};
        }
    }
    return count;
}

static json_t *choices_json(const struct dp_factors *factors, const struct dp_choice *choices, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(array, dp_choice_json(factors, &choices[i]));
    }
    return array;
}

/* What was set on both sides alike. Owned. */
static json_t *context_of(const struct dp_factors *factors)
{
    json_t *context = json_object();
    for (size_t f = 0; f < factors->count; f++) {
        const struct dp_factor *factor = &factors->items[f];
        if (factor->kind == DP_FACTOR_VARIABLE && factor->to_count == 0) {
            json_object_set_new(context, factor->name, json_string(factor->from));
        }
    }
    return context;
}

/* The smallest part of the choices, told with the command that shows it. */
static int reduce(struct bisection *b, const struct dp_search *search, struct dp_choice *choices,
                  size_t *count, json_t *document, struct dp_err *err)
{
    const char *effect;
    *count = dp_search_reduce(search, choices, *count, err);
    if (b->bench->signal) {
        return -1;
    }
    const int found = dp_search_try(search, choices, *count, search->again, &effect, err);
    if (found <= 0) {
        return found;
    }
    json_t *change = choices_json(&b->factors, choices, *count), *context = context_of(&b->factors);
    const struct dp_shown shown = {.bench = b->bench, .context = context};
    char *command = dp_change_command(&shown, change);
    json_object_set_new(document, "change", change);
    if (command && search->effect == DP_EFFECT_MOVES) {
        json_object_set_new(document, "reproduce", json_string(command));
    }
    free(command);
    json_decref(context);
    return 1;
}

static const char *outcome_without_change(const json_t *here)
{
    const char *before = dp_json_string(here, "before", ""), *after = dp_json_string(here, "after", "");
    const bool seen = strcmp(before, "as_in_report") == 0 || strcmp(after, "as_in_report") == 0;
    return seen ? "elsewhere" : "not_reproduced";
}

/* What was tried and is not needed. */
static json_t *without_effect(const json_t *tried, const json_t *change)
{
    json_t *rest = json_array(), *item, *needed;
    size_t i, k;
    json_array_foreach(tried, i, item)
    {
        bool found = false;
        json_array_foreach(change, k, needed)
        {
            found = found || json_equal(item, needed);
        }
        if (!found) {
            json_array_append(rest, item);
        }
    }
    return rest;
}

static json_t *start_document(const struct bisection *b)
{
    json_t *libraries = json_array();
    dp_environment_add_libraries(libraries, NULL, b->hello);
    return json_pack("{ss ss so s{ss ss}}", "schema_version", "1.0", "case", b->bench->item->id, "libraries",
                     libraries, "reports", "before", dp_json_string(b->result[0], "observed", ""), "after",
                     dp_json_string(b->result[1], "observed", ""));
}

static int work(struct bisection *b, json_t *document, struct dp_err *err)
{
    const struct dp_amount amount = {SEEDS, RUNS, PROCESSES};
    const bool varied = dp_result_is(b->result[0], "varies");
    const struct dp_amount long_amount = dp_explain_amount(b->bench->item, 0);
    const bool steady = !varied && !dp_result_is(b->result[1], "varies");
    struct dp_search search = {.bench = b->bench,
                               .factors = &b->factors,
                               .effect = varied ? DP_EFFECT_STEADIES : DP_EFFECT_MOVES,
                               .first = steady ? amount : long_amount,
                               .again = steady ? amount : long_amount};
    struct dp_choice *choices = dp_alloc(b->factors.count + 1, sizeof(*choices));
    size_t count = all_choices(&b->factors, choices);
    struct dp_setup setups[2] = {dp_setup_of(&b->factors, choices, count, true),
                                 dp_setup_of(&b->factors, choices, count, false)};
    struct dp_trial trials[2] = {0};
    json_t *tried = choices_json(&b->factors, choices, count), *here = NULL;
    int rc = dp_try(b->bench, setups, 2, search.first, trials, err);
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        if (trials[i].kind == DP_TRIAL_UNKNOWN) {
            rc = dp_err_set(err, trials[i].skipped ? DP_EXIT_NOTHING_RAN : DP_EXIT_NO_VERDICT,
                            "'%s' cannot run here as in the %s report: %.300s", b->bench->item->id,
                            i ? "second" : "first", trials[i].why);
        } else if (trials[i].kind == DP_TRIAL_VARIES) {
            search.again = dp_amount_to_keep(&trials[i], long_amount);
        }
    }
    if (rc == 0) {
        here = json_pack("{ss ss}", "before", seen_here(&trials[0], b->result[0]), "after",
                         seen_here(&trials[1], b->result[1]));
        const char *effect;
        const bool shows = count > 0 && (!varied || trials[0].kind == DP_TRIAL_VARIES);
        int found = shows ? dp_search_try(&search, choices, count, search.first, &effect, err) : 0;
        found = found > 0 ? reduce(b, &search, choices, &count, document, err) : found;
        rc = found < 0 ? -1 : 0;
        json_object_set_new(document, "outcome",
                            json_string(found > 0 ? "found" : outcome_without_change(here)));
        json_object_set_new(document, "here", here);
        json_object_set_new(document, "without_effect",
                            without_effect(tried, json_object_get(document, "change")));
        json_object_set(document, "cannot_change", b->fixed);
    }
    for (size_t i = 0; i < 2; i++) {
        dp_setup_free(&setups[i]);
        dp_trial_free(&trials[i]);
    }
    json_decref(tried);
    free(choices);
    return rc;
}

/* Whether there is anything to look for: 1, 0 (the same bits), or -1. */
static int check(const struct bisection *b, const struct dp_diff_side sides[2], struct dp_err *err)
{
    const char *unlike = NULL;
    bool varies[2];
    for (size_t i = 0; i < 2; i++) {
        varies[i] = dp_result_is(b->result[i], "varies");
        if (!dp_result_ran(b->result[i])) {
            return dp_err_set(err, DP_EXIT_DATA, "'%.200s' has no bits of '%s', it is '%s' there",
                              sides[i].name, b->bench->item->id,
                              dp_json_string(b->result[i], "observed", ""));
        }
    }
    if (varies[0] && varies[1]) {
        return dp_err_set(err, DP_EXIT_NO_VERDICT,
                          "'%s' varies by itself in both reports, see 'detprobe explain'",
                          b->bench->item->id);
    }
    if (varies[0] || varies[1]) {
        return 1;
    }
    const bool equal = dp_outputs_equal(json_object_get(b->result[0], "outputs"),
                                        json_object_get(b->result[1], "outputs"), &unlike);
    return unlike ? dp_err_set(err, DP_EXIT_DATA, "the bits of '%s' cannot be compared: %.200s",
                               b->bench->item->id, unlike)
                  : !equal;
}

json_t *dp_bisect(struct dp_bench *bench, const struct dp_diff_side sides[2], bool load, struct dp_err *err)
{
    struct bisection b = {.bench = bench, .load = load, .fixed = json_array()};
    for (size_t i = 0; i < 2; i++) {
        const json_t *body = json_object_get(sides[i].report, "body");
        const json_t *measurements = json_object_get(sides[i].report, "measurements");
        b.environment[i] = json_object_get(body, "environment");
        b.result[i] = dp_report_entry(json_object_get(body, "results"), bench->item->id);
        b.measured[i] = dp_report_entry(json_object_get(measurements, "cases"), bench->item->id);
    }
    json_t *document = NULL, *hello = NULL;
    const int differ = dp_diff_comparable(sides, err) == 0 ? check(&b, sides, err) : -1;
    if (differ == 0) {
        document = start_document(&b);
        json_object_set_new(document, "outcome", json_string("same_bits"));
    } else if (differ > 0) {
        b.hello = hello = dp_run_hello(bench->item->program, bench->stack, bench->timeout_ns);
        find_factors(&b);
        document = start_document(&b);
        if (work(&b, document, err) != 0) {
            json_decref(document);
            document = NULL;
        }
    }
    json_decref(hello);
    json_decref(b.fixed);
    dp_factors_free(&b.factors);
    return document;
}

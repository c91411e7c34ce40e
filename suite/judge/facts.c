/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading answers into facts. An observation that contradicts itself or its request (classes that do not add
 * up, a digest that is none) is an error of the program, never a verdict.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/judge/facts.h"
#include "suite/plan/guarantee.h"
#include "suite/plan/levels.h"

#define MAX_CLASSES 8     /* listed with their digest */
#define MAX_DISTINCT 1024 /* counted */
#define MAX_OUTPUTS 64
#define MAX_INTEGER ((json_int_t)1 << 53)

static bool is_count(const json_t *value, json_int_t low, json_int_t high)
{
    return json_is_integer(value) && json_integer_value(value) >= low && json_integer_value(value) <= high;
}

static bool is_sha256(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static const char *read_classes(const json_t *output, int runs, size_t *ret_distinct, size_t *ret_mismatches)
{
    const json_t *classes = json_object_get(output, "classes");
    const size_t count = json_array_size(classes);
    if (count == 0 || count > MAX_CLASSES) {
        return "an output without classes, or with more than 8";
    }
    const json_t *distinct = json_object_get(output, "distinct");
    if (distinct && !is_count(distinct, (json_int_t)count, MAX_DISTINCT)) {
        return "'distinct' does not fit its classes";
    }
    *ret_distinct = distinct ? (size_t)json_integer_value(distinct) : count;
    json_int_t sum = 0, largest = 0;
    size_t i;
    json_t *item;
    json_array_foreach(classes, i, item)
    {
        const json_t *class_runs = json_object_get(item, "runs");
        if (!is_sha256(json_object_get(item, "sha256")) || !is_count(class_runs, 1, runs) ||
            !is_count(json_object_get(item, "first_run"), 0, runs - 1)) {
            return "a class without digest, runs or first_run";
        }
        sum += json_integer_value(class_runs);
        largest = json_integer_value(class_runs) > largest ? json_integer_value(class_runs) : largest;
    }
    const bool listed = *ret_distinct == count;
    if (listed ? sum != runs : (count < MAX_CLASSES || sum + (json_int_t)(*ret_distinct - count) > runs)) {
        return "classes do not add up to the runs asked for";
    }
    *ret_mismatches = (size_t)(runs - largest);
    return NULL;
}

static bool is_shape(const json_t *shape)
{
    size_t i;
    json_t *item;
    if (!json_is_array(shape) || json_array_size(shape) > 16) {
        return false;
    }
    json_array_foreach(shape, i, item)
    {
        if (!is_count(item, 0, MAX_INTEGER - 1)) {
            return false;
        }
    }
    return true;
}

static const char *read_checks(const json_t *output, const char *name, struct dp_fact *fact)
{
    const json_t *unwritten = json_object_get(output, "unwritten");
    const json_t *guard = json_object_get(output, "guard");
    const json_t *error = json_object_get(output, "error_over_bound");
    const char *state = json_string_value(guard);
    if ((unwritten && !is_count(unwritten, 0, INT64_MAX)) || (error && !json_is_number(error)) ||
        (guard && (!state || (strcmp(state, "intact") != 0 && strcmp(state, "broken") != 0)))) {
        return "'unwritten', 'guard' or 'error_over_bound' of a wrong type";
    }
    /* what no run wrote is looked for where values are checked, not on inputs that only decide bits */
    fact->full = fact->full && guard && (unwritten || strcmp(fact->request->set, "wide") == 0);
    fact->bounded = fact->bounded && error;
    if (unwritten && json_integer_value(unwritten) > 0 && !fact->unwritten) {
        fact->unwritten = name;
    }
    if (state && strcmp(state, "broken") == 0 && !fact->guard) {
        fact->guard = name;
    }
    if (error && json_number_value(error) > fact->error_over_bound) {
        fact->error_over_bound = json_number_value(error);
        fact->error_output = name;
    }
    return NULL;
}

static const char *read_output(const json_t *output, struct dp_fact *fact)
{
    const char *name = dp_json_string(output, "name", "");
    if (!name[0] || !dp_json_string(output, "dtype", "")[0] || !is_shape(json_object_get(output, "shape"))) {
        return "an output without name, dtype or shape";
    }
    size_t distinct = 0, mismatches = 0;
    const char *fault = read_classes(output, fact->request->runs, &distinct, &mismatches);
    if (fault) {
        return fault;
    }
    if (distinct > fact->distinct) {
        fact->distinct = distinct;
        fact->most = output;
    }
    fact->mismatches = mismatches > fact->mismatches ? mismatches : fact->mismatches;
    return read_checks(output, name, fact);
}

static void read_observation(struct dp_fact *fact)
{
    const json_t *outputs = json_object_get(fact->answer, "outputs");
    const size_t count = json_array_size(outputs);
    const char *fault = count == 0 || count > MAX_OUTPUTS ? "an observation without outputs" : NULL;
    fact->kind = DP_FACT_OBSERVATION;
    fact->full = fact->bounded = true;
    fact->error_over_bound = -1.0;
    for (size_t i = 0; i < count && !fault; i++) {
        fault = read_output(json_array_get(outputs, i), fact);
    }
    if (fault) {
        fact->kind = DP_FACT_ERROR;
        fact->reason = "protocol";
        fact->text = fault;
    }
}

/* Where a sum that was asked again was another, the same summands have several results. */
static void read_order(struct dp_fact *fact)
{
    const json_t *views = json_object_get(fact->answer, "views");
    fact->kind = DP_FACT_ORDER;
    fact->distinct = 1;
    for (size_t i = 0; i < json_array_size(views); i++) {
        fact->distinct = dp_json_int(json_array_get(views, i), "changed", 0) > 0 ? 2 : fact->distinct;
    }
}

static void read_answer(struct dp_fact *fact)
{
    static const char *const errors[] = {"crash", "timeout", "protocol", "gone", "spawn", "stack"};
    static const char *const skips[] = {"no_device", "library_missing", "not_built", "unsupported",
                                        "memory",    "device_busy",     "version",   "budget"};
    const char *type = dp_json_string(fact->answer, "type", "");
    const char *reason = dp_json_string(fact->answer, "reason", "");
    fact->kind = DP_FACT_ERROR;
    fact->reason = "protocol";
    fact->text = dp_json_string(fact->answer, "text", "");
    const bool order = dp_axis_reveals(fact->request->axis);
    if (strcmp(type, "observation") == 0 && !order) {
        read_observation(fact);
    } else if (strcmp(type, "order") == 0 && order) {
        read_order(fact);
    } else if (strcmp(type, "failure") == 0) {
        fact->reason = "failure";
    } else if (strcmp(type, "error") == 0) {
        for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
            fact->reason = strcmp(reason, errors[i]) == 0 ? errors[i] : fact->reason;
        }
    } else if (strcmp(type, "skip") == 0) {
        for (size_t i = 0; i < sizeof(skips) / sizeof(skips[0]); i++) {
            if (strcmp(reason, skips[i]) == 0) {
                fact->kind = DP_FACT_SKIP;
                fact->reason = skips[i];
            }
        }
    }
}

/* Everything that decides `wrong` was reported by the base observations of the sets that are checked against
 * a reference; set wide decides bits alone. */
static bool view_full(const struct dp_view *view)
{
    size_t checked = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (!dp_fact_is_base(fact) || fact->kind != DP_FACT_OBSERVATION ||
            strcmp(fact->request->set, "wide") == 0) {
            continue;
        }
        if (!fact->full || !fact->bounded) {
            return false;
        }
        checked++;
    }
    return checked > 0;
}

/* By the libraries that the case's own process had open: two programs may have two versions of one. Owned. */
static json_t *stated_of(const struct dp_case *item, const json_t *hellos)
{
    const struct dp_program *program = item->program;
    const json_t *own = program ? json_object_get(hellos, program->name) : NULL;
    const json_t *hello =
        own || !program || !program->base ? own : json_object_get(hellos, program->base->name);
    json_t *devices = json_pack("[O*]", json_object_get(hello, "device"));
    json_t *versions = dp_versions_of(json_object_get(hello, "libraries"), devices, NULL);
    json_t *stated = dp_guarantee_stated(json_object_get(item->json, "guarantee"), versions);
    json_decref(versions);
    json_decref(devices);
    return stated;
}

void dp_facts_read(const struct dp_plan *plan, const struct dp_answers *answers, struct dp_facts *ret)
{
    ret->items = dp_alloc(plan->request_count + 1, sizeof(*ret->items));
    ret->sorted = dp_alloc(plan->request_count + 1, sizeof(*ret->sorted));
    ret->views = dp_alloc(plan->case_count + 1, sizeof(*ret->views));
    for (size_t i = 0; i < plan->request_count; i++) {
        struct dp_fact *fact = &ret->items[i];
        fact->request = &plan->requests[i];
        fact->answer = i < answers->count ? answers->items[i] : NULL;
        if (fact->answer) {
            read_answer(fact);
        }
        ret->views[fact->request->case_index].count++;
    }
    const struct dp_fact **next = ret->sorted;
    for (size_t i = 0; i < plan->case_count; i++) {
        struct dp_view *view = &ret->views[i];
        *view = (struct dp_view){
            .plan = plan, .item = plan->cases[i], .case_index = i, .facts = next, .count = view->count};
        next += view->count;
        view->count = 0;
    }
    for (size_t i = 0; i < plan->request_count; i++) {
        struct dp_view *view = &ret->views[plan->requests[i].case_index];
        view->facts[view->count++] = &ret->items[i];
    }
    for (size_t i = 0; i < plan->case_count; i++) {
        ret->views[i].full = view_full(&ret->views[i]);
        ret->views[i].stated = stated_of(plan->cases[i], answers->hellos);
    }
    ret->view_count = plan->case_count;
}

int dp_view_compare(const void *left, const void *right)
{
    const struct dp_view *const *a = left, *const *b = right;
    return strcmp((*a)->item->id, (*b)->item->id);
}

void dp_facts_free(struct dp_facts *facts)
{
    for (size_t i = 0; i < facts->view_count; i++) {
        json_decref(facts->views[i].stated);
    }
    free(facts->items);
    free(facts->sorted);
    free(facts->views);
}

char *dp_fact_dropped(const struct dp_fact *fact)
{
    return fact->kind == DP_FACT_MISSING
               ? dp_strdup("interrupted")
               : dp_printf("%s: %s", fact->reason, fact->text[0] ? fact->text : "no text");
}

char *dp_seed_name(const struct dp_plan *plan, int seed_index)
{
    return dp_printf("%llu/%d", (unsigned long long)plan->options.seed, seed_index);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan as JSON: protocol requests, the report's part, the run log's first line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/levels.h"
#include "suite/plan/plan.h"

static json_t *member_or_null(const json_t *object, const char *key)
{
    json_t *member = json_object_get(object, key);
    return member ? json_incref(member) : json_null();
}

static json_t *format_string(char *owned)
{
    json_t *string = json_string(owned);
    free(owned);
    return string;
}

json_t *dp_request_message(const struct dp_plan *plan, size_t request)
{
    static const char *const members[] = {"op",         "params", "choice", "problem",
                                          "arithmetic", "bound",  "batch"};
    const struct dp_request *r = &plan->requests[request];
    const struct dp_case *item = plan->cases[r->case_index];
    json_t *message = json_object();
    json_object_set_new(message, "id", json_integer((json_int_t)request));
    json_object_set_new(message, "case", json_string(item->id));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        json_object_set_new(message, members[i], member_or_null(item->json, members[i]));
    }
    char *seed = dp_printf("%llu/%d", (unsigned long long)plan->options.seed, r->seed_index);
    json_object_set_new(message, "seed", format_string(seed));
    json_object_set_new(message, "set", json_string(r->set));
    json_object_set_new(message, "axis", json_string(r->axis));
    json_object_set_new(message, "setting", json_string(r->setting));
    json_object_set_new(message, "runs", json_integer(r->runs));
    return message;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The user's words, harmless and in one order: they go into the canonical body. */
static json_t *strings_to_json(const struct dp_strings *strings)
{
    json_t *array = json_array();
    const char **sorted = dp_alloc(strings->count + 1, sizeof(*sorted));
    for (size_t i = 0; i < strings->count; i++) {
        sorted[i] = strings->items[i];
    }
    qsort(sorted, strings->count, sizeof(*sorted), compare_strings);
    for (size_t i = 0; i < strings->count; i++) {
        json_array_append_new(array, format_string(dp_printable(sorted[i], strlen(sorted[i]))));
    }
    free(sorted);
    return array;
}

static json_t *left_out_to_json(const struct dp_plan *plan)
{
    json_t *array = json_array();
    for (size_t i = 0; i < plan->left_out_count; i++) {
        json_t *entry = json_object();
        json_object_set_new(entry, "case", json_string(plan->left_out[i].case_id));
        json_object_set_new(entry, "reason", json_string(plan->left_out[i].reason));
        json_array_append_new(array, entry);
    }
    return array;
}

static json_int_t count_cases(const struct dp_plan *plan)
{
    json_int_t count = 0;
    for (size_t i = 0; i < plan->case_count; i++) {
        count += !plan->cases[i]->control;
    }
    return count;
}

/* Numbers as text: the body holds no reals. */
static json_t *describe_stages(const struct dp_plan *plan)
{
    const struct dp_plan_options *options = &plan->options;
    if (options->adaptive) {
        return json_pack("{ss}", "until", "budget");
    }
    char *rate = dp_printf("%.15g", options->detect_rate),
         *confidence = dp_printf("%.15g", options->confidence);
    json_t *object = json_pack("{ss ss ss sI}", "until", "rate", "rate", rate, "confidence", confidence,
                               "comparisons", (json_int_t)plan->comparisons);
    free(rate);
    free(confidence);
    return object;
}

json_t *dp_plan_describe(const struct dp_plan *plan)
{
    json_t *axes = json_array();
    for (size_t i = 0; i < plan->axis_count; i++) {
        json_array_append_new(axes, json_string(plan->axes[i]));
    }
    json_t *selectors = json_object();
    json_object_set_new(selectors, "include", strings_to_json(&plan->options.include));
    json_object_set_new(selectors, "exclude", strings_to_json(&plan->options.exclude));
    json_t *object = json_object();
    json_object_set_new(object, "level", json_string(plan->options.level));
    json_object_set_new(object, "seed",
                        format_string(dp_printf("%llu", (unsigned long long)plan->options.seed)));
    json_object_set_new(object, "seeds", json_integer(plan->seeds));
    json_object_set_new(object, "runs", json_integer(plan->runs));
    json_object_set_new(object, "fresh", json_integer(plan->fresh));
    json_object_set_new(object, "axes", axes);
    json_object_set_new(object, "selectors", selectors);
    json_object_set_new(object, "cases", json_integer(count_cases(plan)));
    json_object_set_new(object, "left_out", left_out_to_json(plan));
    if (plan->comparisons > 0) {
        json_object_set_new(object, "stages", describe_stages(plan));
    }
    return object;
}

json_t *dp_plan_options_to_json(const struct dp_plan_options *options)
{
    json_t *object = json_object();
    json_object_set_new(object, "level", json_string(options->level));
    json_object_set_new(object, "seed", format_string(dp_printf("%llu", (unsigned long long)options->seed)));
    json_object_set_new(object, "seeds", json_integer(options->seeds));
    json_object_set_new(object, "runs", json_integer(options->runs));
    json_object_set_new(object, "fresh", json_integer(options->fresh));
    json_object_set_new(object, "budget_ns", json_integer(options->budget_ns));
    json_object_set_new(object, "detect_rate", json_real(options->detect_rate));
    json_object_set_new(object, "confidence", json_real(options->confidence));
    json_object_set_new(object, "adaptive", json_boolean(options->adaptive));
    json_object_set_new(object, "retest_varies", json_boolean(options->retest_varies));
    json_object_set_new(object, "axes", strings_to_json(&options->axes));
    json_object_set_new(object, "include", strings_to_json(&options->include));
    json_object_set_new(object, "exclude", strings_to_json(&options->exclude));
    json_object_set_new(object, "stack", options->stack ? json_string(options->stack) : json_null());
    json_object_set_new(object, "force", json_boolean(options->force));
    json_object_set_new(object, "price", json_boolean(options->price));
    if (options->costs) {
        json_object_set_new(object, "costs", json_deep_copy(options->costs));
    }
    return object;
}

static int read_strings(const json_t *object, const char *key, struct dp_strings *ret, struct dp_err *err)
{
    const json_t *array = json_object_get(object, key);
    *ret = (struct dp_strings){0};
    if (!json_is_array(array)) {
        return dp_err_set(err, DP_EXIT_DATA, "plan: member '%s' is no array", key);
    }
    ret->items = dp_alloc(json_array_size(array), sizeof(*ret->items));
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *item = json_string_value(json_array_get(array, i));
        if (!item) {
            return dp_err_set(err, DP_EXIT_DATA, "plan: member '%s' holds something that is no string", key);
        }
        ret->items[ret->count++] = item;
    }
    return 0;
}

static int read_seed(const json_t *object, uint64_t *ret, struct dp_err *err)
{
    const char *text = dp_json_string(object, "seed", "");
    errno = 0;
    const unsigned long long seed = strtoull(text, NULL, 10);
    if (!*text || strspn(text, "0123456789") != strlen(text) || errno) {
        return dp_err_set(err, DP_EXIT_DATA, "plan: member 'seed' is no number");
    }
    *ret = seed;
    return 0;
}

static int read_int(const json_t *object, const char *key, json_int_t low, json_int_t high, json_int_t *ret,
                    struct dp_err *err)
{
    const json_t *member = json_object_get(object, key);
    const json_int_t value = json_integer_value(member);
    if (!json_is_integer(member) || value < low || value > high) {
        return dp_err_set(err, DP_EXIT_DATA, "plan: member '%s' is no number from %lld to %lld", key,
                          (long long)low, (long long)high);
    }
    *ret = value;
    return 0;
}

/* What a log of another hand may hold instead of a name or nothing. */
static int read_stack(const json_t *object, struct dp_plan_options *ret, struct dp_err *err)
{
    const json_t *stack = json_object_get(object, "stack");
    if (!json_is_string(stack) && !json_is_null(stack)) {
        return dp_err_set(err, DP_EXIT_DATA, "plan: member 'stack' is no string and not null");
    }
    ret->stack = json_string_value(stack);
    return 0;
}

static int read_flag(const json_t *object, const char *key, bool *ret, struct dp_err *err)
{
    const json_t *flag = json_object_get(object, key);
    if (!json_is_boolean(flag)) {
        return dp_err_set(err, DP_EXIT_DATA, "plan: member '%s' is not true or false", key);
    }
    *ret = json_is_true(flag);
    return 0;
}

/* What a plan of stages ends with, as the options of the command have it. */
static int read_stages(const json_t *object, struct dp_plan_options *ret, struct dp_err *err)
{
    const double rate = dp_json_number(object, "detect_rate", -1.0);
    const double confidence = dp_json_number(object, "confidence", -1.0);
    const json_t *adaptive = json_object_get(object, "adaptive");
    const json_t *varies = json_object_get(object, "retest_varies");
    if (!(rate >= 0.0 && rate < 1.0) || !(confidence >= 0.0 && confidence < 1.0) ||
        (rate > 0.0) != (confidence > 0.0)) {
        return dp_err_set(err, DP_EXIT_DATA,
                          "plan: members 'detect_rate' and 'confidence' are not two shares, or 0");
    }
    if (!json_is_boolean(adaptive) || !json_is_boolean(varies)) {
        return dp_err_set(err, DP_EXIT_DATA,
                          "plan: member 'adaptive' or 'retest_varies' is not true or false");
    }
    if (json_is_true(adaptive) && (rate > 0.0 || ret->budget_ns == 0)) {
        return dp_err_set(err, DP_EXIT_DATA, "plan: member 'adaptive' has no budget, or a rate beside it");
    }
    ret->detect_rate = rate;
    ret->confidence = confidence;
    ret->adaptive = json_is_true(adaptive);
    ret->retest_varies = json_is_true(varies);
    return 0;
}

/* Nothing, or the cost of each case: from a log of another hand. */
static int read_costs(const json_t *object, const json_t **ret, struct dp_err *err)
{
    json_t *costs = json_object_get(object, "costs"), *cost;
    const char *id;
    if (costs && !json_is_object(costs)) {
        return dp_err_set(err, DP_EXIT_DATA, "plan: member 'costs' is no object");
    }
    json_object_foreach(costs, id, cost)
    {
        const json_int_t ns = json_integer_value(cost);
        if (!json_is_integer(cost) || ns < 0 || ns > (json_int_t)DP_COST_MAX_NS) {
            return dp_err_set(err, DP_EXIT_DATA, "plan: member 'costs' holds something that is no time");
        }
    }
    *ret = costs;
    return 0;
}

static int read_options(const json_t *object, struct dp_plan_options *ret, struct dp_err *err)
{
    json_int_t seeds = 0;
    json_int_t runs = 0;
    json_int_t fresh = 0;
    json_int_t budget = 0;
    ret->level = dp_json_string(object, "level", NULL);
    if (!ret->level) {
        return dp_err_set(err, DP_EXIT_DATA, "plan: member 'level' is missing");
    }
    if (read_seed(object, &ret->seed, err) != 0 ||
        read_int(object, "seeds", 0, DP_SEEDS_MAX, &seeds, err) != 0 ||
        read_int(object, "runs", 0, DP_RUNS_MAX, &runs, err) != 0 ||
        read_int(object, "fresh", -1, DP_FRESH_MAX, &fresh, err) != 0 ||
        read_int(object, "budget_ns", 0, INT64_MAX, &budget, err) != 0 ||
        read_strings(object, "axes", &ret->axes, err) != 0 ||
        read_strings(object, "include", &ret->include, err) != 0 ||
        read_strings(object, "exclude", &ret->exclude, err) != 0 || read_stack(object, ret, err) != 0 ||
        read_flag(object, "force", &ret->force, err) != 0 ||
        read_flag(object, "price", &ret->price, err) != 0 || read_costs(object, &ret->costs, err) != 0) {
        return -1;
    }
    ret->seeds = (int)seeds;
    ret->runs = (int)runs;
    ret->fresh = (int)fresh;
    ret->budget_ns = budget;
    return read_stages(object, ret, err);
}

int dp_plan_options_from_json(const json_t *object, struct dp_plan_options *ret, struct dp_err *err)
{
    struct dp_plan_options options = {0};
    if (read_options(object, &options, err) != 0) {
        free(options.axes.items);
        free(options.include.items);
        free(options.exclude.items);
        return -1;
    }
    *ret = options;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing settings. An axis is judged only over settings at which repeat holds: where the same setting
 * gives two results, a difference between two settings says nothing about the axis.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/judge/facts.h"
#include "suite/plan/levels.h"

const struct dp_compared_axis dp_axes[DP_AXIS_COUNT] = {
    {"repeat", true, false},     {"fresh", true, false},    {"poison", true, false}, {"busy", true, true},
    {"concurrency", true, true}, {"threads", false, false}, {"batch", false, false}, {"align", true, false},
    {"algorithm", false, false}, {"isa", true, false},      {"device", true, false},
};

#define MAX_FACTORS 4

struct factors {
    const char *start[MAX_FACTORS];
    size_t length[MAX_FACTORS];
    size_t count;
};

/* "threads*batch" -> threads, batch; more than MAX_FACTORS are not known to the plan. */
static struct factors split(const char *string)
{
    struct factors ret = {.count = 0};
    while (ret.count < MAX_FACTORS) {
        const size_t length = strcspn(string, "*");
        ret.start[ret.count] = string;
        ret.length[ret.count++] = length;
        if (!string[length]) {
            break;
        }
        string += length + 1;
    }
    return ret;
}

static bool factor_is(const struct factors *factors, size_t i, const char *name)
{
    return strlen(name) == factors->length[i] && memcmp(factors->start[i], name, factors->length[i]) == 0;
}

bool dp_request_varies(const struct dp_request *request, const char *axis)
{
    const struct factors factors = split(request->axis);
    for (size_t i = 0; i < factors.count && !dp_axis_reveals(request->axis); i++) {
        if (factor_is(&factors, i, axis)) {
            return true;
        }
    }
    return false;
}

/* The setting without the part that belongs to `axis`: "4*16/15" of threads*batch without batch is "4". The
 * factor repeat has no part of its own. Owned. */
static char *other_part(const struct dp_request *request, const char *axis)
{
    const struct factors axes = split(request->axis);
    const struct factors parts = split(request->setting);
    struct dp_text rest = DP_TEXT(4096);
    size_t part = 0;
    for (size_t i = 0; i < axes.count; i++) {
        if (factor_is(&axes, i, "repeat")) {
            continue;
        }
        if (!factor_is(&axes, i, axis) && part < parts.count) {
            dp_text_add(&rest, parts.start[part], parts.length[part]);
            dp_text_put(&rest, "*");
        }
        part++;
    }
    return dp_text_take(&rest);
}

bool dp_fact_is_base(const struct dp_fact *fact)
{
    return fact->request->retest == 0 && strcmp(fact->request->axis, "repeat") == 0;
}

bool dp_fact_is_first(const struct dp_fact *fact)
{
    return dp_fact_is_base(fact) && fact->request->stage == 0;
}

static bool same_inputs(const struct dp_fact *a, const struct dp_fact *b)
{
    return a->request->seed_index == b->request->seed_index && strcmp(a->request->set, b->request->set) == 0;
}

/* Of the same round: a retest that were held against the first pass would confirm one odd process every time.
 */
const struct dp_fact *dp_base_of(const struct dp_view *view, const struct dp_fact *fact)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *base = view->facts[i];
        if (base->request->retest == fact->request->retest && strcmp(base->request->axis, "repeat") == 0 &&
            base->kind == DP_FACT_OBSERVATION && same_inputs(base, fact)) {
            return base;
        }
    }
    return NULL;
}

static const char *first_digest(const json_t *output)
{
    return dp_json_string(json_array_get(json_object_get(output, "classes"), 0), "sha256", "");
}

static const json_t *output_named(const json_t *outputs, const char *name)
{
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *output = json_array_get(outputs, i);
        if (strcmp(dp_json_string(output, "name", ""), name) == 0) {
            return output;
        }
    }
    return NULL;
}

/* The same bytes as another type or in another shape are another result. */
static bool same_output(const json_t *a, const json_t *b)
{
    return strcmp(first_digest(a), first_digest(b)) == 0 &&
           strcmp(dp_json_string(a, "dtype", ""), dp_json_string(b, "dtype", "")) == 0 &&
           json_equal(json_object_get(a, "shape"), json_object_get(b, "shape"));
}

bool dp_same_bits(const struct dp_fact *a, const struct dp_fact *b)
{
    const json_t *left = json_object_get(a->answer, "outputs");
    const json_t *right = json_object_get(b->answer, "outputs");
    if (json_array_size(left) != json_array_size(right)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(left); i++) {
        const json_t *output = json_array_get(left, i);
        const json_t *other = output_named(right, dp_json_string(output, "name", ""));
        if (!other || !same_output(output, other)) {
            return false;
        }
    }
    return true;
}

/* By what the library says that it chose, and by the kernels that were seen where they were in both. */
static bool same_choice(const struct dp_fact *a, const struct dp_fact *b)
{
    const json_t *left = json_object_get(a->answer, "kernels"),
                 *right = json_object_get(b->answer, "kernels");
    return strcmp(dp_json_string(a->answer, "chosen", ""), dp_json_string(b->answer, "chosen", "")) == 0 &&
           (!left || !right || json_equal(left, right));
}

static void compare(const struct dp_fact *a, const struct dp_fact *b, struct dp_moved *moved)
{
    moved->comparable++;
    if (!dp_same_bits(a, b)) {
        moved->chosen_moved = (moved->moved ? moved->chosen_moved : true) && !same_choice(a, b);
        moved->moved = true;
    }
}

/* Two settings of the axis that differ in nothing else. */
static bool are_partners(const struct dp_fact *a, const struct dp_fact *b, const char *axis)
{
    if (strcmp(a->request->axis, b->request->axis) != 0 || !same_inputs(a, b)) {
        return false;
    }
    char *left = other_part(a->request, axis);
    char *right = other_part(b->request, axis);
    const bool same = strcmp(left, right) == 0;
    free(left);
    free(right);
    return same;
}

static bool in_round(const struct dp_fact *fact, const char *axis, int round)
{
    return fact->kind == DP_FACT_OBSERVATION && fact->request->retest == round &&
           dp_request_varies(fact->request, axis);
}

const struct dp_compared_axis *dp_axis_compared(const char *name)
{
    static const struct dp_compared_axis none;
    for (size_t i = 0; i < DP_AXIS_COUNT; i++) {
        if (strcmp(dp_axes[i].name, name) == 0) {
            return &dp_axes[i];
        }
    }
    return &none;
}

bool dp_fact_is_uncovered(const struct dp_case *item, const struct dp_fact *fact)
{
    return dp_axis_compared(fact->request->axis)->each_run && !dp_case_covers(item, fact->request->axis);
}

/* Runs that differ where those at the base do not. */
static void compare_runs(const struct dp_fact *base, struct dp_moved *moved)
{
    if (base && base->distinct == 1) {
        moved->comparable++;
        moved->moved = true;
        moved->chosen_moved = false;
    }
}

/* A device or a cap has a process of its own. Where a new process alone moves the bits, it says nothing. */
static bool is_confounded_by_fresh(const struct dp_view *view, const char *axis, int round)
{
    return (strcmp(axis, "device") == 0 || strcmp(axis, "isa") == 0) &&
           dp_axis_moved(view, "fresh", round).moved;
}

struct dp_moved dp_axis_moved(const struct dp_view *view, const char *axis, int round)
{
    struct dp_moved moved = {0};
    const bool confounded = is_confounded_by_fresh(view, axis, round);
    const struct dp_compared_axis *compared = dp_axis_compared(axis);
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (!in_round(fact, axis, round)) {
            continue;
        }
        moved.observed++;
        if (confounded) {
            continue;
        }
        const struct dp_fact *base = compared->with_base ? dp_base_of(view, fact) : NULL;
        const bool alone = strcmp(fact->request->axis, axis) == 0; /* else another axis moved it as well */
        if (fact->distinct != 1) {
            compare_runs(compared->each_run && alone ? base : NULL, &moved);
            continue;
        }
        if (base && base != fact && base->distinct == 1 && alone) {
            compare(base, fact, &moved);
        }
        for (size_t j = 0; j < i && !compared->with_base; j++) {
            const struct dp_fact *other = view->facts[j];
            if (in_round(other, axis, round) && other->distinct == 1 && are_partners(fact, other, axis)) {
                compare(other, fact, &moved);
            }
        }
    }
    return moved;
}

static const json_t *guarantee_list(const struct dp_case *item, const char *key)
{
    return json_object_get(json_object_get(item->json, "guarantee"), key);
}

bool dp_case_covers(const struct dp_case *item, const char *axis)
{
    return dp_json_array_has(guarantee_list(item, "covers"), axis);
}

bool dp_case_invariant(const struct dp_case *item, const char *axis)
{
    return dp_json_array_has(guarantee_list(item, "invariant"), axis);
}

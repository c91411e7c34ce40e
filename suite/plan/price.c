/* SPDX-License-Identifier: Apache-2.0
 *
 * --price: which cases make a pair, which of the two is the deterministic form, and the rounds in which they
 * are timed.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/scheme.h"

enum {
    PRICE_RUNS = 7, /* of each form in a round: two warm up and tell how many calls one takes, five count */
    PRICE_PROCESS = 10000, /* above every other */
};

#define PRICE_RUN_NS 100000 /* at least: of what is shorter a run is several calls */

static const char *pair_of(const struct dp_case *item)
{
    return dp_json_string(item->json, "pair", "");
}

static bool names(const struct dp_case *a, const struct dp_case *b)
{
    return strcmp(pair_of(a), b->id) == 0;
}

static bool is_promised(const struct dp_case *item)
{
    const char *level = dp_json_string(json_object_get(item->json, "guarantee"), "level", "");
    return strcmp(level, "run_to_run") == 0 || strcmp(level, "gpu_to_gpu") == 0;
}

static bool has_same_inputs(const struct dp_case *a, const struct dp_case *b)
{
    return strcmp(dp_json_string(a->json, "problem", ""), dp_json_string(b->json, "problem", "")) == 0;
}

/* The deterministic one of `a`, which names `b`: the one that is promised; where both or none are, the one
 * that is named and names not back. NULL: nothing tells, or they do not compute the same. */
static const struct dp_case *deterministic_of(const struct dp_case *a, const struct dp_case *b)
{
    if (!has_same_inputs(a, b)) {
        return NULL;
    }
    if (is_promised(a) != is_promised(b)) {
        return is_promised(a) ? a : b;
    }
    return names(b, a) ? NULL : b;
}

/* Its place in plan.cases; case_count: it is not of the plan, or its program was not built. */
static size_t find_case(const struct dp_plan *plan, const char *id)
{
    size_t i = 0;
    while (i < plan->case_count && strcmp(plan->cases[i]->id, id) != 0) {
        i++;
    }
    return i < plan->case_count && plan->cases[i]->program->state == DP_PROGRAM_READY ? i : plan->case_count;
}

/* Adds the pair that a case names, once where both name each other. */
static void add_pair(struct dp_plan *plan, size_t index)
{
    const struct dp_case *item = plan->cases[index];
    const size_t other = find_case(plan, pair_of(item));
    if (other == plan->case_count || other == index) {
        return;
    }
    const bool added = other < index && names(plan->cases[other], item);
    const struct dp_case *deterministic = added ? NULL : deterministic_of(item, plan->cases[other]);
    if (deterministic) {
        const bool own = deterministic == item;
        plan->priced[plan->priced_count++] =
            (struct dp_priced){.usual = own ? other : index, .deterministic = own ? index : other};
    }
}

static int compare_programs(const struct dp_plan *plan, size_t a, size_t b)
{
    return strcmp(plan->cases[a]->program->name, plan->cases[b]->program->name);
}

static int by_programs(const void *left, const void *right, void *context)
{
    const struct dp_priced *a = left, *b = right;
    const struct dp_plan *plan = context;
    int order = compare_programs(plan, a->usual, b->usual);
    order = order ? order : compare_programs(plan, a->deterministic, b->deterministic);
    order = order ? order : (a->usual > b->usual) - (a->usual < b->usual);
    return order ? order : (a->deterministic > b->deterministic) - (a->deterministic < b->deterministic);
}

static double round_ns(const struct dp_case *item)
{
    const int64_t run = case_cost_ns(item);
    return (double)REQUEST_NS + (double)PRICE_RUNS * (double)(run > PRICE_RUN_NS ? run : PRICE_RUN_NS);
}

/* As a double: hostile costs would overflow. */
static int64_t expected_ns(const struct scheme *scheme, const struct dp_plan *plan)
{
    double ns = 0;
    for (size_t i = 0; i < plan->priced_count; i++) {
        const size_t two[] = {plan->priced[i].usual, plan->priced[i].deterministic};
        for (int k = 0; k < 2; k++) {
            const bool starts =
                i == 0 || (compare_programs(plan, plan->priced[i - 1].usual, two[k]) != 0 &&
                           compare_programs(plan, plan->priced[i - 1].deterministic, two[k]) != 0);
            const struct dp_case *item = plan->cases[two[k]];
            ns += scheme->level->rounds * round_ns(item);
            ns += starts ? (double)scheme_program_ns(scheme, item->program, (struct use){0}) : 0;
        }
    }
    return (int64_t)(ns < DP_COST_MAX_NS ? ns : DP_COST_MAX_NS);
}

void price_pairs(const struct scheme *scheme, struct dp_plan *plan)
{
    plan->priced = dp_alloc(plan->case_count + 1, sizeof(*plan->priced));
    for (size_t i = 0; i < plan->case_count; i++) {
        if (pair_of(plan->cases[i])[0]) {
            add_pair(plan, i);
        }
    }
    qsort_r(plan->priced, plan->priced_count, sizeof(*plan->priced), by_programs, plan);
    plan->expected_ns += expected_ns(scheme, plan);
}

/* A number of its own for each round of each pair: one case may be in several pairs, and a run log tells
 * requests apart by what they are. */
static const char *round_setting(struct dp_plan *plan, size_t number)
{
    plan->texts = dp_realloc(plan->texts, plan->text_count + 1, sizeof(*plan->texts));
    return plan->texts[plan->text_count++] = dp_printf("%zu", number);
}

void dp_plan_add_price(struct dp_plan *plan, const bool *ran)
{
    const int rounds = dp_level_find(plan->options.level)->rounds;
    for (size_t i = 0; i < plan->priced_count; i++) {
        struct dp_priced *priced = &plan->priced[i];
        if (!ran[priced->usual] || !ran[priced->deterministic]) {
            continue;
        }
        priced->first = plan->request_count;
        priced->rounds = rounds;
        for (int round = 0; round < rounds; round++) {
            struct dp_request request = {.axis = DP_AXIS_PRICE,
                                         .setting = round_setting(plan, i * (size_t)rounds + (size_t)round),
                                         .set = "wide",
                                         .runs = PRICE_RUNS,
                                         .process = PRICE_PROCESS};
            const size_t forms[] = {priced->usual, priced->deterministic};
            for (int k = 0; k < 2; k++) {
                request.case_index = (int)forms[k];
                plan_append(plan, &request);
            }
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What determinism costs: of each round the time of the deterministic form over that of the usual one, and of
 * these ratios the median with its bootstrap interval. A ratio of two times taken one after the other holds
 * on a machine that slows down and recovers; one of two medians taken apart would not.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/statistics.h"
#include "suite/base/text.h"
#include "suite/judge/judge.h"

#define LEAST_ROUNDS 7    /* fewer have no 95 % interval short of all of them */
#define LEAST_RUN_NS 5000 /* that a run must take for the clock, some 50 ns, to be no more than 1 % of it */
#define WIDEST 2.0        /* ends of an interval around 1 that are further apart tell nothing */

bool *dp_judged_ran(const struct dp_judged *judged, const struct dp_plan *plan)
{
    bool *ran = dp_alloc(plan->case_count + 1, sizeof(*ran));
    json_t *by_case = dp_json_index(judged->results, "case");
    for (size_t i = 0; i < plan->case_count; i++) {
        const json_t *result = json_object_get(by_case, plan->cases[i]->id);
        ran[i] = result && dp_result_ran(result);
    }
    json_decref(by_case);
    return ran;
}

/* What the rounds of a pair gave. */
struct rounds {
    double *ratios, *usual, *deterministic; /* ns, in the rounds that gave both; owned */
    int count;
    const char *reason; /* why one gave nothing, or the clock could not time it; NULL: none */
    const char *text;
};

/* Of one call; 0: the answer has none, and *rounds why. */
static double time_of(const json_t *answer, struct rounds *rounds)
{
    const json_t *time = json_object_get(answer, "time");
    const double ns = dp_json_number(time, "median_ns", 0);
    const bool observed = strcmp(dp_json_string(answer, "type", ""), "observation") == 0;
    const bool skipped = strcmp(dp_json_string(answer, "type", ""), "skip") == 0;
    if (!observed) {
        rounds->reason = skipped ? "unsupported" : "failed";
        rounds->text = dp_json_string(answer, "text", "");
    } else if (ns <= 0) {
        rounds->reason = "unsupported";
        rounds->text = "the program does not say how long a call takes";
    } else if (ns * (double)dp_json_int(time, "calls", 1) < LEAST_RUN_NS) {
        rounds->reason = "too_short";
        rounds->text = "a run is too short for the clock, and one call cannot follow the other";
    } else {
        return ns;
    }
    return 0;
}

/* false: a round is not answered. */
static bool read_rounds(const struct dp_priced *priced, const struct dp_answers *answers, struct rounds *ret)
{
    *ret = (struct rounds){.ratios = dp_alloc((size_t)priced->rounds, sizeof(double)),
                           .usual = dp_alloc((size_t)priced->rounds, sizeof(double)),
                           .deterministic = dp_alloc((size_t)priced->rounds, sizeof(double))};
    for (int i = 0; i < priced->rounds; i++) {
        const size_t first = priced->first + 2 * (size_t)i;
        const json_t *usual = first + 1 < answers->count ? answers->items[first] : NULL;
        const json_t *deterministic = first + 1 < answers->count ? answers->items[first + 1] : NULL;
        if (!usual || !deterministic) {
            return false;
        }
        const double a = time_of(usual, ret), b = time_of(deterministic, ret);
        if (a > 0 && b > 0) {
            ret->usual[ret->count] = a;
            ret->deterministic[ret->count] = b;
            ret->ratios[ret->count++] = b / a;
        }
    }
    return true;
}

static void free_rounds(struct rounds *rounds)
{
    free(rounds->ratios);
    free(rounds->usual);
    free(rounds->deterministic);
}

static void add_reason(json_t *entry, const char *reason, const char *text)
{
    char *shown = dp_printable(text, strlen(text));
    json_object_set_new(entry, "reason", json_string(reason));
    json_object_set_new(entry, "text", json_string(shown[0] ? shown : reason));
    free(shown);
}

/* Enough rounds, however many were lost, make a price. Where they are so far apart that it might as well save
 * as cost, that is none. */
static void add_price(const struct rounds *rounds, json_t *entry)
{
    const size_t count = (size_t)rounds->count;
    if (rounds->count < LEAST_ROUNDS) {
        add_reason(entry, rounds->reason ? rounds->reason : "failed", rounds->text ? rounds->text : "");
        return;
    }
    const struct dp_median ratio = dp_median_of(rounds->ratios, count);
    json_object_set_new(entry, "case_ns", json_real(dp_median_of(rounds->usual, count).value));
    json_object_set_new(entry, "pair_ns", json_real(dp_median_of(rounds->deterministic, count).value));
    json_object_set_new(entry, "low", json_real(ratio.low));
    json_object_set_new(entry, "high", json_real(ratio.high));
    if (ratio.low < 1.0 && ratio.high > 1.0 && ratio.high > WIDEST * ratio.low) {
        add_reason(entry, "noisy", "the rounds are too far apart to tell whether it costs or saves");
    } else {
        json_object_set_new(entry, "ratio", json_real(ratio.value));
    }
}

static const char *case_of(const struct dp_plan *plan, const struct dp_priced *priced)
{
    return plan->cases[priced->usual]->id;
}

static int by_case(const void *left, const void *right, void *context)
{
    const struct dp_plan *plan = context;
    const struct dp_priced *a = *(const struct dp_priced *const *)left;
    const struct dp_priced *b = *(const struct dp_priced *const *)right;
    const int order = strcmp(case_of(plan, a), case_of(plan, b));
    return order ? order : strcmp(plan->cases[a->deterministic]->id, plan->cases[b->deterministic]->id);
}

json_t *dp_prices_json(const struct dp_plan *plan, const struct dp_answers *answers)
{
    json_t *prices = json_array();
    struct dp_plan context = *plan;
    const struct dp_priced **sorted = dp_alloc(plan->priced_count + 1, sizeof(*sorted));
    for (size_t i = 0; i < plan->priced_count; i++) {
        sorted[i] = &plan->priced[i];
    }
    qsort_r(sorted, plan->priced_count, sizeof(*sorted), by_case, &context);
    for (size_t i = 0; i < plan->priced_count; i++) {
        struct rounds rounds;
        if (sorted[i]->rounds > 0 && read_rounds(sorted[i], answers, &rounds)) {
            json_t *entry = json_pack("{ss ss si}", "case", case_of(plan, sorted[i]), "pair",
                                      plan->cases[sorted[i]->deterministic]->id, "rounds", rounds.count);
            add_price(&rounds, entry);
            json_array_append_new(prices, entry);
        }
        if (sorted[i]->rounds > 0) {
            free_rounds(&rounds);
        }
    }
    free(sorted);
    return prices;
}

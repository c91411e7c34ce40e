/* SPDX-License-Identifier: Apache-2.0
 *
 * The sequential plan: after a first pass of few runs the others are made in stages, of cases in doubt alone.
 * What has varied needs no more; of what has not, every stage makes four times the comparisons there were, on
 * further inputs and in a new process.
 *
 * A budget is spent in this order. Let the rate of a case that may vary be any, evenly over its logarithm:
 * then four times the comparisons show it with one chance, whatever their number was. So what decides is what
 * they cost, over how much reason there is to look, which is the vendor's own word on the guarantee. A stage
 * spends half of what is left, so that cheap cases come again before dear ones come first.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/statistics.h"
#include "suite/base/text.h"
#include "suite/plan/scheme.h"

enum { GROWTH = 4, REQUESTS_MOST = 1000 /* of one case in one stage */ };

struct offer {
    size_t case_index;
    int requests, runs; /* of each */
    int64_t ns;
    double price; /* for its worth */
    bool taken;
};

/* What the case's requests at the base setting come to, in the first pass and its stages or in one retest. */
struct made {
    int64_t runs, comparisons;
    int seeds; /* of the first pass */
    int next_seed;
};

static bool is_base(const struct dp_request *request)
{
    return strcmp(request->axis, "repeat") == 0 && strcmp(request->set, "wide") == 0;
}

static void add_made(struct made *made, const struct dp_request *request)
{
    made->runs += request->runs;
    made->comparisons += request->runs - 1;
    made->seeds += request->stage == 0;
    made->next_seed = request->seed_index >= made->next_seed ? request->seed_index + 1 : made->next_seed;
}

/* Of every case. Inputs of the first pass are never used again, also where a case got fewer of them. Owned.
 */
static struct made *count_made(const struct dp_plan *plan, int retest)
{
    struct made *made = dp_alloc(plan->case_count + 1, sizeof(*made));
    for (size_t i = 0; i < plan->case_count; i++) {
        made[i].next_seed = plan->seeds;
    }
    for (size_t i = 0; i < plan->request_count; i++) {
        const struct dp_request *request = &plan->requests[i];
        if (request->retest == retest && is_base(request)) {
            add_made(&made[request->case_index], request);
        }
    }
    return made;
}

/* As many inputs as in the first pass, more where a request would hold too many runs. */
static void divide(const struct dp_case *item, int64_t comparisons, int seeds, struct offer *ret)
{
    const int64_t most = scheme_request_runs(item) - 1;
    int64_t requests = (comparisons + most - 1) / most;
    requests = requests < seeds ? seeds : requests > REQUESTS_MOST ? REQUESTS_MOST : requests;
    requests = requests > comparisons ? comparisons : requests;
    const int64_t each = (comparisons + requests - 1) / requests;
    ret->requests = (int)requests;
    ret->runs = (int)(each < DP_RUNS_MAX ? each : DP_RUNS_MAX - 1) + 1;
}

static void append(struct dp_plan *plan, const struct offer *offer, int seed, int stage, int retest)
{
    for (int i = 0; i < offer->requests; i++) {
        const struct dp_request request = {.case_index = (int)offer->case_index,
                                           .axis = dp_plan_axes()->name,
                                           .setting = "",
                                           .seed_index = seed + i,
                                           .set = "wide",
                                           .runs = offer->runs,
                                           .stage = stage,
                                           .retest = retest};
        plan_append(plan, &request);
    }
}

static double worth(const struct dp_case *item)
{
    static const struct {
        const char *level;
        double worth;
    } levels[] = {{"not_guaranteed", 4.0}, {"unstated", 2.0}};
    const char *level = dp_json_string(json_object_get(item->json, "guarantee"), "level", "unstated");
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcmp(levels[i].level, level) == 0) {
            return levels[i].worth;
        }
    }
    return 1.0;
}

static size_t make_offers(const struct dp_plan *plan, const struct scheme *scheme, const size_t *doubtful,
                          size_t count, const struct made *made, struct offer *offers)
{
    size_t offered = 0;
    for (size_t i = 0; i < count; i++) {
        const struct dp_case *item = plan->cases[doubtful[i]];
        const int64_t have = made[doubtful[i]].comparisons;
        const int64_t grown = have < plan->comparisons / GROWTH ? GROWTH * have : plan->comparisons;
        if (have > 0 && have < plan->comparisons && have < DP_COMPARISONS_MAX) {
            struct offer *offer = &offers[offered++];
            *offer = (struct offer){.case_index = doubtful[i]};
            divide(item, grown - have, made[doubtful[i]].seeds, offer);
            offer->ns = scheme_more_ns(scheme, item, (int64_t)offer->requests * offer->runs, offer->requests);
            offer->price = (double)offer->ns / worth(item);
        }
    }
    return offered;
}

static int by_price(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    return x->price != y->price ? (x->price > y->price) - (x->price < y->price)
                                : (x->case_index > y->case_index) - (x->case_index < y->case_index);
}

static int by_case(const void *a, const void *b)
{
    const struct offer *x = a, *y = b;
    return (x->case_index > y->case_index) - (x->case_index < y->case_index);
}

static bool is_among(const struct dp_program *const *programs, size_t count, const struct dp_program *program)
{
    for (size_t i = 0; i < count; i++) {
        if (programs[i] == program) {
            return true;
        }
    }
    return false;
}

/* Takes what fits, the best first. False: nothing does. */
static bool take(struct dp_plan *plan, struct offer *offers, size_t count, int64_t limit_ns)
{
    const struct dp_program **started = dp_alloc(plan->catalogue->program_count + 1, sizeof(*started));
    size_t start_count = 0;
    int64_t spent = 0;
    bool taken = false;
    for (size_t i = 0; i < count; i++) {
        const struct dp_program *program = plan->cases[offers[i].case_index]->program;
        const bool first = !is_among(started, start_count, program);
        const int64_t ns = offers[i].ns + (first ? scheme_start_ns(program) : 0);
        if (ns <= limit_ns - spent) {
            offers[i].taken = taken = true;
            spent += ns;
            started[start_count] = program;
            start_count += first;
        }
    }
    plan->expected_ns += spent;
    free(started);
    return taken;
}

bool dp_plan_add_stage(struct dp_plan *plan, const size_t *doubtful, size_t count)
{
    struct scheme scheme;
    struct dp_err err;
    if (plan->comparisons == 0 || scheme_make(&plan->options, &scheme, &err) != 0) {
        return false;
    }
    struct offer *offers = dp_alloc(count + 1, sizeof(*offers));
    struct made *made = count_made(plan, /* retest */ 0);
    const size_t offered = make_offers(plan, &scheme, doubtful, count, made, offers);
    const bool bounded = plan->options.detect_rate <= 0.0;
    const int64_t left = bounded ? plan->options.budget_ns - plan->expected_ns : INT64_MAX;
    qsort(offers, offered, sizeof(*offers), by_price);
    const bool taken =
        take(plan, offers, offered, bounded ? left / 2 : left) || take(plan, offers, offered, left);
    qsort(offers, offered, sizeof(*offers), by_case);
    plan->stage += taken;
    for (size_t i = 0; i < offered; i++) {
        if (offers[i].taken) {
            append(plan, &offers[i], made[offers[i].case_index].next_seed, plan->stage, /* retest */ 0);
        }
    }
    free(made);
    free(offers);
    return taken;
}

void stages_complete(struct dp_plan *plan, size_t case_index, int retest)
{
    if (plan->options.detect_rate <= 0.0) {
        return;
    }
    struct made *made = count_made(plan, retest);
    const struct made had = made[case_index];
    if (had.comparisons < plan->comparisons) {
        struct offer offer = {.case_index = case_index};
        divide(plan->cases[case_index], plan->comparisons - had.comparisons, had.seeds, &offer);
        append(plan, &offer, had.next_seed, plan->stage + 1, retest);
    }
    free(made);
}

/* Whether anything is asked of the case, as far as that is known beforehand. */
static bool will_run(const struct scheme *scheme, const struct dp_case *item)
{
    return !item->control && scheme_case_ns(scheme, item) > 0;
}

/* A plan like this one whose stages go on to the end. Owned: its requests. */
static struct dp_plan play(const struct dp_plan *plan, const struct scheme *scheme, int64_t comparisons)
{
    struct dp_plan copy = *plan;
    size_t *doubtful = dp_alloc(plan->case_count + 1, sizeof(*doubtful));
    size_t count = 0;
    copy.comparisons = comparisons;
    copy.request_capacity = plan->request_count;
    copy.requests = dp_alloc(plan->request_count + 1, sizeof(*copy.requests));
    memcpy(copy.requests, plan->requests, plan->request_count * sizeof(*copy.requests));
    for (size_t i = 0; i < plan->case_count; i++) {
        if (will_run(scheme, plan->cases[i])) {
            doubtful[count++] = i;
        }
    }
    while (dp_plan_add_stage(&copy, doubtful, count)) {
    }
    free(doubtful);
    return copy;
}

struct dp_plan_most dp_plan_at_most(const struct dp_plan *plan)
{
    struct scheme scheme;
    struct dp_err err;
    struct dp_plan_most most = {.least_runs = INT64_MAX};
    if (scheme_make(&plan->options, &scheme, &err) != 0) {
        return (struct dp_plan_most){0};
    }
    struct dp_plan whole = play(plan, &scheme, plan->comparisons);
    struct made *made = count_made(&whole, /* retest */ 0);
    most.ns = whole.expected_ns;
    for (size_t i = 0; i < whole.case_count; i++) {
        if (!will_run(&scheme, whole.cases[i])) {
            continue;
        }
        most.runs += made[i].runs;
        most.least_runs = made[i].runs < most.least_runs ? made[i].runs : most.least_runs;
        most.most_runs = made[i].runs > most.most_runs ? made[i].runs : most.most_runs;
    }
    most.least_runs = most.most_runs > 0 ? most.least_runs : 0;
    free(made);
    free(whole.requests);
    return most;
}

static int64_t ns_for(const struct dp_plan *plan, const struct scheme *scheme, int64_t comparisons)
{
    struct dp_plan whole = play(plan, scheme, comparisons);
    free(whole.requests);
    return whole.expected_ns;
}

/* Says which rate the budget holds, where it holds any. */
static int refuse_rate(const struct dp_plan *plan, const struct scheme *scheme, int64_t needed_ns,
                       struct dp_err *err)
{
    const struct dp_plan_options *options = &plan->options;
    const double seconds = (double)needed_ns * 1e-9;
    int64_t low = 0, high = plan->comparisons; /* fits, does not fit */
    while (plan->expected_ns <= options->budget_ns && high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        *(ns_for(plan, scheme, middle) <= options->budget_ns ? &low : &high) = middle;
    }
    if (low == 0) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "the budget holds no rate: '%g' takes %.0f s, the first pass alone %.1f s",
                          options->detect_rate, seconds, (double)plan->expected_ns * 1e-9);
    }
    return dp_err_set(err, DP_EXIT_USAGE,
                      "the budget holds a rate of %.2g at this confidence, '%g' takes %.0f s",
                      dp_rate_bound(low, 1.0 - options->confidence), options->detect_rate, seconds);
}

int stages_begin(struct dp_plan *plan, const struct scheme *scheme, struct dp_err *err)
{
    const struct dp_plan_options *options = &plan->options;
    if (!scheme->sequential) {
        return 0;
    }
    plan->comparisons =
        options->adaptive ? INT64_MAX : dp_comparisons_needed(options->detect_rate, options->confidence);
    if (!options->adaptive && plan->comparisons > DP_COMPARISONS_MAX) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "a rate of '%g' takes more than %d comparisons of each case, the most there are",
                          options->detect_rate, DP_COMPARISONS_MAX);
    }
    const int64_t needed =
        options->adaptive || options->budget_ns == 0 ? 0 : ns_for(plan, scheme, plan->comparisons);
    return needed > options->budget_ns ? refuse_rate(plan, scheme, needed, err) : 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * From level and options to the requests and the price of one case.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/scheme.h"

enum {
    LEAST_SEEDS = 2, /* a case is never cut below these */
    LEAST_RUNS = 3,
    MISCOUNT_RUNS = 100,    /* of a control with an exact number of mismatches that states no runs */
    DEFAULT_COST_US = 1000, /* of a case whose catalogue states none */
};

/* How many caps a program's libraries know and a processor runs is seen only then; the price is for so many
 * of all levels, and of one level for each generation of processors. */
enum { CAPS_ALL = 13, CAPS_GENERATIONS = 5 };

/* What a plan costs beside the runs themselves. Measured on two cores; only the budget depends on them. */
#define START_NATIVE_NS INT64_C(30000000)    /* a C program until its hello, libraries loaded */
#define START_SCRIPT_NS INT64_C(400000000)   /* an interpreter and its numerical modules */
#define REQUEST_MOST_NS INT64_C(10000000000) /* of one request of a stage, far below its usual timeout */

static const struct dp_axis *first_axis(enum dp_extent extent)
{
    const struct dp_axis *axis = dp_plan_axes();
    while (axis->extent != extent) {
        axis++;
    }
    return axis;
}

/* Planned when the machine is known. */
static bool is_later(const struct dp_axis *axis)
{
    return axis->extent == DP_EXTENT_DEVICE || axis->extent == DP_EXTENT_ISA;
}

/* The place of an axis in the scheme; axis_count: it is not there. */
static size_t place_of(const struct scheme *scheme, const char *name, size_t length)
{
    size_t i = 0;
    while (i < scheme->axis_count &&
           (strlen(scheme->axes[i]->name) != length || memcmp(scheme->axes[i]->name, name, length) != 0)) {
        i++;
    }
    return i;
}

/* Orders are revealed where an axis moves bits, if both are taken, by some only at a level with products or
 * where they are asked for. *ret_asked: both were asked for. */
static bool takes_factors(const struct scheme *scheme, const struct dp_axis *axis, bool *ret_asked)
{
    const size_t varied = place_of(scheme, axis->name, strcspn(axis->name, "*"));
    const size_t order = place_of(scheme, "order", strlen("order"));
    const bool both = varied < scheme->axis_count && order < scheme->axis_count;
    *ret_asked = both && scheme->asked[varied] && scheme->asked[order];
    return both && (!axis->deep || scheme->level->products || *ret_asked);
}

/* What a level takes by itself. */
static bool is_usual(const struct dp_level *level, const struct dp_axis *axis)
{
    return axis->reveals    ? !axis->product && level->order_limit_ns > 0
           : is_later(axis) ? level->machine
           : axis->product  ? axis->deep && level->products
                            : true;
}

/* The level's axes, or those asked for and `repeat`, in the order of the table. */
static int choose_axes(const struct dp_plan_options *options, struct scheme *scheme, struct dp_err *err)
{
    const struct dp_axis *all = dp_plan_axes();
    bool wanted[DP_AXIS_MAX] = {true}; /* the first, repeat, always runs */
    for (size_t i = 0; i < options->axes.count; i++) {
        const struct dp_axis *axis = dp_axis_find(options->axes.items[i], err);
        if (!axis) {
            return -1;
        }
        wanted[axis - all] = true;
    }
    /* an axis is asked for that says nothing where new processes differ by themselves */
    bool own_process = false;
    for (size_t i = 0; all[i].name; i++) {
        own_process = own_process || (wanted[i] && is_later(&all[i]));
    }
    for (size_t i = 0; all[i].name; i++) {
        const bool fresh = all[i].extent == DP_EXTENT_FRESH;
        bool asked = false;
        const bool usual = options->axes.count == 0 && is_usual(scheme->level, &all[i]);
        const bool product = all[i].reveals && all[i].product && takes_factors(scheme, &all[i], &asked);
        const bool take = wanted[i] || usual || product || (fresh && (options->fresh > 0 || own_process));
        if (take && !(fresh && scheme->fresh == 0)) {
            scheme->asked[scheme->axis_count] = wanted[i] || asked;
            scheme->moved[scheme->axis_count] = product && !wanted[i];
            scheme->axes[scheme->axis_count++] = &all[i];
        }
    }
    return 0;
}

bool scheme_has_axis(const struct scheme *scheme, const struct dp_axis *axis)
{
    for (size_t i = 0; i < scheme->axis_count; i++) {
        if (scheme->axes[i] == axis) {
            return true;
        }
    }
    return false;
}

int scheme_make(const struct dp_plan_options *options, struct scheme *ret, struct dp_err *err)
{
    const struct dp_level *level = dp_level_find(options->level);
    if (!level) {
        return dp_err_set(err, DP_EXIT_USAGE, "unknown level '%.60s', there are quick, default and deep",
                          options->level);
    }
    if (options->fresh > DP_FRESH_MAX) {
        return dp_err_set(err, DP_EXIT_USAGE, "'%d' fresh processes are too many, at most %d", options->fresh,
                          DP_FRESH_MAX);
    }
    struct scheme scheme = {
        .sequential = options->adaptive || options->detect_rate > 0.0,
        .level = level,
        .seeds = options->seeds > 0 ? options->seeds : level->seeds,
        .runs = options->runs > 0 ? options->runs : level->runs,
        .fresh = options->fresh >= 0 ? options->fresh : level->fresh,
        .seeds_given = options->seeds > 0,
        .runs_given = options->runs > 0,
        .costs = options->costs,
    };
    if (choose_axes(options, &scheme, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < options->axes.count && options->fresh == 0; i++) {
        if (strcmp(options->axes.items[i], "fresh") == 0) {
            return dp_err_set(err, DP_EXIT_USAGE, "axis 'fresh' needs a new process, '--fresh 0' makes none");
        }
    }
    scheme.fresh = scheme_has_axis(&scheme, first_axis(DP_EXTENT_FRESH)) ? scheme.fresh : 0;
    *ret = scheme;
    return 0;
}

static const json_t *expected(const struct dp_case *item)
{
    return json_object_get(item->json, "expected");
}

static bool expects_fresh(const struct dp_case *item)
{
    return strcmp(dp_json_string(expected(item), "axis", "repeat"), "fresh") == 0;
}

bool scheme_takes(const struct scheme *scheme, const struct dp_case *item)
{
    return !item->control || !expects_fresh(item) || scheme->fresh > 0;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static bool speaks_of(const struct dp_case *item, const char *axis)
{
    const json_t *guarantee = json_object_get(item->json, "guarantee");
    return dp_json_array_has(json_object_get(guarantee, "covers"), axis) ||
           dp_json_array_has(json_object_get(guarantee, "invariant"), axis);
}

static bool is_asked(const struct scheme *scheme, const struct dp_axis *axis)
{
    for (size_t i = 0; i < scheme->axis_count; i++) {
        if (scheme->axes[i] == axis) {
            return scheme->asked[i];
        }
    }
    return false;
}

static bool is_dear(const struct scheme *scheme, const struct share *share, const struct dp_axis *axis)
{
    return axis->dear && strcmp(axis->dear, share->item->backend) == 0 && !scheme->level->products &&
           !is_asked(scheme, axis);
}

/* Whether the case takes the axis at all. */
static bool takes_axis(const struct scheme *scheme, const struct share *share, size_t i)
{
    const struct dp_axis *const axis = scheme->axes[i];
    if (axis == dp_plan_axes()) {
        return true;
    }
    if (!share->invariant || (axis->needs && !json_object_get(share->item->json, axis->needs))) {
        return false;
    }
    if (axis->reveals && !order_runs(scheme->level, share->item, scheme->asked[i])) {
        return false;
    }
    const bool unasked = axis->at_once && !scheme->level->products && !speaks_of(share->item, axis->name);
    const bool other = !dp_axis_is_of(axis, share->item->backend) ||
                       (is_dear(scheme, share, axis) && !scheme->level->machine);
    return scheme->asked[i] || (!unasked && !other);
}

bool scheme_takes_axis(const struct scheme *scheme, const struct dp_case *item, size_t i)
{
    const struct share share = {.item = item, .invariant = !item->control};
    return takes_axis(scheme, &share, i);
}

int scheme_first_runs(const struct scheme *scheme, const struct share *share)
{
    const bool few = scheme->sequential && !share->item->control;
    return few ? smaller(share->runs, FIRST_RUNS) : share->runs;
}

/* How often one setting of the axis runs. */
static int runs_of(const struct scheme *scheme, const struct share *share, const struct dp_axis *axis,
                   const char *setting)
{
    if (axis == dp_plan_axes()) {
        return scheme_first_runs(scheme, share);
    }
    const bool few = axis->extent == DP_EXTENT_INVARIANT || is_dear(scheme, share, axis);
    const bool silent = axis->at_once && !speaks_of(share->item, axis->name);
    const int runs = few ? INVARIANT_RUNS : silent ? smaller(share->runs, AT_ONCE_RUNS) : share->runs;
    return axis->at_once ? runs * atoi(setting) : runs;
}

/* Without a number of runs in the request it is the axis' own. */
static void visit_settings(const struct scheme *scheme, const struct share *share, const struct dp_axis *axis,
                           struct dp_request request, request_visitor visit, void *context)
{
    const int given = request.runs;
    const char *settings[DP_SETTING_MAX];
    const size_t count = dp_axis_settings(axis, scheme->level, share->item, settings);
    request.axis = axis->name;
    for (size_t i = 0; i < count; i++) {
        request.setting = settings[i];
        request.runs = given ? given : runs_of(scheme, share, axis, settings[i]);
        visit(context, &request);
    }
}

/* Every axis on one seed of the set that decides bits. */
static void visit_wide(const struct scheme *scheme, const struct share *share, int seed,
                       request_visitor visit, void *context)
{
    for (size_t i = 0; i < scheme->axis_count; i++) {
        const struct dp_axis *axis = scheme->axes[i];
        const bool all_seeds = axis->extent == DP_EXTENT_FULL;
        if (axis->extent == DP_EXTENT_FRESH || is_later(axis) || axis->reveals ||
            !takes_axis(scheme, share, i) || (!all_seeds && seed >= FIRST_SEEDS)) {
            continue;
        }
        const struct dp_request request = {.seed_index = seed, .set = "wide"};
        visit_settings(scheme, share, axis, request, visit, context);
    }
}

/* The sets that decide whether the result is right. */
static void visit_side(const struct scheme *scheme, const struct share *share, request_visitor visit,
                       void *context)
{
    static const char *const sets[] = {"unit", "exact"};
    const int first = scheme_first_runs(scheme, share);
    const int runs = scheme->level->side_runs ? smaller(scheme->level->side_runs, first) : first;
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        const struct dp_request request = {.set = sets[i], .runs = runs};
        visit_settings(scheme, share, first_axis(DP_EXTENT_FULL), request, visit, context);
    }
}

/* What follows from the operation and no inputs. */
static void visit_orders(const struct scheme *scheme, const struct share *share, request_visitor visit,
                         void *context)
{
    for (size_t i = 0; i < scheme->axis_count; i++) {
        if (scheme->axes[i]->extent == DP_EXTENT_ORDER && !scheme->moved[i] && takes_axis(scheme, share, i)) {
            const struct dp_request request = {
                .set = "unit", .runs = order_runs(scheme->level, share->item, scheme->asked[i])};
            visit_settings(scheme, share, scheme->axes[i], request, visit, context);
        }
    }
}

static void visit_fresh(const struct share *share, int process, request_visitor visit, void *context)
{
    for (int seed = 0; process <= share->fresh && seed < smaller(FIRST_SEEDS, share->seeds); seed++) {
        const struct dp_request request = {
            .axis = first_axis(DP_EXTENT_FRESH)->name,
            .setting = dp_number_setting(process),
            .seed_index = seed,
            .set = "wide",
            .runs = 1,
            .process = process,
        };
        visit(context, &request);
    }
}

void scheme_requests(const struct scheme *scheme, const struct share *share, int process,
                     request_visitor visit, void *context)
{
    if (process > 0) {
        visit_fresh(share, process, visit, context);
        return;
    }
    for (int seed = 0; seed < share->seeds; seed++) {
        visit_wide(scheme, share, seed, visit, context);
        if (seed == 0 && !share->item->control) {
            visit_side(scheme, share, visit, context);
        }
    }
    visit_orders(scheme, share, visit, context);
}

struct sums {
    int64_t runs, requests;
    int64_t orders; /* of the requests; what they take is bounded apart */
};

static void add_up(void *context, const struct dp_request *request)
{
    struct sums *sums = context;
    const bool order = dp_axis_reveals(request->axis);
    sums->runs += order ? 0 : request->runs;
    sums->orders += order;
    sums->requests++;
}

/* Where the axis is in the scheme; axis_count: it is not. */
static size_t caps_axis(const struct scheme *scheme)
{
    size_t i = 0;
    while (i < scheme->axis_count && scheme->axes[i]->extent != DP_EXTENT_ISA) {
        i++;
    }
    return i;
}

bool scheme_takes_caps(const struct scheme *scheme, const struct dp_case *item)
{
    const size_t i = caps_axis(scheme);
    return i < scheme->axis_count && !item->control && json_object_get(item->json, scheme->axes[i]->needs);
}

static int caps_priced(const struct scheme *scheme)
{
    const size_t i = caps_axis(scheme);
    const bool all = scheme->level->products || (i < scheme->axis_count && scheme->asked[i]);
    return all ? CAPS_ALL : CAPS_GENERATIONS;
}

static struct sums share_sums(const struct scheme *scheme, const struct share *share)
{
    struct sums sums = {0};
    scheme_requests(scheme, share, 0, add_up, &sums);
    if (share->fresh > 0) {
        struct sums one = {0};
        scheme_requests(scheme, share, 1, add_up, &one);
        sums.runs += one.runs * share->fresh;
        sums.requests += one.requests * share->fresh;
    }
    if (scheme_takes_caps(scheme, share->item)) {
        const int64_t requests = (int64_t)caps_priced(scheme) * (smaller(FIRST_SEEDS, share->seeds) + 1);
        sums.requests += requests;
        sums.runs += requests * INVARIANT_RUNS;
    }
    return sums;
}

int64_t case_cost_ns(const struct dp_case *item)
{
    return (int64_t)((item->cost_us > 0 ? item->cost_us : DEFAULT_COST_US) * 1000);
}

static bool is_too_dear(const struct scheme *scheme, const struct share *share)
{
    /* As a double: hostile costs times runs would overflow. */
    return (double)share_sums(scheme, share).runs * (double)case_cost_ns(share->item) >
           (double)scheme->level->case_limit_ns;
}

/* Sets *amount to the largest number from `least` to its present value at which the case is within the limit,
 * `least` if it never is. */
static void cut(const struct scheme *scheme, const struct share *share, int *amount, int least)
{
    int low = least;
    int high = *amount;
    while (low < high) {
        *amount = low + (high - low + 1) / 2;
        if (is_too_dear(scheme, share)) {
            high = *amount - 1;
        } else {
            low = *amount;
        }
    }
    *amount = low;
}

static struct share control_share(const struct scheme *scheme, const struct dp_case *item)
{
    const bool counted = json_object_get(expected(item), "mismatches") != NULL;
    const int runs = (int)dp_json_int(expected(item), "runs", counted ? MISCOUNT_RUNS : 0);
    return (struct share){
        .item = item,
        .seeds = runs ? 1 : scheme->level->seeds,
        .runs = runs ? runs : scheme->level->runs,
        .fresh = expects_fresh(item) ? scheme->fresh : 0,
    };
}

struct share scheme_share(const struct scheme *scheme, const struct dp_case *item)
{
    if (item->control) {
        return control_share(scheme, item);
    }
    struct share share = {.item = item,
                          .seeds = scheme->seeds,
                          .runs = scheme->runs,
                          .fresh = scheme->fresh,
                          .invariant = true};
    if (!scheme->seeds_given && share.seeds > LEAST_SEEDS && is_too_dear(scheme, &share)) {
        cut(scheme, &share, &share.seeds, LEAST_SEEDS);
    }
    if (!scheme->runs_given && share.runs > LEAST_RUNS && is_too_dear(scheme, &share)) {
        cut(scheme, &share, &share.runs, LEAST_RUNS);
    }
    return share;
}

/* At least the time of one request, so that it can be divided by. */
static int64_t catalogue_ns(const struct scheme *scheme, const struct dp_case *item)
{
    const struct share share = scheme_share(scheme, item);
    const struct sums sums = share_sums(scheme, &share);
    const double ns = (double)sums.runs * (double)case_cost_ns(item) +
                      (double)sums.orders * order_price_ns(scheme->level, item) +
                      (double)sums.requests * (double)REQUEST_NS;
    return (int64_t)(ns < DP_COST_MAX_NS ? ns : DP_COST_MAX_NS);
}

int64_t scheme_case_ns(const struct scheme *scheme, const struct dp_case *item)
{
    if (item->program->state != DP_PROGRAM_READY) {
        return 0;
    }
    const json_t *known = json_object_get(scheme->costs, item->id);
    return known ? json_integer_value(known) : catalogue_ns(scheme, item);
}

/* In the unit of what the first pass is known to cost, where it is. */
int64_t scheme_more_ns(const struct scheme *scheme, const struct dp_case *item, int64_t runs,
                       int64_t requests)
{
    const json_t *known = json_object_get(scheme->costs, item->id);
    double ns = (double)runs * (double)case_cost_ns(item) + (double)requests * (double)REQUEST_NS;
    if (item->program->state != DP_PROGRAM_READY) {
        return 0;
    }
    if (known && json_integer_value(known) > 0) {
        ns *= (double)json_integer_value(known) / (double)catalogue_ns(scheme, item);
    }
    return (int64_t)(ns < DP_COST_MAX_NS ? ns : DP_COST_MAX_NS);
}

int scheme_request_runs(const struct dp_case *item)
{
    const int64_t most = REQUEST_MOST_NS / (case_cost_ns(item) > 0 ? case_cost_ns(item) : 1);
    return most < LEAST_RUNS ? LEAST_RUNS : most > DP_RUNS_MAX ? DP_RUNS_MAX : (int)most;
}

double scheme_request_ns(const struct scheme *scheme, const struct dp_case *item)
{
    const struct share share = scheme_share(scheme, item);
    return (double)share_sums(scheme, &share).requests * (double)REQUEST_NS;
}

void scheme_add_use(const struct scheme *scheme, const struct dp_case *item, struct use *use)
{
    const json_t *known = json_object_get(scheme->costs, item->id);
    use->caps = use->caps || scheme_takes_caps(scheme, item);
    use->runs = use->runs || !known || json_integer_value(known) > 0;
}

int64_t scheme_start_ns(const struct dp_program *program)
{
    const int64_t usual = program->script ? START_SCRIPT_NS : START_NATIVE_NS;
    return program->start_us > 0 ? (int64_t)(program->start_us * 1000) : usual;
}

int64_t scheme_program_ns(const struct scheme *scheme, const struct dp_program *program, struct use use)
{
    if (program->state != DP_PROGRAM_READY) {
        return 0;
    }
    const int again = use.runs ? scheme->fresh + (use.caps ? caps_priced(scheme) : 0) : 0;
    return (1 + again) * scheme_start_ns(program);
}

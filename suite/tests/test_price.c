/* SPDX-License-Identifier: Apache-2.0
 *
 * --price, from the catalogue to measurements.prices: which pairs there are and which form is the
 * deterministic one, in which order their rounds are asked of one process or two, and what is made of times.
 * No time here is a measured one: the fake program says what its cases take.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/judge/judge.h"
#include "suite/tests/rig.h"

#define ROUNDS 15 /* of level quick */

static void open_priced(struct rig *rig, const char *selectors)
{
    struct dp_err err;
    rig_open(rig, "price", selectors, "repeat");
    const int64_t without = rig->plan.expected_ns;
    dp_plan_free(&rig->plan);
    rig->options.price = true;
    assert_int_equal(dp_plan_make(&rig->catalogue, &rig->options, &rig->plan, &err), 0);
    assert_true(rig->plan.priced_count > 0 ? rig->plan.expected_ns > without
                                           : rig->plan.expected_ns == without);
}

static const char *case_at(const struct rig *rig, size_t index)
{
    return strrchr(rig->plan.cases[index]->id, '/') + 1;
}

/* "usual > deterministic" of each pair. Owned. */
static char *pairs_text(const struct rig *rig)
{
    struct dp_text text = DP_TEXT(10000);
    for (size_t i = 0; i < rig->plan.priced_count; i++) {
        dp_text_printf(&text, "%s > %s\n", case_at(rig, rig->plan.priced[i].usual),
                       case_at(rig, rig->plan.priced[i].deterministic));
    }
    return dp_text_take(&text);
}

static void check_pairs(const char *selectors, const char *expected)
{
    struct rig rig;
    open_priced(&rig, selectors);
    char *pairs = pairs_text(&rig);
    assert_string_equal(pairs, expected);
    free(pairs);
    rig_close(&rig);
}

static void pairs_are_found(void **state)
{
    check_pairs("fake/price/costs*", "costs > costs-steady\n"); /* both name each other: once */
    check_pairs("fake/price/saves*", "saves > saves-steady\n");
    check_pairs("fake/price/named*",
                "named > named-steady\n");        /* nothing is promised: the one that is named */
    check_pairs("fake/price/both-promised*", ""); /* and nothing tells */
    check_pairs("fake/price/other-inputs*", "");  /* they do not compute the same */
    check_pairs("fake/price/costs-steady", "");   /* the other form is not of the run */
    /* those of one program first, so that the other starts late */
    check_pairs("fake/price/apart* fake/price/costs* fake/price/saves*",
                "costs > costs-steady\nsaves > saves-steady\napart > apart-steady\n");
}

static void nothing_without_the_option(void **state)
{
    struct rig rig;
    rig_open(&rig, "price", "fake/price/*", "repeat");
    assert_int_equal(rig.plan.priced_count, 0);
    rig_close(&rig);
}

static void ask_rounds(struct rig *rig, const char *not_run)
{
    bool ran[64];
    for (size_t i = 0; i < rig->plan.case_count; i++) {
        ran[i] = !not_run || strcmp(case_at(rig, i), not_run) != 0;
    }
    dp_plan_add_price(&rig->plan, ran);
    dp_answers_grow(&rig->answers, rig->plan.request_count);
}

/* One form after the other in each round, each round with a number of its own. */
static void rounds_alternate(void **state)
{
    struct rig rig;
    open_priced(&rig, "fake/price/apart* fake/price/costs* fake/price/saves*");
    const size_t before = rig.plan.request_count;
    ask_rounds(&rig, "saves-steady");
    assert_int_equal(rig.plan.request_count, before + 2 * 2 * ROUNDS);
    assert_int_equal(rig.plan.priced[1].rounds, 0);
    for (size_t i = before; i < rig.plan.request_count; i++) {
        const struct dp_request *r = &rig.plan.requests[i];
        const struct dp_priced *priced = &rig.plan.priced[i < before + 2 * ROUNDS ? 0 : 2];
        assert_string_equal(r->axis, "price");
        assert_int_equal(priced->rounds, ROUNDS);
        assert_int_equal(r->case_index, (i - priced->first) % 2 ? priced->deterministic : priced->usual);
        assert_int_equal(atoi(r->setting),
                         (int)((size_t)(priced - rig.plan.priced) * ROUNDS + (i - priced->first) / 2));
        assert_string_equal(r->setting, rig.plan.requests[i - (i - priced->first) % 2].setting);
        assert_string_equal(r->set, "wide");
        assert_true(r->runs > 2 && r->process > 0 && r->retest == 0);
    }
    rig_close(&rig);
}

/* In which order the answers came. */
struct order {
    size_t requests[256];
    size_t count;
};

static void note(void *context, const struct dp_plan *plan, size_t request, size_t answered, size_t total)
{
    struct order *order = context;
    assert_true(order->count < 256);
    order->requests[order->count++] = request;
}

static bool is_sorted(const struct order *order)
{
    for (size_t i = 1; i < order->count; i++) {
        if (order->requests[i] < order->requests[i - 1]) {
            return false;
        }
    }
    return true;
}

/* Runs the pass of the rounds; returns in which order they were answered. */
static struct order run_rounds(struct rig *rig, bool in_turns)
{
    struct order order = {.count = 0};
    rig_run(rig);
    ask_rounds(rig, NULL);
    rig->run.in_turns = in_turns;
    rig->run.progress = note;
    rig->run.context = &order;
    rig_run(rig);
    assert_int_equal(rig->end, DP_RUN_DONE);
    assert_int_equal(rig_answered(rig), rig->plan.request_count);
    assert_int_equal(order.count, 2 * ROUNDS * rig->plan.priced_count);
    assert_int_equal(processes_of(getpid()), 0);
    return order;
}

/* Two processes that stay, each asked when the other has answered; `threads` of these fakes is their process.
 */
static void two_processes_take_turns(void **state)
{
    struct rig rig;
    open_priced(&rig, "fake/price/apart*");
    const struct order order = run_rounds(&rig, true);
    assert_true(is_sorted(&order));
    const size_t first = rig.plan.priced[0].first;
    json_int_t processes[2] = {0};
    for (size_t i = 0; i < 2 * ROUNDS; i++) {
        const json_int_t process = dp_json_int(rig.answers.items[first + i], "threads", 0);
        processes[i % 2] = i < 2 ? process : processes[i % 2];
        assert_int_equal(process, processes[i % 2]);
    }
    assert_int_not_equal(processes[0], processes[1]);
    rig_close(&rig);

    open_priced(&rig, "fake/price/apart*"); /* else all of one program comes first */
    const struct order other = run_rounds(&rig, false);
    assert_false(is_sorted(&other));
    rig_close(&rig);
}

/* Also where several pairs share a program, more programs are there than jobs, and some requests end a
 * process. */
static void turns_survive_crashes(void **state)
{
    struct rig rig;
    open_priced(&rig, "fake/price/apart* fake/price/costs* fake/price/crash*");
    const struct order order = run_rounds(&rig, true);
    assert_true(is_sorted(&order));
    size_t errors = 0;
    for (size_t i = 0; i < rig.plan.request_count; i++) {
        const bool crash = strcmp(dp_json_string(rig.answers.items[i], "type", ""), "error") == 0;
        errors += crash;
        assert_true(!crash ||
                    strcmp(case_at(&rig, (size_t)rig.plan.requests[i].case_index), "crash-steady") == 0);
    }
    assert_int_equal(errors, ROUNDS);
    rig_close(&rig);
}

static void stop(void *context, const struct dp_plan *plan, size_t request, size_t answered, size_t total)
{
    size_t *left = context;
    if (--*left == 0) {
        raise(SIGTERM);
    }
}

/* A program that waits for its turn does not hold the end up. */
static void interrupted_in_turns(void **state)
{
    struct rig rig;
    size_t left = 7;
    open_priced(&rig, "fake/price/apart*");
    rig_run(&rig);
    ask_rounds(&rig, NULL);
    rig.run.in_turns = true;
    rig.run.progress = stop;
    rig.run.context = &left;
    rig_run(&rig);
    assert_int_equal(rig.end, DP_RUN_INTERRUPTED);
    assert_true(rig_answered(&rig) < rig.plan.request_count);
    assert_int_equal(processes_of(getpid()), 0);
    json_t *prices = dp_prices_json(&rig.plan, &rig.answers);
    assert_int_equal(json_array_size(prices), 0); /* not all of its rounds */
    json_decref(prices);
    rig_close(&rig);
}

/* --- what is made of times --- */

struct canned {
    double usual, deterministic; /* ns of a call; 0: the program says nothing of it, negative: it failed */
};

static json_t *canned_answer(double ns)
{
    return ns < 0   ? json_pack("{ss ss ss}", "type", "error", "reason", "crash", "text", "signal 11")
           : ns > 0 ? json_pack("{ss s{sf si}}", "type", "observation", "time", "median_ns", ns, "calls", 1)
                    : json_pack("{ss s{}}", "type", "observation", "time");
}

/* The entry of one pair with these rounds. Owned. */
static json_t *price_of(const struct canned *rounds, int count)
{
    struct dp_case cases[] = {{.id = "cpu/x/usual"}, {.id = "cpu/x/steady"}};
    const struct dp_case *list[] = {&cases[0], &cases[1]};
    struct dp_priced priced = {.usual = 0, .deterministic = 1, .first = 1, .rounds = count};
    const struct dp_plan plan = {.cases = list, .case_count = 2, .priced = &priced, .priced_count = 1};
    json_t *items[64] = {NULL};
    const struct dp_answers answers = {.items = items, .count = 1 + 2 * (size_t)count};
    for (int i = 0; i < count; i++) {
        items[1 + 2 * i] = canned_answer(rounds[i].usual);
        items[2 + 2 * i] = canned_answer(rounds[i].deterministic);
    }
    json_t *prices = dp_prices_json(&plan, &answers);
    for (size_t i = 0; i < answers.count; i++) {
        json_decref(items[i]);
    }
    assert_int_equal(json_array_size(prices), 1);
    json_t *entry = json_incref(json_array_get(prices, 0));
    json_decref(prices);
    assert_string_equal(dp_json_string(entry, "case", ""), "cpu/x/usual");
    assert_string_equal(dp_json_string(entry, "pair", ""), "cpu/x/steady");
    return entry;
}

static void check_price(const struct canned *rounds, int count, double ratio, double low, double high)
{
    json_t *entry = price_of(rounds, count);
    assert_true(dp_json_number(entry, "ratio", 0) == ratio && dp_json_number(entry, "low", 0) == low &&
                dp_json_number(entry, "high", 0) == high);
    assert_null(json_object_get(entry, "reason"));
    json_decref(entry);
}

static void check_none(const struct canned *rounds, int count, const char *reason)
{
    json_t *entry = price_of(rounds, count);
    assert_string_equal(dp_json_string(entry, "reason", ""), reason);
    assert_null(json_object_get(entry, "ratio"));
    assert_true(dp_json_string(entry, "text", "")[0] != '\0');
    json_decref(entry);
}

/* A machine that is ten times slower from the third round on slows both forms: each round has its ratio. */
static void ratios_are_of_rounds(void **state)
{
    const struct canned rounds[] = {{1e4, 2e4}, {1e4, 2e4}, {1e5, 2e5}, {1e5, 2e5},
                                    {1e5, 2e5}, {1e5, 2e5}, {1e5, 2e5}};
    check_price(rounds, 7, 2, 2, 2);
    const struct canned spread[] = {{1e4, 1e4}, {1e4, 2e4}, {1e4, 3e4}, {1e5, 4e5},
                                    {1e5, 5e5}, {1e5, 6e5}, {1e5, 7e5}};
    check_price(spread, 7, 4, 2, 6); /* wide, but it surely costs */
    json_t *entry = price_of(spread, 7);
    assert_true(dp_json_number(entry, "case_ns", 0) == 1e5 && dp_json_number(entry, "pair_ns", 0) == 4e5);
    assert_int_equal(dp_json_int(entry, "rounds", 0), 7);
    json_decref(entry);
}

static void what_tells_nothing_is_no_price(void **state)
{
    const struct canned wide[] = {{1e4, 5e3}, {1e4, 6e3}, {1e4, 6e3}, {1e4, 1e4},
                                  {1e4, 2e4}, {1e4, 2e4}, {1e4, 3e4}};
    check_none(wide, 7, "noisy");
    const struct canned narrow[] = {{1e4, 5e3},  {1e4, 8e3},  {1e4, 8e3}, {1e4, 1e4},
                                    {1e4, 12e3}, {1e4, 12e3}, {1e4, 3e4}};
    check_price(narrow, 7, 1, 0.8, 1.2);
}

static void lost_rounds(void **state)
{
    const struct canned lost[] = {{1e4, 2e4}, {1e4, -1},  {1e4, 2e4}, {-1, 2e4}, {1e4, 2e4},
                                  {1e4, 2e4}, {1e4, 2e4}, {1e4, 2e4}, {1e4, 2e4}};
    check_price(lost, 9, 2, 2, 2); /* seven are left */
    check_none(lost, 8, "failed"); /* six are not enough */
    const struct canned mute[] = {{0, 2e4}, {0, 2e4}, {0, 2e4}, {0, 2e4}, {0, 2e4}, {0, 2e4}, {0, 2e4}};
    check_none(mute, 7, "unsupported");
    const struct canned brief[] = {{4e3, 2e4}, {4e3, 2e4}, {4e3, 2e4}, {4e3, 2e4},
                                   {4e3, 2e4}, {4e3, 2e4}, {4e3, 2e4}};
    check_none(brief, 7, "too_short");
}

/* Whose round is not answered, as in a run that was stopped, is left out. */
static void unanswered(void **state)
{
    struct dp_case cases[] = {{.id = "cpu/x/usual"}, {.id = "cpu/x/steady"}};
    const struct dp_case *list[] = {&cases[0], &cases[1]};
    struct dp_priced priced = {.usual = 0, .deterministic = 1, .rounds = 1};
    const struct dp_plan plan = {.cases = list, .case_count = 2, .priced = &priced, .priced_count = 1};
    json_t *items[2] = {canned_answer(1e4), NULL};
    const struct dp_answers answers = {.items = items, .count = 2};
    json_t *prices = dp_prices_json(&plan, &answers);
    assert_int_equal(json_array_size(prices), 0);
    json_decref(prices);
    json_decref(items[0]);
}

static void what_ran(void **state)
{
    struct dp_case cases[] = {
        {.id = "cpu/x/a"}, {.id = "cpu/x/b"}, {.id = "cpu/x/c"}, {.id = "cpu/control/d"}};
    const struct dp_case *list[] = {&cases[0], &cases[1], &cases[2], &cases[3]};
    const struct dp_plan plan = {.cases = list, .case_count = 4};
    const struct dp_judged judged = {.results = json_pack("[{ss ss}, {ss ss}, {ss ss}]", "case", "cpu/x/a",
                                                          "observed", "varies", "case", "cpu/x/b", "observed",
                                                          "skipped", "case", "cpu/x/c", "observed", "wrong")};
    bool *ran = dp_judged_ran(&judged, &plan);
    assert_true(ran[0] && !ran[1] && ran[2] && !ran[3]); /* a control has no result */
    free(ran);
    json_decref(judged.results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_found),
        cmocka_unit_test(nothing_without_the_option),
        cmocka_unit_test(rounds_alternate),
        cmocka_unit_test(two_processes_take_turns),
        cmocka_unit_test(turns_survive_crashes),
        cmocka_unit_test(interrupted_in_turns),
        cmocka_unit_test(ratios_are_of_rounds),
        cmocka_unit_test(what_tells_nothing_is_no_price),
        cmocka_unit_test(lost_rounds),
        cmocka_unit_test(unanswered),
        cmocka_unit_test(what_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

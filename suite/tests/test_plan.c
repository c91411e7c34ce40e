/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan: levels, axes, sets, controls, cutting, the budget, retests, and what is written of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/tests/planning.h"

static void test_levels(void **state)
{
    static const struct {
        const char *level;
        int seeds, runs, fresh, side_runs;
        size_t poison, threads, batch;
    } levels[] = {{"quick", 3, 8, 2, 2, 1, 3, 2},
                  {"default", 8, 25, 5, 25, 2, 4, 9},
                  {"deep", 32, 200, 20, 200, 2, 4, 9}};
    for (size_t i = 0; i < COUNT(levels); i++) {
        const struct dp_plan_options options = usual(levels[i].level);
        struct dp_plan plan = make(&options);
        static const char id[] = "cpu/gemm/cheap";
        assert_int_equal(plan.seeds, levels[i].seeds);
        assert_int_equal(plan.runs, levels[i].runs);
        assert_int_equal(plan.fresh, levels[i].fresh);
        check_given(given(&plan, id, "repeat", "wide"), (size_t)levels[i].seeds, levels[i].seeds,
                    levels[i].runs);
        check_given(given(&plan, id, NULL, "unit"), 1, 1, levels[i].side_runs);
        check_given(given(&plan, id, NULL, "exact"), 1, 1, levels[i].side_runs);
        check_given(given(&plan, id, "fresh", NULL), 2 * (size_t)levels[i].fresh, 2, 1);
        assert_int_equal(given(&plan, id, "fresh", NULL).processes, levels[i].fresh);
        check_given(given(&plan, id, "poison", NULL), 2 * levels[i].poison, 2, 2);
        check_given(given(&plan, id, "threads", NULL), 2 * levels[i].threads, 2, 2);
        check_given(given(&plan, id, "batch", NULL), 2 * levels[i].batch, 2, 2);
        check_given(given(&plan, "cpu/reduce/a", "batch", NULL), 0, 0, 0); /* it names no batch parameter */
        check_given(given(&plan, id, "algorithm", NULL), 2 * 3, 2, 2);
        check_given(given(&plan, "cpu/reduce/a", "algorithm", NULL), 0, 0, 0); /* it offers no choices */
        check_given(given(&plan, "python/sum/unknown", "align", NULL), 2 * (i == 0 ? 2 : 11), 2, 2);
        check_given(given(&plan, "cpu/reduce/a", "align", NULL), 0, 0, 0); /* it does not say that it may */
        const bool deep = strcmp(levels[i].level, "deep") == 0;
        check_given(given(&plan, id, "busy", "wide"), i == 0 ? 0 : 2 * 3, i == 0 ? 0 : 2, deep ? 200 : 2);
        check_given(given(&plan, id, "threads*repeat", NULL), deep ? 4 * 32 : 0, deep ? 32 : 0, 200);
        check_given(given(&plan, id, "threads*batch", NULL), deep ? 2 * 36 : 0, deep ? 2 : 0, 2);
        check_given(given(&plan, id, "batch*repeat", NULL), 0, 0, 0);
        assert_int_equal(plan.axis_count, deep ? 11 : i == 0 ? 7 : 8);
        dp_plan_free(&plan);
    }
}

static bool in_order(const struct dp_request *a, const struct dp_request *b)
{
    if (a->case_index != b->case_index) {
        return a->case_index < b->case_index;
    }
    if (a->seed_index != b->seed_index) {
        return a->seed_index < b->seed_index;
    }
    /* One case, seed and set stand together, wide first. */
    return strcmp(a->set, b->set) == 0 || strcmp(a->set, "wide") == 0 || strcmp(b->set, "exact") == 0;
}

static bool same_request(const struct dp_request *a, const struct dp_request *b)
{
    return a->case_index == b->case_index && strcmp(a->axis, b->axis) == 0 &&
           strcmp(a->setting, b->setting) == 0 && a->seed_index == b->seed_index &&
           strcmp(a->set, b->set) == 0 && a->runs == b->runs && a->process == b->process &&
           a->retest == b->retest;
}

static void test_order(void **state)
{
    const struct dp_plan_options options = usual("quick");
    struct dp_plan plan = make(&options);
    assert_int_equal(plan.case_count, COUNT(rows));
    for (size_t i = 1; i < plan.case_count; i++) {
        const int order = strcmp(plan.cases[i - 1]->program->name, plan.cases[i]->program->name);
        assert_true(order < 0 || (order == 0 && strcmp(plan.cases[i - 1]->id, plan.cases[i]->id) < 0));
    }
    for (size_t i = 1; i < plan.request_count; i++) {
        const struct dp_request *a = &plan.requests[i - 1];
        const struct dp_request *b = &plan.requests[i];
        const int order =
            strcmp(plan.cases[a->case_index]->program->name, plan.cases[b->case_index]->program->name);
        assert_true(order <= 0);
        assert_true(order < 0 || a->process <= b->process);
        assert_true(order < 0 || a->process < b->process || in_order(a, b));
    }
    for (size_t i = 0; i < plan.request_count; i++) {
        const struct dp_request *r = &plan.requests[i];
        assert_int_equal(r->retest, 0);
        assert_int_equal(r->process > 0, strcmp(r->axis, "fresh") == 0);
        if (r->process > 0) {
            assert_int_equal(atoi(r->setting), r->process);
        }
    }
    struct dp_plan again = make(&options);
    assert_int_equal(again.request_count, plan.request_count);
    for (size_t i = 0; i < plan.request_count; i++) {
        assert_true(same_request(&again.requests[i], &plan.requests[i]));
    }
    dp_plan_free(&again);
    dp_plan_free(&plan);
}

static void test_controls(void **state)
{
    struct dp_plan_options options = usual("quick");
    const char *gemm[] = {"cpu/gemm/cheap"};
    options.include = (struct dp_strings){gemm, 1};
    struct dp_plan plan = make(&options);
    assert_int_equal(plan.case_count, 4); /* it and the three controls of its backend */
    check_given(given(&plan, "cpu/control/plant", NULL, NULL), 1, 1, 100);
    check_given(given(&plan, "cpu/control/sum", NULL, NULL), 3, 3, 8);
    check_given(given(&plan, "cpu/control/fresh", "fresh", NULL), 4, 2, 1);
    check_given(given(&plan, "cpu/control/fresh", "repeat", NULL), 3, 3, 8);
    dp_plan_free(&plan);

    /* Few runs asked for do not make the controls blind. */
    options.seeds = 1;
    options.runs = 2;
    plan = make(&options);
    check_given(given(&plan, "cpu/control/sum", NULL, NULL), 3, 3, 8);
    check_given(given(&plan, "cpu/gemm/cheap", "repeat", "wide"), 1, 1, 2);
    dp_plan_free(&plan);

    /* Without fresh processes a control that shows there cannot show itself. */
    options.fresh = 0;
    plan = make(&options);
    assert_int_equal(index_of(&plan, "cpu/control/fresh"), -1);
    assert_int_not_equal(index_of(&plan, "cpu/control/sum"), -1);
    assert_int_equal(plan.fresh, 0);
    dp_plan_free(&plan);

    /* A backend without controls, and no case at all. */
    const char *python[] = {"@python"};
    options.include = (struct dp_strings){python, 1};
    plan = make(&options);
    assert_int_equal(plan.case_count, 1);
    dp_plan_free(&plan);
    const char *cuda[] = {"@cuda"};
    options.include = (struct dp_strings){cuda, 1};
    plan = make(&options);
    assert_int_equal(plan.case_count, 0);
    assert_int_equal(plan.request_count, 0);
    dp_plan_free(&plan);
}

static bool plan_has_axis(const struct dp_plan *plan, const char *axis)
{
    for (size_t i = 0; i < plan->axis_count; i++) {
        if (strcmp(plan->axes[i], axis) == 0) {
            return true;
        }
    }
    return false;
}

static void test_axes(void **state)
{
    struct dp_plan_options options = usual("quick");
    const char *threads[] = {"threads"};
    options.axes = (struct dp_strings){threads, 1};
    struct dp_plan plan = make(&options);
    assert_int_equal(plan.axis_count, 2);
    assert_string_equal(plan.axes[0], "repeat"); /* always runs */
    assert_string_equal(plan.axes[1], "threads");
    assert_int_equal(plan.fresh, 0);
    check_given(given(&plan, "cpu/gemm/cheap", "fresh", NULL), 0, 0, 0);
    check_given(given(&plan, "cpu/gemm/cheap", "repeat", "wide"), 3, 3, 8);
    dp_plan_free(&plan);

    options.fresh = 3; /* asked for by itself */
    plan = make(&options);
    assert_true(plan_has_axis(&plan, "fresh"));
    assert_int_equal(plan.fresh, 3);
    dp_plan_free(&plan);

    static const char *const same[] = {"threads*repeat", "repeat*threads", "threadsxrepeat",
                                       "repeat\xc3\x97threads"};
    for (size_t i = 0; i < COUNT(same); i++) {
        const char *axes[] = {same[i]};
        options = usual("quick");
        options.axes = (struct dp_strings){axes, 1};
        plan = make(&options);
        check_given(given(&plan, "cpu/gemm/cheap", "threads*repeat", "wide"), 9, 3, 8);
        assert_int_equal(plan.axis_count, 2);
        dp_plan_free(&plan);
    }
}

static void test_axis_errors(void **state)
{
    static const struct {
        const char *axis, *text;
    } bad[] = {
        {"thread", "unknown axis 'thread', did you mean 'threads'?"},
        {"poison*threads", "the product 'poison*threads' is not available in this version"},
        {"threads*threads", "the product 'threads*threads' is not available in this version"},
        {"threads*", "unknown axis 'threads*', did you mean 'threads'?"},
        {"zzzzzzzzzz",
         "unknown axis 'zzzzzzzzzz', there are repeat, fresh, poison, busy, concurrency, threads, batch, "
         "align, algorithm, isa, device, order, threads*repeat, batch*repeat, threads*batch, threads*order, "
         "batch*order, algorithm*order, isa*order"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *axes[] = {bad[i].axis};
        struct dp_plan_options options = usual("quick");
        options.axes = (struct dp_strings){axes, 1};
        struct dp_plan plan;
        struct dp_err err = {0};
        assert_int_equal(dp_plan_make(&catalogue, &options, &plan, &err), -1);
        assert_string_equal(err.text, bad[i].text);
        assert_int_equal(err.code, DP_EXIT_USAGE);
    }
    const struct dp_plan_options options = usual("thorough");
    struct dp_plan plan;
    struct dp_err err = {0};
    assert_int_equal(dp_plan_make(&catalogue, &options, &plan, &err), -1);
    assert_int_equal(err.code, DP_EXIT_USAGE);
}

/* The limit of the quick level is 100 ms, of a case that costs 3 ms a run. */
static void test_cutting(void **state)
{
    struct dp_plan_options options = usual("quick");
    struct dp_plan plan = make(&options);
    struct given g = given(&plan, "cpu/gemm/cheap", "repeat", "wide");
    check_given(g, 3, 3, 8); /* far below */
    g = given(&plan, "cpu/gemm/middle", "repeat", "wide");
    /* Two seeds were not enough: 2*4 runs, 2*2 of the other sets, 2*2 fresh, 2*2*(1 + 3) settings are 32
     * of 33. */
    check_given(g, 2, 2, 4);
    assert_int_equal(given(&plan, "cpu/gemm/middle", NULL, NULL).runs, 32);
    g = given(&plan, "cpu/gemm/dear", "repeat", "wide");
    check_given(g, 2, 2, 3);                                              /* never below, dear as it is */
    check_given(given(&plan, "cpu/gemm/dear", "threads", NULL), 6, 2, 2); /* settings are not cut */
    dp_plan_free(&plan);

    /* The next level's limit is 600 ms: fewer seeds are enough, every seed has all its runs. */
    options = usual("default");
    plan = make(&options);
    g = given(&plan, "cpu/gemm/middle", "repeat", "wide");
    assert_true(g.requests >= 2 && g.requests < 8);
    assert_int_equal(g.least_runs, 25);
    assert_true(given(&plan, "cpu/gemm/middle", NULL, NULL).runs * 3 * MS <= 600 * (int64_t)MS);
    dp_plan_free(&plan);

    /* What was asked for is not cut. */
    options = usual("quick");
    options.runs = 20;
    plan = make(&options);
    g = given(&plan, "cpu/gemm/dear", "repeat", "wide");
    check_given(g, 2, 2, 20);
    dp_plan_free(&plan);
    options.seeds = 5;
    plan = make(&options);
    check_given(given(&plan, "cpu/gemm/dear", "repeat", "wide"), 5, 5, 20);
    dp_plan_free(&plan);
}

static bool is_left_out(const struct dp_plan *plan, const char *id)
{
    for (size_t i = 0; i < plan->left_out_count; i++) {
        if (strcmp(plan->left_out[i].case_id, id) == 0) {
            assert_string_equal(plan->left_out[i].reason, "budget");
            assert_int_equal(index_of(plan, id), -1);
            return true;
        }
    }
    return false;
}

/* A catalogue that says how long its program starts is believed, in each process. */
static void test_start(void **state)
{
    struct dp_plan_options options = usual("quick");
    const char *include[] = {"cpu/gemm/cheap"};
    options.include = (struct dp_strings){include, 1};
    struct dp_plan plan = make(&options);
    const int64_t usual_ns = plan.expected_ns;
    dp_plan_free(&plan);
    programs[GEMM].start_us = 2000000;
    plan = make(&options);
    assert_true(plan.expected_ns >
                usual_ns + 5 * INT64_C(1000000000)); /* the first process and two fresh ones */
    assert_true(plan.expected_ns < usual_ns + 6 * INT64_C(1000000000));
    programs[GEMM].start_us = 0;
    dp_plan_free(&plan);
}

static void test_budget(void **state)
{
    struct dp_plan_options options = usual("quick");
    const char *python[] = {"@python"};
    options.exclude = (struct dp_strings){python, 1};
    struct dp_plan whole = make(&options);
    assert_int_equal(whole.left_out_count, 0);

    options.budget_ns = whole.expected_ns; /* all of it, to the nanosecond */
    struct dp_plan plan = make(&options);
    assert_int_equal(plan.left_out_count, 0);
    assert_int_equal(plan.expected_ns, whole.expected_ns);
    dp_plan_free(&plan);

    options.budget_ns = whole.expected_ns - 1; /* the dearest goes first */
    plan = make(&options);
    assert_int_equal(plan.left_out_count, 1);
    assert_true(is_left_out(&plan, "cpu/gemm/dear"));
    assert_true(plan.expected_ns <= options.budget_ns);
    const int64_t without_dear = plan.expected_ns;
    dp_plan_free(&plan);

    /* Less and less: never over the budget, and both families are there until only one case is left. */
    for (int64_t budget = without_dear; budget > 0; budget -= 10 * MS) {
        options.budget_ns = budget;
        struct dp_err err = {0};
        if (dp_plan_make(&catalogue, &options, &plan, &err) != 0) {
            assert_int_equal(err.code, DP_EXIT_USAGE);
            assert_non_null(strstr(err.text, "the budget holds no case"));
            break;
        }
        assert_true(plan.expected_ns <= budget);
        assert_int_equal(plan.left_out_count + plan.case_count, whole.case_count);
        assert_true(is_left_out(&plan, "cpu/reduce/b") || !is_left_out(&plan, "cpu/gemm/cheap"));
        dp_plan_free(&plan);
    }
    dp_plan_free(&whole);
}

static void test_not_built_stays(void **state)
{
    const struct dp_plan_options options = usual("quick");
    struct dp_plan plan = make(&options);
    assert_int_not_equal(index_of(&plan, "cpu/absent/x"), -1);
    assert_true(given(&plan, "cpu/absent/x", NULL, NULL).requests > 0);
    assert_true(plan.expected_ns < INT64_C(5000000000) + 30 * INT64_C(400000000)); /* its runs cost nothing */
    dp_plan_free(&plan);
}

static void test_retest(void **state)
{
    const struct dp_plan_options options = usual("quick");
    struct dp_plan plan = make(&options);
    const size_t before = plan.request_count;
    const size_t suspects[] = {(size_t)index_of(&plan, "cpu/reduce/a"),
                               (size_t)index_of(&plan, "cpu/gemm/cheap")};
    const size_t a = given(&plan, "cpu/reduce/a", NULL, NULL).requests;
    const size_t cheap = given(&plan, "cpu/gemm/cheap", NULL, NULL).requests;
    dp_plan_add_retest(&plan, suspects, COUNT(suspects), 1);
    assert_int_equal(plan.request_count, before + a + cheap);
    dp_plan_add_retest(&plan, suspects, 1, 2); /* of the first pass again, not of the first round */
    assert_int_equal(plan.request_count, before + a + cheap + a);
    for (size_t i = before; i < plan.request_count; i++) {
        assert_int_equal(plan.requests[i].retest, i < before + a + cheap ? 1 : 2);
        assert_true((size_t)plan.requests[i].case_index == suspects[0] ||
                    (size_t)plan.requests[i].case_index == suspects[1]);
    }
    dp_plan_add_retest(&plan, NULL, 0, 3);
    assert_int_equal(plan.request_count, before + a + cheap + a);
    dp_plan_free(&plan);
}

static void test_message(void **state)
{
    struct dp_plan_options options = usual("quick");
    options.seed = UINT64_MAX;
    struct dp_plan plan = make(&options);
    size_t request = 0;
    while (plan.requests[request].case_index != index_of(&plan, "cpu/gemm/cheap") ||
           strcmp(plan.requests[request].axis, "batch") != 0 || plan.requests[request].seed_index != 1) {
        request++;
    }
    json_t *message = dp_request_message(&plan, request);
    json_t *expected = json_loads(
        "{\"case\":\"cpu/gemm/cheap\",\"op\":\"o\",\"params\":{\"m\":4},\"choice\":null,\"problem\":\"p\","
        "\"arithmetic\":\"direct\",\"bound\":2,\"batch\":\"m\",\"seed\":\"18446744073709551615/1\","
        "\"set\":\"wide\",\"axis\":\"batch\",\"setting\":\"1/0\",\"runs\":2}",
        0, NULL);
    json_object_set_new(expected, "id", json_integer((json_int_t)request));
    assert_true(json_equal(message, expected));
    json_decref(message);
    json_decref(expected);
    dp_plan_free(&plan);
}

/* An axis that some backends' programs vary is asked of them alone, unless it is asked for by name; where it
 * is dear, not at level quick and with few runs, unless it is asked for. */
static void test_axis_of_some_backends(void **state)
{
    static char cuda[] = "cuda";
    const char *axis[] = {"busy"};
    struct dp_case *item = &cases[8];
    char *const backend = item->backend;
    assert_string_equal(item->id, "cpu/reduce/b");
    struct dp_plan_options options = usual("default");
    struct dp_plan plan = make(&options);
    const struct given before = given(&plan, "cpu/reduce/a", NULL, NULL);
    assert_true(plan_has_axis(&plan, "busy"));
    check_given(given(&plan, "cpu/reduce/b", "busy", "wide"), 2 * 3, 2, 2); /* three works on two seeds */
    check_given(given(&plan, "python/sum/unknown", "busy", NULL), 0, 0, 0);
    dp_plan_free(&plan);
    options = usual("quick");
    plan = make(&options);
    assert_false(plan_has_axis(&plan, "busy"));
    dp_plan_free(&plan);
    options = usual("default");

    item->backend = cuda;
    plan = make(&options);
    assert_true(plan_has_axis(&plan, "busy"));
    check_given(given(&plan, "cpu/reduce/b", "busy", "wide"), 2 * 2, 2, 25); /* no process on a device */
    check_given(given(&plan, "cpu/reduce/b", "busy", "unit"), 0, 0, 0);
    const struct given after = given(&plan, "cpu/reduce/a", NULL, NULL);
    assert_int_equal(after.requests, before.requests);
    assert_int_equal(after.runs, before.runs);
    dp_plan_free(&plan);
    options = usual("quick");
    plan = make(&options);
    check_given(given(&plan, "cpu/reduce/b", "busy", "wide"), 2, 2, 8);
    dp_plan_free(&plan);
    item->backend = backend;

    options.axes = (struct dp_strings){axis, 1};
    plan = make(&options);
    check_given(given(&plan, "cpu/reduce/a", "busy", "wide"), 2, 2, 8);
    check_given(given(&plan, "cpu/control/sum", "busy", NULL), 0, 0, 0);
    dp_plan_free(&plan);
}

/* As many runs as are made at once, by themselves only where the guarantee speaks of it. */
static void test_concurrency(void **state)
{
    static char cuda[] = "cuda";
    const char *axis[] = {"concurrency"};
    struct dp_case *silent = &cases[7], *speaks = &cases[8];
    char *const backend = silent->backend, *const other = speaks->backend;
    assert_string_equal(silent->id, "cpu/reduce/a");
    silent->backend = speaks->backend = cuda;
    json_object_set_new(speaks->json, "guarantee", json_pack("{s[s]}", "covers", "concurrency"));
    struct dp_plan_options options = usual("default");
    struct dp_plan plan = make(&options);
    check_given(given(&plan, silent->id, "concurrency", NULL), 0, 0, 0);
    const struct given all = given(&plan, speaks->id, "concurrency", "wide");
    assert_int_equal(all.requests, 4 * 2);
    assert_int_equal(all.least_runs, 2 * 25);
    assert_int_equal(all.most_runs, 16 * 25);
    dp_plan_free(&plan);

    options.axes = (struct dp_strings){axis, 1};
    options.level = "quick";
    plan = make(&options);
    check_given(given(&plan, silent->id, "concurrency", "wide"), 2, 2, 4 * 8);
    check_given(given(&plan, speaks->id, "concurrency", "wide"), 2, 2, 4 * 8);
    dp_plan_free(&plan);
    options = usual("deep");
    plan = make(&options);
    assert_int_equal(given(&plan, silent->id, "concurrency", "wide").most_runs, 16 * 8);
    assert_int_equal(given(&plan, "python/sum/unknown", "concurrency", NULL).requests, 0);
    assert_int_equal(given(&plan, "cpu/gemm/cheap", "concurrency", "wide").requests, 4 * 2);
    dp_plan_free(&plan);
    json_object_del(speaks->json, "guarantee");
    silent->backend = backend;
    speaks->backend = other;
}

/* What the machine has is not known here: the plan says the axis where a case of the backend is, on every
 * machine alike, and holds no request of it. */
static void test_device_is_left_open(void **state)
{
    static char cuda[] = "cuda";
    static const struct {
        const char *level;
        bool device;
    } levels[] = {{"quick", false}, {"default", true}, {"deep", true}};
    struct dp_case *item = &cases[8];
    char *const backend = item->backend;
    for (size_t i = 0; i < COUNT(levels); i++) {
        struct dp_plan_options options = usual(levels[i].level);
        struct dp_plan plan = make(&options);
        assert_false(plan_has_axis(&plan, "device"));
        dp_plan_free(&plan);
        item->backend = cuda;
        plan = make(&options);
        assert_int_equal(plan_has_axis(&plan, "device"), levels[i].device);
        check_given(given(&plan, "cpu/reduce/b", "device", NULL), 0, 0, 0);
        dp_plan_free(&plan);
        item->backend = backend;
    }
}

static void test_describe(void **state)
{
    struct dp_plan_options options = usual("quick");
    const char *include[] = {"cpu/gemm/*"};
    options.include = (struct dp_strings){include, 1};
    struct dp_plan plan = make(&options);
    json_t *object = dp_plan_describe(&plan);
    struct dp_err err;
    size_t length = 0;
    char *text = dp_json_canonical(object, &length, &err);
    assert_string_equal(text, "{\"axes\":[\"repeat\",\"fresh\",\"poison\",\"threads\",\"batch\","
                              "\"algorithm\"],\"cases\":3,\"fresh\":2,"
                              "\"left_out\":[],\"level\":\"quick\",\"runs\":8,\"seed\":\"1\",\"seeds\":3,"
                              "\"selectors\":{\"exclude\":[],\"include\":[\"cpu/gemm/*\"]}}");
    free(text);
    json_decref(object);
    dp_plan_free(&plan);
}

static void free_options(struct dp_plan_options *options)
{
    free(options->axes.items);
    free(options->include.items);
    free(options->exclude.items);
}

static void test_options_round_trip(void **state)
{
    const char *axes[] = {"threads*repeat", "fresh"};
    const char *include[] = {"@cpu"};
    const char *exclude[] = {"*slow*"};
    json_t *costs = json_pack("{si}", "cpu/gemm/cheap", 5);
    const struct dp_plan_options options = {.level = "deep",
                                            .seed = UINT64_MAX,
                                            .seeds = 3,
                                            .runs = 0,
                                            .fresh = -1,
                                            .budget_ns = INT64_MAX,
                                            .axes = {axes, 2},
                                            .include = {include, 1},
                                            .exclude = {exclude, 1},
                                            .stack = "/opt/stack",
                                            .costs = costs,
                                            .force = true,
                                            .price = true};
    json_t *object = dp_plan_options_to_json(&options);
    struct dp_plan_options back;
    struct dp_err err;
    assert_int_equal(dp_plan_options_from_json(object, &back, &err), 0);
    json_t *again = dp_plan_options_to_json(&back);
    assert_true(json_equal(object, again));
    assert_string_equal(back.stack, "/opt/stack");
    assert_true(back.force && back.price && back.seed == UINT64_MAX && back.budget_ns == INT64_MAX &&
                back.fresh == -1);
    free_options(&back);
    json_decref(again);

    static const struct {
        const char *member, *value;
    } bad[] = {
        {"level", "1"},          {"seed", "\"-1\""},       {"seed", "\"99999999999999999999\""},
        {"seed", "1"},           {"seeds", "-1"},          {"runs", "\"8\""},
        {"fresh", "-2"},         {"axes", "{}"},           {"include", "[1]"},
        {"exclude", "null"},     {"budget_ns", "-1"},      {"stack", "1"},
        {"force", "null"},       {"price", "0"},           {"costs", "[]"},
        {"costs", "{\"x\":-1}"}, {"costs", "{\"x\":1.5}"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        json_t *broken = json_copy(object);
        json_object_set_new(broken, bad[i].member, json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        err = (struct dp_err){0};
        if (dp_plan_options_from_json(broken, &back, &err) == 0 || !strstr(err.text, bad[i].member)) {
            fail_msg("%s = %s: '%s'", bad[i].member, bad[i].value, err.text);
        }
        assert_int_equal(err.code, DP_EXIT_DATA);
        json_decref(broken);
    }
    assert_int_equal(dp_plan_options_from_json(NULL, &back, &err), -1);
    json_decref(object);
    json_decref(costs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_axes),
        cmocka_unit_test(test_axis_of_some_backends),
        cmocka_unit_test(test_concurrency),
        cmocka_unit_test(test_device_is_left_open),
        cmocka_unit_test(test_axis_errors),
        cmocka_unit_test(test_cutting),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_not_built_stays),
        cmocka_unit_test(test_retest),
        cmocka_unit_test(test_message),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_options_round_trip),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

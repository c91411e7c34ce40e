/* SPDX-License-Identifier: Apache-2.0
 *
 * The small catalogue that plans are made of in tests, and what a plan gave a case. Included behind cmocka.h.
 */
#ifndef DP_TESTS_PLANNING_H
#define DP_TESTS_PLANNING_H

#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/plan.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { CASE_MAX = 32, MS = 1000000 };

static struct dp_program programs[] = {
    {.name = (char[]){"cpu/absent"}, .state = DP_PROGRAM_NOT_BUILT, .reason = (char[]){"no headers"}},
    {.name = (char[]){"cpu/control"}},
    {.name = (char[]){"cpu/gemm"}},
    {.name = (char[]){"python/sum"}, .interpreter = (char[]){"python3"}},
};
enum { ABSENT, CONTROL, GEMM, PYTHON, PROGRAM_COUNT };
static struct dp_program *program_list[PROGRAM_COUNT];
static struct dp_case cases[CASE_MAX];
static struct dp_catalogue catalogue = {
    .programs = program_list, .program_count = PROGRAM_COUNT, .cases = cases};

/* Rows by id, as a catalogue has them. */
static const struct {
    const char *id;
    int program;
    const char *members;
} rows[] = {
    {"cpu/absent/x", ABSENT, "\"cost\":5000000"},
    {"cpu/control/fresh", CONTROL,
     "\"tags\":[\"control\"],\"cost\":10,\"expected\":{\"observed\":\"varies\",\"axis\":\"fresh\"}"},
    {"cpu/control/plant", CONTROL,
     "\"tags\":[\"control\"],\"cost\":10,\"expected\":{\"observed\":\"varies\",\"axis\":\"repeat\","
     "\"mismatches\":2,"
     "\"runs\":100}"},
    {"cpu/control/sum", CONTROL,
     "\"tags\":[\"control\"],\"cost\":10,\"expected\":{\"observed\":\"repeats\",\"axis\":\"repeat\"}"},
    {"cpu/gemm/cheap", GEMM, "\"cost\":10,\"batch\":\"m\",\"choices\":3,\"params\":{\"m\":4}"},
    {"cpu/gemm/dear", GEMM, "\"cost\":400000"},
    {"cpu/gemm/middle", GEMM, "\"cost\":3000"},
    {"cpu/reduce/a", GEMM, "\"cost\":20"},
    {"cpu/reduce/b", GEMM, "\"cost\":30"},
    {"python/sum/unknown", PYTHON, "\"choice\":\"pairwise\",\"align\":true"},
};

static inline int setup(void **state)
{
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        program_list[i] = &programs[i];
    }
    catalogue.case_count = COUNT(rows);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text =
            dp_printf("{\"id\":\"%s\",\"op\":\"o\",\"problem\":\"p\",\"arithmetic\":\"direct\",\"bound\":2,"
                      "%s%s}",
                      rows[i].id, strstr(rows[i].members, "params") ? "" : "\"params\":{},", rows[i].members);
        json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(json);
        free(text);
        const char *family = strchr(rows[i].id, '/') + 1;
        cases[i] = (struct dp_case){
            .id = dp_json_string(json, "id", ""),
            .backend = dp_printf("%.*s", (int)(family - rows[i].id - 1), rows[i].id),
            .family = dp_printf("%.*s", (int)strcspn(family, "/"), family),
            .program = &programs[rows[i].program],
            .json = json,
            .cost_us = dp_json_number(json, "cost", 0),
            .control = json_object_get(json, "expected") != NULL,
        };
    }
    return 0;
}

static inline int teardown(void **state)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        free(cases[i].backend);
        free(cases[i].family);
        json_decref(cases[i].json);
    }
    return 0;
}

static inline struct dp_plan_options usual(const char *level)
{
    return (struct dp_plan_options){.level = level, .seed = 1, .fresh = -1};
}

static inline struct dp_plan make(const struct dp_plan_options *options)
{
    struct dp_plan plan;
    struct dp_err err = {0};
    if (dp_plan_make(&catalogue, options, &plan, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return plan;
}

static inline int index_of(const struct dp_plan *plan, const char *id)
{
    for (size_t i = 0; i < plan->case_count; i++) {
        if (strcmp(plan->cases[i]->id, id) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* What a case was given on one axis and set. */
struct given {
    size_t requests;
    int seeds; /* highest seed + 1 */
    int least_runs, most_runs;
    int processes; /* highest process */
    int64_t runs;
};

static inline struct given given(const struct dp_plan *plan, const char *id, const char *axis,
                                 const char *set)
{
    const int wanted = index_of(plan, id);
    struct given g = {.least_runs = 1 << 30};
    for (size_t i = 0; i < plan->request_count; i++) {
        const struct dp_request *r = &plan->requests[i];
        if (r->case_index != wanted || (axis && strcmp(r->axis, axis) != 0) ||
            (set && strcmp(r->set, set) != 0)) {
            continue;
        }
        g.requests++;
        g.runs += r->runs;
        g.seeds = r->seed_index + 1 > g.seeds ? r->seed_index + 1 : g.seeds;
        g.least_runs = r->runs < g.least_runs ? r->runs : g.least_runs;
        g.most_runs = r->runs > g.most_runs ? r->runs : g.most_runs;
        g.processes = r->process > g.processes ? r->process : g.processes;
    }
    return g;
}

static inline void check_given(const struct given g, size_t requests, int seeds, int runs)
{
    assert_int_equal(g.requests, requests);
    assert_int_equal(g.seeds, seeds);
    if (requests > 0) {
        assert_int_equal(g.least_runs, runs);
        assert_int_equal(g.most_runs, runs);
    }
}

#endif

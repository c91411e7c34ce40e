/* SPDX-License-Identifier: Apache-2.0
 *
 * A bench for the judge's tests: plans and answers made by hand, one request at a time. Outputs are written
 * as classes "a7 b1": seven runs gave the bits called a, one gave b; the order is that of the first runs.
 */
#ifndef DP_TESTS_LAB_H
#define DP_TESTS_LAB_H

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/judge/judge.h"
#include "suite/tests/quoted.h"

#define LAB_CASES 8
#define LAB_REQUESTS 256

struct lab {
    struct dp_case cases[LAB_CASES];
    const struct dp_case *case_list[LAB_CASES];
    struct dp_request requests[LAB_REQUESTS];
    json_t *answers[LAB_REQUESTS];
    struct dp_plan plan;
    struct dp_answers given;
    struct dp_judged judged;
    bool is_judged;
};

static inline struct lab *lab_new(void)
{
    struct lab *lab = dp_alloc(1, sizeof(*lab));
    lab->plan = (struct dp_plan){.cases = lab->case_list, .requests = lab->requests, .options.seed = 1};
    lab->given.items = lab->answers;
    return lab;
}

static inline void lab_free(struct lab *lab)
{
    for (size_t i = 0; i < lab->plan.case_count; i++) {
        json_decref(lab->cases[i].json);
        free(lab->cases[i].backend);
        free(lab->cases[i].family);
    }
    for (size_t i = 0; i < LAB_REQUESTS; i++) {
        json_decref(lab->answers[i]);
    }
    if (lab->is_judged) {
        dp_judged_free(&lab->judged);
    }
    free(lab);
}

/* A case; `members` is JSON with single quotes: "'arithmetic': 'direct'". Returns its index. */
static inline int lab_case(struct lab *lab, const char *id, const char *members)
{
    const size_t i = lab->plan.case_count++;
    struct dp_case *item = &lab->cases[i];
    char *text = dp_printf("{'id': '%s'%s%s}", id, members[0] ? ", " : "", members);
    item->json = parse(text);
    free(text);
    json_t *guarantee = json_object_get(item->json, "guarantee");
    if (!guarantee) {
        guarantee = json_object();
        json_object_set_new(item->json, "guarantee", guarantee);
    }
    if (!json_object_get(guarantee, "covers")) { /* as the catalogue does */
        json_object_set_new(guarantee, "covers", dp_usual_covers());
    }
    item->id = dp_json_string(item->json, "id", NULL);
    const char *slash = strchr(id, '/');
    item->backend = dp_printf("%.*s", (int)(slash - id), id);
    item->family = dp_printf("%.*s", (int)strcspn(slash + 1, "/"), slash + 1);
    item->control = strcmp(item->family, "control") == 0;
    lab->case_list[i] = item;
    return (int)i;
}

static inline size_t lab_ask(struct lab *lab, int index, const char *axis, const char *setting, int seed,
                             const char *set, int runs, json_t *answer)
{
    const size_t i = lab->plan.request_count++;
    assert_true(i < LAB_REQUESTS);
    lab->requests[i] = (struct dp_request){
        .case_index = index, .axis = axis, .setting = setting, .seed_index = seed, .set = set, .runs = runs};
    lab->answers[i] = answer;
    lab->given.count = lab->plan.request_count;
    return i;
}

static inline json_t *lab_output(const char *name, const char *classes)
{
    json_t *list = json_array();
    json_int_t first = 0;
    for (const char *at = classes; *at; at += strspn(at, " ")) {
        char sha[65], *end;
        memset(sha, *at, 64);
        sha[64] = '\0';
        const json_int_t runs = strtoll(at + 1, &end, 10);
        json_array_append_new(list, json_pack("{ss sI sI}", "sha256", sha, "runs", runs, "first_run", first));
        first++;
        at = end;
    }
    return json_pack("{ss ss s[ii] so si ss sf}", "name", name, "dtype", "f32", "shape", 4, 4, "classes",
                     list, "unwritten", 0, "guard", "intact", "error_over_bound", 0.5);
}

/* An observation of one output 'c'. */
static inline json_t *lab_obs(const char *classes)
{
    return json_pack("{ss s[o]}", "type", "observation", "outputs", lab_output("c", classes));
}

/* The same with a member of the output replaced (NULL value: removed). */
static inline json_t *lab_obs_with(const char *classes, const char *key, json_t *value)
{
    json_t *observation = lab_obs(classes);
    json_t *output = json_array_get(json_object_get(observation, "outputs"), 0);
    if (value) {
        json_object_set_new(output, key, value);
    } else {
        json_object_del(output, key);
    }
    return observation;
}

static inline json_t *lab_chosen(const char *classes, const char *chosen)
{
    json_t *observation = lab_obs(classes);
    json_object_set_new(observation, "chosen", json_string(chosen));
    return observation;
}

static inline json_t *lab_skip(const char *reason, const char *text)
{
    return json_pack("{ss ss ss}", "type", "skip", "reason", reason, "text", text);
}

static inline json_t *lab_error(const char *reason)
{
    return json_pack("{ss ss ss}", "type", "error", "reason", reason, "text", "ended by signal 11");
}

/* What every plan asks of a case: two seeds of wide, one each of unit and exact, 8 runs, all repeating.
 * Returns the first request; they follow each other in that order. */
static inline size_t lab_base(struct lab *lab, int index)
{
    const size_t first = lab_ask(lab, index, "repeat", "", 0, "wide", 8, lab_obs("a8"));
    lab_ask(lab, index, "repeat", "", 1, "wide", 8, lab_obs("b8"));
    lab_ask(lab, index, "repeat", "", 0, "unit", 8, lab_obs("c8"));
    lab_ask(lab, index, "repeat", "", 0, "exact", 8, lab_obs("d8"));
    return first;
}

static inline void lab_set(struct lab *lab, size_t request, json_t *answer)
{
    json_decref(lab->answers[request]);
    lab->answers[request] = answer;
}

static inline size_t lab_retest(struct lab *lab, int round, size_t like, json_t *answer)
{
    const struct dp_request *r = &lab->requests[like];
    const size_t i = lab_ask(lab, r->case_index, r->axis, r->setting, r->seed_index, r->set, r->runs, answer);
    lab->requests[i].retest = round;
    return i;
}

static inline void lab_judge(struct lab *lab, int rounds)
{
    if (lab->is_judged) {
        dp_judged_free(&lab->judged);
    }
    dp_judge(&lab->plan, &lab->given, rounds, &lab->judged);
    lab->is_judged = true;
}

static inline const json_t *lab_find(const json_t *array, const char *key, const char *id)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (strcmp(dp_json_string(item, key, ""), id) == 0) {
            return item;
        }
    }
    fail_msg("no entry '%s'", id);
    return NULL;
}

static inline const json_t *lab_result(const struct lab *lab, const char *id)
{
    return lab_find(lab->judged.results, "case", id);
}

static inline const char *lab_observed(const struct lab *lab, const char *id)
{
    return dp_json_string(lab_result(lab, id), "observed", "");
}

static inline const char *lab_status(const struct lab *lab, const char *id)
{
    return dp_json_string(json_object_get(lab_result(lab, id), "guarantee"), "status", "");
}

#endif

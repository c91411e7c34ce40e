/* SPDX-License-Identifier: Apache-2.0
 *
 * Small reports for tests of what is made from reports: cases, controls and measurements as texts in which an
 * apostrophe stands for a quotation mark.
 */
#ifndef DP_TESTS_DOCUMENTS_H
#define DP_TESTS_DOCUMENTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/tests/quoted.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define KEPT "'guarantee':{'level':'run_to_run','source':'','status':'kept'}"
#define BROKEN "'guarantee':{'level':'run_to_run','source':'','status':'broken'}"
#define ALLOWS "'guarantee':{'level':'not_guaranteed','source':'','status':'allows'}"
#define PLAIN "'guarantee':{'level':'not_guaranteed','source':''}"
#define REPEATS_AS(sha, axes)                                                                                \
    "'observed':'repeats','checked':'full','not_measured':[],'sensitive_to':[" axes                          \
    "],'outputs':[{'name':'c','dtype':'f32','shape':[2],'seed':'1/0','set':'wide','sha256':'" sha "'}]"
#define REPEATS REPEATS_AS(SHA_A, "") "," ALLOWS
#define SENSITIVE REPEATS_AS(SHA_A, "'batch','threads'") "," ALLOWS
#define VARIES "'observed':'varies','checked':'full','not_measured':[],'difference':'execution'," ALLOWS
#define VARIES_BROKEN                                                                                        \
    "'observed':'varies','checked':'full','not_measured':[],'difference':'execution'," BROKEN
#define WRONG "'observed':'wrong','checked':'full','not_measured':[],'reason':'off'," ALLOWS
#define ERROR "'observed':'error','reason':'crash'," PLAIN
#define SKIPPED "'observed':'skipped','reason':'no_device'," PLAIN
#define UNTESTED "'observed':'untested','reason':'seen once'," PLAIN
/* 1 - 0.05^(1/21), and what 21 of 21 and 1 of 21 mismatches leave (Clopper-Pearson, 95 %) */
#define NEVER "'comparisons':21,'distinct':2,'of':8,'mismatches':0,'bound':0.133,'runs':24"
#define ALWAYS "'comparisons':21,'distinct':2,'of':8,'mismatches':21,'interval':[0.839,1.0],'runs':24"
#define ONCE "'comparisons':21,'distinct':2,'of':8,'mismatches':1,'interval':[0.001,0.238],'runs':24"

/* One case: what a result says after its id, and the tally of axis repeat. NULL: it is not there. */
struct item {
    const char *result, *repeat;
};

struct setup {
    struct item x, y, z; /* cpu/gemm/x, cpu/conv/y, cuda/gemm/z */
    const char *controls, *measurements, *environment;
    int exit;
};

static inline void add_case(json_t *results, json_t *cases, const char *id, struct item item)
{
    if (!item.result) {
        return;
    }
    const size_t backend = strcspn(id, "/"), family = strcspn(id + backend + 1, "/");
    char *text = dp_printf("{'case':'%s','backend':'%.*s','family':'%.*s',%s}", id, (int)backend, id,
                           (int)family, id + backend + 1, item.result);
    json_array_append_new(results, parse(text));
    free(text);
    text = dp_printf("{'case':'%s','axes':{'repeat':{%s}}}", id, item.repeat ? item.repeat : NEVER);
    json_array_append_new(cases, parse(text));
    free(text);
}

static inline json_t *report(struct setup setup)
{
    struct dp_err err;
    json_t *results = json_array(), *cases = json_array();
    add_case(results, cases, "cpu/conv/y", setup.y);
    add_case(results, cases, "cpu/gemm/x", setup.x);
    add_case(results, cases, "cuda/gemm/z", setup.z);
    json_t *environment =
        parse(setup.environment ? setup.environment : "{'host':{'arch':'x86_64','cpu_model':'One'}}");
    json_t *plan = parse("{'level':'quick','seed':'1','seeds':3,'left_out':[]}");
    json_t *controls = parse(setup.controls ? setup.controls : "[]");
    json_t *measurements = parse(setup.measurements ? setup.measurements : "{}");
    json_object_set_new(measurements, "cases", cases);
    json_object_set_new(measurements, "exit", json_pack("{si ss}", "code", setup.exit, "reason", "because"));
    const struct dp_report_parts parts = {environment, plan, results, controls, measurements};
    json_t *made = dp_report_make(&parts, &err);
    assert_non_null(made);
    json_decref(environment);
    json_decref(plan);
    json_decref(results);
    json_decref(controls);
    json_decref(measurements);
    return made;
}

#endif

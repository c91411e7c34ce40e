/* SPDX-License-Identifier: Apache-2.0
 *
 * What a gate decides: each rule where it must fail, and beside it where it must not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/gate/render.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

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
#define NEVER "'comparisons':21,'mismatches':0,'bound':0.133,'runs':24"
#define ALWAYS "'comparisons':21,'mismatches':21,'interval':[0.839,1.0],'runs':24"
#define ONCE "'comparisons':21,'mismatches':1,'interval':[0.001,0.238],'runs':24"

static json_t *parse(const char *text)
{
    char *copy = dp_strdup(text);
    for (char *c = copy; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    struct dp_err err;
    json_t *json = dp_json_parse(copy, strlen(copy), "test", &err);
    free(copy);
    assert_non_null(json);
    return json;
}

/* One case: what a result says after its id, and the tally of axis repeat. NULL: it is not there. */
struct item {
    const char *result, *repeat;
};

struct setup {
    struct item x, y; /* cpu/gemm/x, cpu/conv/y */
    const char *controls, *measurements, *environment;
    int exit;
};

static void add_case(json_t *results, json_t *cases, const char *id, const char *family, struct item item)
{
    if (!item.result) {
        return;
    }
    char *text = dp_printf("{'case':'%s','backend':'cpu','family':'%s',%s}", id, family, item.result);
    json_array_append_new(results, parse(text));
    free(text);
    text = dp_printf("{'case':'%s','axes':{'repeat':{%s}}}", id, item.repeat ? item.repeat : NEVER);
    json_array_append_new(cases, parse(text));
    free(text);
}

static json_t *report(struct setup setup)
{
    struct dp_err err;
    json_t *results = json_array(), *cases = json_array();
    add_case(results, cases, "cpu/conv/y", "conv", setup.y);
    add_case(results, cases, "cpu/gemm/x", "gemm", setup.x);
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

#define TODAY "2027-03-01"

/* The decision. `baseline` may be NULL, both reports are taken. */
static json_t *decide(json_t *after, json_t *baseline, const char *policy_text)
{
    struct dp_err err = {0};
    json_t *policy = policy_text ? parse(policy_text) : NULL;
    if (policy) {
        assert_int_equal(dp_policy_check(policy, &err), 0);
    }
    const struct dp_gate_input input = {.report = {after, "after.json"},
                                        .baseline = {baseline, "before.json"},
                                        .policy = policy,
                                        .policy_name = "policy.json",
                                        .today = TODAY};
    json_t *gate = dp_gate_make(&input, &err);
    assert_string_equal(err.text, "");
    assert_non_null(gate);
    assert_int_equal(dp_gate_check(gate, &err), 0);
    assert_int_equal(json_is_true(json_object_get(gate, "passed")), dp_gate_verdict(gate) == DP_GATE_PASSED);
    json_decref(policy);
    json_decref(after);
    json_decref(baseline);
    return gate;
}

/* "kind[!][@axis]" of each finding that fails, joined by blanks; '!': new. Owned. */
static char *failing(const json_t *gate)
{
    const json_t *findings = json_object_get(gate, "findings");
    struct dp_text words = DP_TEXT(1000);
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);
        const char *axis = dp_json_string(finding, "axis", NULL);
        if (!json_object_get(finding, "allowed")) {
            dp_text_printf(&words, "%s%s%s%s%s", words.length ? " " : "", dp_json_string(finding, "kind", ""),
                           json_is_true(json_object_get(finding, "new")) ? "!" : "", axis ? "@" : "",
                           axis ? axis : "");
        }
    }
    char *owned = dp_strdup(words.data ? words.data : "");
    dp_text_free(&words);
    return owned;
}

/* The kinds of `member` (problems, notes), joined by blanks. Owned. */
static char *kinds_of(const json_t *gate, const char *member)
{
    const json_t *rows = json_object_get(gate, member);
    struct dp_text words = DP_TEXT(1000);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        dp_text_printf(&words, "%s%s", i ? " " : "", dp_json_string(json_array_get(rows, i), "kind", ""));
    }
    char *owned = dp_strdup(words.data ? words.data : "");
    dp_text_free(&words);
    return owned;
}

static void expect_kinds(const json_t *gate, const char *member, const char *kinds)
{
    char *seen = kinds_of(gate, member);
    assert_string_equal(seen, kinds);
    free(seen);
}

/* Takes the gate. */
static void expect(json_t *gate, enum dp_gate_verdict verdict, const char *findings)
{
    char *seen = failing(gate);
    assert_string_equal(seen, findings);
    assert_int_equal(dp_gate_verdict(gate), verdict);
    free(seen);
    json_decref(gate);
}

static void expect_reason(const json_t *gate, const char *reason)
{
    assert_string_equal(dp_json_string(gate, "reason", ""), reason);
}

/* --- without a baseline --- */

static void test_what_fails(void **state)
{
    static const struct {
        const char *result, *policy;
        int exit;
        enum dp_gate_verdict verdict;
        const char *findings;
    } rows[] = {
        {REPEATS, NULL, 0, DP_GATE_PASSED, ""},
        {VARIES, NULL, 0, DP_GATE_PASSED, ""},
        {VARIES_BROKEN, NULL, 1, DP_GATE_FAILED, "broken@repeat"},
        {WRONG, NULL, 1, DP_GATE_FAILED, "wrong"},
        {VARIES_BROKEN, "{}", 1, DP_GATE_FAILED, "broken@repeat"},
        {VARIES_BROKEN, "{'fail':['wrong']}", 1, DP_GATE_PASSED, ""},
        {WRONG, "{'fail':['broken']}", 1, DP_GATE_PASSED, ""},
        {VARIES_BROKEN, "{'fail':[]}", 1, DP_GATE_PASSED, ""},
        {VARIES, "{'fail':['varies']}", 0, DP_GATE_FAILED, "varies@repeat"},
        {VARIES_BROKEN, "{'fail':['varies']}", 1, DP_GATE_FAILED, "varies@repeat"},
        {VARIES_BROKEN, "{'fail':['varies','broken']}", 1, DP_GATE_FAILED, "broken@repeat"},
        {REPEATS, "{'fail':['varies','sensitive','error','wrong','broken']}", 0, DP_GATE_PASSED, ""},
        {SENSITIVE, NULL, 0, DP_GATE_PASSED, ""},
        {SENSITIVE, "{'fail':['sensitive']}", 0, DP_GATE_FAILED, "sensitive@batch sensitive@threads"},
        {ERROR, NULL, 2, DP_GATE_NO_VERDICT, ""},
        {ERROR, "{'fail':['error']}", 2, DP_GATE_FAILED, "error"},
        {SKIPPED, NULL, 77, DP_GATE_NO_VERDICT, ""},
        {UNTESTED, NULL, 0, DP_GATE_NO_VERDICT, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct setup setup = {.x = {rows[i].result, ALWAYS}, .exit = rows[i].exit};
        expect(decide(report(setup), NULL, rows[i].policy), rows[i].verdict, rows[i].findings);
    }
}

#define CONTROL(expected, observed, behaved)                                                                 \
    "[{'name':'cpu/atomics/control-x','expected':'" expected "','axis':'repeat','observed':'" observed       \
    "','behaved':" behaved ",'reason':'it lied'}]"

/* A run that is not valid is never green, and what it found is no verdict either. */
static void test_invalid_runs(void **state)
{
    static const struct {
        const char *controls, *measurements, *result;
        int exit;
        enum dp_gate_verdict verdict;
        const char *problems;
    } rows[] = {
        {CONTROL("repeats", "repeats", "true"), NULL, REPEATS, 0, DP_GATE_PASSED, ""},
        {CONTROL("repeats", "varies", "false"), NULL, REPEATS, 2, DP_GATE_NO_VERDICT, "control"},
        {CONTROL("repeats", "varies", "false"), NULL, WRONG, 2, DP_GATE_NO_VERDICT, "control"},
        {CONTROL("repeats", "varies", "false"), NULL, REPEATS, 0, DP_GATE_NO_VERDICT, "control"},
        {CONTROL("repeats", "skipped", "false"), NULL, REPEATS, 0, DP_GATE_PASSED, ""},
        {CONTROL("varies", "repeats", "false"), NULL, REPEATS, 2, DP_GATE_NO_VERDICT, "insensitive"},
        {CONTROL("varies", "repeats", "false"), NULL, REPEATS, 0, DP_GATE_PASSED, ""},
        {NULL, "{'interrupted':true}", REPEATS, 143, DP_GATE_NO_VERDICT, "interrupted"},
        {NULL, "{'interrupted':true}", WRONG, 143, DP_GATE_NO_VERDICT, "interrupted"},
        {NULL, "{'interrupted':false}", REPEATS, 0, DP_GATE_PASSED, ""},
        {NULL, NULL, REPEATS, 2, DP_GATE_NO_VERDICT, "report"},
        {NULL, NULL, WRONG, 2, DP_GATE_NO_VERDICT, "report"},
        {NULL, NULL, REPEATS, 255, DP_GATE_NO_VERDICT, "report"},
        {NULL, NULL, "'observed':'error','reason':'stack'," PLAIN, 2, DP_GATE_NO_VERDICT, "stack error"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct setup setup = {.x = {rows[i].result, NULL},
                                    .y = {REPEATS, NULL},
                                    .controls = rows[i].controls,
                                    .measurements = rows[i].measurements,
                                    .exit = rows[i].exit};
        json_t *gate = decide(report(setup), NULL, NULL);
        expect_kinds(gate, "problems", rows[i].problems);
        assert_int_equal(dp_gate_verdict(gate), rows[i].verdict);
        json_decref(gate);
    }
}

/* A skipped case is not a pass. Two cases: x repeats, y is what the row says. */
static void test_amounts(void **state)
{
    static const struct {
        const char *other, *policy, *problems;
    } rows[] = {
        {REPEATS, "{'minimum_cases':2}", ""},
        {SKIPPED, "{'minimum_cases':2}", "too_few_cases"},
        {UNTESTED, "{'minimum_cases':2}", "too_few_cases"},
        {SKIPPED, "{'minimum_cases':1}", ""},
        {SKIPPED, "{'maximum_skipped':0}", "too_many_skipped"},
        {UNTESTED, "{'maximum_skipped':0}", "too_many_skipped"},
        {SKIPPED, "{'maximum_skipped':1}", ""},
        {REPEATS, "{'maximum_skipped':0}", ""},
        {SKIPPED, "{'maximum_skipped_share':0.4}", "too_many_skipped"},
        {SKIPPED, "{'maximum_skipped_share':0.5}", ""},
        {REPEATS, "{'minimum_runs':24}", ""},
        {REPEATS, "{'minimum_runs':25}", "too_few_runs"},
        {SKIPPED, "{'minimum_runs':24}", ""},
        {REPEATS, "{'levels':['quick']}", ""},
        {REPEATS, "{'levels':['default','deep']}", "level"},
        {REPEATS, "{'require':['cpu']}", ""},
        {REPEATS, "{'require':['cpu','cuda']}", "required_absent"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct setup setup = {.x = {REPEATS, NULL}, .y = {rows[i].other, NULL}};
        json_t *gate = decide(report(setup), NULL, rows[i].policy);
        expect_kinds(gate, "problems", rows[i].problems);
        assert_int_equal(dp_gate_verdict(gate), *rows[i].problems ? DP_GATE_NO_VERDICT : DP_GATE_PASSED);
        json_decref(gate);
    }
    /* a finding is one however little was measured, unless what was required is absent */
    const struct setup wrong = {.x = {WRONG, NULL}, .exit = 1};
    expect(decide(report(wrong), NULL, "{'minimum_cases':5}"), DP_GATE_FAILED, "wrong");
    expect(decide(report(wrong), NULL, "{'require':['cuda']}"), DP_GATE_NO_VERDICT, "wrong");
}

static void test_sentences(void **state)
{
    json_t *gate = decide(report((struct setup){.x = {REPEATS, NULL}, .y = {SKIPPED, NULL}}), NULL, NULL);
    char *sentence = dp_gate_sentence(gate);
    assert_string_equal(sentence, "gate passed: 1 case, no finding; 1 not tested");
    free(sentence);
    json_decref(gate);
    gate = decide(report((struct setup){.x = {WRONG, NULL}, .y = {REPEATS, NULL}, .exit = 1}), NULL, NULL);
    expect_reason(gate, "1 finding in 2 cases");
    assert_string_equal(dp_json_string(json_array_get(json_object_get(gate, "findings"), 0), "reproduce", ""),
                        "detprobe run cpu/gemm/x --level quick --seed 1");
    json_decref(gate);
    gate = decide(report((struct setup){.x = {ERROR, NULL}, .exit = 2}), NULL, NULL);
    sentence = dp_gate_sentence(gate);
    assert_string_equal(sentence, "gate without a verdict: 1 operation ended in an error; and 1 more");
    free(sentence);
    json_decref(gate);
}

/* --- the allow-list --- */

#define ENTRY(members, expires) "{" members ",'reason':'known','expires':'" expires "'}"

static void test_allow(void **state)
{
    static const struct {
        const char *entries;
        enum dp_gate_verdict verdict;
        const char *notes;
    } rows[] = {
        {ENTRY("'case':'cpu/gemm/*'", "2027-12-31"), DP_GATE_PASSED, ""},
        {ENTRY("'case':'cpu/gemm/x'", TODAY), DP_GATE_PASSED, ""},
        {ENTRY("'case':'cpu/gemm/x'", "2027-02-28"), DP_GATE_FAILED, "expired"},
        {ENTRY("'case':'cpu/conv/*'", "2027-02-28"), DP_GATE_FAILED, "expired"},
        {ENTRY("'case':'cpu/conv/*'", "2027-12-31"), DP_GATE_FAILED, "unused"},
        {ENTRY("'case':'@cpu'", "2027-12-31"), DP_GATE_PASSED, ""},
        {ENTRY("'case':'@gemm'", "2027-12-31"), DP_GATE_PASSED, ""},
        {ENTRY("'case':'@conv'", "2027-12-31"), DP_GATE_FAILED, "unused"},
        {ENTRY("'case':'*','kind':'varies'", "2027-12-31"), DP_GATE_PASSED, ""},
        {ENTRY("'case':'*','kind':'wrong'", "2027-12-31"), DP_GATE_FAILED, "unused"},
        {ENTRY("'case':'*','axis':'repeat'", "2027-12-31"), DP_GATE_PASSED, ""},
        {ENTRY("'case':'*','axis':'fresh'", "2027-12-31"), DP_GATE_FAILED, "unused"},
        /* two entries fit: the one that is over is told, the other allows */
        {ENTRY("'case':'*'", "2027-01-01") "," ENTRY("'case':'*'", "2028-01-01"), DP_GATE_PASSED, "expired"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct setup setup = {.x = {VARIES, ALWAYS}, .y = {REPEATS, NULL}};
        char *policy = dp_printf("{'fail':['varies'],'allow':[%s]}", rows[i].entries);
        json_t *gate = decide(report(setup), NULL, policy);
        expect_kinds(gate, "notes", rows[i].notes);
        assert_int_equal(dp_gate_verdict(gate), rows[i].verdict);
        json_decref(gate);
        free(policy);
    }
    json_t *gate = decide(report((struct setup){.x = {VARIES, ALWAYS}, .y = {VARIES, ALWAYS}}), NULL,
                          "{'fail':['varies'],'allow':[" ENTRY("'case':'cpu/gemm/*'", "2028-01-01") "," ENTRY(
                              "'case':'*'", "2027-05-05") "]}");
    expect_reason(gate, "2 cases, no finding; 2 allowed until 2027-05-05");
    json_decref(gate);
}

/* An error that is allowed keeps the run without a verdict: it says so itself. */
static void test_allowed_error(void **state)
{
    json_t *gate = decide(report((struct setup){.x = {ERROR, NULL}, .y = {REPEATS, NULL}, .exit = 2}), NULL,
                          "{'fail':['error'],'allow':[" ENTRY("'case':'*'", "2028-01-01") "]}");
    expect_kinds(gate, "problems", "report");
    expect(gate, DP_GATE_NO_VERDICT, "");
}

static void test_policies_refused(void **state)
{
    static const struct {
        const char *policy, *place;
    } rows[] = {
        {"{'fail':['vareis']}", "at '/fail/0': unknown word 'vareis', did you mean 'varies'?"},
        {"{'fial':[]}", "unknown member 'fial', did you mean 'fail'?"},
        {"{'fail':'broken'}", "at '/fail': expected an array"},
        {"{'fail':['broken','broken']}", "at '/fail"},
        {"{'allow':[{'case':'*','expires':'2027-01-01'}]}", "reason"},
        {"{'allow':[{'case':'*','reason':'x'}]}", "expires"},
        {"{'allow':[{'case':'*','reason':'','expires':'2027-01-01'}]}", "at '/allow/0/reason'"},
        {"{'allow':[" ENTRY("'case':'*'", "2027-02-30") "]}",
         "at '/allow/0/expires': '2027-02-30' is no day of the calendar"},
        {"{'allow':[" ENTRY("'case':'*'", "2027-02-29") "]}", "no day of the calendar"},
        {"{'allow':[" ENTRY("'case':'*'", "2027-13-01") "]}", "no day of the calendar"},
        {"{'allow':[" ENTRY("'case':'*'", "2027-00-10") "]}", "no day of the calendar"},
        {"{'allow':[" ENTRY("'case':'*'", "soon") "]}", "at '/allow/0/expires'"},
        {"{'allow':[" ENTRY("'case':'cpu/[a'", "2027-01-01") "]}", "at '/allow/0/case': 'cpu/[a' has a '['"},
        {"{'allow':[" ENTRY("'case':'@'", "2027-01-01") "]}", "names no backend"},
        {"{'allow':[" ENTRY("'case':'*','axis':'thread'", "2027-01-01") "]}", "did you mean 'threads'?"},
        {"{'minimum_cases':-1}", "at '/minimum_cases'"},
        {"{'minimum_runs':1.5}", "at '/minimum_runs'"},
        {"{'maximum_skipped_share':1.01}", "at '/maximum_skipped_share'"},
        {"{'require':['gpu']}", "at '/require/0'"},
        {"{'levels':[]}", "at '/levels'"},
        {"{'schema_version':'2.0'}", "unknown schema version '2.0'"},
        {"{'schema_version':1}", "at '/schema_version'"},
        {"[]", "expected an object"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dp_err err = {0};
        json_t *policy = parse(rows[i].policy);
        assert_int_equal(dp_policy_check(policy, &err), -1);
        assert_int_equal(err.code, DP_EXIT_DATA);
        if (!strstr(err.text, rows[i].place)) {
            fail_msg("%s: %s", rows[i].policy, err.text);
        }
        json_decref(policy);
    }
    struct dp_err err = {0};
    json_t *policy = parse("{'allow':[" ENTRY("'case':'cpu/[!a]*'", "2028-02-29") "]}");
    assert_int_equal(dp_policy_check(policy, &err), 0);
    json_decref(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_fails),
        cmocka_unit_test(test_invalid_runs),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_allow),
        cmocka_unit_test(test_allowed_error),
        cmocka_unit_test(test_policies_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

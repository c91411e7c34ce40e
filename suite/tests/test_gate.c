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
#include "suite/tests/documents.h"

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
    return dp_text_take(&words);
}

/* The kinds of `member` (problems, notes), joined by blanks. Owned. */
static char *kinds_of(const json_t *gate, const char *member)
{
    const json_t *rows = json_object_get(gate, member);
    struct dp_text words = DP_TEXT(1000);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        dp_text_printf(&words, "%s%s", i ? " " : "", dp_json_string(json_array_get(rows, i), "kind", ""));
    }
    return dp_text_take(&words);
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

static char *rendered(const json_t *gate, const char *format, bool verbose)
{
    struct dp_err err;
    const struct dp_render_options options = {.verbose = verbose};
    struct dp_text out = DP_TEXT(1000000);
    assert_int_equal(dp_render(DP_DOCUMENT_GATE, format, gate, &options, &out, &err), 0);
    return out.data;
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
    json_t *silent = decide(report((struct setup){.x = {WRONG, NULL}, .exit = 2}), NULL, NULL);
    char *lines = rendered(silent, "text", false);
    assert_true(strstr(lines, "problem ") < strstr(lines, "finding "));
    free(lines);
    json_decref(silent);
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
    gate = decide(report((struct setup){.x = {WRONG, NULL}, .exit = 1}), NULL, "{'fail':[]}");
    expect_reason(gate, "1 case, nothing is set to fail");
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

/* --- against a baseline --- */

#define DEFINED(letter, rest) "'definition':'" letter "'," rest
#define CHOSE(which) REPEATS_AS(SHA_A, "") ",'chosen':'" which "'," ALLOWS
#define OTHER REPEATS_AS(SHA_B, "") "," ALLOWS
#define ONE_AXIS REPEATS_AS(SHA_A, "'batch'") "," ALLOWS
#define EVERYTHING                                                                                           \
    "'broken','wrong','error','varies','changed_digest','changed_selection','sensitive','missing'"

/* The findings of case x under all rules: what was, what is, and the findings. */
static void test_against_baseline(void **state)
{
    static const struct {
        struct item before, after;
        const char *findings;
    } rows[] = {
        {{REPEATS, NULL}, {REPEATS, NULL}, ""},
        {{REPEATS, NULL}, {VARIES_BROKEN, ONCE}, "broken!@repeat"},
        {{VARIES_BROKEN, ONCE}, {VARIES_BROKEN, ONCE}, "broken@repeat"},
        {{REPEATS, NULL}, {WRONG, NULL}, "wrong!"},
        {{WRONG, NULL}, {WRONG, NULL}, "wrong"},
        {{REPEATS, NULL}, {ERROR, NULL}, "error!"},
        {{ERROR, NULL}, {ERROR, NULL}, "error"},
        {{REPEATS, NEVER}, {VARIES, ALWAYS}, "varies!@repeat"},
        {{REPEATS, NEVER}, {VARIES, ONCE}, ""}, /* one rate explains both */
        {{VARIES, ONCE}, {VARIES, ALWAYS}, ""}, /* it is known to vary */
        {{VARIES, ONCE}, {REPEATS, NEVER}, ""},
        {{VARIES, ALWAYS}, {REPEATS, NEVER}, ""},
        {{SKIPPED, NULL}, {VARIES, ONCE}, "varies!@repeat"},
        {{NULL, NULL}, {VARIES, ONCE}, "varies!@repeat"},
        {{NULL, NULL}, {REPEATS, NULL}, ""},
        {{REPEATS, NULL}, {OTHER, NULL}, "changed_digest!"},
        {{VARIES, ALWAYS}, {OTHER, NULL}, ""},
        {{CHOSE("a"), NULL}, {CHOSE("b"), NULL}, "changed_selection!"},
        {{CHOSE("a"), NULL}, {CHOSE("a"), NULL}, ""},
        {{CHOSE("a"), NULL}, {REPEATS, NULL}, ""},
        {{REPEATS, NULL}, {SKIPPED, NULL}, "missing!"},
        {{REPEATS, NULL}, {UNTESTED, NULL}, "missing!"},
        {{REPEATS, NULL}, {NULL, NULL}, "missing!"},
        {{SKIPPED, NULL}, {NULL, NULL}, ""}, /* it was no pass before either */
        {{SKIPPED, NULL}, {SKIPPED, NULL}, ""},
        /* other definitions of the case: what it was says nothing of what it is */
        {{DEFINED(SHA_A, REPEATS), NULL}, {DEFINED(SHA_B, OTHER), NULL}, ""},
        {{DEFINED(SHA_A, VARIES), ALWAYS}, {DEFINED(SHA_B, VARIES), ALWAYS}, "varies!@repeat"},
        {{DEFINED(SHA_A, VARIES), ALWAYS}, {DEFINED(SHA_A, VARIES), ALWAYS}, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct setup before = {.x = rows[i].before, .y = {REPEATS, NULL}};
        const struct setup after = {.x = rows[i].after, .y = {REPEATS, NULL}};
        expect(decide(report(after), report(before), "{'fail':[" EVERYTHING "]}"),
               *rows[i].findings ? DP_GATE_FAILED : DP_GATE_PASSED, rows[i].findings);
    }
}

/* An axis is known by its name, and where it was not measured nothing is new. */
static void test_sensitive_axes(void **state)
{
    static const char *const measured = "'comparisons':21,'mismatches':0,'bound':0.133,'runs':24}"
                                        ",'batch':{'settings':[]},'threads':{'settings':[]";
    static const char *const policy = "{'fail':['sensitive']}";
    expect(decide(report((struct setup){.x = {SENSITIVE, measured}}),
                  report((struct setup){.x = {ONE_AXIS, measured}}), policy),
           DP_GATE_FAILED, "sensitive!@threads");
    json_t *gate = decide(report((struct setup){.x = {SENSITIVE, measured}}),
                          report((struct setup){.x = {ONE_AXIS, measured}}), policy);
    const json_t *finding = json_array_get(json_object_get(gate, "findings"), 0);
    assert_string_equal(dp_json_string(finding, "line", ""), "the bits change along threads");
    assert_null(strstr(dp_json_string(finding, "detail", ""), "to threads")); /* the line says it */
    json_decref(gate);
    expect(decide(report((struct setup){.x = {SENSITIVE, measured}}),
                  report((struct setup){.x = {SENSITIVE, measured}}), policy),
           DP_GATE_PASSED, "");
    expect(decide(report((struct setup){.x = {SENSITIVE, measured}}),
                  report((struct setup){.x = {REPEATS, measured}}), policy),
           DP_GATE_FAILED, "sensitive!@batch sensitive!@threads");
    /* a baseline that never varied the axes does not know that either */
    expect(decide(report((struct setup){.x = {SENSITIVE, measured}}),
                  report((struct setup){.x = {REPEATS, NULL}}), policy),
           DP_GATE_FAILED, "sensitive!@batch sensitive!@threads");
}

/* A gate over changes has no finding that was there before, and one over every variation none that one rate
 * explains: two runs of one stack do not disagree over it. */
static void test_fail_on(void **state)
{
    static const struct {
        const char *fail_on;
        struct item before, after;
        const char *findings;
    } rows[] = {
        {"changes", {WRONG, NULL}, {WRONG, NULL}, ""},
        {"changes", {REPEATS, NULL}, {WRONG, NULL}, "wrong!"},
        {"changes", {REPEATS, NULL}, {OTHER, NULL}, "changed_digest!"},
        {"changes", {REPEATS, NULL}, {SKIPPED, NULL}, "missing!"},
        {"changes", {CHOSE("a"), NULL}, {CHOSE("b"), NULL}, ""},
        {"changes", {VARIES, ALWAYS}, {REPEATS, NEVER}, ""},
        {"changes", {REPEATS, NEVER}, {VARIES, ONCE}, ""},
        {"changes", {REPEATS, NEVER}, {VARIES, ALWAYS}, "varies!@repeat"},
        {"varies", {REPEATS, NEVER}, {VARIES, ONCE}, ""},
        {"varies", {REPEATS, NEVER}, {VARIES, ALWAYS}, "varies!@repeat"},
        {"varies", {WRONG, NULL}, {WRONG, NULL}, "wrong"},
        {"broken", {REPEATS, NEVER}, {VARIES, ALWAYS}, ""},
        {"never", {REPEATS, NULL}, {WRONG, NULL}, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dp_err err;
        json_t *before = report((struct setup){.x = rows[i].before, .y = {REPEATS, NULL}});
        json_t *after = report((struct setup){.x = rows[i].after, .y = {REPEATS, NULL}});
        const struct dp_gate_input input = {
            .report = {after, "a"}, .baseline = {before, "b"}, .fail_on = rows[i].fail_on, .today = TODAY};
        expect(dp_gate_make(&input, &err), *rows[i].findings ? DP_GATE_FAILED : DP_GATE_PASSED,
               rows[i].findings);
        json_decref(before);
        json_decref(after);
    }
}

static void test_new_before_known(void **state)
{
    json_t *gate = decide(report((struct setup){.x = {WRONG, NULL}, .y = {VARIES_BROKEN, ALWAYS}, .exit = 1}),
                          report((struct setup){.x = {REPEATS, NULL}, .y = {VARIES_BROKEN, ALWAYS}}), NULL);
    expect_reason(gate, "2 findings in 2 cases, 1 of them new");
    const json_t *first = json_array_get(json_object_get(gate, "findings"), 0);
    assert_string_equal(dp_json_string(first, "detail", ""),
                        "repeats \xc2\xb7 allows \xe2\x86\x92 wrong \xc2\xb7 allows; "
                        "nothing in the environment explains it");
    expect(gate, DP_GATE_FAILED, "wrong! broken@repeat");
}

/* What the reports of a baseline did not agree in cannot be told from what was. */
static void test_left_out(void **state)
{
    json_t *before = report((struct setup){.y = {REPEATS, NULL}});
    json_t *left_out = json_object_get(json_object_get(json_object_get(before, "body"), "plan"), "left_out");
    json_array_append_new(left_out, json_pack("{ssss}", "case", "cpu/gemm/x", "reason", "they disagree"));
    json_t *other = json_deep_copy(before);
    json_t *after = report((struct setup){.x = {VARIES, ONCE}, .y = {REPEATS, NULL}});
    expect(decide(json_incref(after), before, "{'fail':['varies']}"), DP_GATE_PASSED, "");
    json_object_set_new(
        json_array_get(json_object_get(json_object_get(json_object_get(other, "body"), "plan"), "left_out"),
                       0),
        "reason", json_string("budget")); /* it was never run */
    expect(decide(after, other, "{'fail':['varies']}"), DP_GATE_FAILED, "varies!@repeat");
    before = report((struct setup){.y = {REPEATS, NULL}});
    after = report((struct setup){.x = {WRONG, NULL}, .y = {REPEATS, NULL}, .exit = 1});
    expect(decide(after, before, NULL), DP_GATE_FAILED, "wrong!");
}

static void test_notes(void **state)
{
    static const struct {
        struct item before, after;
        const char *notes;
    } rows[] = {
        {{REPEATS, NULL}, {REPEATS, NULL}, ""},
        {{VARIES, ALWAYS}, {REPEATS, NEVER}, "better"},
        {{SKIPPED, NULL}, {REPEATS, NEVER}, "better"},
        {{NULL, NULL}, {REPEATS, NEVER}, "baseline"},
        {{REPEATS, NEVER}, {VARIES, ONCE}, "undecided"},
        {{DEFINED(SHA_A, REPEATS), NULL}, {DEFINED(SHA_B, OTHER), NULL}, "not_compared"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *gate = decide(report((struct setup){.x = rows[i].after, .y = {REPEATS, NULL}}),
                              report((struct setup){.x = rows[i].before, .y = {REPEATS, NULL}}), NULL);
        expect_kinds(gate, "notes", rows[i].notes);
        json_decref(gate);
    }
}

static void expect_refused(json_t *after, json_t *baseline, const char *fail_on, bool any_device, int code,
                           const char *words)
{
    struct dp_err err = {0};
    const struct dp_gate_input input = {.report = {after, "after.json"},
                                        .baseline = {baseline, "before.json"},
                                        .fail_on = fail_on,
                                        .today = TODAY,
                                        .any_device = any_device};
    json_t *gate = dp_gate_make(&input, &err);
    assert_int_equal(gate == NULL, code != 0);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, words)) {
        fail_msg("%s", err.text);
    }
    json_decref(gate);
    json_decref(after);
    json_decref(baseline);
}

#define GPU(name) "{'host':{'arch':'x86_64','cpu_model':'One'},'devices':[{'name':'" name "'}]}"

static void test_what_is_not_comparable(void **state)
{
    static const char *const other_host = "{'host':{'arch':'x86_64','cpu_model':'Two'}}";
    const struct setup plain = {.x = {REPEATS, NULL}};
    const struct setup elsewhere = {.x = {REPEATS, NULL}, .environment = other_host};
    expect_refused(report(plain), report(plain), NULL, false, 0, "");
    expect_refused(report(plain), report(elsewhere), NULL, false, DP_EXIT_DATA,
                   "baseline 'before.json' is of another class of devices (Two, x86_64, not One, x86_64)");
    expect_refused(report(plain), report(elsewhere), NULL, true, 0, "");
    /* no case of the CPU ran in the baseline: its processor says nothing */
    expect_refused(report(plain), report((struct setup){.x = {SKIPPED, NULL}, .environment = other_host}),
                   NULL, false, 0, "");
    /* nor does a GPU, where no case ran on one */
    expect_refused(report((struct setup){.x = {REPEATS, NULL}, .environment = GPU("A")}),
                   report((struct setup){.x = {REPEATS, NULL}, .environment = GPU("B")}), NULL, false, 0, "");
    expect_refused(report((struct setup){.z = {REPEATS, NULL}, .environment = GPU("A")}),
                   report((struct setup){.z = {REPEATS, NULL}, .environment = GPU("B")}), NULL, false,
                   DP_EXIT_DATA, "(B, not A)");
    expect_refused(report((struct setup){.z = {REPEATS, NULL}, .environment = GPU("A")}),
                   report((struct setup){.z = {REPEATS, NULL}, .environment = GPU("A")}), NULL, false, 0, "");
    expect_refused(report(plain), report((struct setup){.y = {REPEATS, NULL}}), NULL, false, DP_EXIT_DATA,
                   "'after.json' and baseline 'before.json' have no case in common");
    expect_refused(report((struct setup){.x = {DEFINED(SHA_A, REPEATS), NULL}}),
                   report((struct setup){.x = {DEFINED(SHA_B, REPEATS), NULL}}), NULL, false, DP_EXIT_DATA,
                   "no case that can be compared: the catalogues define it differently");
    json_t *seeded = report(plain);
    json_object_set_new(json_object_get(json_object_get(seeded, "body"), "plan"), "seed", json_string("2"));
    expect_refused(report(plain), seeded, NULL, true, DP_EXIT_DATA, "seed \"2\" against \"1\"");
    expect_refused(
        report(plain),
        report((struct setup){.x = {REPEATS, NULL}, .controls = CONTROL("repeats", "varies", "false")}), NULL,
        false, DP_EXIT_DATA, "baseline 'before.json' has no valid verdict: control");
    expect_refused(report(plain),
                   report((struct setup){.x = {REPEATS, NULL}, .measurements = "{'interrupted':true}"}), NULL,
                   false, DP_EXIT_DATA, "interrupted");
    expect_refused(report(plain), NULL, "changes", false, DP_EXIT_USAGE, "'changes' needs a baseline");
    expect_refused(report(plain), NULL, "varies", false, 0, "");
}

static void test_words_that_need_a_baseline(void **state)
{
    static const char *const needing[] = {"changed_digest", "changed_selection", "missing"};
    for (size_t i = 0; i < sizeof(needing) / sizeof(needing[0]); i++) {
        struct dp_err err = {0};
        json_t *policy = json_pack("{s[s]}", "fail", needing[i]);
        const struct dp_gate_input input = {.policy = policy, .policy_name = "p.json"};
        assert_int_equal(dp_gate_prepare(&input, &err), -1);
        assert_int_equal(err.code, DP_EXIT_USAGE);
        assert_non_null(strstr(err.text, needing[i]));
        json_decref(policy);
    }
}

/* --- formats --- */

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; *text; text++) {
        lines += *text == '\n';
    }
    return lines;
}

/* Twice as many findings as families. */
static json_t *many_findings(size_t families)
{
    json_t *gate = decide(report((struct setup){.x = {WRONG, NULL}, .exit = 1}), NULL,
                          "{'minimum_cases':9,'allow':[" ENTRY("'case':'nothing'", "2028-01-01") "]}");
    json_t *findings = json_object_get(gate, "findings");
    for (size_t i = 0; i < 2 * families; i++) {
        json_t *finding = json_copy(json_array_get(findings, 0));
        char *family = dp_printf("family%zu", i / 2);
        json_object_set_new(finding, "family", json_string(family));
        json_array_append_new(findings, finding);
        free(family);
    }
    json_array_remove(findings, 0);
    return gate;
}

static void test_ten_lines(void **state)
{
    for (size_t families = 1; families < 7; families++) {
        json_t *gate = many_findings(families);
        char *text = rendered(gate, "text", false),
             *more = dp_printf("and %zu more findings", 2 * (families - 4));
        assert_in_range(lines_of(text), 1, 10);
        assert_int_equal(strstr(text, more) != NULL, families > 4);
        assert_non_null(strstr(text, "cpu/gemm/x and 1 more of cpu/family0: wrong: off\n"));
        assert_non_null(strstr(text, "gate failed: 1 finding in 1 case\n"));
        assert_true(!strstr(text, "problem ") || strstr(text, "problem ") > strstr(text, "finding "));
        assert_int_equal(strstr(text, "problem ") != NULL, families < 4);
        free(more);
        free(text);
        text = rendered(gate, "text", true);
        assert_int_equal(lines_of(text), 4 * families + 3);
        assert_null(strstr(text, " more "));
        free(text);
        json_decref(gate);
    }
}

/* Whatever stands in a report or a policy stays text. */
static void test_hostile_text(void **state)
{
    json_t *gate =
        decide(report((struct setup){.x = {"'observed':'wrong','checked':'full','not_measured':[],'reason':"
                                           "'<script>|[x](http://y) `z`'," ALLOWS,
                                           NULL}}),
               NULL, "{'allow':[{'case':'\\u001b[31m]<b>','reason':'\\u001b','expires':'2028-01-01'}]}");
    char *text = rendered(gate, "text", true);
    assert_null(strchr(text, '\033'));
    free(text);
    text = rendered(gate, "markdown", false);
    assert_null(strstr(text, "<script>"));
    assert_null(strstr(text, "[x]"));
    assert_null(strchr(text, '`'));
    assert_null(strchr(text, '\033'));
    free(text);
    json_decref(gate);
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
        cmocka_unit_test(test_against_baseline),
        cmocka_unit_test(test_sensitive_axes),
        cmocka_unit_test(test_fail_on),
        cmocka_unit_test(test_new_before_known),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_what_is_not_comparable),
        cmocka_unit_test(test_words_that_need_a_baseline),
        cmocka_unit_test(test_ten_lines),
        cmocka_unit_test(test_hostile_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

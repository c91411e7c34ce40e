/* SPDX-License-Identifier: Apache-2.0
 *
 * Comparing reports: each kind of change where it must be given, and beside it where it must not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/diff/diff.h"
#include "reports/diff/render.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/tests/quoted.h"

#define SHA_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define OUTPUT(sha)                                                                                          \
    "'outputs':[{'name':'c','dtype':'f32','shape':[2],'seed':'1/0','set':'wide','sha256':'" sha "'}]"
#define REPEATS(sha) "'observed':'repeats','sensitive_to':[],'not_measured':[]," OUTPUT(sha)
#define KEPT "'guarantee':{'level':'run_to_run','source':'','status':'kept'}"
#define BROKEN "'guarantee':{'level':'run_to_run','source':'','status':'broken'}"
#define ALLOWS "'guarantee':{'level':'not_guaranteed','source':'','status':'allows'}"
/* 1 - 0.05^(1/21), and what 21 of 21 and 1 of 21 mismatches leave (Clopper-Pearson, 95 %) */
#define NEVER "{'repeat':{'bound':0.133}}"
#define ALWAYS "{'repeat':{'interval':[0.839,1.0]}}"
#define ONCE "{'repeat':{'interval':[0.001,0.238]}}"

/* A report of one case (NULL: of none) with one environment. */
static json_t *report(const char *result, const char *axes, const char *environment)
{
    char *text = dp_printf(
        "{'digest':'" SHA_A "','tool':{'version':'1'},'body':{'plan':{'level':'quick','seed':'1','seeds':3},"
        "'summary':{'counts':{}},'environment':%s,'results':[%s%s%s]},'measurements':{'cases':[%s%s%s]}}",
        environment ? environment : "{}",
        result ? "{'case':'cpu/gemm/x','backend':'cpu','family':'gemm'," : "", result ? result : "",
        result ? "}" : "", axes ? "{'case':'cpu/gemm/x','axes':" : "", axes ? axes : "", axes ? "}" : "");
    json_t *made = parse(text);
    free(text);
    return made;
}

static json_t *compare(json_t *before, json_t *after)
{
    struct dp_err err;
    const struct dp_diff_side sides[2] = {{before, "a.json"}, {after, "b.json"}};
    json_t *diff = dp_diff_make(sides, &err);
    assert_non_null(diff);
    json_decref(before);
    json_decref(after);
    return diff;
}

/* The kinds of change of the one case, joined by blanks. Owned. */
static char *kinds_of(const json_t *diff)
{
    const json_t *changes = json_object_get(diff, "changes");
    struct dp_text words = DP_TEXT(1000);
    for (size_t i = 0; i < json_array_size(changes); i++) {
        dp_text_printf(&words, "%s%s", i ? " " : "", dp_json_string(json_array_get(changes, i), "kind", ""));
    }
    return dp_text_take(&words);
}

static void expect(json_t *before, json_t *after, const char *kinds)
{
    json_t *diff = compare(before, after);
    char *seen = kinds_of(diff);
    assert_string_equal(seen, kinds);
    assert_int_equal(dp_diff_agrees(diff), !*kinds);
    free(seen);
    json_decref(diff);
}

#define CAPPED(cap) "{'repeat':{'bound':0.133},'isa':{'settings':[{'setting':'" cap "'}]}}"
#define UNDER(cap) REPEATS(SHA_A) ",'wrong_under':['" cap "']," KEPT

static void test_kinds(void **state)
{
    static const struct {
        const char *before, *measured, *after, *measurement, *kinds;
    } rows[] = {
        {REPEATS(SHA_A) "," KEPT, NEVER, REPEATS(SHA_A) "," KEPT, NEVER, ""},
        {REPEATS(SHA_A) "," KEPT, NEVER, REPEATS(SHA_B) "," KEPT, NEVER, "other_bits"},
        {REPEATS(SHA_A) "," KEPT, NEVER, "'observed':'varies'," BROKEN, ONCE, "newly_broken"},
        {"'observed':'varies'," BROKEN, ONCE, REPEATS(SHA_A) "," KEPT, NEVER, "mended"},
        {REPEATS(SHA_A) "," KEPT, NEVER, "'observed':'wrong'," KEPT, NEVER, "newly_wrong"},
        {REPEATS(SHA_A) "," KEPT, NEVER, "'observed':'wrong'," BROKEN, NEVER, "newly_broken newly_wrong"},
        {"'observed':'wrong'," BROKEN, NEVER, "'observed':'wrong'," BROKEN, NEVER, ""},
        {REPEATS(SHA_A) "," KEPT, CAPPED("core2"), UNDER("core2"), CAPPED("core2"), "newly_wrong"},
        {REPEATS(SHA_A) "," KEPT, CAPPED("atom"), UNDER("core2"), CAPPED("core2"), ""}, /* not measured */
        {REPEATS(SHA_A) "," KEPT, NEVER, UNDER("core2"), CAPPED("core2"), ""},
        {UNDER("core2"), CAPPED("core2"), UNDER("core2"), CAPPED("core2"), ""},
        {UNDER("core2"), CAPPED("core2"), REPEATS(SHA_A) "," KEPT, CAPPED("core2"), "mended"},
        {"'observed':'wrong'," KEPT, CAPPED("core2"), UNDER("core2"), CAPPED("core2"), "mended"},
        {REPEATS(SHA_A) "," ALLOWS, NEVER, "'observed':'varies'," ALLOWS, ALWAYS, "newly_varying"},
        {"'observed':'varies'," ALLOWS, ALWAYS, REPEATS(SHA_A) "," ALLOWS, NEVER, "newly_repeating"},
        {"'observed':'varies'," ALLOWS, ALWAYS, "'observed':'varies'," ALLOWS, ONCE, ""},
        {REPEATS(SHA_A) "," KEPT, NEVER, "'observed':'error'", NULL, "newly_failing"},
        {"'observed':'error'", NULL, "'observed':'error'", NULL, ""},
        {"'observed':'error'", NULL, REPEATS(SHA_A) "," KEPT, NEVER, "started"},
        {REPEATS(SHA_A) "," KEPT, NEVER, "'observed':'skipped'", NULL, "stopped"},
        {"'observed':'skipped'", NULL, REPEATS(SHA_A) "," KEPT, NEVER, "started"},
        {"'observed':'skipped'", NULL, "'observed':'skipped'", NULL, ""},
        {"'observed':'skipped'", NULL, "'observed':'untested'", NULL, ""},
        {NULL, NULL, REPEATS(SHA_A) "," KEPT, NEVER, "new"},
        {REPEATS(SHA_A) "," KEPT, NEVER, NULL, NULL, "missing"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect(report(rows[i].before, rows[i].measured, NULL),
               report(rows[i].after, rows[i].measurement, NULL), rows[i].kinds);
    }
}

/* What one rate explains on both sides is no change; what moves with a setting has no rate. */
static void test_rates(void **state)
{
    expect(report(REPEATS(SHA_A) "," ALLOWS, NEVER, NULL), report("'observed':'varies'," ALLOWS, ONCE, NULL),
           "");
    expect(report("'observed':'varies'," ALLOWS, ONCE, NULL), report(REPEATS(SHA_A) "," ALLOWS, NEVER, NULL),
           "");
    expect(report(REPEATS(SHA_A) "," ALLOWS, "{'repeat':{'bound':0.133},'fresh':{'bound':0.5}}", NULL),
           report("'observed':'varies'," ALLOWS, "{'repeat':{'bound':0.133},'fresh':{'interval':[0.6,1.0]}}",
                  NULL),
           "newly_varying");
    expect(report(REPEATS(SHA_A) "," ALLOWS, "{'repeat':{'bound':0.133},'poison':{}}", NULL),
           report("'observed':'varies'," ALLOWS, "{'repeat':{'bound':0.133},'poison':{}}", NULL),
           "newly_varying");
    json_t *diff = compare(report(REPEATS(SHA_A) "," ALLOWS, NEVER, NULL),
                           report("'observed':'varies'," ALLOWS, ONCE, NULL));
    assert_int_equal(json_array_size(json_object_get(diff, "undecided")), 1);
    assert_int_equal(json_array_size(json_object_get(diff, "not_compared")), 0);
    assert_true(dp_diff_compares(diff));
    json_decref(diff);
}

#define SENSITIVE(axes, missing)                                                                             \
    "'observed':'repeats','sensitive_to':[" axes "],'not_measured':[" missing "]," OUTPUT(SHA_A) "," KEPT

static void test_sensitivity(void **state)
{
    static const char *const both = "{'repeat':{},'batch':{},'threads':{}}";
    expect(report(SENSITIVE("", ""), both, NULL), report(SENSITIVE("'batch'", ""), both, NULL),
           "newly_sensitive");
    expect(report(SENSITIVE("'batch'", ""), both, NULL), report(SENSITIVE("'threads'", ""), both, NULL),
           "newly_sensitive no_longer_sensitive");
    expect(report(SENSITIVE("'batch'", ""), both, NULL), report(SENSITIVE("'batch'", ""), both, NULL), "");
    /* where the axis was not measured nothing can be said */
    expect(report(SENSITIVE("", "'batch'"), both, NULL), report(SENSITIVE("'batch'", ""), both, NULL), "");
    expect(report(SENSITIVE("", ""), "{'repeat':{}}", NULL), report(SENSITIVE("'batch'", ""), both, NULL),
           "");
}

static void test_what_is_not_comparable(void **state)
{
    struct dp_err err;
    json_t *before = report(REPEATS(SHA_A) "," KEPT, NEVER, NULL);
    json_t *after = report(REPEATS(SHA_A) "," KEPT, NEVER, NULL);
    const struct dp_diff_side sides[2] = {{before, "a.json"}, {after, "b.json"}};
    json_object_set_new(json_object_get(json_object_get(after, "body"), "plan"), "seed", json_string("2"));
    assert_null(dp_diff_make(sides, &err));
    assert_int_equal(err.code, DP_EXIT_DATA);
    assert_non_null(strstr(err.text, "seed \"1\" against \"2\""));
    json_decref(before);
    json_decref(after);
    json_t *diff = compare(report("'definition':'" SHA_A "'," REPEATS(SHA_A) "," KEPT, NEVER, NULL),
                           report("'definition':'" SHA_B "'," REPEATS(SHA_B) "," KEPT, NEVER, NULL));
    assert_true(dp_diff_agrees(diff)); /* other inputs, other bits: no change, and said so */
    const json_t *unlike = json_array_get(json_object_get(diff, "not_compared"), 0);
    assert_string_equal(dp_json_string(unlike, "reason", ""), "the catalogues define it differently");
    char *sentence = dp_diff_sentence(diff);
    assert_string_equal(sentence, "the results agree in 0 cases, 1 could not be compared");
    assert_false(dp_diff_compares(diff)); /* of all cases: no answer, not agreement */
    free(sentence);
    json_decref(diff);
}

#define LIBRARY(version, program)                                                                            \
    "{'role':'cblas','name':'OpenBLAS','version':'" version "','families':['" program "']}"

static const char *cause(const json_t *diff)
{
    return dp_json_string(json_array_get(json_object_get(diff, "causes"), 0), "cause", "");
}

/* A change stands under what its program had open, never under what it had not. */
static void test_causes(void **state)
{
    json_t *diff =
        compare(report(REPEATS(SHA_A) "," KEPT, NEVER, "{'libraries':[" LIBRARY("0.3.21", "cpu/gemm") "]}"),
                report(REPEATS(SHA_B) "," KEPT, NEVER, "{'libraries':[" LIBRARY("0.3.28", "cpu/gemm") "]}"));
    assert_string_equal(cause(diff), "OpenBLAS 0.3.21 \xe2\x86\x92 0.3.28");
    json_decref(diff);
    diff =
        compare(report(REPEATS(SHA_A) "," KEPT, NEVER, "{'libraries':[" LIBRARY("0.3.21", "cpu/blas") "]}"),
                report(REPEATS(SHA_B) "," KEPT, NEVER, "{'libraries':[" LIBRARY("0.3.28", "cpu/blas") "]}"));
    assert_string_equal(cause(diff), "nothing in the environment explains it");
    assert_int_equal(json_array_size(json_object_get(diff, "environment")), 1);
    json_decref(diff);
    diff = compare(report(REPEATS(SHA_A) "," KEPT, NEVER, "{'devices':[{'name':'A'}]}"),
                   report(REPEATS(SHA_B) "," KEPT, NEVER, "{'devices':[{'name':'B'}]}"));
    assert_string_equal(cause(diff),
                        "nothing in the environment explains it"); /* no device computes for a CPU case */
    json_decref(diff);
    diff = compare(report(REPEATS(SHA_A) "," KEPT, NEVER,
                          "{'own_kernels':[{'program':'cpu/gemm','source':'a','image':'x'}]}"),
                   report(REPEATS(SHA_B) "," KEPT, NEVER,
                          "{'own_kernels':[{'program':'cpu/gemm','source':'b','image':'y'}]}"));
    assert_string_equal(cause(diff), "cpu/gemm source a \xe2\x86\x92 b");
    json_decref(diff);
    diff = compare(
        report(REPEATS(SHA_A) "," KEPT, NEVER, "{'float_environment':{'changes':[]}}"),
        report(REPEATS(SHA_B) "," KEPT, NEVER, "{'float_environment':{'changes':[{'program':'cpu/gemm'}]}}"));
    assert_non_null(strstr(cause(diff), "floating-point control changes"));
    json_decref(diff);
    diff = compare(report(REPEATS(SHA_A) "," KEPT, NEVER, "{'variables':{}}"),
                   report(REPEATS(SHA_A) "," KEPT, NEVER, "{'variables':{'OMP_NUM_THREADS':'4'}}"));
    assert_true(dp_diff_agrees(diff)); /* the environment alone is no change */
    assert_int_equal(json_array_size(json_object_get(diff, "causes")), 0);
    json_decref(diff);
}

/* The cause of one case with other bits between two environments, and how the case itself ran. Owned. */
static char *cause_between(const char *result, const char *before, const char *after)
{
    char *was = dp_printf("%s%s", REPEATS(SHA_A) "," KEPT, result);
    char *is = dp_printf("%s%s", REPEATS(SHA_B) "," KEPT, result);
    json_t *diff = compare(report(was, NEVER, before), report(is, NEVER, after));
    char *words = dp_strdup(cause(diff));
    free(was);
    free(is);
    json_decref(diff);
    return words;
}

#define BLAS(version, core)                                                                                  \
    "{'role':'cblas','name':'OpenBLAS','version':'" version "','families':['cpu/gemm'],"                     \
    "'config':'OpenBLAS " version " NO_AFFINITY " core " MAX_THREADS=64 core=" core "'}"
#define MKL(isa, more)                                                                                       \
    "{'role':'cblas','name':'MKL','version':'2','config':'MKL cbwr=" isa more "','isa':'" isa "'}"
#define ONEDNN(bits, isa)                                                                                    \
    "{'role':'onednn','name':'oneDNN','version':'2','config':'effective isa " bits "'" isa "}"
#define TORCH_MKL "{'role':'torch-mkl','name':'MKL','version':'2','families':['cpu/gemm']}"
#define DNNL "{'role':'onednn','name':'oneDNN','version':'2','families':['cpu/conv']}"

static void test_what_explains(void **state)
{
    static const struct {
        const char *result, *before, *after, *cause;
    } rows[] = {
        /* an instruction set is told apart from how the library was built, and beside its version */
        {"", "{'libraries':[" BLAS("0.3.21", "Haswell") "]}", "{'libraries':[" BLAS("0.3.21", "Zen") "]}",
         "OpenBLAS instruction set Haswell \xe2\x86\x92 Zen"},
        {"", "{'libraries':[" BLAS("0.3.21", "Haswell") "]}", "{'libraries':[" BLAS("0.3.28", "Zen") "]}",
         "OpenBLAS 0.3.21 \xe2\x86\x92 0.3.28; OpenBLAS instruction set Haswell \xe2\x86\x92 Zen"},
        {"", "{'libraries':[{'role':'onednn','name':'oneDNN','version':'2','config':'effective isa 0x7'}]}",
         "{'libraries':[{'role':'onednn','name':'oneDNN','version':'2','config':'effective isa 0x3'}]}",
         "oneDNN instruction set 0x7 \xe2\x86\x92 0x3"},
        /* reports say it in a member; one that does not is compared by what both say */
        {"", "{'libraries':[" MKL("off", "") "]}", "{'libraries':[" MKL("avx2", "") "]}",
         "MKL instruction set off \xe2\x86\x92 avx2"},
        {"", "{'libraries':[" MKL("off", "") "]}", "{'libraries':[" MKL("avx2", " threads=sequential") "]}",
         "MKL cbwr=off \xe2\x86\x92 cbwr=avx2 threads=sequential; MKL instruction set off \xe2\x86\x92 avx2"},
        {"", "{'libraries':[" ONEDNN("0x7", ",'isa':'AVX2'") "]}",
         "{'libraries':[" ONEDNN("0x3", ",'isa':'AVX'") "]}", "oneDNN instruction set AVX2 \xe2\x86\x92 AVX"},
        {"", "{'libraries':[" ONEDNN("0x7", "") "]}", "{'libraries':[" ONEDNN("0x3", ",'isa':'AVX'") "]}",
         "oneDNN instruction set 0x7 \xe2\x86\x92 0x3"},
        {"", "{'libraries':[" ONEDNN("0x7", "") "],'host':{'cpu_model':'A'}}",
         "{'libraries':[" ONEDNN("0x7", ",'isa':'AVX2'") "],'host':{'cpu_model':'B'}}",
         "cpu_model A \xe2\x86\x92 B"},
        {"", "{'libraries':[{'role':'cblas','name':'X','version':'1','path':'/a'}]}",
         "{'libraries':[{'role':'cblas','name':'X','version':'1','path':'/b'}]}",
         "X path /a \xe2\x86\x92 /b"},
        /* flags are many: how they differ stands in the environment alone */
        {"", "{'host':{'cpu_model':'A','cpu_flags':['avx','fma','sse']}}",
         "{'host':{'cpu_model':'B','cpu_flags':['avx','avx512f','sse']}}",
         "cpu_model A \xe2\x86\x92 B; other cpu_flags"},
        /* a variable reaches who reads it */
        {"", "{'libraries':[" BLAS("1", "Zen") "," DNNL "],'variables':{}}",
         "{'libraries':[" BLAS("1", "Zen") "," DNNL "],'variables':{'OPENBLAS_NUM_THREADS':'1'}}",
         "OPENBLAS_NUM_THREADS none \xe2\x86\x92 1"},
        {"", "{'libraries':[" BLAS("1", "Zen") "," DNNL "],'variables':{}}",
         "{'libraries':[" BLAS("1", "Zen") "," DNNL "],'variables':{'ONEDNN_MAX_CPU_ISA':'SSE41'}}",
         "nothing in the environment explains it"},
        {"", "{'libraries':[" BLAS("1", "Zen") "],'variables':{}}",
         "{'libraries':[" BLAS("1", "Zen") "],'variables':{'CUBLAS_WORKSPACE_CONFIG':':0:0'}}",
         "nothing in the environment explains it"},
        {"", "{'libraries':[" TORCH_MKL "],'variables':{}}",
         "{'libraries':[" TORCH_MKL "],'variables':{'MKL_CBWR':'AUTO'}}", "MKL_CBWR none \xe2\x86\x92 AUTO"},
        {"", "{'libraries':[" TORCH_MKL "],'variables':{}}",
         "{'libraries':[" TORCH_MKL "],'variables':{'NCCL_ALGO':'Ring','TF_ENABLE_ONEDNN_OPTS':'0'}}",
         "nothing in the environment explains it"},
        {"", "{'variables':{}}", "{'variables':{'GLIBC_TUNABLES':'x'}}",
         "GLIBC_TUNABLES none \xe2\x86\x92 x"},
        /* unless the case sets it itself */
        {",'environment':{'GLIBC_TUNABLES':'y'}", "{'variables':{}}", "{'variables':{'GLIBC_TUNABLES':'x'}}",
         "nothing in the environment explains it"},
        {",'environment':{'OTHER':null}", "{'variables':{}}", "{'variables':{'GLIBC_TUNABLES':'x'}}",
         "GLIBC_TUNABLES none \xe2\x86\x92 x"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *words = cause_between(rows[i].result, rows[i].before, rows[i].after);
        assert_string_equal(words, rows[i].cause);
        free(words);
    }
}

/* What the case itself did otherwise stands with its cause, and in the detail of the change. */
static void test_own_differences(void **state)
{
    json_t *before = report(REPEATS(SHA_A) "," KEPT ",'chosen':'algo 1'", NEVER, NULL);
    json_t *after = report(REPEATS(SHA_B) "," KEPT ",'chosen':'algo 7'", NEVER, NULL);
    json_t *reports[] = {before, after};
    for (int i = 0; i < 2; i++) {
        json_t *measured =
            json_array_get(json_object_get(json_object_get(reports[i], "measurements"), "cases"), 0);
        json_object_set_new(measured, "threads", json_integer(2 + 2 * i));
    }
    json_t *diff = compare(before, after);
    assert_string_equal(cause(diff), "another implementation chosen; 2 \xe2\x86\x92 4 threads; "
                                     "nothing in the environment explains it");
    char *detail = dp_diff_detail(json_array_get(json_object_get(diff, "changes"), 0));
    assert_string_equal(detail, "chose 'algo 1' before, 'algo 7' now; ran on 2 threads before, 4 now");
    free(detail);
    json_decref(diff);
}

#define ORDER(print, words) ",'order':{'n':512,'fingerprint':'" print "','words':'" words "'}"
#define FOUR "4 blocks of 128, each in order; these in order"
#define EIGHT "8 blocks of 64, each in order; these in order"
#define UNEXPLAINED "nothing in the environment explains it"
#define TO " \xe2\x86\x92 "

/* Other bits by another order, by the same one, and where one side knows none. */
static void test_orders(void **state)
{
    static const struct {
        const char *before, *after, *cause, *detail;
    } rows[] = {
        {ORDER(SHA_A, FOUR "; in f32"), ORDER(SHA_B, EIGHT "; in f32"),
         "summation order changed: " FOUR TO EIGHT "; " UNEXPLAINED, "adds up " FOUR TO EIGHT},
        {ORDER(SHA_A, "in order; in f32"), ORDER(SHA_B, EIGHT "; in f64"),
         "summation order changed: in order; in f32" TO EIGHT "; in f64; " UNEXPLAINED,
         "adds up in order; in f32" TO EIGHT "; in f64"},
        {ORDER(SHA_A, "first 512: in order; in f32 | every 2.: in order; in f32"),
         ORDER(SHA_B, "first 512: pairwise; in f32 | every 2.: in order; in f32"),
         "summation order changed: first 512: in order" TO "pairwise; " UNEXPLAINED,
         "adds up first 512: in order" TO "pairwise"},
        {ORDER(SHA_A, "first 512: in order; in f32 | every 2.: in order; in f32"),
         ORDER(SHA_B, "first 512: in order; in f32 | every 2.: pairwise; in f32"),
         "summation order changed: first 512: in order; in f32 | every 2.: in order" TO
         "in order; in f32 | every 2.: pairwise; " UNEXPLAINED,
         "adds up first 512: in order; in f32 | every 2.: in order" TO
         "in order; in f32 | every 2.: pairwise"},
        {ORDER(SHA_A, FOUR "; in f32"), ORDER(SHA_A, FOUR "; in f32"),
         "same summation order, so other arithmetic or other elements; " UNEXPLAINED, ""},
        {ORDER(SHA_A, FOUR "; in f32"), "", UNEXPLAINED, ""},
        {"", ORDER(SHA_A, FOUR "; in f32"), UNEXPLAINED, ""},
        {ORDER(SHA_A, ""), ORDER(SHA_B, ": "), "summation order changed: " TO ": ; " UNEXPLAINED,
         "adds up " TO ": "},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *before = dp_printf("%s%s", REPEATS(SHA_A) "," KEPT, rows[i].before);
        char *after = dp_printf("%s%s", REPEATS(SHA_B) "," KEPT, rows[i].after);
        json_t *diff = compare(report(before, NEVER, NULL), report(after, NEVER, NULL));
        char *detail = dp_diff_detail(json_array_get(json_object_get(diff, "changes"), 0));
        assert_string_equal(cause(diff), rows[i].cause);
        assert_string_equal(detail, rows[i].detail);
        free(detail);
        json_decref(diff);
        diff = compare(report(before, NEVER, NULL), report(before, NEVER, NULL));
        assert_true(dp_diff_agrees(diff)); /* an order alone is no change */
        json_decref(diff);
        free(before);
        free(after);
    }
    expect(report(REPEATS(SHA_A) "," KEPT ORDER(SHA_A, FOUR), NEVER, NULL),
           report(REPEATS(SHA_A) "," KEPT ORDER(SHA_B, EIGHT), NEVER, NULL), "");
}

#define COPY(path, version)                                                                                  \
    "{'role':'openmp','name':'libgomp','version':'" version "','path':'" path "','families':['cpu/gemm']}"

/* Of several libraries of one role, each is held against itself: by file, then by name. */
static void test_libraries_of_one_role(void **state)
{
    json_t *diff = compare(
        report(REPEATS(SHA_A) "," KEPT, NEVER, "{'libraries':[" COPY("/b", "1") "," COPY("/c", "2") "]}"),
        report(REPEATS(SHA_A) "," KEPT, NEVER,
               "{'libraries':[{'role':'openmp','name':'libiomp5','version':'5','path':'/a'}," COPY(
                   "/b", "1") "," COPY("/c", "3") "]}"));
    const json_t *rows = json_object_get(diff, "environment");
    assert_int_equal(json_array_size(rows), 2);
    assert_string_equal(dp_json_string(json_array_get(rows, 0), "words", ""),
                        "openmp none \xe2\x86\x92 libiomp5 5");
    assert_string_equal(dp_json_string(json_array_get(rows, 1), "words", ""), "libgomp 2 \xe2\x86\x92 3");
    json_decref(diff);
}

/* Outputs are held against those of the same inputs, wherever they stand. */
static void test_outputs_in_any_order(void **state)
{
    static const char *const head =
        "'observed':'repeats','sensitive_to':[],'not_measured':[]," KEPT ",'outputs':[";
    static const char *const one =
        "{'name':'c','dtype':'f32','shape':[2],'seed':'1/0','set':'wide','sha256':'" SHA_A "'}";
    static const char *const two =
        "{'name':'c','dtype':'f32','shape':[2],'seed':'1/1','set':'wide','sha256':'" SHA_B "'}";
    char *straight = dp_printf("%s%s,%s]", head, one, two), *turned = dp_printf("%s%s,%s]", head, two, one);
    char *less = dp_printf("%s%s]", head, two);
    expect(report(straight, NEVER, NULL), report(turned, NEVER, NULL), "");
    expect(report(straight, NEVER, NULL), report(less, NEVER, NULL), "");
    expect(report(REPEATS(SHA_B) "," KEPT, NEVER, NULL), report(turned, NEVER, NULL), "other_bits");
    free(straight);
    free(turned);
    free(less);
}

/* What ran on neither side is told apart from what agrees. */
static void test_idle_cases(void **state)
{
    json_t *diff =
        compare(report("'observed':'skipped'", NULL, NULL), report("'observed':'skipped'", NULL, NULL));
    char *sentence = dp_diff_sentence(diff);
    assert_true(dp_diff_agrees(diff) && dp_diff_compares(diff));
    assert_string_equal(sentence, "the results agree in 0 cases, 1 ran on neither side");
    free(sentence);
    json_decref(diff);
}

/* Whatever stands in a report stays text. */
static void test_hostile_text(void **state)
{
    static const char *const hostile =
        "{'variables':{'OMP_NUM_THREADS':'<script>|[x](http://y) `z`\\u001b[31m'}}";
    json_t *diff = compare(report(REPEATS(SHA_A) "," KEPT, NEVER, NULL),
                           report(REPEATS(SHA_B) "," KEPT, NEVER, hostile));
    const struct dp_render_options options = {.columns = 0};
    struct dp_text out = DP_TEXT(100000);
    dp_diff_markdown(diff, &options, &out);
    assert_null(strstr(out.data, "<script>"));
    assert_null(strstr(out.data, "[x]"));
    assert_null(strchr(out.data, '`'));
    assert_null(strchr(out.data, '\033'));
    dp_text_free(&out);
    out = DP_TEXT(100000);
    dp_diff_text(diff, &options, &out);
    assert_null(strchr(out.data, '\033'));
    assert_non_null(strstr(out.data, "OMP_NUM_THREADS none"));
    dp_text_free(&out);
    json_decref(diff);
}

/* An environment whose library was configured with many words, the first of them 100 000 bytes long. */
static char *long_environment(const char *letter, int words)
{
    struct dp_text config = DP_TEXT((size_t)1 << 24);
    for (int i = 0; i < 50000; i++) {
        dp_text_put(&config, letter); /* two bytes: a cut may fall inside */
    }
    for (int i = 0; i < words; i++) {
        dp_text_printf(&config, " %s%d", letter, i);
    }
    char *text = dp_printf(
        "{'libraries':[{'role':'cblas','name':'L','families':['cpu/gemm'],'config':'x%s'}]}", config.data);
    dp_text_free(&config);
    return text;
}

/* Values of any length are compared, kept whole and told of in few words, in a time that follows their
 * length. */
static void test_long_values(void **state)
{
    char *before = long_environment("\xc3\xa9", 20000), *after = long_environment("\xc3\xa8", 20000);
    json_t *diff = compare(report(REPEATS(SHA_A) "," KEPT, NEVER, before),
                           report(REPEATS(SHA_B) "," KEPT, NEVER, after));
    const json_t *row = json_array_get(json_object_get(diff, "environment"), 0);
    assert_true(strlen(dp_json_string(row, "before", "")) > 120000);
    assert_in_range(strlen(dp_json_string(row, "words", "")), 1900, 2100);
    assert_string_equal(cause(diff), dp_json_string(row, "words", ""));
    json_decref(diff);
    free(before);
    free(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_sensitivity),
        cmocka_unit_test(test_what_is_not_comparable),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_what_explains),
        cmocka_unit_test(test_own_differences),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_libraries_of_one_role),
        cmocka_unit_test(test_outputs_in_any_order),
        cmocka_unit_test(test_idle_cases),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_long_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

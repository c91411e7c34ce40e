/* SPDX-License-Identifier: Apache-2.0
 *
 * What is documented where given versions are: each boundary from both sides, several statements, what nobody
 * can tell, and what a catalogue may not say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "suite/base/json.h"
#include "suite/plan/guarantee.h"
#include "suite/tests/quoted.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct row {
    const char *here; /* versions */
    const char *level, *source, *reason;
    const char *depends_on; /* the only role, NULL: none */
};

static void expect(const char *guarantee_text, const struct row *rows, size_t count)
{
    json_t *guarantee = parse(guarantee_text);
    for (size_t i = 0; i < count; i++) {
        json_t *versions = parse(rows[i].here), *stated = dp_guarantee_stated(guarantee, versions);
        const json_t *depends_on = json_object_get(stated, "depends_on");
        assert_string_equal(dp_json_string(stated, "level", ""), rows[i].level);
        assert_string_equal(dp_json_string(stated, "source", ""), rows[i].source);
        assert_string_equal(dp_json_string(stated, "reason", ""), rows[i].reason ? rows[i].reason : "");
        assert_int_equal(json_array_size(depends_on), rows[i].depends_on ? 1 : 0);
        if (rows[i].depends_on) {
            assert_string_equal(json_string_value(json_array_get(depends_on, 0)), rows[i].depends_on);
        }
        json_decref(stated);
        json_decref(versions);
    }
    json_decref(guarantee);
}

static void test_without_versions(void **state)
{
    static const struct row rows[] = {{"{}", "run_to_run", "s", NULL, NULL},
                                      {"{'cudnn': {'version': '9.1'}}", "run_to_run", "s", NULL, NULL}};
    expect("{'level': 'run_to_run', 'source': 's'}", rows, COUNT(rows));
}

static void test_boundaries(void **state)
{
    static const char unknown[] = "depends on cudnn, which is not known here";
#define CUDNN(version) "{'cudnn': {'name': 'cuDNN', 'version': '" version "'}}"
#define SILENT(version) "said of cuDNN since 9.1 and before 10, here is " version
    static const struct row rows[] = {
        {CUDNN("9.0.0"), "unstated", "s", SILENT("9.0.0"), NULL},
        {CUDNN("9.0.99"), "unstated", "s", SILENT("9.0.99"), NULL},
        {CUDNN("9.1"), "run_to_run", "s", NULL, NULL},
        {CUDNN("9.1.0"), "run_to_run", "s", NULL, NULL},
        {CUDNN("9.1.0+cu13"), "run_to_run", "s", NULL, NULL},
        {CUDNN("9.19.0"), "run_to_run", "s", NULL, NULL},
        {CUDNN("9.99.99"), "run_to_run", "s", NULL, NULL},
        {CUDNN("10"), "unstated", "s", SILENT("10"), NULL},
        {CUDNN("10.0.1"), "unstated", "s", SILENT("10.0.1"), NULL},
        {CUDNN("8.9.7"), "unstated", "s", SILENT("8.9.7"), NULL},
        {CUDNN(""), "unstated", "s", unknown, "cudnn"},
        {CUDNN("unknown"), "unstated", "s", unknown, "cudnn"},
        {"{'cudnn': {}}", "unstated", "s", unknown, "cudnn"},
        {"{}", "unstated", "s", unknown, "cudnn"},
        {"{'cublas': {'version': '9.5'}}", "unstated", "s", unknown, "cudnn"},
    };
    expect("{'level': 'run_to_run', 'source': 's', 'versions': {'cudnn': {'since': '9.1', 'until': '10'}}}",
           rows, COUNT(rows));
}

static void test_otherwise(void **state)
{
    static const struct row rows[] = {
        {"{'torch': {'version': '2.2.0a0+git1'}}", "run_to_run", "new", NULL, NULL},
        {"{'torch': {'version': '2.1.2'}}", "not_guaranteed", "old", NULL, NULL},
        {"{'torch': {'version': '1.8'}}", "not_guaranteed", "old", NULL, NULL},
        {"{'torch': {'version': '1.7.1'}}", "unstated", "new", "said of torch since 2.2, here is 1.7.1",
         NULL},
        {"{}", "unstated", "new", "depends on torch, which is not known here", "torch"},
    };
    expect("{'level': 'run_to_run', 'source': 'new', 'versions': {'torch': {'since': '2.2'}}, 'otherwise': "
           "[{'level': 'not_guaranteed', 'source': 'old', 'versions': {'torch': {'since': '1.8'}}}]}",
           rows, COUNT(rows));
}

/* The last may be said of everything else. A version that is not known leaves it open which of the two. */
static void test_otherwise_of_all(void **state)
{
    static const struct row rows[] = {
        {"{'sm': {'version': '100'}}", "run_to_run", "new", NULL, NULL},
        {"{'sm': {'version': '89'}}", "not_guaranteed", "old", NULL, NULL},
        {"{}", "unstated", "new", "depends on sm, which is not known here", "sm"},
    };
    expect("{'level': 'run_to_run', 'source': 'new', 'versions': {'sm': {'since': '90'}}, 'otherwise': "
           "[{'level': 'not_guaranteed', 'source': 'old'}]}",
           rows, COUNT(rows));
}

/* All roles have to fit; one that does not decides whatever else is unknown. */
static void test_several_roles(void **state)
{
    static const struct row rows[] = {
        {"{'sm': {'version': '90'}, 'cublas': {'version': '12.5.1'}}", "run_to_run", "s", NULL, NULL},
        {"{'sm': {'version': '80'}, 'cublas': {'version': '12.5.1'}}", "unstated", "s",
         "said of sm since 89, here is 80", NULL},
        {"{'sm': {'version': '80'}}", "unstated", "s", "said of sm since 89, here is 80", NULL},
        {"{'cublas': {'version': '12.4'}}", "unstated", "s", "said of cublas since 12.5, here is 12.4", NULL},
        {"{'cublas': {'version': '12.5'}}", "unstated", "s", "depends on sm, which is not known here", "sm"},
    };
    expect("{'level': 'run_to_run', 'source': 's', 'versions': {'cublas': {'since': '12.5'}, 'sm': {'since': "
           "'89'}}}",
           rows, COUNT(rows));
}

static void test_names(void **state)
{
    static const struct row rows[] = {
        {"{'cblas': {'name': 'OpenBLAS', 'version': '0.3.21'}}", "unstated", "openblas", NULL, NULL},
        {"{'cblas': {'name': 'MKL', 'version': '2024.2-Product'}}", "not_guaranteed", "mkl", NULL, NULL},
        {"{'cblas': {'name': 'MKL', 'version': '10.3'}}", "unstated", "openblas",
         "said of OpenBLAS, here is MKL 10.3", NULL},
        {"{'cblas': {'name': 'BLIS'}}", "unstated", "openblas", "said of OpenBLAS, here is BLIS", NULL},
        {"{'cblas': {'version': '0.3.21'}}", "unstated", "openblas",
         "depends on cblas, which is not known here", "cblas"},
    };
    expect("{'level': 'unstated', 'source': 'openblas', 'versions': {'cblas': {'name': 'OpenBLAS'}}, "
           "'otherwise': [{'level': 'not_guaranteed', 'source': 'mkl', 'versions': {'cblas': {'name': 'MKL', "
           "'since': '11.0'}}}]}",
           rows, COUNT(rows));
}

static void test_versions_of(void **state)
{
    json_t *libraries =
        parse("[{'role': 'cublas', 'name': 'cuBLAS', 'version': '13.1.0', 'families': "
              "['cuda/gemm']}, {'role': 'cblas', 'name': 'OpenBLAS', 'version': '0.3.21', "
              "'families': ['cpu/gemm']}, {'role': 'cblas', 'name': 'OpenBLAS', 'version': "
              "'0.3.31', 'families': ['python/numpy']}, {'role': 'openmp', 'name': 'libgomp'}]");
    json_t *one = parse("[{'compute_capability': '9.0'}]"),
           *two = parse("[{'compute_capability': '9.0'}, {'compute_capability': '12.0'}]"),
           *same = parse("[{'compute_capability': '9.0'}, {'compute_capability': '9.0'}]");
    static const struct {
        const char *family, *expected;
    } rows[] = {
        {"cpu/gemm", "{'cblas': {'name': 'OpenBLAS', 'version': '0.3.21'}, 'openmp': {'name': 'libgomp'}, "
                     "'sm': {'version': '90'}}"},
        {"python/numpy",
         "{'cblas': {'name': 'OpenBLAS', 'version': '0.3.31'}, 'openmp': {'name': 'libgomp'}, "
         "'sm': {'version': '90'}}"},
        {NULL, "{'cublas': {'name': 'cuBLAS', 'version': '13.1.0'}, 'cblas': {'name': 'OpenBLAS'}, 'openmp': "
               "{'name': 'libgomp'}, 'sm': {'version': '90'}}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *versions = dp_versions_of(libraries, i ? same : one, rows[i].family),
               *expected = parse(rows[i].expected);
        assert_true(json_equal(versions, expected));
        json_decref(expected);
        json_decref(versions);
    }
    json_t *versions = dp_versions_of(NULL, two, NULL); /* of two kinds, so nobody can tell */
    assert_null(json_object_get(json_object_get(versions, "sm"), "version"));
    json_decref(versions);
    json_decref(libraries);
    json_decref(one);
    json_decref(two);
    json_decref(same);
}

static void test_check(void **state)
{
    static const struct {
        const char *guarantee, *fault;
    } rows[] = {
        {"{'versions': {'a': {'since': '9', 'until': '10'}}, 'otherwise': [{}]}", NULL},
        {"{'versions': {'a': {'since': '9'}}, 'otherwise': [{'versions': {'a': {'until': '8'}}}, {}]}", NULL},
        {"{'versions': {'a': {'since': '10', 'until': '9'}}}",
         "its guarantee speaks of no 'a': since 10 and before 9"},
        {"{'versions': {'a': {'since': '9', 'until': '9.0'}}}",
         "its guarantee speaks of no 'a': since 9 and before 9.0"},
        {"{'otherwise': [{}]}",
         "its guarantee says 'otherwise' behind one without 'versions', which never counts"},
        {"{'versions': {'a': {'since': '9'}}, 'otherwise': [{}, {}]}",
         "its guarantee says 'otherwise' behind one without 'versions', which never counts"},
        {"{'versions': {'a': {'since': '9'}}, 'otherwise': [{'versions': {'a': {'since': '2', 'until': "
         "'1'}}}]}",
         "its guarantee speaks of no 'a': since 2 and before 1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *guarantee = parse(rows[i].guarantee);
        struct dp_err err = {0};
        const int rc = dp_guarantee_check(guarantee, &err);
        assert_int_equal(rc, rows[i].fault ? -1 : 0);
        assert_string_equal(err.text, rows[i].fault ? rows[i].fault : "");
        assert_int_equal(err.code, rows[i].fault ? DP_EXIT_DATA : 0);
        json_decref(guarantee);
    }
}

static void test_text(void **state)
{
    json_t *ranges =
               parse("{'cudnn': {'since': '7', 'until': '10'}, 'sm': {'since': '89'}, 'cblas': {'name': "
                     "'MKL'}}"),
           *versions = parse("{'cudnn': {'name': 'cuDNN', 'version': '9.1'}}");
    char *text = dp_guarantee_versions_text(ranges, versions);
    assert_string_equal(text, "cuDNN since 7 and before 10, sm since 89, MKL");
    free(text);
    text = dp_guarantee_versions_text(NULL, versions);
    assert_string_equal(text, "");
    free(text);
    json_decref(ranges);
    json_decref(versions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_versions),
        cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_otherwise),
        cmocka_unit_test(test_otherwise_of_all),
        cmocka_unit_test(test_several_roles),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_versions_of),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

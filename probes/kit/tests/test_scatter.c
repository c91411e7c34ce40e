/* SPDX-License-Identifier: Apache-2.0
 *
 * What scatter operations take and what is right, on examples worked by hand: sums with groups, rows, an
 * index per element, a padding index and onto what was there; which last writers are right and which values
 * are none.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "probes/kit/outcome.h"
#include "probes/kit/params.h"
#include "probes/kit/scatter.h"

typedef int describe_function(const struct kit_params *params, struct kit_shape *ret);

struct asked {
    struct kit_params params;
    struct kit_shape shape;
    struct kit_call call;
};

static int ask(struct asked *asked, describe_function *describe, const char *params)
{
    json_t *const object = json_loads(params, 0, NULL);
    assert_non_null(object);
    memset(asked, 0, sizeof(*asked));
    assert_int_equal(kit_params_init(&asked->params, object), 0);
    json_decref(object);
    kit_outcome_clear();
    const int rc = describe(&asked->params, &asked->shape);
    asked->call = (struct kit_call){.params = &asked->params, .shape = &asked->shape};
    return rc;
}

static void refused(describe_function *describe, const char *params, const char *words)
{
    struct asked asked;
    assert_int_equal(ask(&asked, describe, params), KIT_FAILED);
    assert_non_null(strstr(kit_outcome()->text, words));
    kit_params_free(&asked.params);
}

#define COMMON "\"multiplicity\": 0, \"dtype\": "

static void bad_parameters(void **state)
{
    refused(kit_scatter_describe_add,
            "{\"groups\": 1, \"n\": 4, \"rows\": 0, \"width\": 1, " COMMON "\"f32\"}", "'rows'");
    refused(kit_scatter_describe_add,
            "{\"groups\": 1, \"n\": 4, \"rows\": 3, \"width\": 1, \"padding\": 3, " COMMON "\"f32\"}",
            "'padding'");
    refused(kit_scatter_describe_add,
            "{\"groups\": 1, \"n\": 4, \"rows\": 3, \"width\": 1, " COMMON "\"s8\"}", "'dtype'");
    refused(kit_scatter_describe_count,
            "{\"groups\": 1, \"n\": 4, \"rows\": 3, \"width\": 2, " COMMON "\"s32\"}", "'width'");
}

/* Checks every cell of the output against values, magnitudes and numbers of terms. */
static void check(struct asked *asked, const void *const *in, int64_t count, const long double *value,
                  const long double *scale, const int64_t *k)
{
    int64_t cells[16];
    struct kit_cell ret[16];
    assert_in_range(count, 1, 16);
    for (int64_t i = 0; i < count; i++) {
        cells[i] = i;
    }
    assert_int_equal(
        kit_scatter_reference(&asked->call, asked->shape.count - 1, in, cells, (size_t)count, ret), KIT_OK);
    for (int64_t i = 0; i < count; i++) {
        assert_true(ret[i].value == value[i] && ret[i].scale == scale[i]);
        assert_int_equal(ret[i].k, k[i]);
    }
    kit_params_free(&asked->params);
}

/* Two groups of three rows of two columns. */
static void rows_of_groups(void **state)
{
    static const int64_t indices[] = {1, 1, 0, /* */ 0, 0, 0};
    static const float src[] = {1, 2, -4, 8, 16, 32, /* */ 1, 1, -2, 2, 4, -4};
    static const long double value[] = {16, 32, -3, 10, /* */ 3, -1, 0, 0},
                             scale[] = {16, 32, 5, 10, 7, 7, 0, 0};
    static const int64_t k[] = {1, 1, 2, 2, 3, 3, 1, 1};
    struct asked asked;
    assert_int_equal(ask(&asked, kit_scatter_describe_add,
                         "{\"groups\": 2, \"n\": 3, \"rows\": 2, \"width\": 2, " COMMON "\"f32\"}"),
                     KIT_OK);
    assert_int_equal(asked.shape.operand[KIT_SCATTER_INDICES].ndim, 2);
    check(&asked, (const void *[]){indices, src, NULL}, 8, value, scale, k);
}

/* The same sources with an index each, index 1 left out. */
static void elements_with_padding(void **state)
{
    static const int64_t indices[] = {0, 2, 1, 2, 0, 1};
    static const float src[] = {1, 2, -4, 8, -16, 32};
    static const long double value[] = {-15, 0, 0, 0, 0, 10}, scale[] = {17, 0, 0, 0, 0, 10};
    static const int64_t k[] = {2, 1, 1, 1, 1, 2};
    struct asked asked;
    assert_int_equal(ask(&asked, kit_scatter_describe_add,
                         "{\"groups\": 1, \"n\": 3, \"rows\": 3, \"width\": 2, \"elementwise\": true, "
                         "\"padding\": 1, " COMMON "\"f32\"}"),
                     KIT_OK);
    assert_int_equal(asked.shape.operand[KIT_SCATTER_INDICES].ndim, 3);
    check(&asked, (const void *[]){indices, src, NULL}, 6, value, scale, k);
}

static void onto_what_was_there(void **state)
{
    static const int64_t indices[] = {2, 2, 0};
    static const int32_t src[] = {1, 2, 3}, before[] = {10, -20, 30};
    static const long double value[] = {13, -20, 33}, scale[] = {13, 20, 33};
    static const int64_t k[] = {2, 1, 3};
    struct asked asked;
    assert_int_equal(ask(&asked, kit_scatter_describe_onto,
                         "{\"groups\": 1, \"n\": 3, \"rows\": 3, \"width\": 1, " COMMON "\"s32\"}"),
                     KIT_OK);
    check(&asked, (const void *[]){indices, src, before}, 3, value, scale, k);
}

static void counts(void **state)
{
    static const int64_t indices[] = {2, 2, 0, 2};
    static const long double value[] = {1, 0, 3};
    static const int64_t k[] = {1, 1, 3};
    struct asked asked;
    assert_int_equal(ask(&asked, kit_scatter_describe_count,
                         "{\"groups\": 1, \"n\": 4, \"rows\": 3, \"width\": 1, " COMMON "\"s64\"}"),
                     KIT_OK);
    check(&asked, (const void *[]){indices, NULL}, 3, value, value, k);
}

static void last_writers(void **state)
{
    static const int64_t indices[] = {1, 1, 3, 0}; /* 0 is left out, nobody writes 2 */
    static const int32_t src[] = {10, 11, 12, 13}, before[] = {-1, -2, -3, -4};
    static const struct {
        int32_t after[4];
        int64_t wrong;
    } rows[] = {
        {{-1, 10, -3, 12}, 0}, {{-1, 11, -3, 12}, 0}, /* either writer */
        {{-1, 12, -3, 12}, 1},                        /* another cell's */
        {{-1, -2, -3, 12}, 1},                        /* as if nobody had written */
        {{13, 10, -3, 12}, 1},                        /* padding is no writer */
        {{-1, 10, 0, 12}, 1},                         /* written by nobody */
        {{0, 0, 0, 0}, 4},
    };
    struct asked asked;
    assert_int_equal(ask(&asked, kit_scatter_describe_onto,
                         "{\"groups\": 1, \"n\": 4, \"rows\": 4, \"width\": 1, \"padding\": 0, " COMMON
                         "\"s32\"}"),
                     KIT_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t wrong = -1;
        assert_int_equal(kit_scatter_accepts(&asked.call, KIT_SCATTER_TARGET,
                                             (const void *[]){indices, src, before}, rows[i].after, &wrong),
                         KIT_OK);
        assert_int_equal(wrong, rows[i].wrong);
    }
    kit_params_free(&asked.params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(rows_of_groups),
        cmocka_unit_test(elements_with_padding),
        cmocka_unit_test(onto_what_was_there),
        cmocka_unit_test(counts),
        cmocka_unit_test(last_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

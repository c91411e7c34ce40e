/* SPDX-License-Identifier: Apache-2.0
 *
 * A catalogue file, beside a program of the name "probe", and the plans made of it.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/schema.h"
#include "suite/plan/catalogue.h"
#include "suite/plan/plan.h"
#include "suite/tests/fuzz/fuzz.h"

enum { REQUESTS_SHOWN = 2000 };

static void plan_at(const struct dp_catalogue *catalogue, const char *level, int64_t budget_ns)
{
    const struct dp_plan_options options = {.level = level, .seed = 1, .fresh = -1, .budget_ns = budget_ns};
    struct dp_plan plan;
    struct dp_err err = {0};
    if (dp_plan_make(catalogue, &options, &plan, &err) != 0) {
        fuzz_expect_refusal(&err, DP_EXIT_USAGE);
        return;
    }
    for (size_t i = 0; i < plan.request_count && i < REQUESTS_SHOWN; i++) {
        json_decref(dp_request_message(&plan, i));
    }
    json_decref(dp_plan_describe(&plan));
    dp_plan_free(&plan);
}

static void describe(const struct dp_catalogue *catalogue)
{
    struct dp_err err = {0};
    json_t *list = json_array();
    for (size_t i = 0; i < catalogue->case_count; i++) {
        json_array_append_new(list, dp_case_describe(&catalogue->cases[i]));
    }
    fuzz_expect(dp_schema_check(dp_schema_builtin("list"), list, &err) == 0, err.text);
    json_decref(list);
}

void fuzz_one(const char *text, size_t length)
{
    struct dp_catalogue catalogue;
    struct dp_err err = {0};
    fuzz_write("probe", "#!/bin/sh\n", 10, /* executable= */ true);
    fuzz_write("input.json", text, length, /* executable= */ false);
    if (dp_catalogue_load_from(NULL, fuzz_folder(), &catalogue, &err) != 0) {
        fuzz_expect_refusal(&err, 0);
        fuzz_expect(strstr(err.text, "input.json") != NULL, "a refusal that does not name the file");
        return;
    }
    describe(&catalogue);
    plan_at(&catalogue, "quick", 0);
    plan_at(&catalogue, "deep", INT64_C(1000000000));
    dp_catalogue_free(&catalogue);
}

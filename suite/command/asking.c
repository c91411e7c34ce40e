/* SPDX-License-Identifier: Apache-2.0
 *
 * From a report and a case to what can run it.
 */
#include "suite/command/asking.h"

#include <stdlib.h>
#include <string.h>

#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/command/running.h"

static const json_t *results_of(const json_t *report)
{
    return json_object_get(json_object_get(report, "body"), "results");
}

int asking_has(const json_t *report, const char *name, const char *id, struct dp_err *err)
{
    const json_t *results = results_of(report);
    if (dp_report_entry(results, id)) {
        return 0;
    }
    const char **ids = dp_alloc(json_array_size(results) + 1, sizeof(*ids));
    for (size_t i = 0; i < json_array_size(results); i++) {
        ids[i] = dp_json_string(json_array_get(results, i), "case", "");
    }
    const char *near = dp_suggest(id, ids, json_array_size(results));
    if (near) {
        dp_err_set(err, DP_EXIT_USAGE, "'%.200s' has no case '%.120s', did you mean '%.120s'?", name, id,
                   near);
    } else {
        dp_err_set(err, DP_EXIT_USAGE, "'%.200s' has no case '%.120s', see 'detprobe show --verbose %.200s'",
                   name, id, name);
    }
    free(ids);
    return -1;
}

static int fits(const json_t *result, const struct dp_case *item, struct dp_err *err)
{
    const char *then = dp_json_string(result, "definition", NULL);
    char now[65];
    return then && dp_case_definition(item, now) && strcmp(then, now) != 0
               ? dp_err_set(err, DP_EXIT_DATA, "case '%.120s' is another one here, its catalogue has changed",
                            item->id)
               : 0;
}

int asking_fits(const json_t *report, const struct asking *asking, struct dp_err *err)
{
    return fits(dp_report_entry(results_of(report), asking->bench.item->id), asking->bench.item, err);
}

static int find_case(const json_t *report, const char *id, struct asking *ret, struct dp_err *err)
{
    const struct dp_case *item = dp_catalogue_find(&ret->catalogue, id);
    ret->bench.item = item;
    return item ? fits(dp_report_entry(results_of(report), id), item, err)
                : dp_err_set(err, DP_EXIT_NOTHING_RAN,
                             "no catalogue file here has case '%.120s', see DETPROBE_PROBE_PATH", id);
}

/* What a report is of is loaded only where the user names it too: a report is of another hand. */
static int open_stack(const struct asking_options *options, const json_t *report, struct asking *ret,
                      struct dp_err *err)
{
    const json_t *environment = json_object_get(json_object_get(report, "body"), "environment");
    const char *path = dp_json_string(json_object_get(environment, "stack"), "path", NULL);
    if (!options->stack) {
        return path ? dp_err_set(err, DP_EXIT_USAGE,
                                 "the report is of the stack '%.300s', name one with '--stack'", path)
                    : 0;
    }
    if (dp_stack_open(options->stack, &ret->stack, err) != 0) {
        return -1;
    }
    dp_stack_apply(&ret->stack, &ret->catalogue);
    ret->bench.stack = &ret->stack;
    return 0;
}

int asking_open(const struct asking_options *options, const json_t *report, const char *name, const char *id,
                struct asking *ret, struct dp_err *err)
{
    const json_t *plan = json_object_get(json_object_get(report, "body"), "plan");
    *ret = (struct asking){.bench = {.timeout_ns = options->timeout_ns,
                                     .seed = strtoull(dp_json_string(plan, "seed", "1"), NULL, 10)}};
    if (asking_has(report, name, id, err) != 0 || dp_stack_check_roles(err) != 0 ||
        dp_catalogue_load(&ret->catalogue, err) != 0 || find_case(report, id, ret, err) != 0 ||
        open_stack(options, report, ret, err) != 0) {
        return -1;
    }
    run_let_threads_sleep();
    return 0;
}

void asking_close(struct asking *asking)
{
    dp_bench_free(&asking->bench);
    dp_stack_free(&asking->stack);
    dp_catalogue_free(&asking->catalogue);
}

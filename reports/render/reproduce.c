/* SPDX-License-Identifier: Apache-2.0
 *
 * From a report's plan and environment back to a command line.
 */
#include "reports/render/reproduce.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define MOST ((size_t)1 << 20) /* bytes of a command: variables may hold lists of folders */

/* What `run` sets by itself unless it is set; it would only make the command longer. */
static bool is_own(const char *name, const char *value)
{
    return strcmp(name, "OMP_WAIT_POLICY") == 0 && strcmp(value, "passive") == 0;
}

/* Those that are not to be set, taken away by env(1). */
static void put_unset(struct dp_text *out, const json_t *variables)
{
    const char *name;
    json_t *value;
    bool any = false;
    json_object_foreach((json_t *)(uintptr_t)variables, name, value)
    {
        if (json_is_null(value) && dp_host_records(name)) {
            dp_text_printf(out, "%s-u %s ", any ? "" : "env ", name);
            any = true;
        }
    }
}

/* A report may name what no run records, such as PATH: nobody is to paste that. */
static void put_variables(struct dp_text *out, const json_t *variables)
{
    const char *name;
    json_t *value;
    put_unset(out, variables);
    json_object_foreach((json_t *)(uintptr_t)variables, name, value)
    {
        const char *text = json_string_value(value);
        if (text && dp_host_records(name) && !is_own(name, text)) {
            dp_text_printf(out, "%s=", name);
            dp_text_put_word(out, text);
            dp_text_put(out, " ");
        }
    }
}

static void put_option(struct dp_text *out, const char *option, const char *value)
{
    if (value) {
        dp_text_printf(out, " --%s ", option);
        dp_text_put_word(out, value);
    }
}

char *dp_reproduce_before(const json_t *report)
{
    struct dp_text out = DP_TEXT(MOST);
    put_variables(
        &out, json_object_get(json_object_get(json_object_get(report, "body"), "environment"), "variables"));
    dp_text_put(&out, "detprobe run ");
    return dp_text_take(&out);
}

char *dp_reproduce_case(const char *id)
{
    struct dp_text out = DP_TEXT(MOST);
    dp_text_put_word(&out, id);
    return dp_text_take(&out);
}

/* Axes that wait for what is known of the machine are none of level quick: there they were asked for, and so
 * were all that are in the plan. NULL: the level's own are meant. Owned. */
static char *axes_of(const json_t *plan)
{
    const json_t *axes = json_object_get(plan, "axes");
    const bool quick = strcmp(dp_json_string(plan, "level", ""), "quick") == 0;
    struct dp_text words = DP_TEXT(1000);
    if (quick && (dp_json_array_has(axes, "isa") || dp_json_array_has(axes, "device"))) {
        for (size_t i = 0; i < json_array_size(axes); i++) {
            const char *axis = json_string_value(json_array_get(axes, i));
            dp_text_printf(&words, "%s%s", words.length ? "," : "", axis ? axis : "");
        }
    }
    return words.data;
}

static void put_options(struct dp_text *out, const struct dp_reproduction *what)
{
    put_option(out, "level", what->level);
    put_option(out, "axis", what->axis);
    if (what->runs) {
        dp_text_printf(out, " --runs %d", what->runs);
    }
    put_option(out, "seed", what->seed);
    put_option(out, "detect-rate", what->rate);
    put_option(out, "confidence", what->confidence);
    put_option(out, "stack", what->stack);
}

char *dp_reproduce_after(const json_t *report)
{
    const json_t *body = json_object_get(report, "body"), *plan = json_object_get(body, "plan");
    const json_t *stack = json_object_get(json_object_get(body, "environment"), "stack");
    const json_t *stages = json_object_get(plan, "stages");
    /* A process that was measured is over: its files had no name but its own. */
    const bool over = strcmp(dp_json_string(stack, "kind", ""), "process") == 0;
    struct dp_text out = DP_TEXT(MOST);
    char *axes = axes_of(plan);
    const struct dp_reproduction what = {.level = dp_json_string(plan, "level", NULL),
                                         .axis = axes,
                                         .seed = dp_json_string(plan, "seed", NULL),
                                         .rate = dp_json_string(stages, "rate", NULL),
                                         .confidence = dp_json_string(stages, "confidence", NULL),
                                         .stack = over ? NULL : dp_json_string(stack, "path", NULL)};
    put_options(&out, &what);
    free(axes);
    return dp_text_take(&out);
}

char *dp_reproduction_text(const struct dp_reproduction *what)
{
    struct dp_text out = DP_TEXT(MOST);
    put_variables(&out, what->variables);
    dp_text_put(&out, "detprobe run ");
    dp_text_put_word(&out, what->id);
    put_options(&out, what);
    return dp_text_take(&out);
}

char *dp_reproduce(const json_t *report, const char *id)
{
    char *before = dp_reproduce_before(report), *word = dp_reproduce_case(id),
         *after = dp_reproduce_after(report);
    char *command = dp_printf("%s%s%s", before, word, after);
    free(before);
    free(word);
    free(after);
    return command;
}

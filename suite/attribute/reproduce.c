/* SPDX-License-Identifier: Apache-2.0
 *
 * From a change to a command line.
 */
#include "suite/attribute/reproduce.h"

#include <stdlib.h>
#include <string.h>

#include "reports/render/reproduce.h"
#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/levels.h"

static bool is_axis(const json_t *item)
{
    return strcmp(dp_json_string(item, "kind", ""), "axis") == 0;
}

/* The axes of a change, as 'run' takes them; NULL: there are none. Owned. */
static char *axes_of(const json_t *change)
{
    struct dp_text words = DP_TEXT(1000);
    size_t i;
    json_t *item;
    json_array_foreach(change, i, item)
    {
        if (is_axis(item)) {
            dp_text_printf(&words, "%s%s", words.length ? "*" : "", dp_json_string(item, "name", ""));
        }
    }
    return words.data;
}

/* The files of this shell that stand for libraries: they are what was measured. A stack stands for its own.
 * Owned. */
static json_t *own_libraries(const struct dp_stack *stack)
{
    static const char prefix[] = "DETPROBE_LIB_";
    json_t *all = dp_host_variables(), *kept = json_object(), *value;
    const char *name;
    json_object_foreach(all, name, value)
    {
        if (strncmp(name, prefix, sizeof(prefix) - 1) == 0) {
            json_object_set(kept, name, value);
        }
    }
    json_decref(all);
    if (stack) {
        dp_stack_forget_own(stack, kept);
    }
    return kept;
}

/* These and the change's variables, at one of its sides; what is not to be set and is not set needs no word.
 * Owned. */
static json_t *variables_of(const struct dp_shown *shown, const json_t *change, const char *side)
{
    json_t *variables = own_libraries(shown->bench->stack), *item;
    size_t i;
    json_object_update(variables, (json_t *)(uintptr_t)shown->context);
    json_array_foreach(change, i, item)
    {
        const char *name = dp_json_string(item, "name", "");
        json_t *value = json_object_get(item, side);
        if (!is_axis(item) && (json_is_string(value) || getenv(name))) {
            json_object_set(variables, name, value);
        } else if (!is_axis(item)) {
            json_object_del(variables, name);
        }
    }
    return variables;
}

static char *with_variables(struct dp_reproduction what, const struct dp_shown *shown, const json_t *change,
                            const char *side)
{
    json_t *variables = variables_of(shown, change, side);
    what.variables = variables;
    char *text = dp_reproduction_text(&what);
    json_decref(variables);
    return text;
}

char *dp_change_command(const struct dp_shown *shown, const json_t *change)
{
    const struct dp_stack *stack = shown->bench->stack;
    struct dp_err err;
    char *seed = dp_printf("%llu", (unsigned long long)shown->bench->seed), *axes = axes_of(change),
         *ret = NULL;
    struct dp_reproduction what = {.id = shown->bench->item->id,
                                   .level = axes ? "default" : "quick",
                                   .axis = axes            ? axes
                                           : shown->varies ? shown->varies
                                                           : "fresh",
                                   .seed = seed,
                                   .stack = stack ? stack->name : NULL};
    if (shown->varies && !axes) {
        what.runs = strcmp(shown->varies, "repeat") == 0 ? shown->runs : 0;
        ret = with_variables(what, shown, change, "to");
    } else if (axes && dp_axis_find(axes, &err)) {
        ret = with_variables(what, shown, change, "to");
    } else if (!axes) {
        char *without = with_variables(what, shown, change, "from"),
             *with = with_variables(what, shown, change, "to");
        ret = dp_printf("detprobe diff <(%s --json) <(%s --json)", without, with);
        free(without);
        free(with);
    }
    free(axes);
    free(seed);
    return ret;
}

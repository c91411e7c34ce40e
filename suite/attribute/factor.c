/* SPDX-License-Identifier: Apache-2.0
 *
 * Which factors a case has, and from chosen values to a setup.
 */
#include "suite/attribute/factor.h"

#include <stdlib.h>
#include <string.h>

#include "suite/audit/readers.h"
#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/judge/facts.h"
#include "suite/plan/levels.h"

/* The axes that are tried, and whether one only disturbs. */
static const struct {
    const char *name;
    bool disturbs;
} axes[] = {
    {"poison", true},   {"busy", true},   {"concurrency", true}, {"align", true},
    {"threads", false}, {"batch", false}, {"algorithm", false},  {"isa", false},
};

static const char *keep(struct dp_factors *factors, const char *string)
{
    if (!string) {
        return NULL;
    }
    json_array_append_new(factors->strings, json_string(string));
    return json_string_value(json_array_get(factors->strings, json_array_size(factors->strings) - 1));
}

static struct dp_factor *find(const struct dp_factors *factors, const char *name)
{
    for (size_t i = 0; i < factors->count; i++) {
        if (strcmp(factors->items[i].name, name) == 0) {
            return &factors->items[i];
        }
    }
    return NULL;
}

struct dp_factor *dp_factors_add(struct dp_factors *factors, enum dp_factor_kind kind, const char *name,
                                 const char *from)
{
    factors->strings = factors->strings ? factors->strings : json_array();
    factors->items = dp_realloc(factors->items, factors->count + 1, sizeof(*factors->items));
    struct dp_factor *factor = &factors->items[factors->count++];
    *factor = (struct dp_factor){.kind = kind, .name = keep(factors, name), .from = keep(factors, from)};
    return factor;
}

void dp_factors_add_to(struct dp_factors *factors, struct dp_factor *factor, const char *to)
{
    for (size_t i = 0; i < factor->to_count; i++) {
        if (to && factor->to[i] && strcmp(factor->to[i], to) == 0) {
            return;
        }
    }
    factor->to = dp_realloc(factor->to, factor->to_count + 1, sizeof(*factor->to));
    factor->to[factor->to_count++] = keep(factors, to);
}

/* --- axes --- */

/* Compared with the base setting, or with the first of them. */
static void add_settings(struct dp_factors *factors, const struct dp_case *item, const struct dp_axis *axis,
                         bool disturbs)
{
    const char *settings[DP_SETTING_MAX];
    const size_t count = dp_axis_settings(axis, dp_level_find("default"), item, settings);
    const bool with_base = dp_axis_compared(axis->name)->with_base;
    if (count == 0) {
        return;
    }
    struct dp_factor *factor =
        dp_factors_add(factors, DP_FACTOR_AXIS, axis->name, with_base ? "" : settings[0]);
    factor->disturbs = disturbs;
    for (size_t i = !with_base; i < count; i++) {
        dp_factors_add_to(factors, factor, settings[i]);
    }
}

/* The levels that a library of the program can be held to and the processor runs; not the one it runs on. */
static void add_caps(struct dp_factors *factors, const struct dp_case *item, const json_t *hello)
{
    json_t *host = dp_host_facts();
    struct dp_factor *factor = dp_factors_add(factors, DP_FACTOR_AXIS, "isa", "");
    for (const struct dp_cap *cap = dp_caps(); cap->setting; cap++) {
        const char *isa = dp_hello_isa(hello, cap->library);
        char *lacks = dp_cap_lacks(cap, host);
        const bool own = dp_cap_own(cap, item->program->environment) != NULL;
        if (isa && !lacks && !own && cap->generation && !dp_cap_is(cap, isa)) {
            dp_factors_add_to(factors, factor, cap->setting);
        }
        free(lacks);
    }
    json_decref(host);
}

static void add_axes(struct dp_factors *factors, const struct dp_case *item, const json_t *hello)
{
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
        struct dp_err err;
        const struct dp_axis *axis = dp_axis_find(axes[i].name, &err);
        const bool other = !dp_axis_is_of(axis, item->backend);
        if (other || (axis->needs && !json_object_get(item->json, axis->needs))) {
            continue;
        }
        if (axis->extent == DP_EXTENT_ISA) {
            add_caps(factors, item, hello);
        } else if (dp_json_array_has(json_object_get(hello, "axes"), axes[i].name)) {
            add_settings(factors, item, axis, axes[i].disturbs);
        }
    }
}

/* --- variables --- */

static void add_variable(struct dp_factors *factors, const struct dp_case *item, const char *name,
                         const char *value)
{
    if (!dp_host_records(name) || json_object_get(item->program->environment, name)) {
        return;
    }
    struct dp_factor *factor = find(factors, name);
    factor = factor ? factor : dp_factors_add(factors, DP_FACTOR_VARIABLE, name, NULL);
    dp_factors_add_to(factors, factor, value);
}

/* "OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell" of a remedy; words of another form are no variables. */
static void add_remedy(struct dp_factors *factors, const struct dp_case *item)
{
    const char *setting = dp_json_string(json_object_get(item->json, "remedy"), "setting", "");
    for (const char *at = setting; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " "), equals = strcspn(at, "= ");
        if (at[equals] == '=') {
            char *name = dp_printf("%.*s", (int)equals, at);
            char *value = dp_printf("%.*s", (int)(length - equals - 1), at + equals + 1);
            add_variable(factors, item, name, value);
            free(value);
            free(name);
        }
        at += length;
    }
}

/* Does axis isa of this case set it already? */
static bool is_of_axis(const struct dp_case *item, const char *name)
{
    json_t *set = json_pack("{sb}", name, true);
    bool found = false;
    for (const struct dp_cap *cap = dp_caps(); cap->setting && json_object_get(item->json, "isa"); cap++) {
        found = found || dp_cap_own(cap, set);
    }
    json_decref(set);
    return found;
}

static bool is_read(const json_t *setting, const struct dp_readers *readers)
{
    const char *version;
    return dp_readers_find(readers, setting, false, &version) == DP_AUDIT_PRESENT;
}

/* Those with a value that is known to show an effect, where somebody here reads them. What every process
 * reads is varied by axis poison. */
static void add_proven(struct dp_factors *factors, const struct dp_case *item, const json_t *hello)
{
    struct dp_readers readers;
    size_t i;
    json_t *setting;
    dp_readers_open(&readers);
    dp_readers_add_libraries(&readers, json_object_get(hello, "libraries"));
    json_array_foreach(json_object_get(dp_audit_settings(), "settings"), i, setting)
    {
        const char *name = dp_json_string(setting, "name", "");
        const char *value = dp_json_string(json_object_get(setting, "prove"), "value", NULL);
        if (value && strcmp(dp_json_string(setting, "reader", ""), "glibc") != 0 && !is_of_axis(item, name) &&
            is_read(setting, &readers)) {
            add_variable(factors, item, name, value);
        }
    }
    dp_readers_free(&readers);
}

static void add_recorded(struct dp_factors *factors, const struct dp_case *item, const json_t *recorded)
{
    size_t i;
    json_t *setting;
    json_array_foreach(json_object_get(dp_audit_settings(), "settings"), i, setting)
    {
        const char *name = dp_json_string(setting, "name", "");
        const char *value = dp_json_string(recorded, name, NULL);
        if (value && dp_audit_may_set(name, value)) {
            add_variable(factors, item, name, value);
        }
    }
}

void dp_factors_of_case(const struct dp_case *item, const json_t *hello, const json_t *recorded,
                        struct dp_factors *ret)
{
    *ret = (struct dp_factors){.strings = json_array()};
    add_axes(ret, item, hello);
    add_recorded(ret, item, recorded);
    add_remedy(ret, item);
    add_proven(ret, item, hello);
}

void dp_factors_free(struct dp_factors *factors)
{
    for (size_t i = 0; i < factors->count; i++) {
        free(factors->items[i].to);
    }
    free(factors->items);
    json_decref(factors->strings);
}

/* --- setups --- */

struct dp_setup dp_setup_of(const struct dp_factors *factors, const struct dp_choice *choices, size_t count,
                            bool at_from)
{
    struct dp_setup setup = {.variables = json_object()};
    struct dp_text axis = DP_TEXT(4096), setting = DP_TEXT(4096);
    for (size_t i = 0; i < factors->count; i++) {
        const struct dp_factor *factor = &factors->items[i];
        const char *value = factor->from;
        bool chosen = factor->always;
        for (size_t k = 0; k < count; k++) {
            chosen = chosen || choices[k].factor == i;
            if (choices[k].factor == i) {
                value = at_from ? choices[k].from : choices[k].value;
            }
        }
        if (factor->kind == DP_FACTOR_VARIABLE) {
            json_object_set_new(setup.variables, factor->name, value ? json_string(value) : json_null());
        } else if (chosen && strcmp(factor->name, "isa") == 0) {
            setup.cap = dp_cap_find(value);
        } else if (chosen && value[0]) {
            dp_text_printf(&axis, "%s%s", axis.length ? "*" : "", factor->name);
            dp_text_printf(&setting, "%s%s", setting.length ? "*" : "", value);
        }
    }
    dp_text_put(&axis, axis.length ? "" : "repeat");
    setup.axis = dp_text_take(&axis);
    setup.setting = dp_text_take(&setting);
    return setup;
}

json_t *dp_choice_json(const struct dp_factors *factors, const struct dp_choice *choice)
{
    const struct dp_factor *factor = &factors->items[choice->factor];
    return json_pack("{ss ss ss? ss?}", "kind", factor->kind == DP_FACTOR_AXIS ? "axis" : "variable", "name",
                     factor->name, "from", choice->from, "to", choice->value);
}

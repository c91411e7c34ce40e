/* SPDX-License-Identifier: Apache-2.0
 *
 * One entry of body.results[]. It holds only what two runs with one seed on one stack have in common: the
 * bits of a case that repeats, never the counts of one that varies.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/digest.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/judge/facts.h"

static const char *const observed_names[DP_OBSERVED_MAX] = {
    [DP_REPEATS] = "repeats", [DP_VARIES] = "varies",     [DP_WRONG] = "wrong",
    [DP_ERROR] = "error",     [DP_UNTESTED] = "untested", [DP_SKIPPED] = "skipped",
};

const char *dp_observed_name(enum dp_observed observed)
{
    return observed_names[observed];
}

static json_t *guarantee_json(const struct dp_view *view, const struct dp_found *found)
{
    const char *reason = dp_json_string(view->stated, "reason", NULL);
    char *source = dp_printf("%s%s%s", dp_json_string(view->stated, "source", ""), reason ? "; " : "",
                             reason ? reason : "");
    json_t *copy =
        json_pack("{ss, ss}", "level", dp_json_string(view->stated, "level", "unstated"), "source", source);
    if (found->status) {
        json_object_set_new(copy, "status", json_string(found->status));
    }
    free(source);
    return copy;
}

/* Axes that the user named are the plan's, and beside repeat no others are. */
static bool was_named(const struct dp_plan *plan, const char *axis)
{
    for (size_t i = 0; i < plan->axis_count && plan->options.axes.count > 0; i++) {
        const struct dp_request named = {.axis = plan->axes[i]};
        if (dp_request_varies(&named, axis)) {
            return true;
        }
    }
    return false;
}

/* Whether the user or the plan asked for the axis at all: what was asked for and not answered is told, also
 * where no guarantee speaks of it, and of a case that does not take the axis. */
static bool was_asked(const struct dp_view *view, const char *axis)
{
    if (was_named(view->plan, axis)) {
        return true;
    }
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_request *request = view->facts[i]->request;
        if (request->retest == 0 && dp_request_varies(request, axis)) {
            return true;
        }
    }
    return false;
}

static json_t *axes_not_measured(const struct dp_view *view, const struct dp_found *found)
{
    json_t *axes = json_array();
    for (size_t i = 0; i < DP_AXIS_COUNT; i++) {
        const char *axis = dp_axes[i].name;
        const bool promised = dp_case_covers(view->item, axis) || dp_case_invariant(view->item, axis);
        if (strcmp(axis, "repeat") == 0 || (!promised && !was_asked(view, axis))) {
            continue;
        }
        const struct dp_moved moved = dp_axis_moved(view, axis, 0);
        const bool confounded = promised && found->observed == DP_REPEATS && moved.comparable == 0;
        if (moved.observed == 0 || confounded) {
            json_array_append_new(axes, json_string(axis));
        }
    }
    return axes;
}

static json_t *axes_sensitive_to(const struct dp_view *view)
{
    json_t *axes = json_array();
    for (size_t i = 0; i < DP_AXIS_COUNT; i++) {
        const char *axis = dp_axes[i].name;
        if (strcmp(axis, "repeat") != 0 && !dp_case_covers(view->item, axis) &&
            dp_axis_moved(view, axis, 0).moved) {
            json_array_append_new(axes, json_string(axis));
        }
    }
    return axes;
}

static void add_outputs(const struct dp_view *view, const struct dp_fact *fact, json_t *ret_outputs)
{
    char *seed = dp_seed_name(view->plan, fact->request->seed_index);
    size_t i;
    json_t *output;
    json_array_foreach(json_object_get(fact->answer, "outputs"), i, output)
    {
        const json_t *class = json_array_get(json_object_get(output, "classes"), 0);
        json_t *copy = json_object();
        json_object_set(copy, "name", json_object_get(output, "name"));
        json_object_set(copy, "dtype", json_object_get(output, "dtype"));
        json_object_set_new(copy, "shape", json_deep_copy(json_object_get(output, "shape")));
        json_object_set_new(copy, "seed", json_string(seed));
        json_object_set_new(copy, "set", json_string(fact->request->set));
        json_object_set(copy, "sha256", json_object_get(class, "sha256"));
        json_array_append_new(ret_outputs, copy);
    }
    free(seed);
}

static json_t *base_outputs(const struct dp_view *view)
{
    json_t *outputs = json_array();
    for (size_t i = 0; i < view->count; i++) {
        if (dp_fact_is_first(view->facts[i])) {
            add_outputs(view, view->facts[i], outputs);
        }
    }
    return outputs;
}

/* A member of the answers at the base setting, if it is the same everywhere: a choice that moves without
 * moving bits is none of the body's business. */
static const char *common_member(const struct dp_view *view, const char *name)
{
    const char *common = NULL;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        const bool base = dp_fact_is_first(fact) || strcmp(fact->request->axis, "fresh") == 0;
        if (!base || fact->kind != DP_FACT_OBSERVATION) {
            continue;
        }
        const char *value = dp_json_string(fact->answer, name, NULL);
        if (!value || (common && strcmp(common, value) != 0)) {
            return NULL;
        }
        common = value;
    }
    return common;
}

/* What to do along the axes that moved the bits; the catalogue has it for others too. */
static void add_remedy_along(const struct dp_view *view, const json_t *axes, json_t *result)
{
    const json_t *remedies = json_object_get(view->item->json, "remedy_along");
    json_t *along = json_object();
    for (size_t i = 0; i < json_array_size(axes); i++) {
        const char *axis = json_string_value(json_array_get(axes, i));
        const json_t *remedy = json_object_get(remedies, axis);
        if (remedy) {
            json_object_set_new(along, axis, json_deep_copy(remedy));
        }
    }
    if (json_object_size(along) > 0) {
        json_object_set(result, "remedy_along", along);
    }
    json_decref(along);
}

static void add_repeating(const struct dp_view *view, json_t *result)
{
    const char *chosen = common_member(view, "chosen");
    json_t *sensitive = axes_sensitive_to(view);
    add_remedy_along(view, sensitive, result);
    json_object_set_new(result, "sensitive_to", sensitive);
    json_object_set_new(result, "outputs", base_outputs(view));
    if (chosen) {
        json_object_set_new(result, "chosen", json_string(chosen));
    }
    json_t *order = dp_order_json(view);
    if (order) {
        json_object_set_new(result, "order", order);
    }
}

static void add_ran(const struct dp_view *view, const struct dp_found *found, json_t *result)
{
    const json_t *remedy = json_object_get(view->item->json, "remedy");
    const json_t *used_by = json_object_get(view->item->json, "used_by");
    json_object_set_new(result, "not_measured", axes_not_measured(view, found));
    json_object_set_new(result, "checked", json_string(view->full ? "full" : "bits"));
    if (found->difference) {
        json_object_set_new(result, "difference", json_string(found->difference));
    }
    /* of a choice that moves, another run may see another part */
    const bool selection = found->difference && strcmp(found->difference, "selection") == 0;
    const char *declared = selection ? NULL : common_member(view, "declared");
    if (declared) {
        json_object_set_new(result, "declared", json_string(declared));
    }
    if (json_array_size(found->wrong_under) > 0) {
        json_object_set(result, "wrong_under", found->wrong_under);
    }
    if (json_object_size(remedy) > 0) {
        json_object_set_new(result, "remedy", json_deep_copy(remedy));
    }
    if (json_array_size(used_by) > 0) {
        json_object_set_new(result, "used_by", json_deep_copy(used_by));
    }
    if (found->observed == DP_REPEATS) {
        add_repeating(view, result);
    }
}

bool dp_case_definition(const struct dp_case *item, char ret[65])
{
    static const char *const members[] = {"op", "params", "choice", "problem", "arithmetic", "environment"};
    size_t length = 0;
    json_t *definition = json_object();
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        json_t *member = json_object_get(item->json, members[i]);
        if (member) {
            json_object_set(definition, members[i], member);
        }
    }
    char *bytes = dp_json_canonical(definition, &length, NULL);
    const bool canonical = bytes != NULL;
    if (canonical) {
        dp_sha256_hex(bytes, length, ret);
    }
    free(bytes);
    json_decref(definition);
    return canonical;
}

static void add_definition(const struct dp_view *view, json_t *result)
{
    char digest[DP_SHA256_HEX];
    if (dp_case_definition(view->item, digest)) {
        json_object_set_new(result, "definition", json_string(digest));
    }
}

json_t *dp_result_json(const struct dp_view *view, const struct dp_found *found)
{
    json_t *result = json_object();
    json_object_set_new(result, "case", json_string(view->item->id));
    json_object_set_new(result, "backend", json_string(view->item->backend));
    json_object_set_new(result, "family", json_string(view->item->family));
    add_definition(view, result);
    json_t *environment = json_object_get(view->item->json, "environment");
    if (environment) {
        json_object_set_new(result, "environment", json_deep_copy(environment));
    }
    json_object_set_new(result, "observed", json_string(dp_observed_name(found->observed)));
    json_object_set_new(result, "guarantee", guarantee_json(view, found));
    if (found->reason) {
        json_object_set_new(result, "reason", json_string(found->reason));
    }
    if (found->text && found->text[0]) {
        json_object_set_new(result, "text", json_string(found->text));
    }
    if (found->status) {
        add_ran(view, found, result);
    }
    return result;
}

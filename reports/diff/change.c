/* SPDX-License-Identifier: Apache-2.0
 *
 * What changed of one case. "May vary, not seen" against "varies" is a change only where the intervals of the
 * two rates exclude each other: else the same rate explains both sides.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/diff/parts.h"
#include "reports/model.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

static const struct {
    const char *name, *one, *several;
} kinds[DP_CHANGE_MAX] = {
    [DP_CHANGE_BROKEN] = {"newly_broken", "guarantee newly broken", "guarantees newly broken"},
    [DP_CHANGE_WRONG] = {"newly_wrong", "newly wrong", "newly wrong"},
    [DP_CHANGE_FAILED] = {"newly_failing", "ends in an error now", "end in an error now"},
    [DP_CHANGE_VARIES] = {"newly_varying", "newly varies", "newly vary"},
    [DP_CHANGE_BITS] = {"other_bits", "repeats with other bits", "repeat with other bits"},
    [DP_CHANGE_SENSITIVE] = {"newly_sensitive", "newly sensitive", "newly sensitive"},
    [DP_CHANGE_STOPPED] = {"stopped", "does not run any more", "do not run any more"},
    [DP_CHANGE_MISSING] = {"missing", "missing", "missing"},
    [DP_CHANGE_NEW] = {"new", "new", "new"},
    [DP_CHANGE_STARTED] = {"started", "runs now", "run now"},
    [DP_CHANGE_MENDED] = {"mended", "mended", "mended"},
    [DP_CHANGE_REPEATS] = {"newly_repeating", "repeats now", "repeat now"},
    [DP_CHANGE_INSENSITIVE] = {"no_longer_sensitive", "no longer sensitive", "no longer sensitive"},
};

const char *dp_change_name(enum dp_change kind)
{
    return kinds[kind].name;
}

enum dp_change dp_change_named(const char *name)
{
    int kind = 0;
    while (kind < DP_CHANGE_MAX && strcmp(kinds[kind].name, name) != 0) {
        kind++;
    }
    return (enum dp_change)kind;
}

const char *dp_change_words(enum dp_change kind, bool several)
{
    return several ? kinds[kind].several : kinds[kind].one;
}

/* Limits of the rate of differences on one side along one axis, from what the report measured. */
struct rate {
    double low, high;
    bool seen; /* a difference was */
};

static struct rate rate_of(const struct dp_pair *pair, int side, const char *axis)
{
    const json_t *tally = json_object_get(json_object_get(pair->measured[side], "axes"), axis);
    const json_t *interval = json_object_get(tally, "interval");
    if (json_array_size(interval) == 2) {
        return (struct rate){json_number_value(json_array_get(interval, 0)),
                             json_number_value(json_array_get(interval, 1)), true};
    }
    return (struct rate){0, dp_json_number(tally, "bound", 1), false};
}

/* What moved along an axis that has no rate (another setting, another poison) does so each time. */
bool dp_rates_exclude(const struct dp_pair *pair, int steady, int moving)
{
    static const char *const axes[] = {"repeat", "fresh"};
    bool rated = false;
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
        const struct rate still = rate_of(pair, steady, axes[i]), other = rate_of(pair, moving, axes[i]);
        rated = rated || other.seen;
        if (other.seen && other.low > still.high) {
            return true;
        }
    }
    return !rated;
}

/* Name, seed and set: what says of which inputs an output is. */
static bool is_like(const json_t *output, const json_t *other)
{
    return json_equal(json_object_get(output, "name"), json_object_get(other, "name")) &&
           json_equal(json_object_get(output, "seed"), json_object_get(other, "seed")) &&
           json_equal(json_object_get(output, "set"), json_object_get(other, "set"));
}

/* Owned. */
static char *key_of(const json_t *output)
{
    return dp_printf("%s %s %s", dp_json_string(output, "seed", ""), dp_json_string(output, "set", ""),
                     dp_json_string(output, "name", ""));
}

/* Outputs by what they are of. Owned. */
static json_t *by_key(const json_t *outputs)
{
    json_t *index = json_object();
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        char *key = key_of(json_array_get(outputs, i));
        json_object_set(index, key, json_array_get(outputs, i));
        free(key);
    }
    return index;
}

/* The output that is of the same inputs: mostly at the same place, else looked up in an index that is made
 * when it is first needed. */
static const json_t *output_like(const json_t *outputs, const json_t *output, size_t place, json_t **index)
{
    const json_t *there = json_array_get(outputs, place);
    if (there && is_like(there, output)) {
        return there;
    }
    *index = *index ? *index : by_key(outputs);
    char *key = key_of(output);
    const json_t *found = json_object_get(*index, key);
    free(key);
    return found;
}

bool dp_outputs_equal(const json_t *before, const json_t *after, const char **ret_unlike)
{
    size_t compared = 0;
    bool equal = true;
    json_t *index = NULL;
    *ret_unlike = NULL;
    for (size_t i = 0; i < json_array_size(before) && !*ret_unlike; i++) {
        const json_t *output = json_array_get(before, i), *other = output_like(after, output, i, &index);
        if (!other) {
            continue;
        }
        if (!json_equal(json_object_get(output, "dtype"), json_object_get(other, "dtype")) ||
            !json_equal(json_object_get(output, "shape"), json_object_get(other, "shape"))) {
            *ret_unlike = "its outputs have other types or shapes";
        }
        compared++;
        equal = equal && json_equal(json_object_get(output, "sha256"), json_object_get(other, "sha256"));
    }
    json_decref(index);
    if (compared == 0) {
        *ret_unlike = "the two have no output in common";
    }
    return equal;
}

/* Axes that `side` is sensitive to and the other, which measured them too, is not. */
static json_t *only_of(const struct dp_pair *pair, int side)
{
    const json_t *other = pair->result[1 - side];
    const json_t *named = json_object_get(pair->result[side], "sensitive_to");
    const json_t *measured = json_object_get(pair->measured[1 - side], "axes");
    json_t *axes = json_array();
    for (size_t i = 0; i < json_array_size(named); i++) {
        json_t *axis = json_array_get(named, i);
        const char *name = json_string_value(axis);
        if (!dp_json_array_has(json_object_get(other, "sensitive_to"), name) &&
            !dp_json_array_has(json_object_get(other, "not_measured"), name) &&
            (!measured || json_object_get(measured, name))) {
            json_array_append(axes, axis);
        }
    }
    return axes;
}

static void compare_repeating(const struct dp_pair *pair, struct dp_changes *ret)
{
    const bool equal = dp_outputs_equal(json_object_get(pair->result[0], "outputs"),
                                        json_object_get(pair->result[1], "outputs"), &ret->unlike);
    ret->is[DP_CHANGE_BITS] = !equal && !ret->unlike;
    ret->axes[0] = only_of(pair, 1);
    ret->axes[1] = only_of(pair, 0);
    ret->is[DP_CHANGE_SENSITIVE] = json_array_size(ret->axes[0]) > 0;
    ret->is[DP_CHANGE_INSENSITIVE] = json_array_size(ret->axes[1]) > 0;
}

/* Did the case run under this cap, as far as its measurements say? */
static bool ran_under(const json_t *measured, const char *cap)
{
    const json_t *axes = json_object_get(measured, "axes");
    const json_t *settings = json_object_get(json_object_get(axes, "isa"), "settings");
    bool ran = !measured;
    for (size_t i = 0; i < json_array_size(settings); i++) {
        const json_t *setting = json_array_get(settings, i);
        ran = ran || (strcmp(dp_json_string(setting, "setting", ""), cap) == 0 &&
                      !json_object_get(setting, "dropped"));
    }
    return ran;
}

/* Is `side` wrong under a cap under which the other ran and was right? */
static bool alone_wrong_under(const struct dp_pair *pair, int side)
{
    const json_t *other = pair->result[1 - side];
    const json_t *caps = json_object_get(pair->result[side], "wrong_under");
    bool alone = false;
    for (size_t i = 0; i < json_array_size(caps) && !dp_result_is(other, "wrong"); i++) {
        const char *cap = json_string_value(json_array_get(caps, i));
        alone = alone || (!dp_json_array_has(json_object_get(other, "wrong_under"), cap) &&
                          ran_under(pair->measured[1 - side], cap));
    }
    return alone;
}

/* Both sides ran. */
static void compare_verdicts(const struct dp_pair *pair, struct dp_changes *ret)
{
    const bool wrong[2] = {dp_result_is(pair->result[0], "wrong"), dp_result_is(pair->result[1], "wrong")};
    const bool broken[2] = {dp_result_broken(pair->result[0]), dp_result_broken(pair->result[1])};
    ret->is[DP_CHANGE_WRONG] = (wrong[1] && !wrong[0]) || alone_wrong_under(pair, 1);
    ret->is[DP_CHANGE_BROKEN] = broken[1] && !broken[0];
    ret->is[DP_CHANGE_MENDED] =
        (wrong[0] && !wrong[1]) || (broken[0] && !broken[1]) || alone_wrong_under(pair, 0);
    const bool told = ret->is[DP_CHANGE_WRONG] || ret->is[DP_CHANGE_BROKEN] || ret->is[DP_CHANGE_MENDED];
    if (dp_result_is(pair->result[0], "repeats") && dp_result_is(pair->result[1], "varies") && !told) {
        ret->is[DP_CHANGE_VARIES] = dp_rates_exclude(pair, 0, 1);
        ret->undecided = !ret->is[DP_CHANGE_VARIES];
    } else if (dp_result_is(pair->result[0], "varies") && dp_result_is(pair->result[1], "repeats") && !told) {
        ret->is[DP_CHANGE_REPEATS] = dp_rates_exclude(pair, 1, 0);
        ret->undecided = !ret->is[DP_CHANGE_REPEATS];
    } else if (dp_result_is(pair->result[0], "repeats") && dp_result_is(pair->result[1], "repeats")) {
        compare_repeating(pair, ret);
    }
}

void dp_changes_find(const struct dp_pair *pair, struct dp_changes *ret)
{
    *ret = (struct dp_changes){.unlike = NULL};
    if (!pair->result[0] || !pair->result[1]) {
        ret->is[pair->result[0] ? DP_CHANGE_MISSING : DP_CHANGE_NEW] = true;
        return;
    }
    const json_t *before = json_object_get(pair->result[0], "definition");
    const json_t *after = json_object_get(pair->result[1], "definition");
    if (before && after && !json_equal(before, after)) {
        ret->unlike = "the catalogues define it differently";
    } else if (dp_result_ran(pair->result[0]) && dp_result_ran(pair->result[1])) {
        compare_verdicts(pair, ret);
    } else {
        ret->is[DP_CHANGE_FAILED] =
            dp_result_is(pair->result[1], "error") && !dp_result_is(pair->result[0], "error");
        ret->is[DP_CHANGE_STOPPED] =
            dp_result_ran(pair->result[0]) && !dp_result_is(pair->result[1], "error");
        ret->is[DP_CHANGE_STARTED] = !dp_result_ran(pair->result[0]) && dp_result_ran(pair->result[1]);
    }
}

void dp_changes_free(struct dp_changes *changes)
{
    json_decref(changes->axes[0]);
    json_decref(changes->axes[1]);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The check of observations.
 */
#include "suite/run/observation.h"

#include <stdint.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/run/members.h"
#include "suite/run/protocol.h"

#define COUNT(table) (sizeof(table) / sizeof(table[0]))
#define INT_MAX53 (((json_int_t)1 << 53) - 1)
#define NS_MAX (INT64_C(1000000000) * 3600 * 24 * 7) /* a week: a ratio of two times is a number then */
#define OUTPUTS_MAX 64
#define DIMENSIONS_MAX 16
#define KERNELS_MAX 64

static const struct dp_member observation_members[] = {
    {"chosen", DP_MEMBER_STRING, false, 0, 1000, NULL},
    {"declared", DP_MEMBER_WORD, false, 0, 0, "deterministic|nondeterministic"},
    {"threads", DP_MEMBER_INT, false, 1, 1 << 20, NULL},
    {"float_control", DP_MEMBER_HEX, false, 0, 0, NULL},
    {"isa", DP_MEMBER_NAME, false, 0, 63, NULL}, /* of a capped library: the runner's */
};
static const struct dp_member output_members[] = {
    {"name", DP_MEMBER_NAME, true, 0, 64, NULL},
    {"dtype", DP_MEMBER_NAME, true, 0, 32, NULL},
    {"distinct", DP_MEMBER_INT, false, 1, DP_CLASSES_COUNTED, NULL},
    {"unwritten", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"guard", DP_MEMBER_WORD, false, 0, 0, "intact|broken"},
    {"error_over_bound", DP_MEMBER_NUMBER, false, 0, 0, NULL},
};
static const struct dp_member class_members[] = {
    {"sha256", DP_MEMBER_SHA256, true, 0, 0, NULL},
    {"runs", DP_MEMBER_INT, true, 1, INT_MAX53, NULL},
    {"first_run", DP_MEMBER_INT, true, 0, INT_MAX53, NULL},
};
static const struct dp_member mismatch_members[] = {
    {"runs", DP_MEMBER_INT, true, 1, INT_MAX53, NULL},
    {"output", DP_MEMBER_NAME, true, 0, 64, NULL},
    {"elements", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"of", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"max_ulp", DP_MEMBER_NAME, false, 0, 64, NULL},
    {"max_abs", DP_MEMBER_NUMBER, false, 0, 0, NULL},
    {"max_rel", DP_MEMBER_NUMBER, false, 0, 0, NULL},
    {"first_index", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"kind", DP_MEMBER_WORD, false, 0, 0, "values|permutation"},
    {"shape", DP_MEMBER_COUNTS, false, 0, DIMENSIONS_MAX, NULL},
    {"ulp_histogram", DP_MEMBER_COUNTS, false, 0, 64, NULL},
    {"region", DP_MEMBER_WORD, false, 0, 0, "all|element|row|column|tail|tile|scattered"},
    {"box", DP_MEMBER_COUNTS, false, 0, DIMENSIONS_MAX, NULL},
    {"box_at", DP_MEMBER_COUNTS, false, 0, DIMENSIONS_MAX, NULL},
    {"signs", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"zeros", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"specials", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"payloads", DP_MEMBER_INT, false, 0, INT_MAX53, NULL},
    {"flipped", DP_MEMBER_HEX, false, 0, 0, NULL},
    {"error_over_bound", DP_MEMBER_NUMBER, false, 0, 0, NULL},
    {"from_caller", DP_MEMBER_TRUE, false, 0, 0, NULL},
};
static const struct dp_member kernel_members[] = {
    {"name", DP_MEMBER_NAME, true, 0, 256, NULL},
    {"launches", DP_MEMBER_INT, true, 1, INT_MAX53, NULL},
};
static const struct dp_member time_members[] = {
    {"first_ns", DP_MEMBER_NUMBER, false, 0, NS_MAX, NULL},
    {"min_ns", DP_MEMBER_NUMBER, false, 0, NS_MAX, NULL},
    {"mean_ns", DP_MEMBER_NUMBER, false, 0, NS_MAX, NULL},
    {"median_ns", DP_MEMBER_NUMBER, false, 0, NS_MAX, NULL}, /* on axis price, with the next */
    {"calls", DP_MEMBER_INT, false, 1, 1 << 20, NULL},
};

static int bad(struct dp_err *err, const char *name, const char *what)
{
    return dp_err_set(err, DP_EXIT_DATA, "an observation whose output '%s' %s", name, what);
}

static int copy_shape(const json_t *from, json_t *to, const char *name, struct dp_err *err)
{
    const json_t *shape = json_object_get(from, "shape");
    if (!json_is_array(shape) || json_array_size(shape) > DIMENSIONS_MAX) {
        return bad(err, name, "has no 'shape' of at most 16 dimensions");
    }
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *extent = json_array_get(shape, i);
        if (!json_is_integer(extent) || json_integer_value(extent) < 0 ||
            json_integer_value(extent) > INT_MAX53) {
            return bad(err, name, "has a bad extent in 'shape'");
        }
    }
    json_object_set_new(to, "shape", json_deep_copy(shape));
    return 0;
}

/* The classes in order of their first run, each digest once; *ret_sum is their runs together. */
static int copy_classes(const json_t *from, json_t *to, const char *name, json_int_t *ret_sum,
                        struct dp_err *err)
{
    const json_t *classes = json_object_get(from, "classes");
    json_t *copy = json_array();
    json_object_set_new(to, "classes", copy);
    size_t count = json_array_size(classes); /* 0 also of what is no array */
    if (count < 1 || count > DP_CLASSES_LISTED) {
        return bad(err, name, "must list 1 to 8 'classes'");
    }
    json_int_t last = -1;
    *ret_sum = 0;
    for (size_t i = 0; i < count; i++) {
        json_t *item = json_object();
        json_array_append_new(copy, item);
        if (dp_members_copy(json_array_get(classes, i), item, class_members, COUNT(class_members),
                            "an observation with a class", err)) {
            return -1;
        }
        json_int_t first = dp_json_int(item, "first_run", 0);
        if (i == 0 ? first != 0 : first <= last) {
            return bad(err, name, "must list 'classes' by first_run, from run 0");
        }
        last = first;
        *ret_sum += dp_json_int(item, "runs", 0);
        if (*ret_sum > INT_MAX53) {
            return bad(err, name, "has more runs than were asked for");
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(dp_json_string(json_array_get(copy, j), "sha256", ""),
                       dp_json_string(item, "sha256", "")) == 0) {
                return bad(err, name, "lists one digest twice");
            }
        }
    }
    return 0;
}

/* Do the numbers fit each other and the runs that were asked for? */
static int check_sums(json_t *output, const char *name, json_int_t sum, json_int_t runs, struct dp_err *err)
{
    json_t *classes = json_object_get(output, "classes");
    json_int_t listed = (json_int_t)json_array_size(classes);
    json_int_t distinct = dp_json_int(output, "distinct", listed);
    json_object_set_new(output, "distinct", json_integer(distinct));
    if (distinct < listed || (distinct > listed && listed < DP_CLASSES_LISTED)) {
        return bad(err, name, "counts other classes in 'distinct' than it lists");
    }
    json_t *last = json_array_get(classes, (size_t)listed - 1);
    if (runs > 0 && (distinct > runs || dp_json_int(last, "first_run", 0) >= runs)) {
        return bad(err, name, "has more runs than were asked for");
    }
    if (runs > 0 && distinct == listed ? sum != runs : runs > 0 && sum + (distinct - listed) > runs) {
        return bad(err, name, "has 'classes' whose runs do not add up to those asked for");
    }
    return 0;
}

static int copy_output(const json_t *from, json_t *outputs, json_int_t *runs, struct dp_err *err)
{
    json_t *to = json_object();
    json_array_append_new(outputs, to);
    if (dp_members_copy(from, to, output_members, COUNT(output_members), "an observation with an output",
                        err)) {
        return -1;
    }
    const char *name = dp_json_string(to, "name", "");
    for (size_t i = 0; i + 1 < json_array_size(outputs); i++) {
        if (strcmp(dp_json_string(json_array_get(outputs, i), "name", ""), name) == 0) {
            return bad(err, name, "is named twice");
        }
    }
    json_int_t sum = 0;
    if (copy_shape(from, to, name, err) || copy_classes(from, to, name, &sum, err) ||
        check_sums(to, name, sum, *runs, err)) {
        return -1;
    }
    size_t listed = json_array_size(json_object_get(to, "classes"));
    if (*runs == 0 && dp_json_int(to, "distinct", 0) == (json_int_t)listed) {
        *runs = sum;
    }
    return 0;
}

/* Do the places that a mismatch names lie in the tensor that it is of? */
static int check_places(const json_t *mismatch, const char *name, struct dp_err *err)
{
    const json_t *shape = json_object_get(mismatch, "shape");
    const json_t *box = json_object_get(mismatch, "box"), *at = json_object_get(mismatch, "box_at");
    const size_t count = json_array_size(shape);
    double volume = 1;
    for (size_t i = 0; i < count; i++) {
        volume *= (double)json_integer_value(json_array_get(shape, i));
    }
    if (shape && (double)dp_json_int(mismatch, "first_index", 0) >= volume) {
        return bad(err, name, "has a mismatch whose 'first_index' is outside of its 'shape'");
    }
    if (!box && !at) {
        return 0;
    }
    bool inside = shape && json_array_size(box) == count && json_array_size(at) == count;
    for (size_t i = 0; i < count && inside; i++) {
        const json_int_t extent = json_integer_value(json_array_get(box, i));
        const json_int_t end = json_integer_value(json_array_get(at, i)) + extent;
        inside = extent > 0 && end <= json_integer_value(json_array_get(shape, i));
    }
    return inside ? 0 : bad(err, name, "has a mismatch whose 'box' is outside of its 'shape'");
}

/* Is no part of the elements larger than the whole? */
static int check_counts(const json_t *mismatch, const char *name, struct dp_err *err)
{
    static const char *const parts[] = {"signs", "zeros", "specials", "payloads"};
    const json_int_t of = dp_json_int(mismatch, "of", INT_MAX53);
    const json_int_t elements = dp_json_int(mismatch, "elements", of);
    bool fits = elements <= of;
    for (size_t i = 0; i < COUNT(parts); i++) {
        fits = fits && dp_json_int(mismatch, parts[i], 0) <= elements;
    }
    return fits ? 0 : bad(err, name, "has a mismatch of more elements than there are");
}

/* A mismatch must be of an output that has one. */
static int copy_mismatch(const json_t *from, json_t *to, json_int_t runs, struct dp_err *err)
{
    const json_t *mismatch = json_object_get(from, "mismatch");
    if (!mismatch || json_is_null(mismatch)) {
        return 0;
    }
    json_t *copy = json_object();
    json_object_set_new(to, "mismatch", copy);
    if (dp_members_copy(mismatch, copy, mismatch_members, COUNT(mismatch_members),
                        "an observation with a mismatch", err)) {
        return -1;
    }
    const char *name = dp_json_string(copy, "output", "");
    const json_t *outputs = json_object_get(to, "outputs");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *output = json_array_get(outputs, i);
        if (strcmp(dp_json_string(output, "name", ""), name) == 0) {
            bool real =
                dp_json_int(output, "distinct", 1) > 1 && (runs == 0 || dp_json_int(copy, "runs", 0) < runs);
            if (!real) {
                return bad(err, name, "has a 'mismatch' that its classes do not show");
            }
            return check_counts(copy, name, err) || check_places(copy, name, err) ? -1 : 0;
        }
    }
    return dp_err_set(err, DP_EXIT_DATA, "an observation with a mismatch of an unknown output '%s'", name);
}

static int copy_time(const json_t *from, json_t *to, struct dp_err *err)
{
    const json_t *time = json_object_get(from, "time");
    if (!time || json_is_null(time)) {
        return 0;
    }
    json_t *copy = json_object();
    json_object_set_new(to, "time", copy);
    return dp_members_copy(time, copy, time_members, COUNT(time_members), "an observation with a time", err);
}

/* What one run launched, in order; a program that cannot see it leaves it out. */
static int copy_kernels(const json_t *from, json_t *to, struct dp_err *err)
{
    const json_t *kernels = json_object_get(from, "kernels");
    const size_t count = json_array_size(kernels);
    if (!kernels || json_is_null(kernels)) {
        return 0;
    }
    if (count < 1 || count > KERNELS_MAX) {
        return dp_err_set(err, DP_EXIT_DATA, "an observation whose 'kernels' must list 1 to %d", KERNELS_MAX);
    }
    json_t *copy = json_array();
    json_object_set_new(to, "kernels", copy);
    for (size_t i = 0; i < count; i++) {
        json_t *item = json_object();
        json_array_append_new(copy, item);
        if (dp_members_copy(json_array_get(kernels, i), item, kernel_members, COUNT(kernel_members),
                            "an observation with a kernel", err)) {
            return -1;
        }
    }
    return 0;
}

static bool has_elements(const json_t *output)
{
    size_t i;
    json_t *extent;
    json_array_foreach(json_object_get(output, "shape"), i, extent)
    {
        if (json_integer_value(extent) == 0) {
            return false;
        }
    }
    return true;
}

static int copy_observation(const json_t *from, json_t *to, int runs, struct dp_err *err)
{
    const json_t *outputs = json_object_get(from, "outputs");
    json_t *copy = json_array();
    json_object_set_new(to, "outputs", copy);
    size_t count = json_array_size(outputs);
    if (count < 1 || count > OUTPUTS_MAX) {
        return dp_err_set(err, DP_EXIT_DATA, "an observation without 'outputs' (1 to %d)", OUTPUTS_MAX);
    }
    json_int_t known_runs = runs;
    bool elements = false;
    for (size_t i = 0; i < count; i++) {
        if (copy_output(json_array_get(outputs, i), copy, &known_runs, err)) {
            return -1;
        }
        elements = elements || has_elements(json_array_get(copy, i));
    }
    if (!elements) { /* nothing was computed, so nothing can repeat */
        return dp_err_set(err, DP_EXIT_DATA, "an observation without a single element in its outputs");
    }
    return copy_mismatch(from, to, known_runs, err) || copy_time(from, to, err) ||
                   copy_kernels(from, to, err) ||
                   dp_members_copy(from, to, observation_members, COUNT(observation_members),
                                   "an observation", err)
               ? -1
               : 0;
}

json_t *dp_observation_check(const json_t *message, int runs, struct dp_err *err)
{
    json_t *ret = json_pack("{s:s}", "type", "observation");
    if (copy_observation(message, ret, runs, err)) {
        json_decref(ret);
        return NULL;
    }
    return ret;
}

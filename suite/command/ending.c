/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeping what decides an exit code, and taking it from a log, which may be anybody's.
 */
#include "suite/command/ending.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/members.h"

/* Bytes of a name that are no text cannot stand in a log: such a run is not resumed unjudged, it is refused.
 */
static void keep_file(json_t *kept, const char *member, const char *file)
{
    char *whole = file ? realpath(file, NULL) : NULL;
    if (file) {
        json_t *name = json_string(whole ? whole : file);
        json_object_set_new(kept, member, name ? name : json_null());
    }
    free(whole);
}

json_t *dp_ending_keep(const struct dp_ending *ending)
{
    json_t *kept = json_object(), *require = json_array();
    if (*ending->fail_on != ending->usual) {
        json_object_set_new(kept, "fail_on", json_string(*ending->fail_on));
    }
    keep_file(kept, "gate", ending->gating->policy);
    keep_file(kept, "baseline", ending->gating->baseline);
    for (size_t i = 0; i < ending->require->count; i++) {
        json_array_append_new(require, json_string(ending->require->items[i]));
    }
    json_object_set_new(kept, "require", require);
    json_object_set_new(kept, "any_device", json_boolean(ending->gating->any_device));
    json_object_set_new(kept, "allow_insensitive", json_boolean(*ending->allow_insensitive));
    return kept;
}

static bool is_readable(const json_t *kept)
{
    static const char *const names[] = {"fail_on", "gate", "baseline"};
    const json_t *require = json_object_get(kept, "require");
    bool good = !require || json_is_array(require);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const json_t *value = json_object_get(kept, names[i]);
        good = good && (!value || json_is_string(value));
    }
    for (size_t i = 0; i < json_array_size(require); i++) {
        good = good && json_is_string(json_array_get(require, i));
    }
    return good && dp_word_among(dp_json_string(kept, "fail_on", "broken"), "broken|varies|changes|never");
}

static void take(const json_t *kept, const char *member, const char *usual, const char **ret)
{
    if (*ret == usual) {
        *ret = dp_json_string(kept, member, usual);
    }
}

int dp_ending_take(const struct dp_ending *ending, const json_t *kept, const char *log, struct dp_err *err)
{
    const json_t *require = json_object_get(kept, "require");
    if (!is_readable(kept)) {
        return dp_err_set(err, DP_EXIT_DATA,
                          "cannot resume '%.200s': what decides its exit code cannot be read", log);
    }
    take(kept, "fail_on", ending->usual, ending->fail_on);
    take(kept, "gate", NULL, &ending->gating->policy);
    take(kept, "baseline", NULL, &ending->gating->baseline);
    if (ending->require->count == 0 && json_array_size(require) > 0) {
        ending->require->items = dp_alloc(json_array_size(require), sizeof(*ending->require->items));
        for (size_t i = 0; i < json_array_size(require); i++) {
            ending->require->items[ending->require->count++] = json_string_value(json_array_get(require, i));
        }
    }
    ending->gating->any_device |= json_is_true(json_object_get(kept, "any_device"));
    *ending->allow_insensitive |= json_is_true(json_object_get(kept, "allow_insensitive"));
    return 0;
}

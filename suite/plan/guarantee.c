/* SPDX-License-Identifier: Apache-2.0
 *
 * From a guarantee and the versions that are here to what is documented.
 */
#include "suite/plan/guarantee.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/base/version.h"

enum { REASON_MOST = 1000 };

/* --- what is here --- */

/* Another word than the one that is there makes it unknown. */
static void set_or_drop(json_t *row, const char *key, const char *value, bool first)
{
    const char *known = dp_json_string(row, key, NULL);
    if (first && value && value[0]) {
        json_object_set_new(row, key, json_string(value));
    } else if (!first && (!known || !value || strcmp(known, value) != 0)) {
        json_object_del(row, key);
    }
}

static void add(json_t *versions, const char *role, const char *name, const char *version)
{
    json_t *row = json_object_get(versions, role);
    const bool first = !row;
    if (first) {
        row = json_object();
        json_object_set_new(versions, role, row);
    }
    set_or_drop(row, "name", name, first);
    set_or_drop(row, "version", version, first);
}

/* "9.0" -> "90". */
static void add_device(json_t *versions, const json_t *device)
{
    const char *capability = dp_json_string(device, "compute_capability", NULL);
    struct dp_text text = DP_TEXT(40);
    for (const char *at = capability ? capability : ""; *at; at++) {
        dp_text_add(&text, at, *at != '.');
    }
    if (capability) {
        add(versions, DP_ROLE_SM, NULL, text.data);
    }
    dp_text_free(&text);
}

json_t *dp_versions_of(const json_t *libraries, const json_t *devices, const char *family)
{
    json_t *versions = json_object();
    size_t i;
    json_t *item;
    json_array_foreach(libraries, i, item)
    {
        const json_t *families = json_object_get(item, "families");
        const char *role = dp_json_string(item, "role", NULL);
        if (role && (!family || !families || dp_json_array_has(families, family))) {
            add(versions, role, dp_json_string(item, "name", NULL), dp_json_string(item, "version", NULL));
        }
    }
    json_array_foreach(devices, i, item)
    {
        add_device(versions, item);
    }
    return versions;
}

/* --- whether a guarantee speaks of it --- */

enum speaks { SPEAKS, IS_SILENT, UNKNOWN };

static enum speaks range_speaks(const json_t *range, const json_t *here)
{
    const char *name = dp_json_string(range, "name", NULL), *since = dp_json_string(range, "since", NULL),
               *until = dp_json_string(range, "until", NULL);
    const char *own = dp_json_string(here, "name", NULL), *version = dp_json_string(here, "version", "");
    if (name && own && strcmp(name, own) != 0) {
        return IS_SILENT;
    }
    if ((name && !own) || ((since || until) && !dp_version_known(version))) {
        return UNKNOWN;
    }
    const bool early = since && dp_version_compare(version, since) < 0;
    const bool late = until && dp_version_compare(version, until) >= 0;
    return early || late ? IS_SILENT : SPEAKS;
}

/* Of all roles: one that it is silent of decides. *ret_role is the one that decided, static ranges' own. */
static enum speaks speaks_of(const json_t *ranges, const json_t *versions, const char **ret_role)
{
    enum speaks all = SPEAKS;
    const char *role;
    json_t *range;
    json_object_foreach((json_t *)(uintptr_t)ranges, role, range)
    {
        const enum speaks one = range_speaks(range, json_object_get(versions, role));
        if (one == IS_SILENT || (one == UNKNOWN && all == SPEAKS)) {
            all = one;
            *ret_role = role;
        }
        if (one == IS_SILENT) {
            break;
        }
    }
    return all;
}

/* --- in words --- */

static void put_range(struct dp_text *text, const char *role, const json_t *range, const json_t *here)
{
    const char *since = dp_json_string(range, "since", NULL), *until = dp_json_string(range, "until", NULL);
    const char *name = dp_json_string(range, "name", dp_json_string(here, "name", role));
    dp_text_printf(text, "%s%s%s%s%s%s", name, since ? " since " : "", since ? since : "",
                   since && until ? " and" : "", until ? " before " : "", until ? until : "");
}

char *dp_guarantee_versions_text(const json_t *ranges, const json_t *versions)
{
    struct dp_text text = DP_TEXT(REASON_MOST);
    const char *role;
    json_t *range;
    json_object_foreach((json_t *)(uintptr_t)ranges, role, range)
    {
        dp_text_put(&text, text.length ? ", " : "");
        put_range(&text, role, range, json_object_get(versions, role));
    }
    return dp_text_take(&text);
}

/* "said of cuDNN since 7 and before 10, here is 10.1" */
static json_t *silent_reason(const json_t *ranges, const char *role, const json_t *versions)
{
    const json_t *range = json_object_get(ranges, role), *here = json_object_get(versions, role);
    struct dp_text text = DP_TEXT(REASON_MOST);
    dp_text_put(&text, "said of ");
    put_range(&text, role, range, here);
    const char *own = json_object_get(range, "name") ? dp_json_string(here, "name", "") : "";
    const char *version = dp_json_string(here, "version", "");
    dp_text_printf(&text, ", here is %s%s%s", own, own[0] && version[0] ? " " : "", version);
    char *shown = dp_printable(text.data, text.length);
    json_t *reason = json_string(shown);
    free(shown);
    dp_text_free(&text);
    return reason;
}

static json_t *unknown_reason(const json_t *roles)
{
    struct dp_text text = DP_TEXT(REASON_MOST);
    for (size_t i = 0; i < json_array_size(roles); i++) {
        dp_text_printf(&text, "%s%s", i ? ", " : "depends on ", json_string_value(json_array_get(roles, i)));
    }
    dp_text_printf(&text, ", which %s not known here", json_array_size(roles) > 1 ? "are" : "is");
    json_t *reason = json_string(text.data);
    dp_text_free(&text);
    return reason;
}

/* --- the first that counts --- */

/* The guarantee itself, then what is said otherwise; NULL: no more. */
static const json_t *row_of(const json_t *guarantee, size_t i)
{
    return i == 0 ? guarantee : json_array_get(json_object_get(guarantee, "otherwise"), i - 1);
}

static json_t *stated(const char *level, const json_t *row)
{
    return json_pack("{ss, ss}", "level", level, "source", dp_json_string(row, "source", ""));
}

static void add_said_of(json_t *statement, const json_t *row, const json_t *versions)
{
    const json_t *ranges = json_object_get(row, "versions");
    char *text = dp_guarantee_versions_text(ranges, versions);
    if (ranges) {
        json_object_set_new(statement, "said_of", json_string(text));
    }
    free(text);
}

json_t *dp_guarantee_stated(const json_t *guarantee, const json_t *versions)
{
    const json_t *const ranges = json_object_get(guarantee, "versions");
    const char *silent = NULL;
    json_t *unknown = json_array();
    const json_t *row;
    for (size_t i = 0; (row = row_of(guarantee, i)); i++) {
        const char *role = NULL;
        const enum speaks speaks = speaks_of(json_object_get(row, "versions"), versions, &role);
        silent = i == 0 && speaks == IS_SILENT ? role : silent;
        if (speaks == UNKNOWN && !dp_json_array_has(unknown, role)) {
            json_array_append_new(unknown, json_string(role));
        }
        if (speaks == SPEAKS && json_array_size(unknown) == 0) {
            json_t *result = stated(dp_json_string(row, "level", "unstated"), row);
            add_said_of(result, row, versions);
            json_decref(unknown);
            return result;
        }
    }
    json_t *result = stated("unstated", guarantee);
    if (json_array_size(unknown) > 0) {
        json_object_set_new(result, "reason", unknown_reason(unknown));
        json_object_set(result, "depends_on", unknown);
    } else {
        json_object_set_new(result, "reason", silent_reason(ranges, silent, versions));
    }
    json_decref(unknown);
    return result;
}

json_t *dp_guarantee_alternatives(const json_t *guarantee, const json_t *versions)
{
    json_t *all = json_array();
    const json_t *row;
    for (size_t i = 0; (row = row_of(guarantee, i)); i++) {
        json_t *statement = stated(dp_json_string(row, "level", "unstated"), row);
        json_t *ranges = json_object_get(row, "versions");
        if (ranges) {
            json_object_set(statement, "versions", ranges);
        }
        add_said_of(statement, row, versions);
        json_array_append_new(all, statement);
    }
    return all;
}

/* --- what a catalogue may say --- */

static int check_ranges(const json_t *ranges, struct dp_err *err)
{
    const char *role;
    json_t *range;
    json_object_foreach((json_t *)(uintptr_t)ranges, role, range)
    {
        const char *since = dp_json_string(range, "since", NULL),
                   *until = dp_json_string(range, "until", NULL);
        if (since && until && dp_version_compare(since, until) >= 0) {
            return dp_err_set(err, DP_EXIT_DATA,
                              "its guarantee speaks of no '%.60s': since %.40s and before %.40s", role, since,
                              until);
        }
    }
    return 0;
}

int dp_guarantee_check(const json_t *guarantee, struct dp_err *err)
{
    const json_t *row;
    for (size_t i = 0; (row = row_of(guarantee, i)); i++) {
        const json_t *ranges = json_object_get(row, "versions");
        if (!ranges && row_of(guarantee, i + 1)) {
            return dp_err_set(
                err, DP_EXIT_DATA,
                "its guarantee says 'otherwise' behind one without 'versions', which never counts");
        }
        if (check_ranges(ranges, err) != 0) {
            return -1;
        }
    }
    return 0;
}

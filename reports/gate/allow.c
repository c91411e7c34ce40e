/* SPDX-License-Identifier: Apache-2.0
 *
 * The allow-list of a policy. An entry allows to the end of the day that it names; one that is over or that
 * allows nothing is told, so that the list does not outlive its reasons.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/gate/parts.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

static bool fits_member(const json_t *entry, const json_t *finding, const char *member)
{
    const char *asked = dp_json_string(entry, member, NULL);
    return !asked || strcmp(asked, dp_json_string(finding, member, "")) == 0;
}

static bool fits_case(const json_t *entry, const json_t *finding)
{
    const char *asked = dp_json_string(entry, "case", "");
    if (asked[0] == '@') {
        return strcmp(asked + 1, dp_json_string(finding, "backend", "")) == 0 ||
               strcmp(asked + 1, dp_json_string(finding, "family", "")) == 0;
    }
    return dp_glob_match(asked, dp_json_string(finding, "case", ""));
}

static bool fits(const json_t *entry, const json_t *finding)
{
    return fits_member(entry, finding, "axis") && fits_member(entry, finding, "kind") &&
           fits_case(entry, finding);
}

/* Dates are written so that their order is that of their text. */
static bool is_over(const json_t *entry, const char *today)
{
    return strcmp(today, dp_json_string(entry, "expires", "")) > 0;
}

/* Whether the entry fits a finding; allows each that nobody allowed yet, unless it is over. */
static bool apply(const json_t *entry, bool over, json_t *findings)
{
    bool any = false;
    size_t i;
    json_t *finding;
    json_array_foreach(findings, i, finding)
    {
        if (!fits(entry, finding)) {
            continue;
        }
        any = true;
        if (!over && !json_object_get(finding, "allowed")) {
            char *reason = dp_gate_shown(dp_json_string(entry, "reason", ""));
            json_object_set_new(
                finding, "allowed",
                json_pack("{ss ss}", "reason", reason, "expires", dp_json_string(entry, "expires", "")));
            free(reason);
        }
    }
    return any;
}

void dp_gate_allow(const json_t *policy, const char *today, json_t *findings, json_t *notes)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(policy, "allow"), i, entry)
    {
        const bool over = is_over(entry, today), any = apply(entry, over, findings);
        char *glob = dp_gate_shown(dp_json_string(entry, "case", ""));
        const char *expires = dp_json_string(entry, "expires", "");
        if (over) {
            json_array_append_new(
                notes, dp_gate_line("expired", dp_printf("allow entry '%s' expired on %s%s", glob, expires,
                                                         any ? "" : " and matches nothing, remove it")));
        } else if (!any) {
            json_array_append_new(
                notes,
                dp_gate_line("unused", dp_printf("allow entry '%s' matches nothing, remove it", glob)));
        }
        free(glob);
    }
}

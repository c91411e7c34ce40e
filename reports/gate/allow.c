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

/* What entries are held against, looked up once: a list may be long, and so may the findings. */
struct candidate {
    json_t *finding;
    const char *id, *axis, *kind, *backend, *family; /* "" where it has none */
    bool allowed;
};

struct entry {
    const char *glob, *axis, *kind; /* NULL: any will do */
};

static bool fits(const struct entry *entry, const struct candidate *candidate)
{
    if ((entry->axis && strcmp(entry->axis, candidate->axis) != 0) ||
        (entry->kind && strcmp(entry->kind, candidate->kind) != 0)) {
        return false;
    }
    const char *tag = entry->glob + 1;
    return entry->glob[0] == '@' ? strcmp(tag, candidate->backend) == 0 || strcmp(tag, candidate->family) == 0
                                 : dp_glob_match(entry->glob, candidate->id);
}

/* Owned. */
static struct candidate *candidates_of(const json_t *findings)
{
    struct candidate *candidates = dp_alloc(json_array_size(findings) + 1, sizeof(*candidates));
    for (size_t i = 0; i < json_array_size(findings); i++) {
        json_t *finding = json_array_get(findings, i);
        candidates[i] = (struct candidate){.finding = finding,
                                           .id = dp_json_string(finding, "case", ""),
                                           .axis = dp_json_string(finding, "axis", ""),
                                           .kind = dp_json_string(finding, "kind", ""),
                                           .backend = dp_json_string(finding, "backend", ""),
                                           .family = dp_json_string(finding, "family", "")};
    }
    return candidates;
}

/* Dates are written so that their order is that of their text. */
static bool is_over(const json_t *entry, const char *today)
{
    return strcmp(today, dp_json_string(entry, "expires", "")) > 0;
}

static void allow(const json_t *row, struct candidate *candidate)
{
    char *reason = dp_gate_shown(dp_json_string(row, "reason", ""));
    json_object_set_new(
        candidate->finding, "allowed",
        json_pack("{ss ss}", "reason", reason, "expires", dp_json_string(row, "expires", "")));
    candidate->allowed = true;
    free(reason);
}

/* Whether the entry fits a finding; allows each that nobody allowed yet, unless it is over. */
static bool apply(const json_t *row, bool over, struct candidate *candidates, size_t count)
{
    const struct entry entry = {dp_json_string(row, "case", ""), dp_json_string(row, "axis", NULL),
                                dp_json_string(row, "kind", NULL)};
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!fits(&entry, &candidates[i])) {
            continue;
        }
        any = true;
        if (!over && !candidates[i].allowed) {
            allow(row, &candidates[i]);
        }
    }
    return any;
}

void dp_gate_allow(const json_t *policy, const char *today, json_t *findings, json_t *notes)
{
    struct candidate *candidates = candidates_of(findings);
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(policy, "allow"), i, entry)
    {
        const bool over = is_over(entry, today),
                   any = apply(entry, over, candidates, json_array_size(findings));
        char *glob = dp_gate_shown(dp_json_string(entry, "case", ""));
        const char *expires = dp_json_string(entry, "expires", "");
        if (over) {
            json_array_append_new(
                notes, dp_gate_line("expired", dp_printf("allow entry '%s' expired on %s%s", glob, expires,
                                                         any ? "" : " and fits no finding, remove it")));
        } else if (!any) {
            json_array_append_new(
                notes,
                dp_gate_line(
                    "unused",
                    dp_printf("allow entry '%s' fits no finding, remove it unless others need it", glob)));
        }
        free(glob);
    }
    free(candidates);
}

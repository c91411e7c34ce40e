/* SPDX-License-Identifier: Apache-2.0
 *
 * Making the document, row by row.
 */
#include "reports/guarantees/guarantees.h"

#include <string.h>

#include "reports/guarantees/parts.h"
#include "reports/model.h"
#include "suite/base/json.h"

static void copy(json_t *to, const json_t *from, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(from, keys[i]);
        if (value) {
            json_object_set(to, keys[i], value);
        }
    }
}
#define COPY(to, from, keys) copy(to, from, keys, sizeof(keys) / sizeof((keys)[0]))

#define RUNS_MOST (((json_int_t)1 << 53) - 1) /* as a report may count */

/* Runs beside other work, in settings that gave an observation. */
static json_int_t busy_runs(const json_t *measured)
{
    const json_t *busy = json_object_get(json_object_get(measured, "axes"), "busy");
    const json_t *settings = json_object_get(busy, "settings");
    json_int_t runs = 0;
    for (size_t i = 0; i < json_array_size(settings); i++) {
        runs += dp_json_int(json_array_get(settings, i), "runs", 0);
        runs = runs < RUNS_MOST ? runs : RUNS_MOST;
    }
    return runs;
}

static void add_evidence(json_t *row, const json_t *measured)
{
    const json_t *axes = json_object_get(measured, "axes");
    const json_t *repeat = json_object_get(axes, "repeat"), *fresh = json_object_get(axes, "fresh");
    json_object_set_new(row, "comparisons", json_integer(dp_json_int(repeat, "comparisons", 0)));
    json_object_set_new(row, "new_processes", json_integer(dp_json_int(fresh, "comparisons", 0)));
    json_object_set_new(row, "busy_runs", json_integer(busy_runs(measured)));
    json_t *bound = json_object_get(repeat, "bound");
    if (bound) {
        json_object_set(row, "bound", bound);
    }
}

static void add_observed(json_t *row, const struct dp_guarantees_entry *entry)
{
    static const char *const keys[] = {"observed", "not_measured", "sensitive_to"};
    COPY(row, entry->result, keys);
    json_t *status = json_object_get(json_object_get(entry->result, "guarantee"), "status");
    if (status) {
        json_object_set(row, "status", status);
        add_evidence(row, entry->measured);
    }
}

/* {role, name?, version?, from?} */
static json_t *library_of(const struct dp_guarantees_entry *entry)
{
    const char *role = dp_json_string(entry->guarantee, "library", NULL);
    if (!role) {
        return NULL;
    }
    static const char *const keys[] = {"name", "version", "from"};
    json_t *library = json_pack("{ss}", "role", role);
    COPY(library, json_object_get(entry->versions, role), keys);
    return library;
}

json_t *dp_guarantees_open(const char *digest)
{
    return json_pack("{ss, ss*, s[]}", "schema_version", "1.0", "report", digest, "rows");
}

void dp_guarantees_add(json_t *document, const struct dp_guarantees_entry *entry)
{
    static const char *const said[] = {"level", "source", "said_of", "reason", "depends_on", "alternatives"};
    static const char *const kept[] = {"covers", "invariant", "conditions"};
    const size_t backend = strcspn(entry->id, "/"), family = strcspn(entry->id + backend + 1, "/");
    json_t *row = json_pack("{ss, ss#, ss#, so*}", "case", entry->id, "backend", entry->id, (int)backend,
                            "family", entry->id + backend + 1, (int)family, "library", library_of(entry));
    COPY(row, entry->stated, said);
    COPY(row, entry->guarantee, kept);
    if (entry->result) {
        add_observed(row, entry);
    }
    json_array_append_new(json_object_get(document, "rows"), row);
}

static void count_observed(const json_t *row, json_t *summary)
{
    const char *id = dp_json_string(row, "case", "");
    const bool ran = json_object_get(row, "status") != NULL;
    if (!ran) {
        dp_json_count(summary, "not_run");
    } else if (strcmp(dp_json_string(row, "status", ""), "broken") == 0) {
        json_array_append_new(json_object_get(summary, "broken"), json_string(id));
    } else if (dp_guarantees_is_unseen(row)) {
        json_array_append_new(json_object_get(summary, "never_seen"), json_string(id));
    } else if (strcmp(dp_json_string(row, "level", ""), "not_guaranteed") == 0 &&
               dp_result_is(row, "varies")) {
        dp_json_count(summary, "seen");
    }
}

void dp_guarantees_close(json_t *document)
{
    const json_t *rows = json_object_get(document, "rows");
    const bool joined = json_object_get(document, "report") != NULL;
    json_t *levels =
        json_pack("{si, si, si, si}", "not_guaranteed", 0, "run_to_run", 0, "gpu_to_gpu", 0, "unstated", 0);
    json_t *summary = json_pack("{sI, so, s[]}", "cases", (json_int_t)json_array_size(rows), "levels", levels,
                                "depends_on");
    if (joined) {
        json_t *counts = json_pack("{s[], s[], si, si}", "broken", "never_seen", "seen", 0, "not_run", 0);
        json_object_update(summary, counts);
        json_decref(counts);
    }
    size_t i, k;
    json_t *row, *role;
    json_array_foreach(rows, i, row)
    {
        json_t *roles = json_object_get(summary, "depends_on");
        dp_json_count(levels, dp_json_string(row, "level", "unstated"));
        json_array_foreach(json_object_get(row, "depends_on"), k, role)
        {
            if (!dp_json_array_has(roles, json_string_value(role))) {
                json_array_append(roles, role);
            }
        }
        if (joined) {
            count_observed(row, summary);
        }
    }
    json_object_set_new(document, "summary", summary);
}

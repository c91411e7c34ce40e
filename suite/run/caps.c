/* SPDX-License-Identifier: Apache-2.0
 *
 * What the processes of axis isa were held to and what came of it, a row for each setting and for families
 * with the same to say.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/environment.h"

static json_t *families_of(const struct dp_case *item)
{
    char *family = dp_printf("%s/%s", item->backend, item->family);
    json_t *families = json_pack("[s]", family);
    free(family);
    return families;
}

static json_t *new_row(const struct dp_plan *plan, const struct dp_answers *answers,
                       const struct dp_request *request)
{
    const struct dp_case *item = plan->cases[request->case_index];
    const json_t *hello = json_object_get(answers->hellos, item->program->name);
    return json_pack("{ss so so ss*}", "setting", request->setting, "variables",
                     dp_cap_variables(request->cap), "families", families_of(item), "base",
                     dp_hello_isa(hello, request->cap->library));
}

/* The first answer that says what the library ran on; until then why there is none. A failure at the cap
 * stays in the row whatever else succeeds there. */
static void take_answer(json_t *row, const json_t *answer)
{
    const char *isa = dp_json_string(answer, "isa", NULL);
    const char *type = dp_json_string(answer, "type", "skip");
    if (strcmp(type, "observation") != 0 && strcmp(type, "skip") != 0 && !json_object_get(row, "failed")) {
        json_object_set_new(row, "failed", json_string(dp_json_string(answer, "text", "")));
    }
    if (isa) {
        json_object_set_new(row, "isa", json_string(isa));
        json_object_del(row, "dropped");
        json_object_del(row, "ignored");
    } else if (answer && !json_object_get(row, "isa") && !json_object_get(row, "dropped") &&
               strcmp(type, "observation") != 0) {
        json_object_set_new(row, "dropped", json_string(dp_json_string(answer, "text", "")));
        if (json_object_get(answer, "ignored")) {
            json_object_set_new(row, "ignored", json_true());
        }
    }
}

/* Rows of one setting by family, as they were met. */
static json_t *rows_by_family(const struct dp_plan *plan, const struct dp_answers *answers)
{
    json_t *rows = json_object();
    for (size_t i = 0; i < plan->request_count && i < answers->count; i++) {
        const struct dp_request *request = &plan->requests[i];
        const struct dp_case *item = plan->cases[request->case_index];
        if (!request->cap || request->retest > 0) {
            continue;
        }
        char *key = dp_printf("%s %s/%s", request->setting, item->backend, item->family);
        if (!json_object_get(rows, key)) {
            json_object_set_new(rows, key, new_row(plan, answers, request));
        }
        take_answer(json_object_get(rows, key), answers->items[i]);
        free(key);
    }
    return rows;
}

/* Do two rows say the same, whatever their families? */
static bool say_the_same(const json_t *a, const json_t *b)
{
    static const char *const members[] = {"setting", "base", "isa", "dropped", "ignored", "failed"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const json_t *left = json_object_get(a, members[i]), *right = json_object_get(b, members[i]);
        if (left != right && !json_equal(left, right)) {
            return false;
        }
    }
    return true;
}

static void add_row(json_t *rows, json_t *row)
{
    size_t i;
    json_t *known;
    json_array_foreach(rows, i, known)
    {
        if (say_the_same(known, row)) {
            json_array_extend(json_object_get(known, "families"), json_object_get(row, "families"));
            return;
        }
    }
    json_array_append(rows, row);
}

json_t *dp_environment_caps(const struct dp_plan *plan, const struct dp_answers *answers)
{
    json_t *by_family = rows_by_family(plan, answers), *rows = json_array(), *row;
    const char *key;
    for (const struct dp_cap *cap = dp_caps(); cap->setting; cap++) {
        json_object_foreach(by_family, key, row)
        {
            if (strcmp(dp_json_string(row, "setting", ""), cap->setting) == 0) {
                add_row(rows, row);
            }
        }
    }
    json_decref(by_family);
    if (json_array_size(rows) == 0) {
        json_decref(rows);
        return NULL;
    }
    return rows;
}

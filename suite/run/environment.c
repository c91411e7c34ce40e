/* SPDX-License-Identifier: Apache-2.0
 *
 * The report's `environment`. A library stands in it once per role and file, however many programs opened it.
 */
#include "suite/run/environment.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

static const char *const library_keys[] = {"role", "name", "version", "path", "config"};

static bool same_library(const json_t *a, const json_t *b)
{
    return strcmp(dp_json_string(a, "role", ""), dp_json_string(b, "role", "")) == 0 &&
           strcmp(dp_json_string(a, "path", ""), dp_json_string(b, "path", "")) == 0;
}

/* Families whose program had the library open join those that are known. */
static void add_families(json_t *library, const json_t *families)
{
    json_t *known = json_object_get(library, "families");
    if (!known && families) {
        known = json_array();
        json_object_set_new(library, "families", known);
    }
    for (size_t i = 0; i < json_array_size(families); i++) {
        json_t *family = json_array_get(families, i);
        if (!dp_json_array_has(known, json_string_value(family))) {
            json_array_append(known, family);
        }
    }
}

/* "cpu/gemm" of the cases of a program. Owned. */
static json_t *families_of(const struct dp_plan *plan, const char *program)
{
    json_t *families = json_array();
    for (size_t i = 0; i < plan->case_count; i++) {
        const struct dp_case *item = plan->cases[i];
        if (item->control || strcmp(item->program->name, program) != 0) {
            continue;
        }
        char *name = dp_printf("%s/%s", item->backend, item->family);
        if (!dp_json_array_has(families, name)) {
            json_array_append_new(families, json_string(name));
        }
        free(name);
    }
    return families;
}

/* What only some programs know of a library (its config) is kept, whichever of them answers first. */
static void add_keys(json_t *known, const json_t *library)
{
    for (size_t k = 0; k < sizeof(library_keys) / sizeof(library_keys[0]); k++) {
        const char *value = dp_json_string(library, library_keys[k], NULL);
        if (value && !json_object_get(known, library_keys[k])) {
            json_object_set_new(known, library_keys[k], json_string(value));
        }
    }
}

void dp_environment_add_libraries(json_t *libraries, const json_t *families, const json_t *hello)
{
    size_t i, j;
    json_t *library, *known;
    json_array_foreach(json_object_get(hello, "libraries"), i, library)
    {
        json_t *found = NULL;
        json_array_foreach(libraries, j, known)
        {
            found = !found && same_library(known, library) ? known : found;
        }
        if (!found) {
            found = json_object();
            json_array_append_new(libraries, found);
        }
        add_keys(found, library);
        add_families(found, families);
    }
}

/* What libraries run on where no case sets variables of its own: programs answer in any order, and the report
 * has one word. */
static void add_isas(json_t *libraries, const char *program, const json_t *hello)
{
    size_t i, k;
    json_t *library, *said;
    json_array_foreach(json_object_get(hello, "libraries"), i, said)
    {
        json_t *isa = json_object_get(said, "isa");
        json_array_foreach(libraries, k, library)
        {
            /* "cuda/gemm A=1" is a program under the variables of a case */
            if (isa && !strchr(program, ' ') && same_library(library, said)) {
                json_object_set(library, "isa", isa);
            }
        }
    }
}

static int compare_libraries(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    const int role = strcmp(dp_json_string(a, "role", ""), dp_json_string(b, "role", ""));
    return role ? role : strcmp(dp_json_string(a, "path", ""), dp_json_string(b, "path", ""));
}

static int compare_strings(const void *left, const void *right)
{
    return strcmp(json_string_value(*(json_t *const *)left), json_string_value(*(json_t *const *)right));
}

/* A sorted copy; steals `array`. Programs answer in any order, the report has one. */
static json_t *sorted(json_t *array, int (*compare)(const void *, const void *))
{
    const size_t count = json_array_size(array);
    json_t **items = calloc(count + 1, sizeof(*items));
    json_t *result = json_array();
    for (size_t i = 0; i < count; i++) {
        items[i] = json_array_get(array, i);
    }
    qsort(items, count, sizeof(*items), compare);
    for (size_t i = 0; i < count; i++) {
        json_array_append(result, items[i]);
    }
    free(items);
    json_decref(array);
    return result;
}

static int compare_texts(const void *left, const void *right)
{
    char *a = json_dumps(*(json_t *const *)left, JSON_SORT_KEYS);
    char *b = json_dumps(*(json_t *const *)right, JSON_SORT_KEYS);
    const int order = strcmp(a ? a : "", b ? b : "");
    free(a);
    free(b);
    return order;
}

/* Adds a row unless one like it stands there: every fresh process of a program tells the same. */
static void add_once(json_t *rows, json_t *row)
{
    size_t i;
    json_t *known;
    json_array_foreach(rows, i, known)
    {
        if (json_equal(known, row)) {
            json_decref(row);
            return;
        }
    }
    json_array_append_new(rows, row);
}

/* What programs said of the floating-point control register when they had opened their libraries. */
static const json_t *add_openings(json_t *hellos, json_t *rows)
{
    const json_t *standard = NULL;
    const char *program;
    json_t *hello;
    json_object_foreach(hellos, program, hello)
    {
        const json_t *seen = json_object_get(hello, "float_environment");
        size_t i;
        json_t *change;
        standard = standard ? standard : json_object_get(seen, "default");
        json_array_foreach(json_object_get(seen, "changes"), i, change)
        {
            json_t *row = json_deep_copy(change);
            json_object_set_new(row, "program", json_string(program));
            add_once(rows, row);
        }
    }
    return standard;
}

/* ... and what they found changed after their first run. */
static void add_first_runs(const struct dp_plan *plan, const struct dp_answers *answers, json_t *rows)
{
    for (size_t i = 0; i < answers->count && i < plan->request_count; i++) {
        json_t *control = json_object_get(answers->items[i], "float_control");
        if (control) {
            const struct dp_case *item = plan->cases[plan->requests[i].case_index];
            add_once(rows, json_pack("{sssssO}", "program", item->program->name, "after", "first run",
                                     "control", control));
        }
    }
}

static json_t *float_environment(const struct dp_plan *plan, const struct dp_answers *answers)
{
    json_t *rows = json_array();
    const json_t *standard = add_openings(answers->hellos, rows);
    add_first_runs(plan, answers, rows);
    if (!standard) {
        json_decref(rows);
        return NULL;
    }
    return json_pack("{ssso}", "default", json_string_value(standard), "changes",
                     sorted(rows, compare_texts));
}

static void add_all(json_t *rows, const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);
        if (json_object_size(item) > 0) {
            add_once(rows, json_incref(item));
        }
    }
}

/* By which two reports can say that own kernels were the same. */
static json_t *own_kernels(const struct dp_answers *answers)
{
    json_t *rows = json_array();
    const char *program;
    json_t *hello;
    json_object_foreach(answers->hellos, program, hello)
    {
        json_t *row = json_deep_copy(json_object_get(hello, "own_kernels"));
        if (row) {
            /* the same under the variables of a case: "cuda/gemm A=1" */
            json_object_set_new(row, "program", json_stringn(program, strcspn(program, " ")));
            add_once(rows, row);
        }
    }
    if (json_array_size(rows) == 0) {
        json_decref(rows);
        return NULL;
    }
    return sorted(rows, compare_texts);
}

json_t *dp_environment_device_state(const struct dp_answers *answers)
{
    json_t *rows = json_array();
    const char *program;
    json_t *hello;
    json_object_foreach(answers->hellos, program, hello)
    {
        add_all(rows, json_object_get(hello, "device_state"));
    }
    if (json_array_size(rows) == 0) {
        json_decref(rows);
        return NULL;
    }
    return sorted(rows, compare_texts);
}

json_t *dp_environment(const struct dp_plan *plan, const struct dp_answers *answers,
                       const struct dp_stack *stack)
{
    json_t *libraries = json_array(), *devices = json_array();
    const char *program;
    json_t *hello;
    json_object_foreach(answers->hellos, program, hello)
    {
        json_t *families = families_of(plan, program);
        dp_environment_add_libraries(libraries, families, hello);
        add_isas(libraries, program, hello);
        json_decref(families);
        json_t *all = json_object_get(hello, "devices"), *device = json_object_get(hello, "device");
        add_all(devices, all);
        if (json_array_size(all) == 0 && json_object_size(device) > 0) {
            add_once(devices, json_incref(device));
        }
    }
    json_t *variables = dp_host_variables();
    if (stack) {
        dp_stack_forget_own(stack, variables);
    }
    size_t i;
    json_t *library;
    json_array_foreach(libraries, i, library)
    {
        json_t *families = json_incref(json_object_get(library, "families"));
        json_object_set_new(library, "families", sorted(families, compare_strings));
    }
    return json_pack("{sososososo*so*so*}", "host", dp_host_facts(), "devices",
                     sorted(devices, compare_texts), "libraries", sorted(libraries, compare_libraries),
                     "variables", variables, "float_environment", float_environment(plan, answers),
                     "own_kernels", own_kernels(answers), "stack", stack ? dp_stack_describe(stack) : NULL);
}

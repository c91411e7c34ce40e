/* SPDX-License-Identifier: Apache-2.0
 *
 * The report's `environment`. A library stands in it once per role and file, however many programs opened it.
 */
#include "suite/run/environment.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/host.h"
#include "suite/base/json.h"

static const char *const library_keys[] = {"role", "name", "version", "path", "config"};

static bool same_library(const json_t *a, const json_t *b)
{
    return strcmp(dp_json_string(a, "role", ""), dp_json_string(b, "role", "")) == 0 &&
           strcmp(dp_json_string(a, "path", ""), dp_json_string(b, "path", "")) == 0;
}

void dp_environment_add_libraries(json_t *libraries, const json_t *hello)
{
    size_t i, j;
    json_t *library, *known;
    json_array_foreach(json_object_get(hello, "libraries"), i, library)
    {
        bool found = false;
        json_array_foreach(libraries, j, known)
        {
            found = found || same_library(known, library);
        }
        if (found) {
            continue;
        }
        json_t *copy = json_object();
        for (size_t k = 0; k < sizeof(library_keys) / sizeof(library_keys[0]); k++) {
            const char *value = dp_json_string(library, library_keys[k], NULL);
            if (value) {
                json_object_set_new(copy, library_keys[k], json_string(value));
            }
        }
        json_array_append_new(libraries, copy);
    }
}

static int compare_libraries(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    const int role = strcmp(dp_json_string(a, "role", ""), dp_json_string(b, "role", ""));
    return role ? role : strcmp(dp_json_string(a, "path", ""), dp_json_string(b, "path", ""));
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

/* Changes of the floating-point control register, named with the program in which they were seen. */
static json_t *float_environment(json_t *hellos)
{
    json_t *changes = json_array(), *standard = NULL;
    const char *program;
    json_t *hello;
    json_object_foreach(hellos, program, hello)
    {
        const json_t *seen = json_object_get(hello, "float_environment");
        size_t i;
        json_t *change;
        if (seen && !standard) {
            standard = json_object_get(seen, "default");
        }
        json_array_foreach(json_object_get(seen, "changes"), i, change)
        {
            json_t *row = json_deep_copy(change);
            json_object_set_new(row, "program", json_string(program));
            json_array_append_new(changes, row);
        }
    }
    if (!standard) {
        json_decref(changes);
        return NULL;
    }
    return json_pack("{sOso}", "default", standard, "changes", changes);
}

/* Programs of one backend speak of the same device. */
static bool holds(const json_t *array, const json_t *wanted)
{
    size_t i;
    const json_t *item;
    json_array_foreach(array, i, item)
    {
        if (json_equal(item, wanted)) {
            return true;
        }
    }
    return false;
}

json_t *dp_environment(json_t *hellos)
{
    json_t *libraries = json_array(), *devices = json_array();
    const char *program;
    json_t *hello;
    json_object_foreach(hellos, program, hello)
    {
        dp_environment_add_libraries(libraries, hello);
        json_t *device = json_object_get(hello, "device");
        if (json_object_size(device) > 0 && !holds(devices, device)) {
            json_array_append(devices, device);
        }
    }
    json_t *environment = json_pack("{sososososo*}", "host", dp_host_facts(), "devices", devices, "libraries",
                                    sorted(libraries, compare_libraries), "variables", dp_host_variables(),
                                    "float_environment", float_environment(hellos));
    return environment;
}

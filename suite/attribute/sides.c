/* SPDX-License-Identifier: Apache-2.0
 *
 * From a change to what a shell sets.
 */
#include "suite/attribute/sides.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/plan/caps.h"

#define TEXT_MOST ((size_t)1 << 16)

/* What sets the number of threads of a library, as hello names it: a function in C, which takes more than
 * there are cores, else a variable, which mostly does not; of others OpenMP's. */
static const struct dp_threads threads[] = {
    {"OpenBLAS", "OPENBLAS_NUM_THREADS", "openblas_set_num_threads", "int"},
    {"MKL", "MKL_NUM_THREADS", "MKL_Set_Num_Threads", "int"},
    {"BLIS", "BLIS_NUM_THREADS", "bli_thread_set_num_threads", "long"},
};
static const struct dp_threads openmp = {.variable = "OMP_NUM_THREADS"};

static void put_value(struct dp_text *side, const char *name, const char *value)
{
    dp_text_printf(side, value ? " %s=" : " -u %s", name);
    if (value) {
        dp_text_put_word(side, value);
    }
}

static void put_variable(struct dp_sides *sides, const char *name, const char *from, const char *to)
{
    put_value(&sides->from, name, from);
    put_value(&sides->to, name, to);
}

static const struct dp_threads *threads_of(const json_t *document)
{
    size_t i;
    json_t *library;
    json_array_foreach(json_object_get(document, "libraries"), i, library)
    {
        for (size_t k = 0; k < sizeof(threads) / sizeof(threads[0]); k++) {
            if (strcmp(dp_json_string(library, "name", ""), threads[k].library) == 0) {
                return &threads[k];
            }
        }
    }
    return &openmp;
}

/* false: no variable gives so many. */
static bool put_threads(struct dp_sides *sides, const struct dp_threads *how, bool linked, const char *from,
                        const char *to)
{
    if (!from[0]) { /* the library's own number: nothing to set */
        return false;
    }
    const int cores = dp_host_cores_allowed();
    sides->function = linked && how->function ? how : NULL;
    put_variable(sides, sides->function ? DP_THREADS_NAME : how->variable, from, to);
    return sides->function || (atoi(from) <= cores && atoi(to) <= cores);
}

static void put_cap(struct dp_sides *sides, const char *setting)
{
    const struct dp_cap *cap = dp_cap_find(setting);
    json_t *variables = cap ? dp_cap_variables(cap) : NULL, *value;
    const char *name;
    json_object_foreach(variables, name, value)
    {
        put_variable(sides, name, NULL, json_string_value(value));
    }
    json_decref(variables);
}

/* What a process can be started with. Returns the axis that is none of it, NULL: all of the change is. */
static const char *put_change(struct dp_sides *sides, const json_t *document, bool linked,
                              const json_t *change)
{
    size_t i;
    json_t *item;
    json_array_foreach(change, i, item)
    {
        const char *name = dp_json_string(item, "name", ""), *from = dp_json_string(item, "from", NULL),
                   *to = dp_json_string(item, "to", NULL);
        if (strcmp(dp_json_string(item, "kind", ""), "variable") == 0) {
            put_variable(sides, name, from, to);
        } else if (strcmp(name, "threads") == 0) {
            if (!put_threads(sides, threads_of(document), linked, from, to)) {
                return name;
            }
        } else if (strcmp(name, "isa") == 0) {
            put_cap(sides, to);
        } else {
            return name;
        }
    }
    return NULL;
}

void dp_sides_open(struct dp_sides *sides)
{
    *sides = (struct dp_sides){DP_TEXT(TEXT_MOST), DP_TEXT(TEXT_MOST), NULL};
    dp_text_put(&sides->from, "env");
    dp_text_put(&sides->to, "env");
}

void dp_sides_free(struct dp_sides *sides)
{
    dp_text_free(&sides->from);
    dp_text_free(&sides->to);
}

int dp_sides_find(const json_t *document, bool linked, struct dp_sides *ret, struct dp_err *err)
{
    size_t i;
    json_t *cause;
    const char *axis = NULL;
    json_array_foreach(json_object_get(document, "causes"), i, cause)
    {
        const char *other = put_change(ret, document, linked, json_object_get(cause, "change"));
        if (!other) {
            return 0;
        }
        axis = axis ? axis : other;
        dp_sides_free(ret);
        dp_sides_open(ret);
    }
    return dp_err_set(
        err, DP_EXIT_NO_VERDICT,
        "no file can show what moves '%.120s': it is along axis '%.40s', which nothing sets for it",
        dp_json_string(document, "case", ""), axis ? axis : "none");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The rig.
 */
#include "suite/tests/rig.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "suite/base/text.h"
#include "suite/run/process.h"

/* Words of a list, borrowed from a copy that the process keeps. */
static struct dp_strings split(const char *list, const char *separators)
{
    struct dp_strings ret = {0};
    char *copy = dp_strdup(list), *rest = copy;
    for (char *word; (word = strsep(&rest, separators));) {
        if (*word) {
            ret.items = dp_realloc(ret.items, ret.count + 1, sizeof(*ret.items));
            ret.items[ret.count++] = word;
        }
    }
    if (ret.count == 0) {
        free(copy);
    }
    return ret;
}

static void strings_free(struct dp_strings *strings)
{
    if (strings->count > 0) {
        char *copy;
        memcpy(&copy, &strings->items[0], sizeof(copy)); /* the first word begins the copy */
        free(copy);
    }
    free(strings->items);
}

/* What the machine's own libraries are held to is none of the fakes' business. */
static void forget_caps(void)
{
    for (const struct dp_cap *cap = dp_caps(); cap->setting; cap++) {
        json_t *variables = dp_cap_variables(cap), *value;
        const char *name;
        json_object_foreach(variables, name, value)
        {
            unsetenv(name);
        }
        json_decref(variables);
    }
}

void rig_open_sized(struct rig *rig, const char *folders, const char *selectors, const char *axes, int runs,
                    int fresh)
{
    const char *top = getenv("FAKES_DIR");
    if (!top) {
        fail_msg("FAKES_DIR must name the folder of the fake programs");
    }
    forget_caps();
    struct dp_strings names = split(folders, ":");
    struct dp_text path = DP_TEXT(10000);
    for (size_t i = 0; i < names.count; i++) {
        dp_text_printf(&path, "%s%s/%s", i ? ":" : "", top, names.items[i]);
    }
    *rig = (struct rig){.options = {.level = "quick", .seed = 1, .runs = runs, .fresh = fresh}};
    rig->run = (struct dp_run_options){.jobs = 1, .timeout_ns = INT64_C(30000000000)};
    rig->options.include = split(selectors, " ");
    rig->options.axes = split(axes, " ");
    struct dp_err err;
    if (dp_catalogue_load_from(NULL, path.data, &rig->catalogue, &err) ||
        dp_plan_make(&rig->catalogue, &rig->options, &rig->plan, &err)) {
        fail_msg("%s", err.text);
    }
    dp_text_free(&path);
    strings_free(&names);
}

void rig_open(struct rig *rig, const char *folders, const char *selectors, const char *axes)
{
    rig_open_sized(rig, folders, selectors, axes, 0, -1);
}

void rig_run(struct rig *rig)
{
    struct dp_err err;
    if (dp_run(&rig->plan, &rig->answers, &rig->run, &rig->end, &rig->signal, &err)) {
        fail_msg("%s", err.text);
    }
}

void rig_close(struct rig *rig)
{
    dp_answers_free(&rig->answers);
    dp_plan_free(&rig->plan);
    dp_catalogue_free(&rig->catalogue);
    strings_free(&rig->options.include);
    strings_free(&rig->options.axes);
}

size_t rig_answered(const struct rig *rig)
{
    size_t count = 0;
    for (size_t i = 0; i < rig->answers.count; i++) {
        count += rig->answers.items[i] != NULL;
    }
    return count;
}

bool same_answer(json_t *a, json_t *b)
{
    json_t *one = json_copy(a), *other = json_copy(b);
    const bool timed = json_is_integer(json_object_get(one, "spent_ns"));
    json_object_del(one, "spent_ns");
    const bool both = json_is_integer(json_object_get(other, "spent_ns")) == timed;
    json_object_del(other, "spent_ns");
    const bool same = both && json_equal(one, other);
    json_decref(one);
    json_decref(other);
    return same;
}

size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

size_t processes_of(int suite)
{
    static char bytes[1 << 18];
    char wanted[64], path[300];
    snprintf(wanted, sizeof(wanted), DP_TOKEN_NAME "=%010d.", suite);
    size_t count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(proc));) {
        snprintf(path, sizeof(path), "/proc/%s/environ", entry->d_name);
        int fd = isdigit((unsigned char)entry->d_name[0]) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        size_t length = 0;
        for (ssize_t got; fd >= 0 && length < sizeof(bytes) &&
                          (got = read(fd, bytes + length, sizeof(bytes) - length)) > 0;) {
            length += (size_t)got;
        }
        close(fd);
        count += memmem(bytes, length, wanted, strlen(wanted)) != NULL;
    }
    closedir(proc);
    return count;
}

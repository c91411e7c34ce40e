/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries that read settings, by the files that are here.
 */
#include "suite/audit/readers.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/stack.h"

/* Where Python keeps packages, below a prefix. */
static const char *const package_places[] = {
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "lib/python3*/dist-packages",
    "local/lib/python3*/dist-packages",
};
/* Where wheels keep libraries, below such a folder. */
static const char *const library_places[] = {
    "*.libs/*.so*",     "torch/lib/*.so*", "nvidia/*/lib/*.so*",
    "tensorflow/*.so*", "jaxlib/*.so",     "numpy/*core/*.so",
};
/* Where an environment of conda keeps them, below the prefix. */
static const char *const prefix_places[] = {"lib/libmkl_*.so*", "lib/libiomp5.so*", "lib/libomp.so*",
                                            "lib/libopenblas*.so*", "lib/libnccl.so*"};
static const char *const metadata_places[] = {"*.dist-info", "*.egg-info"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void dp_readers_open(struct dp_readers *readers)
{
    *readers = (struct dp_readers){.files = json_array(), .packages = json_object()};
}

void dp_readers_free(struct dp_readers *readers)
{
    json_decref(readers->files);
    json_decref(readers->packages);
    *readers = (struct dp_readers){0};
}

/* "... core=Haswell kernels=/usr/lib/libopenblasp-r0.3.21.so": the functions stand before another file, which
 * is the one that reads variables. */
static void add_kernels(struct dp_readers *readers, const json_t *library)
{
    static const char before[] = " kernels=";
    const char *at = strstr(dp_json_string(library, "config", ""), before);
    json_t *row = at ? json_deep_copy(library) : NULL;
    if (row) {
        json_object_set_new(row, "path", json_string(at + strlen(before)));
        json_array_append_new(readers->files, row);
    }
}

void dp_readers_add_libraries(struct dp_readers *readers, const json_t *libraries)
{
    json_array_extend(readers->files, (json_t *)(uintptr_t)libraries);
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        add_kernels(readers, json_array_get(libraries, i));
    }
}

static void add_file(struct dp_readers *readers, const char *path)
{
    json_t *file =
        json_pack("{ss}", "path", path); /* NULL for a name that is no UTF-8: nothing that is known */
    if (file) {
        json_array_append_new(readers->files, file);
    }
}

/* ".../torch-2.5.1+cu121.dist-info": a name holds no '-', it has become '_'. */
static void add_package(struct dp_readers *readers, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dash = strchr(name, '-'), *end = strrchr(name, '.');
    if (!dash || !end || end < dash) {
        return;
    }
    size_t length = (size_t)(end - dash) - 1;
    for (const char *py = strstr(dash + 1, "-py"); py && py < end; py = NULL) { /* "-py3.11" of an egg */
        length = (size_t)(py - dash) - 1;
    }
    char *key = dp_printf("%.*s", (int)(dash - name), name),
         *version = dp_printf("%.*s", (int)length, dash + 1);
    for (char *at = key; *at; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    }
    json_t *text = json_string(version);
    if (text) {
        json_object_set_new(readers->packages, key, text);
    }
    free(key);
    free(version);
}

static void each_match(struct dp_readers *readers, const char *folder, const char *pattern,
                       void (*add)(struct dp_readers *readers, const char *path))
{
    char *escaped = dp_glob_escape(folder), *whole = dp_printf("%s/%s", escaped, pattern);
    glob_t matches;
    if (glob(whole, 0, NULL, &matches) == 0) {
        for (size_t i = 0; i < matches.gl_pathc; i++) {
            add(readers, matches.gl_pathv[i]);
        }
        globfree(&matches);
    }
    free(escaped);
    free(whole);
}

static void add_packages(struct dp_readers *readers, const char *folder)
{
    for (size_t i = 0; i < COUNT(library_places); i++) {
        each_match(readers, folder, library_places[i], add_file);
    }
    for (size_t i = 0; i < COUNT(metadata_places); i++) {
        each_match(readers, folder, metadata_places[i], add_package);
    }
}

void dp_readers_add_prefix(struct dp_readers *readers, const char *prefix)
{
    for (size_t i = 0; i < COUNT(package_places); i++) {
        each_match(readers, prefix, package_places[i], add_packages);
    }
    for (size_t i = 0; i < COUNT(prefix_places); i++) {
        each_match(readers, prefix, prefix_places[i], add_file);
    }
}

void dp_readers_add_mapped(struct dp_readers *readers, const json_t *mapped)
{
    const char *path;
    json_t *whole;
    json_t *folders = json_object();
    json_object_foreach((json_t *)(uintptr_t)mapped, path, whole)
    {
        static const char packages[] = "-packages/";
        const char *at = strstr(path, packages);
        add_file(readers, path);
        if (at) {
            char *folder = dp_printf("%.*s", (int)(at - path + (ptrdiff_t)strlen(packages) - 1), path);
            json_object_set_new(folders, folder, json_true());
            free(folder);
        }
    }
    json_object_foreach(folders, path, whole)
    {
        for (size_t i = 0; i < COUNT(metadata_places); i++) {
            each_match(readers, path, metadata_places[i], add_package);
        }
    }
    json_decref(folders);
}

/* --- finding --- */

/* A pattern without '/' is one of the file's name. */
static bool is_like(const json_t *patterns, const char *path)
{
    size_t i;
    json_t *pattern;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    json_array_foreach(patterns, i, pattern)
    {
        const char *glob = json_string_value(pattern);
        if (dp_glob_match(glob, strchr(glob, '/') ? path : base)) {
            return true;
        }
    }
    return false;
}

/* Is the file this reader, for this variable? A library that may have been built without the variable, or
 * into another library, is asked for the variable's name. */
static bool is_reader(const json_t *reader, const json_t *setting, const json_t *file)
{
    const char *path = dp_json_string(file, "path", ""), *library = dp_json_string(reader, "library", NULL);
    const char *const names[] = {dp_json_string(setting, "name", NULL), NULL};
    const bool named = json_is_true(json_object_get(setting, "named"));
    if ((library && strcmp(dp_json_string(file, "name", ""), library) == 0) ||
        is_like(json_object_get(reader, "files"), path)) {
        return !named || dp_stack_holds(path, names);
    }
    return names[0] && is_like(json_object_get(reader, "inside"), path) && dp_stack_holds(path, names);
}

/* The version of the file as this reader: one file may be several libraries. NULL: not known. */
static const char *version_of(const json_t *reader, const json_t *file)
{
    const char *library = dp_json_string(reader, "library", NULL),
               *version = dp_json_string(file, "version", "");
    return version[0] && (!library || strcmp(dp_json_string(file, "name", ""), library) == 0) ? version
                                                                                              : NULL;
}

/* The first file that is the reader, one with a version before others; NULL: none. Borrowed. */
static const json_t *find_file(const struct dp_readers *readers, const json_t *reader, const json_t *setting)
{
    size_t i;
    json_t *file;
    const json_t *found = NULL;
    json_array_foreach(readers->files, i, file)
    {
        if (is_reader(reader, setting, file) &&
            (!found || (!version_of(reader, found) && version_of(reader, file)))) {
            found = file;
        }
    }
    return found;
}

static const char *find_package(const struct dp_readers *readers, const json_t *reader)
{
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(reader, "package"), i, name)
    {
        const char *version = dp_json_string(readers->packages, json_string_value(name), NULL);
        if (version) {
            return version;
        }
    }
    return NULL;
}

/* Another library is there in its place. */
static bool is_displaced(const struct dp_readers *readers, const json_t *reader)
{
    const char *role = dp_json_string(reader, "role", NULL), *key;
    json_t *other;
    json_object_foreach(json_object_get(dp_audit_settings(), "readers"), key, other)
    {
        if (role && strcmp(dp_json_string(other, "role", ""), role) == 0 && find_file(readers, other, NULL)) {
            return true;
        }
    }
    return false;
}

enum dp_audit_presence dp_readers_find(const struct dp_readers *readers, const json_t *setting, bool asked,
                                       const char **ret_version)
{
    const json_t *all = json_object_get(dp_audit_settings(), "readers");
    const json_t *reader = json_object_get(all, dp_json_string(setting, "reader", ""));
    const json_t *file = find_file(readers, reader, setting);
    const char *package = find_package(readers, reader);
    *ret_version = package ? package : file ? version_of(reader, file) : NULL;
    if (file || json_is_true(json_object_get(reader, "always")) ||
        (package && !json_is_true(json_object_get(setting, "named")))) {
        return DP_AUDIT_PRESENT;
    }
    *ret_version = NULL;
    const bool never =
        json_is_true(json_object_get(reader, "foreign")) || json_is_true(json_object_get(reader, "addon"));
    return !asked || never || is_displaced(readers, reader) ? DP_AUDIT_ABSENT : DP_AUDIT_ASSUMED;
}

bool dp_readers_have_area(const struct dp_readers *readers, const char *area)
{
    const json_t *reader = json_object_get(json_object_get(dp_audit_settings(), "readers"), area);
    return strcmp(area, "cpu") == 0 ||
           (reader && (find_file(readers, reader, NULL) || find_package(readers, reader)));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in the place of a probe program that comes in several builds, each linked with another version of
 * one library: "conv" beside "conv.libdnnl.so.2" and "conv.libdnnl.so.3". It becomes the build for the file
 * that is named (DETPROBE_LIB_ONEDNN, which a stack sets too), else the highest whose library the loader
 * finds. A file that no build goes with is an error: another version would be measured in its place.
 */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIBRARY_MISSING = 127 };

/* The one role whose library programs are linked with in more than one version. */
static const char variable[] = "DETPROBE_LIB_ONEDNN";

static char folder[PATH_MAX]; /* where this program is */
static char stem[NAME_MAX];   /* its name and a dot: what the names of its builds begin with */

/* --- which build --- */

/* Does the loader call `handle`, a library that is open, by this name? */
static bool is_called(void *handle, const char *library)
{
    void *same = dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (same) {
        dlclose(same);
    }
    return same == handle;
}

/* "libdnnl.so.2" for "libdnnl.so.2.6" and itself, not for "libdnnl.so.20". */
static bool is_version_of(const char *file, const char *library)
{
    const size_t length = strlen(library);
    return strncmp(file, library, length) == 0 && (file[length] == '\0' || file[length] == '.');
}

/* Does a build for `library` go with the file that is named? Its SONAME tells, also where the file is called
 * otherwise; its name where it cannot be opened, which the build itself then says. */
static bool is_named(const char *library)
{
    const char *file = getenv(variable);
    void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (handle) {
        const bool called = is_called(handle, library);
        dlclose(handle);
        return called;
    }
    const char *slash = strrchr(file, '/');
    return is_version_of(slash ? slash + 1 : file, library);
}

static bool is_loadable(const char *library)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (handle) {
        dlclose(handle);
    }
    return handle != NULL;
}

static void list_libraries(struct dirent **builds, int count)
{
    for (int i = 0; i < count; i++) {
        fprintf(stderr, "%s %s", i ? "," : "", builds[i]->d_name + strlen(stem));
    }
}

/* Which libraries would do, and why one that is there does not. */
static void explain(struct dirent **builds, int count)
{
    fprintf(stderr, "none of");
    list_libraries(builds, count);
    fprintf(stderr, " can be loaded");
    for (int i = 0; i < count; i++) {
        dlopen(builds[i]->d_name + strlen(stem), RTLD_LAZY | RTLD_LOCAL);
        const char *reason = dlerror();
        if (reason && !strstr(reason, "No such file")) {
            fprintf(stderr, "; %s", reason);
        }
    }
    fputc('\n', stderr);
}

static void explain_named(struct dirent **builds, int count)
{
    fprintf(stderr, "no build of this program goes with '%s' (%s), there are those for", getenv(variable),
            variable);
    list_libraries(builds, count);
    fputc('\n', stderr);
}

/* --- the builds beside this program --- */

static char *path_of(const char *name)
{
    static char path[PATH_MAX + NAME_MAX + 1];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* "conv.libdnnl.so.2", "conv.libdnnl.so.3.6": a version and no more after it, so neither what was left beside
 * it ("conv.libdnnl.so.3.orig") nor what cannot be run. */
static int is_build(const struct dirent *entry)
{
    if (strncmp(entry->d_name, stem, strlen(stem)) != 0) {
        return 0;
    }
    const char *version = strstr(entry->d_name + strlen(stem), ".so.");
    version = version ? version + strlen(".so.") : "";
    return isdigit((unsigned char)*version) && version[strspn(version, "0123456789.")] == '\0' &&
           access(path_of(entry->d_name), X_OK) == 0;
}

static int by_version_down(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*b)->d_name, (*a)->d_name);
}

/* Becomes the first that is accepted and can be executed. Returns only if there is none, with what the last
 * that could not be executed ended with; 0: none was accepted. */
static int become(struct dirent **builds, int count, bool (*accepts)(const char *library), char **argv)
{
    char *const self = argv[0];
    int reason = 0;
    for (int i = 0; i < count; i++) {
        if (accepts(builds[i]->d_name + strlen(stem))) {
            argv[0] = path_of(builds[i]->d_name);
            execv(argv[0], argv);
            reason = errno;
            fprintf(stderr, "cannot run '%s': %s\n", argv[0], strerror(reason));
        }
    }
    argv[0] = self;
    return reason;
}

/* Sets folder and stem. */
static bool find_self(void)
{
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    char *slash = length > 0 ? strrchr(folder, '/') : NULL;
    if (!slash || (size_t)snprintf(stem, sizeof(stem), "%s.", slash + 1) >= sizeof(stem)) {
        return false;
    }
    *slash = '\0';
    return true;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct dirent **builds = NULL;
    const int count = find_self() ? scandir(folder, &builds, is_build, by_version_down) : 0;
    const char *file = getenv(variable);
    const bool named = file && *file;
    int code = EXIT_FAILURE;
    if (count <= 0) {
        fprintf(stderr, "no build of this program in '%s'\n", folder);
    } else if (become(builds, count, named ? is_named : is_loadable, argv) == 0) {
        (named ? explain_named : explain)(builds, count);
        code = LIBRARY_MISSING;
    }
    for (int i = 0; i < count; i++) {
        free(builds[i]);
    }
    free(builds);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in the place of a probe program that comes in several builds, each linked with another version of
 * one library: "conv" beside "conv.libdnnl.so.2" and "conv.libdnnl.so.3". It becomes the build whose library
 * is on this machine: the one that a stack names (DETPROBE_LIB_<ROLE>), else the highest that the loader
 * finds.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIBRARY_MISSING = 127 };

extern char **environ;

static char folder[PATH_MAX]; /* where this program is */
static char stem[NAME_MAX];   /* its name and a dot: what the names of its builds begin with */

/* --- which build --- */

/* Does a variable DETPROBE_LIB_<ROLE> name a file of this name? */
static bool is_named(const char *library)
{
    static const char prefix[] = "DETPROBE_LIB_";
    for (char **variable = environ; *variable; variable++) {
        const char *slash = strrchr(*variable, '/');
        if (strncmp(*variable, prefix, sizeof(prefix) - 1) == 0 && slash && strcmp(slash + 1, library) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_loadable(const char *library)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (handle) {
        dlclose(handle);
    }
    return handle != NULL;
}

/* The first library of `builds` that is accepted, NULL: none. */
static const char *find_library(struct dirent **builds, int count, bool (*accepts)(const char *library))
{
    for (int i = 0; i < count; i++) {
        const char *library = builds[i]->d_name + strlen(stem);
        if (accepts(library)) {
            return library;
        }
    }
    return NULL;
}

/* Which libraries would do, and why one that is there does not. */
static void explain(struct dirent **builds, int count)
{
    fprintf(stderr, "none of");
    for (int i = 0; i < count; i++) {
        fprintf(stderr, "%s %s", i ? "," : "", builds[i]->d_name + strlen(stem));
    }
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

/* --- the builds beside this program --- */

static int is_build(const struct dirent *entry)
{
    return strncmp(entry->d_name, stem, strlen(stem)) == 0 && strstr(entry->d_name + strlen(stem), ".so");
}

static int by_version_down(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*b)->d_name, (*a)->d_name);
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
    struct dirent **builds = NULL;
    const int count = find_self() ? scandir(folder, &builds, is_build, by_version_down) : 0;
    if (count <= 0) {
        fprintf(stderr, "no build of this program in '%s'\n", folder);
        return EXIT_FAILURE;
    }
    const char *library = find_library(builds, count, is_named);
    library = library ? library : find_library(builds, count, is_loadable);
    if (!library) {
        explain(builds, count);
        return LIBRARY_MISSING;
    }
    static char path[PATH_MAX + NAME_MAX];
    snprintf(path, sizeof(path), "%s/%s%s", folder, stem, library);
    argv[0] = path;
    execv(path, argv);
    perror(path);
    return EXIT_FAILURE;
}

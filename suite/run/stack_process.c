/* SPDX-License-Identifier: Apache-2.0
 *
 * The stack of a running process: the files that it has mapped.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/stack_internal.h"

static int process_error(int64_t pid, const char *what, int reason, struct dp_err *err)
{
    return reason == ENOENT || reason == ESRCH
               ? dp_err_set(err, DP_EXIT_DATA, "cannot open stack 'pid:%lld': no such process",
                            (long long)pid)
               : dp_err_set(err, DP_EXIT_DATA, "cannot read '/proc/%lld/%s': %s, run as the process's owner",
                            (long long)pid, what, dp_reason(reason));
}

/* The target of a link in /proc/N. Owned, or NULL with *err. */
static char *read_link(int64_t pid, const char *what, struct dp_err *err)
{
    char target[PATH_MAX];
    char *path = dp_printf("/proc/%lld/%s", (long long)pid, what);
    const ssize_t length = readlink(path, target, sizeof(target) - 1);
    const int reason = errno;
    free(path);
    if (length < 0) {
        process_error(pid, what, reason, err);
        return NULL;
    }
    target[length] = '\0';
    return dp_strdup(target);
}

/* Paths mean the same to us and to the process only in one tree of mounts. */
static int check_mounts(int64_t pid, struct dp_err *err)
{
    char *theirs = read_link(pid, "ns/mnt", err), *root = theirs ? read_link(pid, "root", err) : NULL;
    char *ours = root ? read_link(getpid(), "ns/mnt", err) : NULL;
    int rc = ours ? 0 : -1;
    if (ours && (strcmp(ours, theirs) != 0 || strcmp(root, "/") != 0)) {
        rc = dp_err_set(err, DP_EXIT_DATA,
                        "process %lld sees other files than this one (a container), run detprobe beside it",
                        (long long)pid);
    }
    free(theirs);
    free(root);
    free(ours);
    return rc;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "libcublas.so.12" is the name of libcublas.so.12 and of libcublas.so.12.4.5. */
static bool has_name(const char *path, const char *name)
{
    const char *base = base_name(path);
    const size_t length = strlen(name);
    return dp_glob_match(name, base) || (strncmp(base, name, length) == 0 && base[length] == '.');
}

/* As in a folder: a file without the role's symbol only where there is no other. A deleted one cannot be
 * looked into any more: it is what the process has. */
static const char *find_mapped(const json_t *mapped, const struct dp_stack_role *role)
{
    const char *first = NULL;
    for (size_t n = 0; role->names[n]; n++) {
        const char *path;
        json_t *whole;
        json_object_foreach((json_t *)(uintptr_t)mapped, path, whole)
        {
            if (has_name(path, role->names[n])) {
                first = first ? first : path;
                if (!json_is_true(whole) || dp_stack_fits_role(path, role)) {
                    return path;
                }
            }
        }
    }
    return first;
}

/* The path at the end of a line of /proc/N/maps; NULL: none, or not of a file. */
static char *mapped_path(char *line)
{
    char *path = strchr(line, '/');
    if (path) {
        path[strcspn(path, "\n")] = '\0';
    }
    return path;
}

/* The files as keys; the value is false where the file was deleted since. Owned, or NULL with *err. */
static json_t *read_maps(int64_t pid, struct dp_err *err)
{
    static const char deleted[] = " (deleted)";
    char *name = dp_printf("/proc/%lld/maps", (long long)pid), *line = NULL;
    FILE *file = fopen(name, "re");
    size_t size = 0;
    free(name);
    if (!file) {
        process_error(pid, "maps", errno, err);
        return NULL;
    }
    json_t *mapped = json_object();
    errno = 0;
    while (getline(&line, &size, file) > 0) {
        char *path = mapped_path(line);
        const size_t length = path ? strlen(path) : 0, tail = strlen(deleted);
        const bool gone = length > tail && strcmp(path + length - tail, deleted) == 0;
        if (gone) {
            path[length - tail] = '\0';
        }
        if (path) {
            json_object_set_new(mapped, path, json_boolean(!gone)); /* what is no UTF-8 is left out */
        }
    }
    const int reason = errno;
    free(line);
    fclose(file);
    if (json_object_size(mapped) == 0) {
        json_decref(mapped);
        process_error(pid, "maps", reason ? reason : ESRCH, err);
        return NULL;
    }
    return mapped;
}

static int take_roles(int64_t pid, struct dp_stack *stack, struct dp_err *err)
{
    for (const struct dp_stack_role *role = dp_stack_roles; role->role; role++) {
        const char *file = find_mapped(stack->mapped, role);
        if (file && !json_is_true(json_object_get(stack->mapped, file))) {
            return dp_err_set(err, DP_EXIT_DATA,
                              "'%.300s' was deleted since process %lld loaded it, start the process anew",
                              file, (long long)pid);
        }
        if (file && dp_stack_check_path(file, err) != 0) {
            return -1;
        }
        json_object_set_new(stack->roles, role->role, file ? json_string(file) : json_null());
    }
    return 0;
}

/* Its first word where that names the same file: in a virtual environment the executable alone does not tell
 * which. */
static char *find_python(int64_t pid, const char *executable)
{
    char *path = dp_printf("/proc/%lld/cmdline", (long long)pid);
    char word[PATH_MAX] = "", real[PATH_MAX];
    FILE *file = fopen(path, "re");
    free(path);
    if (file) {
        word[fread(word, 1, sizeof(word) - 1, file)] = '\0';
        fclose(file);
    }
    if (strncmp(base_name(executable), "python", strlen("python")) != 0) {
        return NULL;
    }
    return dp_strdup(word[0] == '/' && realpath(word, real) && strcmp(real, executable) == 0 ? word
                                                                                             : executable);
}

int dp_stack_open_process(const char *digits, struct dp_stack *ret, struct dp_err *err)
{
    int64_t pid = 0;
    if (dp_parse_int(digits, 1, INT_MAX, &pid, NULL) != 0) {
        return dp_err_set(err, DP_EXIT_USAGE, "'pid:%.60s' names no process, write pid:N", digits);
    }
    if (check_mounts(pid, err) != 0) {
        return -1;
    }
    ret->kind = "process";
    ret->name = dp_printf("pid:%lld", (long long)pid);
    ret->root = read_link(pid, "exe", err);
    ret->mapped = ret->root ? read_maps(pid, err) : NULL;
    if (ret->mapped && access(ret->root, X_OK) != 0) {
        return dp_err_set(err, DP_EXIT_DATA,
                          "the program of process %lld is not there any more, start it anew", (long long)pid);
    }
    if (!ret->mapped || take_roles(pid, ret, err) != 0) {
        return -1;
    }
    ret->python = find_python(pid, ret->root);
    return 0;
}

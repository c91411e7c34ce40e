/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks in folders, and what is done with a stack.
 */
#include "suite/run/stack.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/run/stack_internal.h"

#define VARIABLE_LIMIT ((size_t)1 << 16)

extern char **environ;

const struct dp_stack_role dp_stack_roles[] = {
    {.role = "cuda", .names = {"libcuda.so.1"}, .system = true},
    {.role = "nvrtc", .names = {"libnvrtc.so.13", "libnvrtc.so.12"}},
    {.role = "cublas", .names = {"libcublas.so.13", "libcublas.so.12"}},
    {.role = "cublaslt", .names = {"libcublasLt.so.13", "libcublasLt.so.12"}},
    {.role = "cudnn", .names = {"libcudnn.so.9", "libcudnn.so.8"}},
    {.role = "cupti", .names = {"libcupti.so.13", "libcupti.so.12"}, .instrument = true},
    {.role = "cblas",
     .names = {"libcblas.so.3", "libblas.so.3", "libopenblas.so.0", "libmkl_rt.so.3", "libmkl_rt.so.2",
               "libblis.so.4", "*openblas*.so*"},
     .symbols = {"cblas_sgemm", "scipy_cblas_sgemm64_", "scipy_cblas_sgemm", "cblas_sgemm64_"}},
    {.role = "lapack",
     .names = {"liblapack.so.3", "libopenblas.so.0", "libmkl_rt.so.3", "libmkl_rt.so.2", "*openblas*.so*"},
     .symbols = {"sgetrf_", "scipy_sgetrf_64_", "scipy_sgetrf_", "sgetrf_64_"}},
    {.role = "fftw", .names = {"libfftw3.so.3"}},
    {.role = "fftwf", .names = {"libfftw3f.so.3"}},
    {.role = "onednn", .names = {"libdnnl.so.3", "libdnnl.so.2"}, .linked = true},
    {.role = "openmp",
     .names = {"libgomp.so.1", "libgomp-*.so*", "libomp.so.5", "libiomp5.so"},
     .linked = true},
    {.role = NULL},
};

/* Where a stack keeps libraries, below its folder: wheels first, since what a job of the environment loads is
 * theirs; then what a prefix, a toolkit or a plain folder has. */
static const char *const places[] = {
    "lib/python3*/*-packages/nvidia/*/lib",
    "lib64/python3*/*-packages/nvidia/*/lib",
    "lib/python3*/*-packages/*.libs",
    "lib64/python3*/*-packages/*.libs",
    "lib/python3*/*-packages/torch/lib",
    "lib64",
    "lib",
    "lib/*-linux-gnu",
    "targets/*/lib",
    "extras/CUPTI/lib64",
    ".",
};
#define PLACES (sizeof(places) / sizeof(places[0]))

/* --- finding --- */

/* A symbol's name stands between two NULs in the table of strings. */
static bool holds_any(const char *bytes, size_t size, const char *const *names)
{
    char needle[64];
    bool found = false;
    for (; *names && !found; names++) {
        const size_t length = (size_t)snprintf(needle, sizeof(needle), "%c%s", '\0', *names) + 1;
        found = memmem(bytes, size, needle, length) != NULL;
    }
    return found;
}

bool dp_stack_holds(const char *path, const char *const *names)
{
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool found = false;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            found = holds_any(bytes, (size_t)status.st_size, names);
            munmap(bytes, (size_t)status.st_size);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return found;
}

bool dp_stack_fits_role(const char *path, const struct dp_stack_role *role)
{
    return !role->symbols[0] || dp_stack_holds(path, role->symbols);
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* The files that match, in the glob's order, which is sorted; the first with the role's symbol, else keeps
 * the first of all in *first. Owned or NULL. */
static char *find_file(const char *root, const char *place, const char *name,
                       const struct dp_stack_role *role, char **first)
{
    char *pattern = dp_printf("%s/%s/%s", root, place, name), *found = NULL;
    glob_t matches;
    if (glob(pattern, 0, NULL, &matches) == 0) {
        for (size_t i = 0; i < matches.gl_pathc && !found; i++) {
            const char *path = matches.gl_pathv[i];
            if (!is_file(path)) {
                continue;
            }
            *first = *first ? *first : dp_strdup(path);
            if (dp_stack_fits_role(path, role)) {
                found = dp_strdup(path);
            }
        }
        globfree(&matches);
    }
    free(pattern);
    return found;
}

/* Owned or NULL. A file without the role's symbol is taken where there is no other: what a program says of it
 * is clearer than that there was none. */
static char *resolve(const char *escaped, const struct dp_stack_role *role)
{
    char *found = NULL, *first = NULL;
    for (size_t n = 0; role->names[n] && !found; n++) {
        for (size_t p = 0; p < PLACES && !found; p++) {
            found = find_file(escaped, places[p], role->names[n], role, &first);
        }
    }
    if (found) {
        free(first);
    }
    return found ? found : first;
}

/* --- opening --- */

static char *find_python(const char *root)
{
    static const char *const names[] = {"bin/python", "bin/python3"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = dp_printf("%s/%s", root, names[i]);
        if (access(path, X_OK) == 0) {
            return path;
        }
        free(path);
    }
    return NULL;
}

/* Paths become members of lists for the loader and strings of a report. */
int dp_stack_check_path(const char *root, struct dp_err *err)
{
    char *shown = dp_printable(root, strlen(root));
    const bool good = strcmp(shown, root) == 0 && !strchr(root, ':');
    free(shown);
    return good ? 0
                : dp_err_set(err, DP_EXIT_DATA,
                             "stack '%.300s': its path has a colon or is not printable UTF-8", root);
}

static int open_folder(const char *text, struct dp_stack *ret, struct dp_err *err)
{
    struct stat status;
    char *root = realpath(text, NULL);
    if (!root || stat(root, &status) != 0) {
        const int reason = errno;
        free(root);
        return dp_err_set(err, DP_EXIT_DATA, "cannot open stack '%.300s': %s", text, dp_reason(reason));
    }
    ret->root = root;
    if (!S_ISDIR(status.st_mode)) {
        return dp_err_set(err, DP_EXIT_DATA,
                          "stack '%.300s' is not a folder, name a Python environment, a prefix or pid:N",
                          text);
    }
    if (access(root, R_OK | X_OK) != 0) {
        return dp_err_set(err, DP_EXIT_DATA, "cannot open stack '%.300s': %s", text, dp_reason(errno));
    }
    if (dp_stack_check_path(root, err) != 0) {
        return -1;
    }
    char *config = dp_printf("%s/pyvenv.cfg", root), *conda = dp_printf("%s/conda-meta", root);
    char *escaped = dp_glob_escape(root);
    ret->name = dp_strdup(root);
    ret->kind = access(config, F_OK) == 0 || access(conda, F_OK) == 0 ? "venv" : "prefix";
    ret->python = find_python(root);
    for (const struct dp_stack_role *role = dp_stack_roles; role->role; role++) {
        char *file = resolve(escaped, role);
        json_object_set_new(ret->roles, role->role, file ? json_string(file) : json_null());
        free(file);
    }
    free(config);
    free(conda);
    free(escaped);
    return 0;
}

#define PREFIX "DETPROBE_LIB_"

/* "DETPROBE_LIB_CUBLAS". Owned. */
static char *variable_of(const char *role)
{
    char *name = dp_printf(PREFIX "%s", role);
    for (char *c = name; *c; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
    return name;
}

static int unknown_role(const char *name, const char *const *known, size_t count, struct dp_err *err)
{
    const char *near = dp_suggest(name, known, count);
    struct dp_text all = DP_TEXT(1000);
    for (size_t i = 0; i < count; i++) {
        dp_text_printf(&all, "%s%s", i ? ", " : "", known[i] + strlen(PREFIX));
    }
    near ? dp_err_set(err, DP_EXIT_USAGE, "variable '%.80s' names no role, did you mean '%s'?", name, near)
         : dp_err_set(err, DP_EXIT_USAGE, "variable '%.80s' names no role, there are %s", name, all.data);
    dp_text_free(&all);
    return -1;
}

int dp_stack_check_roles(struct dp_err *err)
{
    enum { MOST = sizeof(dp_stack_roles) / sizeof(dp_stack_roles[0]) };
    char *known[MOST];
    size_t count = 0;
    int rc = 0;
    const char *own = getenv("DETPROBE_PROBE_PATH");
    for (const struct dp_stack_role *role = dp_stack_roles; role->role; role++) {
        known[count++] = variable_of(role->role);
    }
    for (char **variable = environ; *variable && rc == 0 && !(own && *own); variable++) {
        char *name = dp_printf("%.*s", (int)strcspn(*variable, "="), *variable);
        bool found = strncmp(name, PREFIX, strlen(PREFIX)) != 0;
        for (size_t i = 0; i < count && !found; i++) {
            found = strcmp(name, known[i]) == 0;
        }
        rc = found ? 0 : unknown_role(name, (const char *const *)known, count, err);
        free(name);
    }
    for (size_t i = 0; i < count; i++) {
        free(known[i]);
    }
    return rc;
}

void dp_stack_forget_own(const struct dp_stack *stack, json_t *variables)
{
    const char *role;
    json_t *file;
    json_object_foreach(stack->roles, role, file)
    {
        char *name = variable_of(role);
        if (json_is_string(file) && json_equal(file, json_object_get(variables, name))) {
            json_object_del(variables, name);
        }
        free(name);
    }
}

/* A file that the user names beside a stack is one question too many. */
static int check_variables(struct dp_err *err)
{
    int rc = 0;
    for (const struct dp_stack_role *role = dp_stack_roles; role->role && rc == 0; role++) {
        char *name = variable_of(role->role);
        const char *value = getenv(name);
        if (value && *value && !role->system && !role->instrument) {
            rc = dp_err_set(err, DP_EXIT_USAGE,
                            "'--stack' and the variable '%s' exclude each other, unset it", name);
        }
        free(name);
    }
    return rc;
}

static int check_holds(const char *text, const struct dp_stack *stack, struct dp_err *err)
{
    const char *role;
    json_t *file;
    bool holds = stack->python != NULL;
    json_object_foreach(stack->roles, role, file)
    {
        holds = holds || json_is_string(file);
    }
    return holds ? 0
                 : dp_err_set(err, DP_EXIT_DATA,
                              "stack '%.300s' holds no library that a probe program measures", text);
}

int dp_stack_look_at(const char *text, struct dp_stack *ret, struct dp_err *err)
{
    static const char prefix[] = "pid:";
    const bool process = strncmp(text, prefix, strlen(prefix)) == 0;
    *ret = (struct dp_stack){.roles = json_object()};
    int rc = *text ? check_variables(err)
                   : dp_err_set(err, DP_EXIT_USAGE, "option '--stack' needs the name of a folder, or pid:N");
    if (rc == 0) {
        rc = process ? dp_stack_open_process(text + strlen(prefix), ret, err) : open_folder(text, ret, err);
    }
    if (rc == 0 && !process) {
        rc = check_holds(text, ret, err);
    }
    if (rc) {
        dp_stack_free(ret);
    }
    return rc;
}

int dp_stack_open(const char *text, struct dp_stack *ret, struct dp_err *err)
{
    int rc = dp_stack_look_at(text, ret, err);
    if (rc == 0 && check_holds(text, ret, err) != 0) {
        dp_stack_free(ret);
        rc = -1;
    }
    return rc;
}

void dp_stack_free(struct dp_stack *stack)
{
    free(stack->name);
    free(stack->root);
    free(stack->python);
    json_decref(stack->roles);
    json_decref(stack->mapped);
    *stack = (struct dp_stack){0};
}

/* --- using --- */

/* Adds the folder of a file to a list for the loader, once. */
static void add_folder(struct dp_text *list, const char *file)
{
    const char *slash = strrchr(file, '/');
    char *folder = dp_printf(":%.*s:", (int)(slash - file), file);
    char *known = dp_printf(":%s:", list->data ? list->data : "");
    if (!strstr(known, folder)) {
        dp_text_printf(list, "%s%.*s", list->length ? ":" : "", (int)(slash - file), file);
    }
    free(folder);
    free(known);
}

/* Parts that a library opens itself, and libraries behind it, are beside it. */
static void set_search_path(const struct dp_stack *stack)
{
    struct dp_text list = DP_TEXT(VARIABLE_LIMIT);
    const char *old = getenv("LD_LIBRARY_PATH"), *role;
    json_t *file;
    json_object_foreach(stack->roles, role, file)
    {
        if (json_is_string(file)) {
            add_folder(&list, json_string_value(file));
        }
    }
    if (list.length > 0) {
        dp_text_printf(&list, "%s%s", old && *old ? ":" : "", old && *old ? old : "");
        setenv("LD_LIBRARY_PATH", list.data, /* overwrite= */ 1);
    }
    dp_text_free(&list);
}

/* What messages call it: they stand in reports, which are the same for two processes of one stack. Owned. */
static char *shown_name(const struct dp_stack *stack)
{
    return dp_printf("%s%s", stack->mapped ? "process " : "", stack->root);
}

void dp_stack_apply(const struct dp_stack *stack, struct dp_catalogue *catalogue)
{
    const char *role;
    json_t *file;
    char *shown = shown_name(stack);
    setenv("DETPROBE_STACK", shown, /* overwrite= */ 1);
    free(shown);
    json_object_foreach(stack->roles, role, file)
    {
        char *name = variable_of(role);
        if (json_is_string(file)) {
            setenv(name, json_string_value(file), /* overwrite= */ 0); /* the user's own are of no library
                                                                        * under test */
        }
        free(name);
    }
    set_search_path(stack);
    for (size_t i = 0; i < catalogue->program_count && stack->python; i++) {
        struct dp_program *program = catalogue->programs[i];
        if (program->script) {
            free(program->interpreter);
            program->interpreter = dp_strdup(stack->python);
        }
    }
}

static bool is_same_file(const char *a, const char *b)
{
    char one[PATH_MAX], two[PATH_MAX];
    return strcmp(a, b) == 0 || (realpath(a, one) && realpath(b, two) && strcmp(one, two) == 0);
}

static bool is_below(const char *path, const char *root)
{
    const size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || root[length - 1] == '/');
}

static bool is_inside(const struct dp_stack *stack, const char *path)
{
    char real[PATH_MAX];
    if (stack->mapped) {
        return json_object_get(stack->mapped, path) != NULL ||
               (realpath(path, real) && json_object_get(stack->mapped, real));
    }
    return is_below(path, stack->root) || (realpath(path, real) && is_below(real, stack->root));
}

/* "libdnnl.so.2" of "/usr/lib/libdnnl.so.2.6": what a program that is linked asks the loader for. */
static int soname_of(const char *path, const char **ret)
{
    const char *slash = strrchr(path, '/');
    *ret = slash ? slash + 1 : path;
    const char *end = strstr(*ret, ".so");
    if (!end) {
        return (int)strlen(*ret);
    }
    end += strlen(".so");
    return (int)(end - *ret) + (*end == '.' ? 1 + (int)strspn(end + 1, "0123456789") : 0);
}

/* Parts of the C library are the loader's, whatever a stack holds. */
static bool is_loaders(const char *role)
{
    return strcmp(role, "libm") == 0 || strcmp(role, "libmvec") == 0;
}

static enum dp_stack_fit check_library(const struct dp_stack *stack, const json_t *library,
                                       struct dp_err *err)
{
    const char *role = dp_json_string(library, "role", ""), *path = dp_json_string(library, "path", "");
    const char *file = strcmp(role, "python") == 0 ? stack->python : dp_json_string(stack->roles, role, NULL);
    const struct dp_stack_role *row = dp_stack_roles;
    while (row->role && strcmp(row->role, role) != 0) {
        row++;
    }
    if (!*path || is_loaders(role) || is_inside(stack, path) || (file && is_same_file(path, file)) ||
        (row->role && (row->instrument || (row->system && !file)))) {
        return DP_STACK_FITS;
    }
    const char *took, *has;
    const int took_length = soname_of(path, &took), has_length = soname_of(file ? file : "", &has);
    const bool same_name = took_length == has_length && strncmp(took, has, (size_t)took_length) == 0;
    if (file && row->role && row->linked && !same_name) {
        dp_err_set(err, DP_EXIT_NO_VERDICT, "the stack has '%.150s' for role %.60s, this build takes %.*s",
                   file, role, took_length, took);
        return DP_STACK_LACKS;
    }
    if (file) {
        dp_err_set(err, DP_EXIT_NO_VERDICT,
                   "the program took '%.150s' for role %.60s, the stack has '%.150s'", path, role, file);
        return DP_STACK_DIFFERS;
    }
    char *shown = shown_name(stack);
    dp_err_set(err, DP_EXIT_NO_VERDICT, "the stack '%.200s' has no library for role %.60s", shown, role);
    free(shown);
    return DP_STACK_LACKS;
}

enum dp_stack_fit dp_stack_check(const struct dp_stack *stack, const json_t *hello, struct dp_err *err)
{
    enum dp_stack_fit worst = DP_STACK_FITS;
    size_t i;
    json_t *library;
    json_array_foreach(json_object_get(hello, "libraries"), i, library)
    {
        struct dp_err found;
        const enum dp_stack_fit fit = check_library(stack, library, &found);
        if (fit > worst) {
            worst = fit;
            *err = found;
        }
    }
    return worst;
}

json_t *dp_stack_describe(const struct dp_stack *stack)
{
    return json_pack("{s:s, s:s, s:O}", "kind", stack->kind, "path", stack->root, "roles", stack->roles);
}

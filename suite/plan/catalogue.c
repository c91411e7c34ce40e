/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding, reading and holding the catalogue.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite/base/digest.h"
#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/catalogue.h"

enum { FILE_LIMIT = 8 << 20, FILE_COUNT_MAX = 1000 };

/* What loading needs besides the catalogue that it fills. */
struct loader {
    struct dp_catalogue *catalogue;
    const char *builtin; /* folder of the built-in probes, NULL: none */
    json_t *states;      /* member "programs" of programs.json */
    json_t *origins;     /* case id -> file that holds it */
    size_t file_count;
    struct dp_err *err;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(names[i]);
    }
    free(names);
}

/* Names in a folder without hidden ones, sorted, so that no order of the file system ever shows. */
static int list_folder(const char *folder, char ***ret_names, size_t *ret_count, struct dp_err *err)
{
    DIR *stream = opendir(folder);
    if (!stream) {
        return dp_err_set(err, DP_EXIT_DATA, "cannot open probe folder '%.300s': %s", folder,
                          dp_reason(errno));
    }
    char **names = NULL;
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(stream));) {
        if (entry->d_name[0] != '.') {
            names = dp_realloc(names, count + 1, sizeof(*names));
            names[count++] = dp_strdup(entry->d_name);
        }
    }
    closedir(stream);
    if (count > 0) {
        qsort(names, count, sizeof(*names), compare_names);
    }
    *ret_names = names;
    *ret_count = count;
    return 0;
}

static bool ends_with(const char *string, const char *end)
{
    const size_t length = strlen(string);
    const size_t tail = strlen(end);
    return length > tail && strcmp(string + length - tail, end) == 0;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Ends of the names of programs that are run by another one; an executable has none. */
static const char *const ends[] = {"", ".py", ".so"};
enum { EXECUTABLE, SCRIPT, OBJECT, KIND_MAX };

static int kind_of(const char *name)
{
    int kind = KIND_MAX - 1;
    while (kind > EXECUTABLE && !ends_with(name, ends[kind])) {
        kind--;
    }
    return kind;
}

/* The program that a catalogue file names: as it is written, or with an end behind it. Owned or NULL. */
static char *find_executable(const char *folder, const char *name)
{
    for (int kind = EXECUTABLE; kind < KIND_MAX; kind++) {
        char *path = dp_printf("%s/%s%s", folder, name, ends[kind]);
        if (is_file(path)) {
            return path;
        }
        free(path);
    }
    return NULL;
}

static struct dp_program *find_program(const struct dp_catalogue *catalogue, const char *name)
{
    for (size_t i = 0; i < catalogue->program_count; i++) {
        if (strcmp(catalogue->programs[i]->name, name) == 0) {
            return catalogue->programs[i];
        }
    }
    return NULL;
}

static int stem_length(const char *file)
{
    return (int)(strlen(file) - strlen(ends[kind_of(file)]));
}

/* "cpu/gemm" for ".../cpu" and "gemm" or "gemm.py"; the whole path where a folder of the user's has the name
 * of another one. */
static char *program_name(const struct loader *loader, const char *folder, const char *file, bool builtin)
{
    const char *slash = strrchr(folder, '/');
    const int stem = stem_length(file);
    char *name = dp_printf("%s/%.*s", slash ? slash + 1 : folder, stem, file);
    const struct dp_program *other = builtin ? NULL : find_program(loader->catalogue, name);
    if (!other) {
        return name;
    }
    char *path = dp_printf("%s/", folder);
    const bool own =
        strncmp(other->path, path, strlen(path)) == 0 && !strchr(other->path + strlen(path), '/');
    free(path);
    if (own) {
        return name;
    }
    free(name);
    return dp_printf("%s/%.*s", folder, stem, file);
}

/* Sets path, interpreter, state and reason. A missing program is a fact of this build when programs.json
 * names it, and bad input otherwise. */
static int locate_program(const struct loader *loader, struct dp_program *program, const char *folder,
                          const char *file, bool builtin)
{
    const json_t *known = builtin ? json_object_get(loader->states, program->name) : NULL;
    program->path = find_executable(folder, file);
    if (strcmp(dp_json_string(known, "state", "ready"), "ready") != 0 || (known && !program->path)) {
        program->state = DP_PROGRAM_NOT_BUILT;
        program->reason =
            dp_strdup(dp_json_string(known, "reason", "the program is not where it was installed"));
        if (!program->path) {
            program->path = dp_printf("%s/%s", folder, file);
        }
        return 0;
    }
    if (!program->path) {
        return dp_err_set(loader->err, DP_EXIT_DATA, "program '%.100s' is not in '%.200s'%s", file, folder,
                          kind_of(file) == OBJECT ? ", build it first" : "");
    }
    const int kind = kind_of(program->path);
    program->script = kind == SCRIPT;
    if (kind != EXECUTABLE) {
        program->interpreter =
            kind == SCRIPT ? dp_strdup("python3") : dp_printf("%s/kit/load", loader->builtin);
        return 0;
    }
    if (access(program->path, X_OK) != 0) {
        return dp_err_set(loader->err, DP_EXIT_DATA, "program '%.200s' is not executable", program->path);
    }
    return 0;
}

static void free_program(struct dp_program *program)
{
    free(program->name);
    free(program->path);
    free(program->interpreter);
    free(program->reason);
    json_decref(program->environment);
    free(program);
}

static void add_program(struct dp_catalogue *catalogue, struct dp_program *program)
{
    catalogue->programs = dp_realloc(catalogue->programs, catalogue->program_count + 1, sizeof(program));
    catalogue->programs[catalogue->program_count++] = program;
}

/* A user's file with shapes of his own names a program that is not beside it: the built-in one of its cases'
 * backend, "cpu/gemm" for "gemm" and cases "cpu/...", with its end or without. */
static struct dp_program *find_builtin(const struct loader *loader, const char *folder, const char *file,
                                       const char *backend)
{
    char *beside = find_executable(folder, file);
    char *name = dp_printf("%s/%.*s", backend, stem_length(file), file);
    struct dp_program *program = beside ? NULL : find_program(loader->catalogue, name);
    free(beside);
    free(name);
    return program;
}

/* Several catalogue files may name one program. Borrowed from the catalogue. */
static struct dp_program *take_program(const struct loader *loader, const char *folder, const char *file,
                                       const char *backend, bool builtin)
{
    struct dp_catalogue *catalogue = loader->catalogue;
    struct dp_program *borrowed = builtin ? NULL : find_builtin(loader, folder, file, backend);
    if (borrowed) {
        return borrowed;
    }
    char *name = program_name(loader, folder, file, builtin);
    struct dp_program *program = find_program(catalogue, name);
    if (program) {
        free(name);
        return program;
    }
    program = dp_alloc(1, sizeof(*program));
    program->name = name;
    program->controls_only = true; /* until a case says otherwise */
    if (locate_program(loader, program, folder, file, builtin) != 0) {
        free_program(program);
        return NULL;
    }
    add_program(catalogue, program);
    return program;
}

static char *dup_or_null(const char *string)
{
    return string ? dp_strdup(string) : NULL;
}

/* The program as it is started for the case: variables are read once per process, so each set of them has
 * processes of its own. */
static struct dp_program *program_of_case(struct dp_catalogue *catalogue, struct dp_program *base,
                                          const json_t *item)
{
    json_t *environment = json_object_get(item, "environment");
    if (!environment) {
        return base;
    }
    char *variables = dp_variables_text(environment);
    char *name = dp_printf("%s %s", base->name, variables);
    free(variables);
    struct dp_program *program = find_program(catalogue, name);
    if (program) {
        free(name);
        return program;
    }
    program = dp_alloc(1, sizeof(*program));
    *program = (struct dp_program){.name = name,
                                   .path = dp_strdup(base->path),
                                   .interpreter = dup_or_null(base->interpreter),
                                   .script = base->script,
                                   .reason = dup_or_null(base->reason),
                                   .state = base->state,
                                   .start_us = base->start_us,
                                   .environment = json_incref(environment),
                                   .base = base,
                                   .controls_only = true};
    add_program(catalogue, program);
    return program;
}

static int add_case(struct loader *loader, json_t *item, struct dp_program *program, const char *path)
{
    struct dp_catalogue *catalogue = loader->catalogue;
    const char *id = dp_json_string(item, "id", "");
    const char *origin = dp_json_string(loader->origins, id, NULL);
    if (origin) {
        return dp_err_set(loader->err, DP_EXIT_DATA, "case '%.120s' stands in '%.200s' and in '%.200s'", id,
                          origin, path);
    }
    char *shown = dp_printable(path, strlen(path)); /* a path need not be UTF-8 */
    json_object_set_new(loader->origins, id, json_string(shown));
    free(shown);
    const char *family = strchr(id, '/') + 1;
    struct dp_case *added = &catalogue->cases[catalogue->case_count++];
    *added = (struct dp_case){
        .id = id,
        .backend = dp_printf("%.*s", (int)(family - 1 - id), id),
        .family = dp_printf("%.*s", (int)strcspn(family, "/"), family),
        .program = program_of_case(catalogue, program, item),
        .json = json_incref(item),
        .cost_us = dp_json_number(item, "cost", 0),
        .control = dp_json_array_has(json_object_get(item, "tags"), "control"),
    };
    added->program->controls_only = added->program->controls_only && added->control;
    return 0;
}

static int add_cases(struct loader *loader, const json_t *file, const char *folder, const char *path,
                     bool builtin)
{
    struct dp_catalogue *catalogue = loader->catalogue;
    json_t *items = dp_catalogue_expand(file, loader->err);
    const char *first = dp_json_string(json_array_get(items, 0), "id", "");
    char *backend = dp_printf("%.*s", (int)strcspn(first, "/"), first);
    struct dp_program *program =
        items ? take_program(loader, folder, dp_json_string(file, "program", ""), backend, builtin) : NULL;
    free(backend);
    if (!program) {
        json_decref(items);
        return dp_err_prefix(loader->err, "'%.250s'", path);
    }
    catalogue->cases = dp_realloc(catalogue->cases, catalogue->case_count + json_array_size(items),
                                  sizeof(*catalogue->cases));
    program->start_us = dp_json_number(file, "start", program->start_us);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(items); i++) {
        rc = add_case(loader, json_array_get(items, i), program, path);
    }
    json_decref(items);
    return rc;
}

/* Nothing but a file: a pipe of that name would never end. A name that leads nowhere is told by the open. */
static json_t *load_plain(const char *path, struct dp_err *err)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        dp_err_set(err, DP_EXIT_DATA, "cannot read '%.200s': it is not a regular file", path);
        return NULL;
    }
    return dp_json_load(path, FILE_LIMIT, err);
}

static int load_file(struct loader *loader, const char *folder, const char *name, bool builtin)
{
    if (loader->file_count++ == FILE_COUNT_MAX) {
        return dp_err_set(loader->err, DP_EXIT_DATA, "too many catalogue files, at most %d", FILE_COUNT_MAX);
    }
    char *path = dp_printf("%s/%s", folder, name);
    json_t *file = load_plain(path, loader->err);
    int rc = file ? add_cases(loader, file, folder, path, builtin) : -1;
    if (rc == 0) {
        json_array_append(loader->catalogue->files, file);
    }
    json_decref(file);
    free(path);
    return rc;
}

static int load_folder(struct loader *loader, const char *folder, bool builtin)
{
    char **names = NULL;
    size_t count = 0;
    if (list_folder(folder, &names, &count, loader->err) != 0) {
        return -1;
    }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (ends_with(names[i], ".json")) {
            rc = load_file(loader, folder, names[i], builtin);
        }
    }
    free_names(names, count);
    return rc;
}

/* The built-in tree: programs.json, and a folder for each backend. */
static int load_builtin(struct loader *loader)
{
    char *path = dp_printf("%s/programs.json", loader->builtin);
    json_t *file = dp_json_load(path, FILE_LIMIT, loader->err);
    free(path);
    char **names = NULL;
    size_t count = 0;
    if (!file || list_folder(loader->builtin, &names, &count, loader->err) != 0) {
        json_decref(file);
        return -1;
    }
    loader->states = json_incref(json_object_get(file, "programs"));
    json_decref(file);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        char *folder = dp_printf("%s/%s", loader->builtin, names[i]);
        if (is_folder(folder)) {
            rc = load_folder(loader, folder, /* builtin= */ true);
        }
        free(folder);
    }
    free_names(names, count);
    return rc;
}

/* Program names are made of the folder's; they are keys of JSON objects and stand on terminals. */
static int check_folder_name(const char *folder, struct dp_err *err)
{
    char *shown = dp_printable(folder, strlen(folder));
    const bool good = strcmp(shown, folder) == 0;
    free(shown);
    return good ? 0
                : dp_err_set(err, DP_EXIT_DATA,
                             "probe folder '%.300s' of DETPROBE_PROBE_PATH: its name is not printable UTF-8",
                             folder);
}

/* Absolute, so that a program keeps its path whatever becomes of the working directory. */
static int load_third_party(struct loader *loader, const char *probe_path)
{
    char *copy = dp_strdup(probe_path);
    char *rest = copy;
    int rc = 0;
    for (const char *folder; rc == 0 && (folder = strsep(&rest, ":"));) {
        if (!*folder) {
            continue;
        }
        char *real = realpath(folder, NULL);
        rc = real ? check_folder_name(real, loader->err)
                  : dp_err_set(loader->err, DP_EXIT_DATA,
                               "cannot open probe folder '%.300s' of DETPROBE_PROBE_PATH: %s", folder,
                               dp_reason(errno));
        if (rc == 0) {
            rc = load_folder(loader, real, /* builtin= */ false);
        }
        free(real);
    }
    free(copy);
    return rc;
}

static int compare_cases(const void *a, const void *b)
{
    return strcmp(((const struct dp_case *)a)->id, ((const struct dp_case *)b)->id);
}

static int compare_programs(const void *a, const void *b)
{
    return strcmp((*(struct dp_program *const *)a)->name, (*(struct dp_program *const *)b)->name);
}

static int check_pairs(const struct loader *loader)
{
    const struct dp_catalogue *catalogue = loader->catalogue;
    for (size_t i = 0; i < catalogue->case_count; i++) {
        const char *pair = dp_json_string(catalogue->cases[i].json, "pair", NULL);
        if (pair && !dp_catalogue_find(catalogue, pair)) {
            const char *id = catalogue->cases[i].id;
            return dp_err_set(loader->err, DP_EXIT_DATA, "'%.200s': case '%.120s': pair '%.120s' is no case",
                              dp_json_string(loader->origins, id, ""), id, pair);
        }
    }
    return 0;
}

/* Order is by name alone: a program's place decides the plan's order. */
static int finish(struct loader *loader)
{
    struct dp_catalogue *catalogue = loader->catalogue;
    if (catalogue->case_count > 0) {
        qsort(catalogue->cases, catalogue->case_count, sizeof(*catalogue->cases), compare_cases);
        qsort(catalogue->programs, catalogue->program_count, sizeof(*catalogue->programs), compare_programs);
    }
    return check_pairs(loader);
}

void dp_catalogue_sha256(const struct dp_catalogue *catalogue, char ret[65])
{
    struct dp_text contents = DP_TEXT(SIZE_MAX / 2);
    for (size_t i = 0; i < json_array_size(catalogue->files); i++) {
        char *text = json_dumps(json_array_get(catalogue->files, i), JSON_COMPACT);
        dp_text_put(&contents, text);
        free(text);
    }
    dp_sha256_hex(contents.data ? contents.data : "", contents.length, ret);
    dp_text_free(&contents);
}

int dp_catalogue_load_from(const char *builtin, const char *probe_path, struct dp_catalogue *ret,
                           struct dp_err *err)
{
    struct dp_catalogue catalogue = {.files = json_array()};
    struct loader loader = {
        .catalogue = &catalogue, .builtin = builtin, .origins = json_object(), .err = err};
    int rc = builtin ? load_builtin(&loader) : 0;
    if (rc == 0 && probe_path) {
        rc = load_third_party(&loader, probe_path);
    }
    if (rc == 0) {
        rc = finish(&loader);
    }
    json_decref(loader.states);
    json_decref(loader.origins);
    if (rc != 0) {
        dp_catalogue_free(&catalogue);
        return -1;
    }
    *ret = catalogue;
    return 0;
}

char *dp_catalogue_builtin_folder(struct dp_err *err)
{
    static const char *const places[] = {"probes", "libexec/detprobe/probes"};
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0) {
        dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot find the probe programs: '/proc/self/exe': %s",
                   dp_reason(errno));
        return NULL;
    }
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    char *slash = strrchr(self, '/');
    if (slash) {
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char *folder = dp_printf("%s/%s", self, places[i]);
        char *file = dp_printf("%s/programs.json", folder);
        const bool found = is_file(file);
        free(file);
        if (found) {
            return folder;
        }
        free(folder);
    }
    dp_err_set(err, DP_EXIT_NO_VERDICT,
               "cannot find the probe programs: no 'programs.json' in '%.200s/%s' or '%.200s/%s'", self,
               places[0], self, places[1]);
    return NULL;
}

int dp_catalogue_load(struct dp_catalogue *ret, struct dp_err *err)
{
    char *builtin = dp_catalogue_builtin_folder(err);
    const int rc = builtin ? dp_catalogue_load_from(builtin, getenv("DETPROBE_PROBE_PATH"), ret, err) : -1;
    free(builtin);
    return rc;
}

void dp_catalogue_free(struct dp_catalogue *catalogue)
{
    for (size_t i = 0; i < catalogue->case_count; i++) {
        free(catalogue->cases[i].backend);
        free(catalogue->cases[i].family);
        json_decref(catalogue->cases[i].json);
    }
    for (size_t i = 0; i < catalogue->program_count; i++) {
        free_program(catalogue->programs[i]);
    }
    free(catalogue->cases);
    free(catalogue->programs);
    json_decref(catalogue->files);
    *catalogue = (struct dp_catalogue){0};
}

const struct dp_case *dp_catalogue_find(const struct dp_catalogue *catalogue, const char *id)
{
    const struct dp_case key = {.id = id};
    return catalogue->case_count > 0 ? bsearch(&key, catalogue->cases, catalogue->case_count,
                                               sizeof(*catalogue->cases), compare_cases)
                                     : NULL;
}

json_t *dp_case_describe(const struct dp_case *item)
{
    json_t *object = json_copy(item->json);
    json_t *program = json_object();
    const struct dp_program *base = item->program->base;
    json_object_set_new(program, "name", json_string(base ? base->name : item->program->name));
    const bool ready = item->program->state == DP_PROGRAM_READY;
    json_object_set_new(program, "state", json_string(ready ? "ready" : "not_built"));
    if (!ready) {
        json_object_set_new(program, "reason", json_string(item->program->reason));
    }
    json_object_del(object, "standalone"); /* how a file is written, no fact about the case */
    json_object_set_new(object, "backend", json_string(item->backend));
    json_object_set_new(object, "family", json_string(item->family));
    json_object_set_new(object, "control", json_boolean(item->control));
    json_object_set_new(object, "program", program);
    return object;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalogue: every case that is known, read from the JSON files beside the probe programs and from the
 * folders of DETPROBE_PROBE_PATH. `variants` are expanded here, so the rest of the suite sees plain cases
 * only.
 */
#ifndef DP_PLAN_CATALOGUE_H
#define DP_PLAN_CATALOGUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/base/err.h"

enum dp_program_state {
    DP_PROGRAM_READY,
    DP_PROGRAM_NOT_BUILT /* named by programs.json, but the build left it out */
};

/* One program as it is started. `path` is absolute; what is no executable itself is run as
 * [interpreter, path]. Cases that set variables of their process share one with those that set the same. */
struct dp_program {
    char *name; /* "cpu/gemm": folder and stem, unique among the built-in ones; "cpu/gemm A=1" with A set */
    char *path;
    char *interpreter; /* NULL: executed directly; of ".py" Python, of ".so" the C kit's `load` */
    bool script;       /* the interpreter is Python: a stack may have its own */
    char *reason;      /* of NOT_BUILT: one sentence, from programs.json */
    enum dp_program_state state;
    double start_us;               /* until its hello, as its catalogue says; 0: it says nothing */
    json_t *environment;           /* variables that it is started with, null: without; NULL: as the suite */
    const struct dp_program *base; /* the one without `environment`; NULL: this one */
    bool controls_only;            /* proves the measurement; what it links is not under test */
};

struct dp_case {
    const char *id; /* backend/family/name; all strings are borrowed from `json` */
    char *backend;  /* the id's first part */
    char *family;   /* the id's second part */
    struct dp_program *program;
    json_t *json; /* the case with defaults merged, sources resolved, schema-checked; keys as in the catalogue
                   * file. `guarantee` has level, source (text), covers[], invariant[], conditions{}, and as
                   * guarantee.h reads it library, versions{}, otherwise[] */
    double cost_us; /* of one run at the base setting; 0: unknown, planned as 1000 */
    bool control;   /* tagged "control" */
};

struct dp_catalogue {
    struct dp_program **programs;
    size_t program_count;
    struct dp_case *cases; /* sorted by id */
    size_t case_count;
    json_t *files; /* array: what was read of each file, from which every case follows */
};

/* Digest over the members of all catalogue files: a resumed run must see the same. */
void dp_catalogue_sha256(const struct dp_catalogue *catalogue, char ret[65]);

/* Finds the built-in probes (relative to the running executable: the build tree's or the prefix's), loads
 * every catalogue file there and in DETPROBE_PROBE_PATH. Duplicate ids, unknown members, missing programs:
 * code 65. */
int dp_catalogue_load(struct dp_catalogue *ret, struct dp_err *err);
/* The same with both places given: the folder of the built-in probes (NULL: none) and a list of folders as in
 * DETPROBE_PROBE_PATH (NULL: none). */
int dp_catalogue_load_from(const char *builtin, const char *probe_path, struct dp_catalogue *ret,
                           struct dp_err *err);
/* The folder of the built-in probes, owned; NULL with code 2 when the installation has none. */
char *dp_catalogue_builtin_folder(struct dp_err *err);
void dp_catalogue_free(struct dp_catalogue *catalogue);
const struct dp_case *dp_catalogue_find(const struct dp_catalogue *catalogue, const char *id);

/* One catalogue file expanded: an array of plain case objects as in dp_case.json. Pure; used by the tests.
 * Owned. */
json_t *dp_catalogue_expand(const json_t *file, struct dp_err *err);

/* The axes that a guarantee covers where it names none. Owned. */
json_t *dp_usual_covers(void);

/* The object that `list --json` prints for a case and that a report's text is looked up in. Owned. */
json_t *dp_case_describe(const struct dp_case *item);

#endif

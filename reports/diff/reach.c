/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom a difference of the environment can have reached: a library the families whose program opened it, a
 * variable the library that reads it, a device its backend, the machine everyone who computes on it.
 */
#include <string.h>

#include "reports/diff/parts.h"
#include "suite/base/json.h"

/* Who reads a variable. One that no row knows may be anybody's. */
static const struct {
    const char *prefix;
    const char *roles;   /* families that had a library of these roles open, "|" between them; or NULL */
    const char *library; /* of this name alone, or NULL */
    const char *backend; /* or this backend alone */
} readers[] = {
    {"OPENBLAS_", "cblas", "OpenBLAS", NULL},
    {"GOTO_NUM_THREADS", "cblas", "OpenBLAS", NULL},
    {"BLIS_", "cblas", "BLIS", NULL},
    {"MKL_", "cblas|torch-mkl", NULL, NULL},
    {"VECLIB_", "cblas", NULL, NULL},
    {"ONEDNN_", "onednn|torch-onednn|tensorflow", NULL, NULL},
    {"DNNL_", "onednn|torch-onednn|tensorflow", NULL, NULL},
    {"OMP_", "openmp|cblas|onednn|torch|tensorflow", NULL, NULL},
    {"GOMP_", "openmp|cblas|onednn|torch", NULL, NULL},
    {"KMP_", "openmp|cblas|onednn|torch", NULL, NULL},
    {"ATEN_", "torch", NULL, NULL},
    {"TORCH", "torch", NULL, NULL},
    {"PYTORCH_", "torch", NULL, NULL},
    {"TF_", "tensorflow", NULL, NULL},
    {"JAX_", "jax", NULL, NULL},
    {"NPROC", "jax", NULL, NULL},
    {"XLA_FLAGS", "jax|tensorflow", NULL, NULL},
    {"NCCL_", "torch|jax|tensorflow", NULL, NULL},
    {"PYTHON", NULL, NULL, "python"},
    {"NPY_", NULL, NULL, "python"},
    {"NUMEXPR_", NULL, NULL, "python"},
    {"CUDA_", NULL, NULL, "cuda"},
    {"CUBLAS", NULL, NULL, "cuda"},
    {"CUDNN_", NULL, NULL, "cuda"},
    {"NVIDIA_", NULL, NULL, "cuda"},
};

static bool is_one_of(const char *word, const char *list)
{
    const size_t length = strlen(word);
    for (const char *at = list; length && (at = strstr(at, word)); at += length) {
        if ((at == list || at[-1] == '|') && (at[length] == '|' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Adds the families of the libraries that read the variable; false where one of them does not say. */
static bool add_families(const json_t *libraries, size_t reader, json_t *names)
{
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        const json_t *library = json_array_get(libraries, i),
                     *families = json_object_get(library, "families");
        const char *named = readers[reader].library;
        if (!is_one_of(dp_json_string(library, "role", ""), readers[reader].roles) ||
            (named && strcmp(dp_json_string(library, "name", ""), named) != 0)) {
            continue;
        }
        if (!families) {
            return false;
        }
        for (size_t k = 0; k < json_array_size(families); k++) {
            json_object_set_new(names, json_string_value(json_array_get(families, k)), json_true());
        }
    }
    return true;
}

void dp_difference_readers(json_t *difference, const json_t *libraries[2])
{
    const char *name = dp_json_string(difference, "subject", "");
    size_t reader = 0;
    const size_t count = sizeof(readers) / sizeof(readers[0]);
    while (reader < count && strncmp(name, readers[reader].prefix, strlen(readers[reader].prefix)) != 0) {
        reader++;
    }
    if (reader < count && readers[reader].backend) {
        json_object_set_new(difference, "backend", json_string(readers[reader].backend));
    } else if (reader < count) {
        json_t *names = json_object();
        if (add_families(libraries[0], reader, names) && add_families(libraries[1], reader, names)) {
            json_object_set_new(difference, "families", dp_json_keys(names));
        }
        json_decref(names);
    }
}

/* Members of the host that decide which code runs or how work is split. */
static bool host_decides(const char *member)
{
    static const char *const deciding[] = {"arch",          "cpu_model",  "cpu_flags",
                                           "cores_allowed", "cgroup_cpu", "libc"};
    for (size_t i = 0; i < sizeof(deciding) / sizeof(deciding[0]); i++) {
        if (strcmp(deciding[i], member) == 0) {
            return true;
        }
    }
    return false;
}

bool dp_difference_reaches(const json_t *difference, const char *backend, const char *family)
{
    const char *kind = dp_json_string(difference, "kind", "");
    const json_t *families = json_object_get(difference, "families");
    const char *only = dp_json_string(difference, "backend", NULL);
    if (families || only) {
        return families ? dp_json_array_has(families, family) : strcmp(only, backend) == 0;
    }
    if (strcmp(kind, "device") == 0) {
        return strcmp(backend, "cpu") != 0 && strcmp(backend, "python") != 0;
    }
    if (strcmp(kind, "floats") == 0) {
        return strcmp(backend, "cuda") != 0;
    }
    if (strcmp(kind, "host") == 0) {
        return strcmp(backend, "cuda") != 0 && host_decides(dp_json_string(difference, "member", ""));
    }
    return true;
}

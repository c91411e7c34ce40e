/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding MPIs, and the variables with which their ranks run on one machine alone: without a network, more
 * ranks than cores, as root in a container, and also inside of another job. What the user has set stays.
 */
#include "probes/mpi/library.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/mpi/child.h"
#include "probes/mpi/shared.h"

static struct mpi_library libraries[] = {
    {.name = "openmpi",
     .title = "Open MPI",
     .mpirun = {"mpirun.openmpi", "mpirun"},
     .signs = {"Open MPI", "OpenRTE", "PRRTE", "prterun"}},
    {.name = "mpich", .title = "MPICH", .mpirun = {"mpirun.mpich", "mpirun"}, .signs = {"HYDRA"}},
};
enum { LIBRARIES = sizeof(libraries) / sizeof(libraries[0]) };

static const struct {
    const char *name, *value;
} variables[] = {
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {"PRTE_ALLOW_RUN_AS_ROOT", "1"}, /* from Open MPI 5 on, whose launcher is PRRTE */
    {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {"OMPI_MCA_plm", "isolated"}, /* this machine alone, also inside of a batch job */
    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {"PRTE_MCA_hwloc_default_binding_policy", "none"},
    {"OMPI_MCA_mpi_yield_when_idle", "1"},
    {"OMPI_MCA_pml", "ob1"}, /* shared memory, without asking the kernel for another process' memory */
    {"OMPI_MCA_btl", "self,vader"},
    {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
    {"OMPI_MCA_smsc", "^cma"},
    {"OMPI_MCA_coll_tuned_use_dynamic_rules", "1"}, /* without it no algorithm can be chosen */
    {"HYDRA_LAUNCHER", "fork"},
    /* Ranks need to know of cores only: what else hwloc looks for may wait for a name server, as plugin gl
     * does to ask the displays of "localhost". */
    {"HWLOC_COMPONENTS", "-gl,-opencl,-cuda,-nvml"},
};

/* How names begin with which an mpirun or a batch system tells a job who and where it is. An mpirun that saw
 * them would refuse to run inside of the job, or take the job's machines. */
static const char *const of_a_job[] = {
    "OMPI_COMM_WORLD_",
    "OMPI_UNIVERSE_SIZE=",
    "OMPI_MCA_ess=",
    "OMPI_MCA_ess_base_",
    "OMPI_MCA_orte_ess_",
    "OMPI_MCA_orte_hnp_uri=",
    "OMPI_MCA_orte_local_daemon_uri=",
    "OMPI_MCA_orte_jobfam_session_dir=",
    "OMPI_MCA_orte_top_session_dir=",
    "PRTE_MCA_ess_base_",
    "PRTE_MCA_prte_hnp_uri=",
    "PMIX_NAMESPACE=",
    "PMIX_RANK=",
    "PMIX_SERVER_",
    "PMI_",
    "HYDI_",
    "SLURM_",
    "PBS_",
    "PE_HOSTFILE=", /* Grid Engine */
    "LSB_",         /* LSF */
    "LOADL_",
    "COBALT_",
    NULL,
};

static void cannot(struct mpi_library *library, const char *reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void cannot(struct mpi_library *library, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(library->text, sizeof(library->text), format, args);
    va_end(args);
    library->not_found[0] = reason;
    library->not_found[1] = library->text;
}

static bool has_any(const char *text, const char *const *words)
{
    while (*words && !strstr(text, *words)) {
        words++;
    }
    return *words != NULL;
}

static bool begins_with_any(const char *text, const char *const *words)
{
    while (*words && strncmp(text, *words, strlen(*words)) != 0) {
        words++;
    }
    return *words != NULL;
}

/* In place: only pointers move, and no thread runs yet. */
static void leave_job(void)
{
    char **kept = environ;
    for (char **variable = environ; *variable; variable++) {
        if (!begins_with_any(*variable, of_a_job)) {
            *kept++ = *variable;
        }
    }
    *kept = NULL;
}

/* A plain `mpirun` may be anybody's, so each is asked. */
static void find_launcher(struct mpi_library *library)
{
    char text[4096];
    for (int i = 0; library->mpirun[i]; i++) {
        const char *const argv[] = {library->mpirun[i], "--version", NULL};
        if (child_ask(argv, text, sizeof(text)) == 0 && has_any(text, library->signs)) {
            library->launcher = library->mpirun[i];
            return;
        }
    }
    cannot(library, "library_missing", "%s was not found in PATH (%s, or mpirun)", library->title,
           library->mpirun[0]);
}

/* The loader, for one, may have something to say before. */
static bool read_about(const char *text, struct mpi_library *ret)
{
    const char *const about = strstr(text, RANK_ABOUT);
    return about && sscanf(about + strlen(RANK_ABOUT), "%63s %511[^\n]", ret->version, ret->path) == 2;
}

static void find_rank(struct mpi_library *library)
{
    char text[4096], folder[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    const int written = snprintf(library->rank, sizeof(library->rank), "%.*s/rank-%s",
                                 (int)(slash ? slash - folder : 0), folder, library->name);
    const char *const argv[] = {library->rank, "--about", NULL};
    if (written >= (int)sizeof(library->rank) || access(library->rank, X_OK)) {
        cannot(library, "not_built", "the headers of %s were not found when detprobe was built",
               library->title);
    } else if (child_ask(argv, text, sizeof(text))) {
        cannot(library, "library_missing", "%s does not load: %.150s", library->title, child_words(text));
    } else if (!read_about(text, library)) {
        cannot(library, "version", "%s does not say its version", library->title);
    }
}

static int open_all(void)
{
    const struct mpi_library *any;
    leave_job();
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        setenv(variables[i].name, variables[i].value, 0);
    }
    for (int i = 0; i < LIBRARIES; i++) {
        find_rank(&libraries[i]);
        if (!libraries[i].not_found[0]) {
            find_launcher(&libraries[i]);
        }
    }
    const int rc = mpi_library_find("any", &any);
    return rc ? rc : shared_open();
}

static int list_libraries(struct kit_library *ret, int max)
{
    int count = 0;
    for (int i = 0; i < LIBRARIES && count < max; i++) {
        const struct mpi_library *library = &libraries[i];
        if (!library->not_found[0]) {
            ret[count].role = library->name;
            snprintf(ret[count].name, sizeof(ret->name), "%s", library->title);
            snprintf(ret[count].version, sizeof(ret->version), "%s", library->version);
            snprintf(ret[count++].path, sizeof(ret->path), "%s", library->path);
        }
    }
    return count;
}

int mpi_library_find(const char *name, const struct mpi_library **ret)
{
    const struct mpi_library *last = NULL;
    const bool any = strcmp(name, "any") == 0;
    for (int i = 0; i < LIBRARIES; i++) {
        if (any || strcmp(libraries[i].name, name) == 0) {
            last = &libraries[i];
            if (!last->not_found[0]) {
                *ret = last;
                return KIT_OK;
            }
        }
    }
    return last ? kit_skip(last->not_found[0], "%s", last->not_found[1])
                : kit_fail("bad params: no MPI is called '%s'", name);
}

int mpi_main(const char *name, const struct op *const *ops)
{
    const struct kit_program program = {.name = name,
                                        .backend = "mpi",
                                        .ops = ops,
                                        .memory = &shared_memory,
                                        .open = open_all,
                                        .libraries = list_libraries};
    return kit_main(&program);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about this machine, from /proc and the C library.
 */
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "suite/base/cgroup.h"
#include "suite/base/digest.h"
#include "suite/base/host.h"
#include "suite/base/text.h"

enum { VARIABLE_MOST = 32768 }; /* bytes of a variable's value that are recorded */

extern char **environ;

static void set_text(json_t *object, const char *key, const char *text)
{
    char *clean = dp_printable(text, strlen(text));
    json_object_set_new(object, key, json_string(clean));
    free(clean);
}

/* A value that is too long for a report is cut, with a mark by which two such values can be told apart. */
static void set_variable(json_t *object, const char *name, const char *value)
{
    char *clean = dp_printable(value, strlen(value)), digest[DP_SHA256_HEX];
    if (strlen(clean) > VARIABLE_MOST) {
        size_t length = VARIABLE_MOST;
        while (((unsigned char)clean[length] & 0xc0) == 0x80) { /* within a letter of UTF-8 */
            length--;
        }
        dp_sha256_hex(value, strlen(value), digest);
        char *cut = dp_printf("%.*s (cut, %zu bytes, sha256 %s)", (int)length, clean, strlen(value), digest);
        free(clean);
        clean = cut;
    }
    json_object_set_new(object, name, json_string(clean));
    free(clean);
}

/* The value of the first "key : value" line of a file as /proc/cpuinfo and /proc/meminfo have them. Owned or
 * NULL. */
static char *proc_value(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    char *found = NULL;
    const size_t length = strlen(key);
    while (file && !found && getline(&line, &size, file) > 0) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, key, length) == 0 && strspn(line + length, " \t:") > 0) {
            colon += 1 + strspn(colon + 1, " \t");
            colon[strcspn(colon, "\n")] = '\0';
            found = dp_strdup(colon);
        }
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return found;
}

static char *first_value(const char *path, const char *const *keys)
{
    char *found = NULL;
    for (; *keys && !found; keys++) {
        found = proc_value(path, *keys);
    }
    return found;
}

/* arm64 names no model; implementer and part are what identify the core. */
static char *cpu_model(void)
{
    static const char *const keys[] = {"model name", "Model", "cpu", NULL};
    char *name = first_value("/proc/cpuinfo", keys);
    if (name) {
        return name;
    }
    char *implementer = proc_value("/proc/cpuinfo", "CPU implementer");
    char *part = proc_value("/proc/cpuinfo", "CPU part");
    if (implementer && part) {
        name = dp_printf("implementer %s part %s", implementer, part);
    }
    free(implementer);
    free(part);
    return name;
}

static int compare_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted: which flags there are decides bits, their order only the kernel's version. */
static json_t *cpu_flags(void)
{
    static const char *const keys[] = {"flags", "Features", NULL};
    char *text = first_value("/proc/cpuinfo", keys);
    json_t *array = json_array();
    const char **words = NULL;
    size_t count = 0;
    char *rest = text;
    for (char *word; rest && (word = strsep(&rest, " "));) {
        if (*word) {
            words = dp_realloc(words, count + 1, sizeof(*words));
            words[count++] = word;
        }
    }
    if (count > 0) {
        qsort(words, count, sizeof(*words), compare_strings);
    }
    for (size_t i = 0; i < count; i++) {
        char *clean = dp_printable(words[i], strlen(words[i]));
        json_array_append_new(array, json_string(clean));
        free(clean);
    }
    free(words);
    free(text);
    return array;
}

/* Bytes of a row of /proc/meminfo ("MemTotal:  16316412 kB"), -1 when it is not there. */
static int64_t meminfo(const char *key)
{
    char *text = proc_value("/proc/meminfo", key);
    const int64_t bytes = text ? strtoll(text, NULL, 10) * 1024 : -1;
    free(text);
    return bytes;
}

int dp_host_cores_allowed(void)
{
    /* The kernel's mask may be longer than cpu_set_t on very large machines. */
    for (int size = CPU_SETSIZE; size <= 64 * CPU_SETSIZE; size *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)size);
        const size_t bytes = CPU_ALLOC_SIZE((size_t)size);
        const int count = set && sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0) {
            return count;
        }
    }
    return 1;
}

int64_t dp_host_memory_available(void)
{
    struct dp_cgroup cgroup;
    dp_cgroup_read("", &cgroup);
    const int64_t machine = meminfo("MemAvailable");
    return machine >= 0 && machine < cgroup.memory_available ? machine : cgroup.memory_available;
}

static void set_bytes(json_t *object, const char *key, int64_t bytes)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)bytes);
    json_object_set_new(object, key, json_string(bytes == DP_CGROUP_UNLIMITED ? "max" : text));
}

static void set_cgroup(json_t *facts)
{
    struct dp_cgroup cgroup;
    dp_cgroup_read("", &cgroup);
    char cpu[32] = "max";
    if (cgroup.cpu_hundredths != DP_CGROUP_UNLIMITED) {
        snprintf(cpu, sizeof(cpu), "%lld.%02lld", (long long)(cgroup.cpu_hundredths / 100),
                 (long long)(cgroup.cpu_hundredths % 100));
    }
    set_text(facts, "cgroup_cpu", cpu);
    set_bytes(facts, "cgroup_memory", cgroup.memory_limit);
}

json_t *dp_host_facts(void)
{
    json_t *facts = json_object();
    struct utsname system;
    if (uname(&system) == 0) {
        set_text(facts, "arch", system.machine);
        set_text(facts, "kernel", system.release);
    }
    char *model = cpu_model();
    if (model) {
        set_text(facts, "cpu_model", model);
    }
    free(model);
    json_object_set_new(facts, "cpu_flags", cpu_flags());
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (online > 0) {
        json_object_set_new(facts, "cores_online", json_integer(online));
    }
    json_object_set_new(facts, "cores_allowed", json_integer(dp_host_cores_allowed()));
    set_cgroup(facts);
    const int64_t memory = meminfo("MemTotal");
    if (memory >= 0) {
        set_bytes(facts, "memory", memory);
    }
    char *libc = dp_printf("glibc %s", gnu_get_libc_version());
    set_text(facts, "libc", libc);
    free(libc);
    return facts;
}

/* Variables that change what a numerical library does. A name that ends in '*' stands for a family: those are
 * only families of one library's documented settings, in which nobody keeps a secret. There is no pattern
 * over all names and none over families that hold addresses or keys (AWS_*, SLURM_*, CI_*): a report is
 * shared. */
static const char *const variables[] = {
    /* thread pools and their binding */
    "OMP_*",
    "GOMP_*",
    "KMP_*",
    /* BLAS, FFT and deep-learning libraries */
    "OPENBLAS_*",
    "GOTO_NUM_THREADS",
    "MKL_*",
    "BLIS_*",
    "ONEDNN_*",
    "DNNL_*",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
    "ATEN_CPU_CAPABILITY",
    /* MPI: components and algorithms, transports */
    "OMPI_MCA_*",
    "PRTE_MCA_*",
    "MPIR_CVAR_*",
    "UCX_*",
    /* which libraries are loaded, and the C library itself */
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_BIND_NOW",
    "GLIBC_TUNABLES",
    "MALLOC_*",
    "PYTHONHASHSEED",
    /* what was asked of the programs themselves */
    "DETPROBE_FORCE",
    "DETPROBE_SETTING",
    "DETPROBE_LIB_*",
    /* CUDA: only switches, never a cache folder or a log file */
    "CUBLAS_WORKSPACE_CONFIG",
    "CUBLASLT_WORKSPACE_SIZE",
    "NVIDIA_TF32_OVERRIDE",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING",
    "CUDA_MODULE_LOADING",
    "CUDNN_CONV_WSCAP_DBG",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_CUBLASLT",
    "TORCHINDUCTOR_DETERMINISTIC",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "PYTORCH_TUNABLEOP_ENABLED",
    "NVTE_ALLOW_NONDETERMINISTIC_ALGO",
    "FLASH_ATTENTION_DETERMINISTIC",
    "TORCH_CUDNN_V8_API_DISABLED",
    "PYTORCH_CUDA_ALLOC_CONF",
    "XLA_FLAGS",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_THREEFRY_PARTITIONABLE",
    "NPROC", /* threads of XLA */
    "TF_DETERMINISTIC_OPS",
    "TF_CUDNN_DETERMINISTIC",
    "TF_CUDNN_USE_AUTOTUNE",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    /* collectives: the settings that choose an algorithm; others name networks and hosts */
    "NCCL_ALGO",
    "NCCL_PROTO",
    "NCCL_NTHREADS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MAX_CTAS",
    "NCCL_BUFFSIZE",
    "NCCL_NVLS_ENABLE",
    "NCCL_COLLNET_ENABLE",
};

static bool is_allowed(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const size_t known = strlen(variables[i]);
        const bool family = variables[i][known - 1] == '*';
        if (family ? length >= known && strncmp(name, variables[i], known - 1) == 0
                   : length == known && strncmp(name, variables[i], known) == 0) {
            return true;
        }
    }
    return false;
}

/* MALLOC_* and the like reach into file names; a name is only letters, digits and '_' in any case. */
static bool is_plain_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char c = name[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) {
            return false;
        }
    }
    return length > 0;
}

bool dp_host_records(const char *name)
{
    return is_plain_name(name, strlen(name)) && is_allowed(name, strlen(name));
}

/* The names of an object's members, in order. Owned. */
static const char **sorted_names(const json_t *object)
{
    const char **names = dp_alloc(json_object_size(object) + 1, sizeof(*names));
    size_t count = 0;
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)object, name, member)
    {
        names[count++] = name;
    }
    qsort(names, count, sizeof(*names), compare_strings);
    return names;
}

static json_t *set_variables(void)
{
    json_t *object = json_object();
    for (char **variable = environ; *variable; variable++) {
        const size_t length = strcspn(*variable, "=");
        if ((*variable)[length] != '=' || !is_plain_name(*variable, length) ||
            !is_allowed(*variable, length)) {
            continue;
        }
        char *name = dp_printf("%.*s", (int)length, *variable);
        set_variable(object, name, *variable + length + 1);
        free(name);
    }
    return object;
}

json_t *dp_host_variables(void)
{
    json_t *set = set_variables(), *object = json_object();
    const char **names = sorted_names(set);
    for (size_t i = 0; i < json_object_size(set); i++) {
        json_object_set(object, names[i], json_object_get(set, names[i]));
    }
    free(names);
    json_decref(set);
    return object;
}

char *dp_variables_text(const json_t *set)
{
    const char **names = sorted_names(set);
    struct dp_text text = DP_TEXT((size_t)1 << 16);
    for (size_t i = 0; i < json_object_size(set); i++) {
        const char *value = json_string_value(json_object_get(set, names[i]));
        dp_text_printf(&text, "%s%s%s%s", i ? " " : "", names[i], value ? "=" : " unset", value ? value : "");
    }
    free(names);
    return dp_text_take(&text);
}

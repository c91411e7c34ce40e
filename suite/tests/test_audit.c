/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings judged: every status where it is due and where it must not be given, the lines that mend, the
 * files that tell what is here, and the machine.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "suite/audit/audit.h"
#include "suite/audit/machine.h"
#include "suite/audit/readers.h"
#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const json_t *setting_of(const char *name)
{
    const json_t *all = json_object_get(dp_audit_settings(), "settings");
    for (size_t i = 0; i < json_array_size(all); i++) {
        if (strcmp(dp_json_string(json_array_get(all, i), "name", ""), name) == 0) {
            return json_array_get(all, i);
        }
    }
    fail_msg("no setting '%s'", name);
    return NULL;
}

static enum dp_audit_status judge(const char *name, const struct dp_audit_seen *seen)
{
    struct dp_audit_verdict verdict;
    dp_audit_judge(setting_of(name), seen, &verdict);
    return verdict.status;
}

/* --- statuses --- */

static void test_values(void **state)
{
    static const struct {
        const char *name, *value;
        enum dp_audit_status status;
    } rows[] = {
        {"PYTHONHASHSEED", NULL, DP_AUDIT_MISSING},
        {"PYTHONHASHSEED", "0", DP_AUDIT_OK},
        {"PYTHONHASHSEED", "4294967295", DP_AUDIT_OK},
        {"PYTHONHASHSEED", "4294967296", DP_AUDIT_UNKNOWN},
        {"PYTHONHASHSEED", "random", DP_AUDIT_WRONG},
        {"PYTHONHASHSEED", "RANDOM", DP_AUDIT_UNKNOWN},
        {"PYTHONHASHSEED", "", DP_AUDIT_UNKNOWN},
        {"PYTHONHASHSEED", "0\n", DP_AUDIT_UNKNOWN},
        {"OMP_NUM_THREADS", "4,2", DP_AUDIT_OK},
        {"OMP_NUM_THREADS", "0", DP_AUDIT_UNKNOWN},
        {"OMP_DYNAMIC", "FALSE", DP_AUDIT_OK},
        {"OMP_DYNAMIC", "true", DP_AUDIT_WRONG},
        {"OMP_DYNAMIC", "falsehood", DP_AUDIT_UNKNOWN},
        {"OMP_SCHEDULE", "static,16", DP_AUDIT_OK},
        {"OMP_SCHEDULE", "dynamic", DP_AUDIT_WRONG},
        {"OMP_SCHEDULE", "nonmonotonic:dynamic,4", DP_AUDIT_WRONG},
        {"KMP_DETERMINISTIC_REDUCTION", "off", DP_AUDIT_WRONG},
        {"KMP_DETERMINISTIC_REDUCTION", "1", DP_AUDIT_OK},
        {"MKL_CBWR", "AVX2,STRICT", DP_AUDIT_OK},
        {"MKL_CBWR", "COMPATIBLE,STRICT", DP_AUDIT_UNKNOWN},
        {"MKL_CBWR", "BRANCH=AVX512,STRICT", DP_AUDIT_OK},
        {"MKL_CBWR", "AVX512_MIC", DP_AUDIT_UNKNOWN},
        {"MKL_DYNAMIC", "TRUE", DP_AUDIT_WRONG},
        {"OPENBLAS_CORETYPE", NULL, DP_AUDIT_OK},
        {"OPENBLAS_CORETYPE", "Haswell", DP_AUDIT_OK},
        {"OPENBLAS_CORETYPE", "Pentium", DP_AUDIT_UNKNOWN},
        {"ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", DP_AUDIT_OK},
        {"ONEDNN_MAX_CPU_ISA", "AVX3", DP_AUDIT_UNKNOWN},
        {"MALLOC_PERTURB_", "165", DP_AUDIT_WRONG},
        {"MALLOC_PERTURB_", "0", DP_AUDIT_OK},
        {"GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2,-FMA", DP_AUDIT_OK},
        {"GLIBC_TUNABLES", "glibc.malloc.perturb=0:glibc.malloc.check=1", DP_AUDIT_OK},
        {"GLIBC_TUNABLES", "glibc.malloc.check=1:glibc.malloc.perturb=0165", DP_AUDIT_WRONG},
        {"GLIBC_TUNABLES", "glibc.cpu.hwcaps", DP_AUDIT_UNKNOWN},
        {"ATEN_CPU_CAPABILITY", "avx2", DP_AUDIT_OK},
        {"ATEN_CPU_CAPABILITY", "AVX2", DP_AUDIT_UNKNOWN},
        {"TORCHINDUCTOR_DETERMINISTIC", "0", DP_AUDIT_WRONG},
        {"PYTORCH_TUNABLEOP_ENABLED", "1", DP_AUDIT_WRONG},
        {"JAX_THREEFRY_PARTITIONABLE", "False", DP_AUDIT_OK},
        {"JAX_DEFAULT_MATMUL_PRECISION", "BF16_BF16_F32_X3", DP_AUDIT_OK},
        {"JAX_DEFAULT_MATMUL_PRECISION", "best", DP_AUDIT_UNKNOWN},
        {"TF_DETERMINISTIC_OPS", "0", DP_AUDIT_WRONG},
        {"TF_ENABLE_ONEDNN_OPTS", NULL, DP_AUDIT_MISSING},
        {"TF_ENABLE_ONEDNN_OPTS", "1", DP_AUDIT_OK},
        {"CUBLAS_WORKSPACE_CONFIG", ":4096:8", DP_AUDIT_OK},
        {"CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8", DP_AUDIT_WRONG},
        {"CUBLAS_WORKSPACE_CONFIG", "4096:8", DP_AUDIT_UNKNOWN},
        {"NVIDIA_TF32_OVERRIDE", NULL, DP_AUDIT_OK},
        {"NVIDIA_TF32_OVERRIDE", "false", DP_AUDIT_UNKNOWN},
        {"CUDA_LAUNCH_BLOCKING", "1", DP_AUDIT_WRONG},
        {"CUDA_LAUNCH_BLOCKING", "0", DP_AUDIT_OK},
        {"NCCL_ALGO", "ring", DP_AUDIT_OK},
        {"NCCL_ALGO", "^NVLS", DP_AUDIT_OK},
        {"NCCL_ALGO", "Ring,Tree", DP_AUDIT_WRONG},
        {"NCCL_ALGO", "broadcast:ring;allreduce:tree", DP_AUDIT_WRONG},
        {"NCCL_ALGO", "broadcast:tree;allreduce:ring", DP_AUDIT_OK},
        {"NCCL_ALGO", "ring;allreduce:tree,collnetdirect;broadcast:ring", DP_AUDIT_WRONG},
        {"NCCL_ALGO", "ring,collnetdirect;broadcast:ring", DP_AUDIT_OK},
        {"NCCL_ALGO", "allreduce:^tree", DP_AUDIT_WRONG},
        {"NCCL_ALGO", "ring;", DP_AUDIT_UNKNOWN},
        {"NCCL_ALGO", "butterfly", DP_AUDIT_UNKNOWN},
        {"NCCL_PROTO", "LL128", DP_AUDIT_WRONG},
        {"NCCL_PROTO", "^LL128", DP_AUDIT_OK},
        {"NCCL_PROTO", "simple;allreduce:ll128", DP_AUDIT_WRONG},
        {"NCCL_PROTO", "simple;allreduce:ll", DP_AUDIT_OK},
        {"NCCL_NVLS_ENABLE", "2", DP_AUDIT_WRONG},
        {"NCCL_NVLS_ENABLE", "0", DP_AUDIT_OK},
        {"XLA_FLAGS", "", DP_AUDIT_MISSING},
        {"XLA_FLAGS", "--xla_gpu_autotune_level=0", DP_AUDIT_MISSING},
        {"XLA_FLAGS", "--xla_gpu_deterministic_ops", DP_AUDIT_OK},
        {"XLA_FLAGS", "--xla_gpu_deterministic_ops_too=true", DP_AUDIT_MISSING},
        {"XLA_FLAGS", "--a=1 --xla_gpu_deterministic_ops=true --b", DP_AUDIT_OK},
        {"XLA_FLAGS", "--xla_gpu_deterministic_ops=true --xla_gpu_deterministic_ops=false", DP_AUDIT_WRONG},
        {"XLA_FLAGS", "/etc/flags", DP_AUDIT_UNKNOWN},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct dp_audit_seen seen = {
            .value = rows[i].value, .presence = DP_AUDIT_PRESENT, .version = "9999"};
        const enum dp_audit_status status = judge(rows[i].name, &seen);
        if (status != rows[i].status) {
            fail_msg("%s=%s is '%s'", rows[i].name, rows[i].value ? rows[i].value : "(not set)",
                     dp_audit_words[status]);
        }
    }
}

static void test_what_nothing_reads(void **state)
{
    const struct dp_audit_seen set = {.value = "AUTO", .presence = DP_AUDIT_ABSENT},
                               assumed = {.value = "AUTO", .presence = DP_AUDIT_ASSUMED},
                               unset = {.presence = DP_AUDIT_ABSENT};
    assert_int_equal(judge("MKL_CBWR", &set), DP_AUDIT_IGNORED);
    assert_int_equal(judge("MKL_CBWR", &assumed), DP_AUDIT_OK);
    assert_int_equal(judge("MKL_CBWR", &unset), DP_AUDIT_OK); /* not missing: there is nothing to tell */
    assert_int_equal(judge("NCCL_DETERMINISTIC", &set), DP_AUDIT_IGNORED);
}

/* What is good on one machine and another thing on another says so, as long as it is not set. */
static void test_what_follows_the_processor(void **state)
{
    static const char *const names[] = {"OPENBLAS_CORETYPE", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY",
                                        "GLIBC_TUNABLES"};
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct dp_audit_seen unset = {.presence = DP_AUDIT_PRESENT, .version = "9999"},
                                   absent = {.presence = DP_AUDIT_ABSENT};
        struct dp_audit_verdict verdict;
        dp_audit_judge(setting_of(names[i]), &unset, &verdict);
        assert_int_equal(verdict.status, DP_AUDIT_OK);
        assert_string_equal(verdict.reason,
                            "follows the processor: the same bits on this one, others on another");
        dp_audit_judge(setting_of(names[i]), &absent, &verdict);
        assert_int_equal(verdict.status, DP_AUDIT_OK);
        assert_string_equal(verdict.reason, "");
    }
}

static void test_versions(void **state)
{
    static const struct {
        const char *name, *value, *version;
        enum dp_audit_status status;
    } rows[] = {
        {"TF_DETERMINISTIC_OPS", "1", "2.0.4", DP_AUDIT_IGNORED},
        {"TF_DETERMINISTIC_OPS", "1", "2.1", DP_AUDIT_OK},
        {"TF_DETERMINISTIC_OPS", "1", "2.16.1", DP_AUDIT_OK},
        {"TF_DETERMINISTIC_OPS", NULL, "2.0.4", DP_AUDIT_OK},
        {"TF_DETERMINISTIC_OPS", NULL, NULL, DP_AUDIT_MISSING},
        {"MKL_DEBUG_CPU_TYPE", "5", "2019.0.4", DP_AUDIT_WRONG},
        {"MKL_DEBUG_CPU_TYPE", "5", "2020.1", DP_AUDIT_IGNORED},
        {"MKL_DEBUG_CPU_TYPE", "5", "2024.2", DP_AUDIT_IGNORED},
        {"MKL_DEBUG_CPU_TYPE", "5", NULL, DP_AUDIT_UNKNOWN},
        {"MKL_DEBUG_CPU_TYPE", NULL, NULL, DP_AUDIT_OK},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct dp_audit_seen seen = {
            .value = rows[i].value, .presence = DP_AUDIT_PRESENT, .version = rows[i].version};
        assert_string_equal(dp_audit_words[judge(rows[i].name, &seen)], dp_audit_words[rows[i].status]);
    }
}

static void test_running_process(void **state)
{
    struct dp_audit_seen seen = {.presence = DP_AUDIT_PRESENT, .running = true};
    assert_int_equal(judge("OMP_NUM_THREADS", &seen), DP_AUDIT_TOO_LATE);
    assert_int_equal(judge("OPENBLAS_CORETYPE", &seen), DP_AUDIT_OK); /* its default is good */
    seen.presence = DP_AUDIT_ASSUMED;                                 /* not loaded yet */
    assert_int_equal(judge("OMP_NUM_THREADS", &seen), DP_AUDIT_MISSING);
    seen = (struct dp_audit_seen){.presence = DP_AUDIT_PRESENT, .running = true, .value = "2"};
    assert_int_equal(judge("OMP_NUM_THREADS", &seen), DP_AUDIT_OK);
    seen.value = "two";
    assert_int_equal(judge("OMP_NUM_THREADS", &seen), DP_AUDIT_UNKNOWN);
    seen = (struct dp_audit_seen){.presence = DP_AUDIT_PRESENT};
    assert_int_equal(judge("OMP_NUM_THREADS", &seen), DP_AUDIT_MISSING);
}

static void test_what_is_read_instead(void **state)
{
    struct dp_audit_seen seen = {.presence = DP_AUDIT_PRESENT, .other = "2", .other_name = "OMP_NUM_THREADS"};
    struct dp_audit_verdict verdict;
    dp_audit_judge(setting_of("OPENBLAS_NUM_THREADS"), &seen, &verdict);
    assert_int_equal(verdict.status, DP_AUDIT_OK);
    assert_string_equal(verdict.reason, "OMP_NUM_THREADS is read in its stead");
    seen.other = "many";
    assert_int_equal(judge("OPENBLAS_NUM_THREADS", &seen), DP_AUDIT_MISSING);
    seen.other = "2";
    seen.value = "many"; /* its own comes first */
    assert_int_equal(judge("OPENBLAS_NUM_THREADS", &seen), DP_AUDIT_UNKNOWN);
}

/* What an audit looks at decides bits: a report has it, so that a comparison can name it. */
static void test_reports_record_them(void **state)
{
    const json_t *all = json_object_get(dp_audit_settings(), "settings"),
                 *readers = json_object_get(dp_audit_settings(), "readers");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *setting = json_array_get(all, i), *reader;
        const char *name = dp_json_string(setting, "name", "");
        reader = json_object_get(readers, dp_json_string(setting, "reader", "nobody"));
        if (!json_object_get(reader, "foreign") && !dp_host_records(name)) {
            fail_msg("reports do not record '%s'", name);
        }
    }
}

/* --- mending --- */

/* What is to be set is right by the setting's own word, whatever was there. */
static void test_what_is_wanted_is_ok(void **state)
{
    const json_t *all = json_object_get(dp_audit_settings(), "settings");
    size_t seen_some = 0;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *setting = json_array_get(all, i);
        if (json_is_true(json_object_get(setting, "machine"))) {
            continue;
        }
        char *wanted = dp_audit_wanted(setting, NULL, 3);
        const struct dp_audit_seen seen = {.value = wanted, .presence = DP_AUDIT_PRESENT, .version = "2019"};
        const struct dp_audit_seen unset = {.presence = DP_AUDIT_PRESENT, .version = "2019"};
        const char *name = dp_json_string(setting, "name", "");
        assert_string_equal(dp_audit_words[judge(name, &seen)], "ok");
        if (!wanted) { /* unset is right only where it is right */
            assert_string_equal(dp_audit_words[judge(name, &unset)], "ok");
        }
        free(wanted);
        seen_some++;
    }
    assert_true(seen_some > 20);
}

static void test_flags_are_kept(void **state)
{
    static const struct {
        const char *value, *wanted;
    } rows[] = {
        {NULL, "--xla_gpu_deterministic_ops=true"},
        {"--a=1", "--a=1 --xla_gpu_deterministic_ops=true"},
        {"--xla_gpu_deterministic_ops=false --a=1  ", " --a=1 --xla_gpu_deterministic_ops=true"},
        {"--a=--xla_gpu_deterministic_ops --b",
         "--a=--xla_gpu_deterministic_ops --b --xla_gpu_deterministic_ops=true"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *wanted = dp_audit_wanted(setting_of("XLA_FLAGS"), rows[i].value, 1);
        assert_string_equal(wanted, rows[i].wanted);
        free(wanted);
    }
}

static void test_lines(void **state)
{
    static const struct {
        const char *value, *line;
    } rows[] = {
        {NULL, "unset A"},
        {"", "export A=''"},
        {":4096:8", "export A=:4096:8"},
        {"a b", "export A='a b'"},
        {"it's", "export A='it'\\''s'"},
        {"$(x)\n`y`", "export A='$(x)\n`y`'"},
        {"~", "export A='~'"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *line = dp_audit_line("A", rows[i].value);
        assert_string_equal(line, rows[i].line);
        free(line);
    }
}

/* --- what is here --- */

static char folder[] = "/tmp/detprobe-test-XXXXXX";

static void put_file(const char *path, const char *text)
{
    char *whole = dp_printf("%s/%s", folder, path);
    for (char *at = whole + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fwrite(text, 1, strlen(text), file);
    fputc('\0', file);
    fclose(file);
    free(whole);
}

static enum dp_audit_presence find(const struct dp_readers *readers, const char *name, bool asked,
                                   const char *wanted_version)
{
    const char *version = NULL;
    const enum dp_audit_presence presence = dp_readers_find(readers, setting_of(name), asked, &version);
    assert_string_equal(version ? version : "none", wanted_version);
    return presence;
}

static void test_python_environment(void **state)
{
    struct dp_readers readers;
    assert_non_null(mkdtemp(folder));
    put_file("v/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", "ELF");
    put_file("v/lib/python3.11/site-packages/torch/lib/libgomp-1.so.1", "ELF");
    put_file("v/lib/python3.11/site-packages/torch-2.5.1+cu121.dist-info/METADATA", "");
    put_file("v/lib/python3.11/site-packages/tensorflow_cpu-2.16.1.dist-info/METADATA", "");
    put_file("v/lib/python3.11/site-packages/tensorflow/libtensorflow_cc.so.2", "ELF");
    put_file("v/lib/python3.11/site-packages/numpy-1.24.2-py3.11.egg-info/PKG-INFO", "");
    put_file("v/lib/python3.11/site-packages/numpy.libs/libopenblas64_p.so", "ELF");
    char *root = dp_printf("%s/v", folder);
    dp_readers_open(&readers);
    assert_false(dp_readers_have_area(&readers, "pytorch"));
    assert_true(dp_readers_have_area(&readers, "cpu"));
    dp_readers_add_prefix(&readers, root);
    assert_true(dp_readers_have_area(&readers, "pytorch"));
    assert_true(dp_readers_have_area(&readers, "tensorflow"));
    assert_true(dp_readers_have_area(&readers, "numpy"));
    assert_false(dp_readers_have_area(&readers, "jax"));
    assert_false(dp_readers_have_area(&readers, "cuda"));
    assert_int_equal(find(&readers, "TF_DETERMINISTIC_OPS", false, "2.16.1"), DP_AUDIT_PRESENT);
    assert_int_equal(find(&readers, "OMP_NUM_THREADS", false, "none"), DP_AUDIT_PRESENT);
    assert_int_equal(find(&readers, "KMP_DETERMINISTIC_REDUCTION", true, "none"),
                     DP_AUDIT_ABSENT); /* libgomp */
    assert_int_equal(find(&readers, "OPENBLAS_NUM_THREADS", false, "none"), DP_AUDIT_PRESENT);
    assert_int_equal(find(&readers, "OPENBLAS_CORETYPE", true, "none"), DP_AUDIT_ABSENT); /* built for one */
    assert_int_equal(find(&readers, "MKL_CBWR", true, "none"), DP_AUDIT_ABSENT);
    assert_int_equal(find(&readers, "NCCL_ALGO", true, "none"), DP_AUDIT_ASSUMED);
    assert_int_equal(find(&readers, "NCCL_ALGO", false, "none"), DP_AUDIT_ABSENT);
    assert_int_equal(find(&readers, "NCCL_DETERMINISTIC", true, "none"), DP_AUDIT_ABSENT);
    dp_readers_free(&readers);
    free(root);
}

/* A library that says the variable's name reads it; the name alone as a part of another does not count. */
static void test_names_in_files(void **state)
{
    struct dp_readers readers;
    char *root = dp_printf("%s/w", folder), *inner = dp_printf("%s/x", folder);
    put_file("w/lib/python3.11/site-packages/numpy.libs/libopenblas64_p.so", "NOT_OPENBLAS_CORETYPE_AT_ALL");
    put_file("w/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", "");
    put_file("x/lib/python3.11/site-packages/numpy.libs/libopenblas64_p.so", "");
    for (int i = 0; i < 2; i++) {
        static const char text[] = "\0OPENBLAS_CORETYPE\0MKL_CBWR";
        char *library = dp_printf("%s/x/lib/python3.11/site-packages/%s", folder,
                                  i ? "torch/lib/libtorch_cpu.so" : "numpy.libs/libopenblas64_p.so");
        put_file("x/lib/python3.11/site-packages/torch/lib/other", "");
        FILE *file = fopen(library, "w");
        assert_non_null(file);
        fwrite(text, 1, sizeof(text), file);
        fclose(file);
        free(library);
    }
    dp_readers_open(&readers);
    dp_readers_add_prefix(&readers, root);
    assert_int_equal(find(&readers, "OPENBLAS_CORETYPE", true, "none"), DP_AUDIT_ABSENT);
    assert_int_equal(find(&readers, "MKL_CBWR", true, "none"), DP_AUDIT_ABSENT);
    dp_readers_add_prefix(&readers, inner);
    assert_int_equal(find(&readers, "OPENBLAS_CORETYPE", true, "none"), DP_AUDIT_PRESENT);
    assert_int_equal(find(&readers, "MKL_CBWR", true, "none"), DP_AUDIT_PRESENT);
    dp_readers_free(&readers);
    free(root);
    free(inner);
}

static void test_libraries_of_hellos(void **state)
{
    struct dp_readers readers;
    json_t *libraries = json_pack("[{ssssssss}]", "role", "cblas", "name", "CBLAS", "version", "", "path",
                                  "/usr/lib/blas/libblas.so.3.11.0");
    dp_readers_open(&readers);
    dp_readers_add_libraries(&readers, libraries);
    assert_int_equal(find(&readers, "OPENBLAS_NUM_THREADS", true, "none"), DP_AUDIT_ABSENT);
    json_decref(libraries);
    libraries = json_pack("[{ssssssss}]", "role", "cblas", "name", "MKL", "version", "2024.2", "path",
                          "/opt/libmkl_rt.so.2");
    dp_readers_add_libraries(&readers, libraries);
    assert_int_equal(find(&readers, "MKL_CBWR", false, "2024.2"), DP_AUDIT_PRESENT);
    json_decref(libraries);
    dp_readers_free(&readers);
}

/* Debian's BLAS is a file before the one with the kernels: that one is asked. */
static void test_kernels_in_another_file(void **state)
{
    struct dp_readers readers;
    char *thin = dp_printf("%s/k/libblas.so.3", folder),
         *whole = dp_printf("%s/k/libopenblasp-r0.3.21.so", folder);
    char *config = dp_printf("OpenBLAS 0.3.21 DYNAMIC_ARCH core=Zen kernels=%s", whole);
    static const char text[] = "\0OPENBLAS_CORETYPE";
    put_file("k/libblas.so.3", "");
    put_file("k/libopenblasp-r0.3.21.so", "");
    json_t *libraries =
        json_pack("[{ssssssss}]", "name", "OpenBLAS", "version", "0.3.21", "path", thin, "config", config);
    dp_readers_open(&readers);
    dp_readers_add_libraries(&readers, libraries);
    assert_int_equal(find(&readers, "OPENBLAS_CORETYPE", true, "none"), DP_AUDIT_ABSENT);
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fwrite(text, 1, sizeof(text), file);
    fclose(file);
    assert_int_equal(find(&readers, "OPENBLAS_CORETYPE", true, "0.3.21"), DP_AUDIT_PRESENT);
    json_decref(libraries);
    dp_readers_free(&readers);
    free(config);
    free(thin);
    free(whole);
}

/* A library below a folder of Python's is no Python, and the version of another library in the same file is
 * not its own. */
static void test_one_file_of_several(void **state)
{
    struct dp_readers readers;
    const char *path = "/v/lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-1.so";
    json_t *libraries = json_pack("[{ssssss},{ssssss}]", "name", "LAPACK", "version", "3.12.0", "path", path,
                                  "name", "OpenBLAS", "version", "0.3.31", "path", path);
    dp_readers_open(&readers);
    dp_readers_add_libraries(&readers, libraries);
    assert_int_equal(find(&readers, "OPENBLAS_NUM_THREADS", false, "0.3.31"), DP_AUDIT_PRESENT);
    assert_int_equal(find(&readers, "PYTHONHASHSEED", false, "none"), DP_AUDIT_ABSENT);
    json_decref(libraries);
    libraries = json_pack("[{ssssss}]", "name", "CPython", "version", "3.11.7", "path", "/v/bin/python3.11");
    dp_readers_add_libraries(&readers, libraries);
    assert_int_equal(find(&readers, "PYTHONHASHSEED", false, "3.11.7"), DP_AUDIT_PRESENT);
    json_decref(libraries);
    dp_readers_free(&readers);
}

/* --- the machine --- */

static enum dp_audit_status judge_fact(const struct dp_machine *machine, const char *name, int threads,
                                       const char *wanted_value)
{
    struct dp_audit_verdict verdict;
    char *value = NULL, *fix = NULL;
    const bool there = dp_machine_judge(machine, name, threads, &verdict, &value, &fix);
    assert_string_equal(there ? value : "none", wanted_value);
    assert_true((verdict.status == DP_AUDIT_WRONG) == (fix != NULL));
    free(value);
    free(fix);
    return verdict.status;
}

static void test_machine(void **state)
{
    struct dp_machine machine = {.online = 8, .allowed = 8, .kinds = 1};
    assert_int_equal(judge_fact(&machine, "affinity", 0, "8 of 8 cores"), DP_AUDIT_OK);
    assert_int_equal(judge_fact(&machine, "cpu-quota", 0, "max"), DP_AUDIT_OK);
    assert_int_equal(judge_fact(&machine, "hybrid-cores", 0, "one kind"), DP_AUDIT_OK);
    assert_int_equal(judge_fact(&machine, "ecc", 0, "none"), DP_AUDIT_OK);
    assert_int_equal(dp_machine_cores(&machine), 8);
    machine =
        (struct dp_machine){.online = 8, .allowed = 4, .kinds = 2, .quota_hundredths = 250, .fastest = "0-3"};
    assert_int_equal(judge_fact(&machine, "affinity", 0, "4 of 8 cores"), DP_AUDIT_WRONG);
    assert_int_equal(judge_fact(&machine, "affinity", 4, "4 of 8 cores"), DP_AUDIT_OK);
    assert_int_equal(judge_fact(&machine, "cpu-quota", 0, "2.50"), DP_AUDIT_WRONG);
    assert_int_equal(judge_fact(&machine, "cpu-quota", 3, "2.50"), DP_AUDIT_WRONG);
    assert_int_equal(judge_fact(&machine, "cpu-quota", 2, "2.50"), DP_AUDIT_OK);
    assert_int_equal(judge_fact(&machine, "hybrid-cores", 0, "2 kinds"), DP_AUDIT_WRONG);
    assert_int_equal(dp_machine_cores(&machine), 2);
    machine.kinds = 0;
    assert_int_equal(judge_fact(&machine, "hybrid-cores", 0, "not known"), DP_AUDIT_UNKNOWN);
}

/* The quota of a control group with and without one, and the number of threads that fits it. */
static void test_quota_of_a_group(void **state)
{
    static const struct {
        const char *line;
        int threads;
        const char *value;
        enum dp_audit_status status;
    } rows[] = {
        {"max 100000\n", 0, "max", DP_AUDIT_OK},
        {"150000 100000\n", 0, "1.50", DP_AUDIT_WRONG},
        {"150000 100000\n", 2, "1.50", DP_AUDIT_WRONG},
        {"150000 100000\n", 1, "1.50", DP_AUDIT_OK},
        {"1 100000\n", 0, "0.01", DP_AUDIT_WRONG}, /* less than any thread needs */
        {"lots\n", 0, "max", DP_AUDIT_OK},
    };
    char *root = dp_printf("%s/group", folder);
    put_file("group/proc/self/cgroup", "0::/job\n");
    put_file("group/proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct dp_machine machine;
        put_file("group/sys/fs/cgroup/job/cpu.max", rows[i].line);
        dp_machine_read(root, &machine);
        machine.allowed = machine.online = 8; /* whatever this one has */
        assert_int_equal(judge_fact(&machine, "cpu-quota", rows[i].threads, rows[i].value), rows[i].status);
    }
    free(root);
}

static void test_devices(void **state)
{
    json_t *devices = json_pack("[{sbsb},{sb}]", "ecc", 1, "mig", 1, "ecc", 1);
    json_t *states = json_pack("[{sb}]", "persistence_mode", 0);
    const struct dp_machine machine = {.devices = devices, .states = states};
    assert_int_equal(judge_fact(&machine, "ecc", 0, "on, on"), DP_AUDIT_OK);
    assert_int_equal(judge_fact(&machine, "mig", 0, "on"), DP_AUDIT_OK);
    assert_int_equal(judge_fact(&machine, "persistence", 0, "off"), DP_AUDIT_OK);
    json_object_set_new(json_array_get(devices, 1), "ecc", json_false());
    assert_int_equal(judge_fact(&machine, "ecc", 0, "on, off"), DP_AUDIT_WRONG);
    json_decref(devices);
    json_decref(states);
}

/* Kinds of cores as two architectures tell them, of those that we may run on. */
static void test_kinds_of_cores(void **state)
{
    static const struct {
        const char *root, *file, *text;
        int kinds; /* once the file is there */
    } rows[] = {
        {"none", "sys/x", "", 0},
        {"one", "sys/devices/system/cpu/online", "0-1023\n", 1},
        {"intel", "sys/devices/cpu_core/cpus", "0-1023\n", 0},
        {"intel", "sys/devices/cpu_atom/cpus", "0-1023\n", 2},
        {"bound", "sys/devices/cpu_core/cpus", "0-1022\n", 0},
        {"bound", "sys/devices/cpu_atom/cpus", "1023\n", 1},
        {"odd", "sys/devices/cpu_core/cpus", "0-,,x-99999999999999999999\n", 0},
        {"odd", "sys/devices/cpu_atom/cpus", "-5\n", 1},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct dp_machine machine;
        char *root = dp_printf("%s/%s", folder, rows[i].root),
             *file = dp_printf("%s/%s", rows[i].root, rows[i].file);
        put_file(file, rows[i].text);
        dp_machine_read(root, &machine);
        if (machine.kinds != rows[i].kinds) {
            fail_msg("%s: %d kinds", file, machine.kinds);
        }
        free(root);
        free(file);
    }
    /* those that we may run on in two capacities, and one that we may not */
    char *root = dp_printf("%s/arm", folder);
    struct dp_machine machine;
    cpu_set_t allowed;
    int count = 0;
    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    for (int core = 0; core < CPU_SETSIZE; core++) {
        char *file = dp_printf("arm/sys/devices/system/cpu/cpu%d/cpu_capacity", core);
        if (CPU_ISSET(core, &allowed)) {
            put_file(file, count++ % 2 ? "1024\n" : "446\n");
        } else if (core == CPU_SETSIZE - 1) {
            put_file(file, "77\n");
        }
        free(file);
    }
    dp_machine_read(root, &machine);
    assert_int_equal(machine.kinds, count > 1 ? 2 : 1);
    free(root);
}

static int remove_folder(void **state)
{
    char *command = dp_printf("rm -rf %s", folder);
    const int rc = system(command);
    free(command);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_what_nothing_reads),
        cmocka_unit_test(test_what_follows_the_processor),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_running_process),
        cmocka_unit_test(test_what_is_read_instead),
        cmocka_unit_test(test_reports_record_them),
        cmocka_unit_test(test_what_is_wanted_is_ok),
        cmocka_unit_test(test_flags_are_kept),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_python_environment),
        cmocka_unit_test(test_names_in_files),
        cmocka_unit_test(test_libraries_of_hellos),
        cmocka_unit_test(test_one_file_of_several),
        cmocka_unit_test(test_kernels_in_another_file),
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_quota_of_a_group),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_kinds_of_cores),
    };
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}

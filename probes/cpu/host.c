/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program takes from its host without asking for it: the order of a folder's files and of results that
 * workers deliver, seeds from the clock and from addresses, what new memory holds, the decimal sign of the
 * locale, and whether the processor keeps subnormal numbers. Each stands beside the form that does not depend
 * on the host.
 */
#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "probes/cpu/splitmix.h"
#include "probes/kit/op.h"

enum { IN, OUT };

struct host {
    int64_t n;
    int variant; /* a word of the op's parameter */
    /* locale */
    locale_t point, comma;
    const char *comma_name;
};

/* One operand in, one out, n elements each. */
static int describe_pair(const struct kit_params *params, struct kit_operand in, struct kit_operand out,
                         const char *word, const char *words, struct kit_shape *ret)
{
    struct host host;
    if (kit_param_int(params, "n", &host.n) || kit_param_word(params, word, words, &host.variant)) {
        return KIT_FAILED;
    }
    if (host.n < 2) {
        return kit_fail("'n' must be at least 2");
    }
    in.role = KIT_IN;
    out.role = KIT_OUT;
    in.ndim = out.ndim = 1;
    in.shape[0] = out.shape[0] = host.n;
    in.batch_dim = out.batch_dim = -1;
    ret->operand[IN] = in;
    ret->operand[OUT] = out;
    ret->count = 2;
    ret->flops = (double)host.n;
    return KIT_OK;
}

static int prepare_word(struct kit_call *call, const char *word, const char *words)
{
    struct host *host = calloc(1, sizeof(*host));
    call->state = host;
    if (!host) {
        return kit_fail("out of memory");
    }
    host->n = call->shape->operand[IN].shape[0];
    return kit_param_word(call->params, word, words, &host->variant);
}

/* How many of 0 .. n - 1 are missing in `order`. */
static int missing(const int64_t *order, int64_t n, int64_t *ret)
{
    bool *seen = calloc((size_t)n, sizeof(*seen));
    if (!seen) {
        return kit_fail("out of memory");
    }
    *ret = n;
    for (int64_t i = 0; i < n; i++) {
        if (order[i] >= 0 && order[i] < n && !seen[order[i]]) {
            seen[order[i]] = true;
            --*ret;
        }
    }
    free(seen);
    return KIT_OK;
}

/* Of the first variant any order is right, of the second only the ascending one. */
static int accepts_order(struct kit_call *call, int output, const void *const *in, const void *logical,
                         int64_t *ret_wrong)
{
    const struct host *host = call->state;
    const int64_t *order = logical;
    if (host->variant == 0) {
        return missing(order, host->n, ret_wrong);
    }
    *ret_wrong = 0;
    for (int64_t i = 0; i < host->n; i++) {
        *ret_wrong += order[i] != i;
    }
    return KIT_OK;
}

/* ---- the order of a folder's files ---- */

/* Workers write the files of a data set, then it is read. */
#define FILE_SYSTEMS "temporary|shared-memory"
#define LISTINGS "readdir|scandir"

static int describe_folder(const struct kit_params *params, struct kit_shape *ret)
{
    int where;
    return kit_param_word(params, "where", FILE_SYSTEMS, &where)
               ? KIT_FAILED
               : describe_pair(
                     params, (struct kit_operand){.name = "names", .dtype = KIT_S64, .fill = KIT_PERMUTATION},
                     (struct kit_operand){.name = "order", .dtype = KIT_S64}, "listing", LISTINGS, ret);
}

static int prepare_folder(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare_word(call, "listing", LISTINGS);
}

static void folder_name(struct kit_call *call, char ret[512])
{
    int shared = 0;
    kit_param_word(call->params, "where", FILE_SYSTEMS, &shared);
    const char *const scratch = getenv("DETPROBE_SCRATCH"), *const temporary = getenv("TMPDIR");
    snprintf(ret, 512, "%s/detprobe-XXXXXX",
             shared      ? "/dev/shm"
             : scratch   ? scratch
             : temporary ? temporary
                         : "/tmp");
}

static void file_name(int64_t number, char ret[32])
{
    snprintf(ret, 32, "sample-%05lld", (long long)number);
}

static int is_sample(const struct dirent *entry)
{
    return strncmp(entry->d_name, "sample-", 7) == 0;
}

static int64_t sample_of(const struct dirent *entry)
{
    return strtoll(entry->d_name + 7, NULL, 10);
}

/* As the file system gives them. */
static int64_t list_as_found(const char *folder, int64_t *order, int64_t n)
{
    DIR *const open = opendir(folder);
    int64_t count = 0;
    for (const struct dirent *entry; open && count < n && (entry = readdir(open));) {
        if (is_sample(entry)) {
            order[count++] = sample_of(entry);
        }
    }
    if (open) {
        closedir(open);
    }
    return count;
}

static int64_t list_sorted(const char *folder, int64_t *order, int64_t n)
{
    struct dirent **entries;
    const int found = scandir(folder, &entries, is_sample, alphasort);
    for (int i = 0; i < found; i++) {
        if (i < n) {
            order[i] = sample_of(entries[i]);
        }
        free(entries[i]);
    }
    if (found >= 0) {
        free(entries);
    }
    return found;
}

static int run_folder(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct host *host = call->state;
    const int64_t *names = buffers->data[IN];
    char folder[512];
    folder_name(call, folder);
    const int at = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (at < 0) {
        return kit_skip("unsupported", "no folder can be made in '%s'", folder);
    }
    int64_t written = 0;
#pragma omp parallel for schedule(static, 1) num_threads(call->threads) reduction(+ : written)
    for (int64_t i = 0; i < host->n; i++) {
        char name[32];
        file_name(names[i], name);
        const int file = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        written += file >= 0;
        if (file >= 0) {
            close(file);
        }
    }
    const int64_t read =
        (host->variant == 0 ? list_as_found : list_sorted)(folder, buffers->data[OUT], host->n);
    for (int64_t i = 0; i < host->n; i++) {
        char name[32];
        file_name(i, name);
        unlinkat(at, name, 0);
    }
    close(at);
    rmdir(folder);
    return written == host->n && read == host->n
               ? KIT_OK
               : kit_fail("%lld of %lld files were written and %lld read", (long long)written,
                          (long long)host->n, (long long)read);
}

/* ---- the order in which workers deliver ---- */

#define QUEUES "unordered|ordered"

static int describe_loader(const struct kit_params *params, struct kit_shape *ret)
{
    return describe_pair(params,
                         (struct kit_operand){.name = "samples", .dtype = KIT_S64, .fill = KIT_PERMUTATION},
                         (struct kit_operand){.name = "order", .dtype = KIT_S64}, "queue", QUEUES, ret);
}

static int prepare_loader(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare_word(call, "queue", QUEUES);
}

/* Each worker waits for its samples, for a while that differs from sample to sample, as for a disk, and puts
 * them into the queue: at its end, or at the place that their number has. */
static int run_loader(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct host *host = call->state;
    const int64_t *samples = buffers->data[IN];
    int64_t *order = buffers->data[OUT], delivered = 0;
#pragma omp parallel for schedule(static, 1) num_threads(call->threads)
    for (int64_t i = 0; i < host->n; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000 * (samples[i] % 8)}, NULL);
        int64_t at = samples[i];
        if (host->variant == 0) {
#pragma omp atomic capture
            at = delivered++;
        }
        order[at] = samples[i];
    }
    return KIT_OK;
}

/* ---- seeds that nobody set ---- */

#define SEEDS "fixed|time|address|entropy"

static int describe_seed(const struct kit_params *params, struct kit_shape *ret)
{
    return describe_pair(
        params,
        (struct kit_operand){.name = "key", .dtype = KIT_S64, .fill = KIT_INDICES, .below = INT64_C(1) << 40},
        (struct kit_operand){.name = "numbers", .dtype = KIT_S64}, "seed", SEEDS, ret);
}

static int prepare_seed(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare_word(call, "seed", SEEDS);
}

static uint64_t seed_fixed(const int64_t *keys)
{
    return (uint64_t)keys[0];
}

static uint64_t seed_time(const int64_t *keys)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Where the kernel put the process' stack, as a program sees it that hashes a pointer. */
static uint64_t seed_address(const int64_t *keys)
{
    return getauxval(AT_RANDOM);
}

/* What the kernel gives to every process; std::random_device and hash seeds are made of the like. */
static uint64_t seed_entropy(const int64_t *keys)
{
    uint64_t seed;
    memcpy(&seed, (const void *)getauxval(AT_RANDOM), sizeof(seed));
    return seed;
}

static int64_t number_of(uint64_t seed, int64_t i)
{
    return (int64_t)splitmix64(seed + (uint64_t)i * SPLITMIX64_STEP);
}

/* The seed, and the numbers that follow from it. */
static int run_seed(struct kit_call *call, const struct kit_buffers *buffers)
{
    static uint64_t (*const seeds[])(const int64_t *keys) = {seed_fixed, seed_time, seed_address,
                                                             seed_entropy};
    const struct host *host = call->state;
    int64_t *numbers = buffers->data[OUT];
    const uint64_t seed = seeds[host->variant](buffers->data[IN]);
    numbers[0] = (int64_t)seed;
    for (int64_t i = 1; i < host->n; i++) {
        numbers[i] = number_of(seed, i);
    }
    return KIT_OK;
}

static int accepts_seed(struct kit_call *call, int output, const void *const *in, const void *logical,
                        int64_t *ret_wrong)
{
    const struct host *host = call->state;
    const int64_t *numbers = logical, *keys = in[IN];
    *ret_wrong = host->variant == 0 && numbers[0] != keys[0];
    for (int64_t i = 1; i < host->n; i++) {
        *ret_wrong += numbers[i] != number_of((uint64_t)numbers[0], i);
    }
    return KIT_OK;
}

/* ---- what new memory holds ---- */

#define ALLOCATORS "malloc|calloc"

static int describe_memory(const struct kit_params *params, struct kit_shape *ret)
{
    return describe_pair(
        params,
        (struct kit_operand){.name = "before", .dtype = KIT_S64, .fill = KIT_INDICES, .below = 1 << 30},
        (struct kit_operand){.name = "after", .dtype = KIT_S64}, "allocator", ALLOCATORS, ret);
}

static int prepare_memory(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare_word(call, "allocator", ALLOCATORS);
}

/* Through volatile pointers: nothing may be concluded of memory that was not written. */
static void *(*volatile const from_malloc)(size_t size) = malloc;
static void *(*volatile const from_calloc)(size_t count, size_t size) = calloc;
static void (*volatile const give_back)(void *) = free;

/* Two blocks are used and given back; a third one of their size is read before it is written, as a buffer is
 * whose first use adds to it. */
static int run_memory(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct host *host = call->state;
    const size_t size = (size_t)host->n * sizeof(int64_t);
    void *first = from_malloc(size), *second = from_malloc(size);
    if (first && second) {
        memcpy(first, buffers->data[IN], size);
        memcpy(second, buffers->data[IN], size);
    }
    give_back(first);
    give_back(second);
    void *const block =
        host->variant == 0 ? from_malloc(size) : from_calloc((size_t)host->n, sizeof(int64_t));
    if (!block) {
        return kit_fail("out of memory");
    }
    memcpy(buffers->data[OUT], block, size);
    give_back(block);
    return KIT_OK;
}

/* Only calloc promises a value. */
static int accepts_memory(struct kit_call *call, int output, const void *const *in, const void *logical,
                          int64_t *ret_wrong)
{
    const struct host *host = call->state;
    const int64_t *after = logical;
    *ret_wrong = 0;
    for (int64_t i = 0; host->variant == 1 && i < host->n; i++) {
        *ret_wrong += after[i] != 0;
    }
    return KIT_OK;
}

/* ---- the decimal sign ---- */

/* A part of the program (a plug-in, a toolkit) takes the locale of the user while others write numbers. */
#define SCOPES "process|thread"

static int describe_locale(const struct kit_params *params, struct kit_shape *ret)
{
    return describe_pair(params, (struct kit_operand){.name = "values", .dtype = KIT_F64},
                         (struct kit_operand){.name = "read", .dtype = KIT_F64}, "scope", SCOPES, ret);
}

static int prepare_locale(struct kit_call *call, struct kit_prepared *ret)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "it_IT.UTF-8",
                                        "pt_BR.UTF-8", "ru_RU.UTF-8", "nl_NL.UTF-8", "pl_PL.UTF-8",
                                        "sv_SE.UTF-8", "de_DE"};
    const int rc = prepare_word(call, "scope", SCOPES);
    struct host *host = call->state;
    for (size_t i = 0; rc == KIT_OK && !host->comma && i < sizeof(names) / sizeof(names[0]); i++) {
        host->comma = newlocale(LC_NUMERIC_MASK, names[i], (locale_t)0);
        host->comma_name = names[i];
    }
    if (rc == KIT_OK && !host->comma) {
        return kit_skip("unsupported", "no locale with a decimal comma is installed");
    }
    if (rc == KIT_OK) {
        host->point = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
        snprintf(ret->chosen, sizeof(ret->chosen), "%s", host->comma_name);
    }
    return rc;
}

static void release_locale(struct kit_call *call)
{
    const struct host *host = call->state;
    if (host && host->comma) {
        freelocale(host->comma);
    }
    if (host && host->point) {
        freelocale(host->point);
    }
    kit_free_state(call);
}

static double read_back(const char *text, locale_t point)
{
    const locale_t before = uselocale(point);
    const double value = strtod(text, NULL);
    uselocale(before);
    return value;
}

/* Every other number is written by the part that takes the locale, for the process or for its thread alone;
 * all are read as a file format has them, with a point. */
static int run_locale(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct host *host = call->state;
    const double *values = buffers->data[IN];
    double *read = buffers->data[OUT];
#pragma omp parallel for schedule(static, 1) num_threads(call->threads)
    for (int64_t i = 0; i < host->n; i++) {
        char text[64];
        const bool comma = i % 2 == 1;
        if (host->variant == 0) {
            setlocale(LC_NUMERIC, comma ? host->comma_name : "C");
            snprintf(text, sizeof(text), "%.17g", values[i]);
        } else {
            const locale_t before = uselocale(comma ? host->comma : host->point);
            snprintf(text, sizeof(text), "%.17g", values[i]);
            uselocale(before);
        }
        read[i] = read_back(text, host->point);
    }
    setlocale(LC_NUMERIC, "C");
    return KIT_OK;
}

/* What is read of a number that was written with a comma: up to the comma, without what follows. */
static double up_to_comma(double value, const struct host *host)
{
    char text[64];
    const locale_t before = uselocale(host->comma);
    snprintf(text, sizeof(text), "%.17g", value);
    uselocale(before);
    return read_back(text, host->point);
}

static int accepts_locale(struct kit_call *call, int output, const void *const *in, const void *logical,
                          int64_t *ret_wrong)
{
    const struct host *host = call->state;
    const double *values = in[IN], *read = logical;
    *ret_wrong = 0;
    for (int64_t i = 0; i < host->n; i++) {
        const bool comma = i % 2 == 1;
        const bool whole = read[i] == values[i], cut = read[i] == up_to_comma(values[i], host);
        *ret_wrong += host->variant == 0 ? !whole && !cut : comma ? !cut : !whole;
    }
    return KIT_OK;
}

/* ---- numbers below the normal range ---- */

/* A library that was linked for fast arithmetic makes subnormal numbers zero in the thread that opens it; the
 * workers that exist already keep them. */
#define FLUSHES "never|caller"

#if defined(__x86_64__)
typedef unsigned control_register; /* MXCSR */
#define FLUSH 0x8040u              /* FTZ and DAZ; Intel SDM volume 1, section 10.2.3 */
#define CAN_FLUSH true
static control_register control(void)
{
    return _mm_getcsr();
}
static void set_control(control_register value)
{
    _mm_setcsr(value);
}
#elif defined(__aarch64__)
typedef uint64_t control_register; /* FPCR */
#define FLUSH (UINT64_C(1) << 24) /* FZ; Arm Architecture Reference Manual, FPCR */
#define CAN_FLUSH true
static control_register control(void)
{
    control_register value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}
static void set_control(control_register value)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(value));
}
#else
typedef unsigned control_register;
#define FLUSH 0u
#define CAN_FLUSH false
static control_register control(void)
{
    return 0;
}
static void set_control(control_register value)
{
}
#endif

static int describe_subnormal(const struct kit_params *params, struct kit_shape *ret)
{
    return describe_pair(params, (struct kit_operand){.name = "values", .dtype = KIT_F32},
                         (struct kit_operand){.name = "kept", .dtype = KIT_F32}, "flush", FLUSHES, ret);
}

static int prepare_subnormal(struct kit_call *call, struct kit_prepared *ret)
{
    if (!CAN_FLUSH) {
        return kit_skip("unsupported", "how to flush subnormal numbers is not known of this processor");
    }
    /* The workers start before anything is flushed: new threads inherit the control register. */
    int started = 0;
#pragma omp parallel num_threads(call->threads) reduction(+ : started)
    started += 1;
    return started > 0 ? prepare_word(call, "flush", FLUSHES) : kit_fail("no thread started");
}

/* Values below 1 become subnormal; in two steps, since the whole factor would be subnormal itself. */
static float scaled_down(float value)
{
    return value * 0x1p-63f * 0x1p-64f;
}

static float there_and_back(float value)
{
    volatile float small = scaled_down(value);
    return small * 0x1p64f * 0x1p63f;
}

static int run_subnormal(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct host *host = call->state;
    const float *values = buffers->data[IN];
    float *kept = buffers->data[OUT];
    const control_register before = control();
    if (host->variant == 1) {
        set_control(before | FLUSH);
    }
#pragma omp parallel for schedule(static) num_threads(call->threads)
    for (int64_t i = 0; i < host->n; i++) {
        kept[i] = there_and_back(values[i]);
    }
    set_control(before);
    return KIT_OK;
}

static int accepts_subnormal(struct kit_call *call, int output, const void *const *in, const void *logical,
                             int64_t *ret_wrong)
{
    const struct host *host = call->state;
    const float *values = in[IN], *kept = logical;
    const int64_t share = (host->n + call->threads - 1) / call->threads; /* of the calling thread */
    *ret_wrong = 0;
    for (int64_t i = 0; i < host->n; i++) {
        const bool flushed = host->variant == 1 && i < share && fabsf(scaled_down(values[i])) < 0x1p-126f;
        *ret_wrong += kept[i] != (flushed ? 0 : there_and_back(values[i]));
    }
    return KIT_OK;
}

static const struct op folder = {.name = "folder",
                                 .describe = describe_folder,
                                 .prepare = prepare_folder,
                                 .run = run_folder,
                                 .accepts = accepts_order,
                                 .release = kit_free_state},
                       loader = {.name = "loader",
                                 .describe = describe_loader,
                                 .prepare = prepare_loader,
                                 .run = run_loader,
                                 .accepts = accepts_order,
                                 .release = kit_free_state},
                       seed = {.name = "seed",
                               .describe = describe_seed,
                               .prepare = prepare_seed,
                               .run = run_seed,
                               .accepts = accepts_seed,
                               .release = kit_free_state},
                       memory = {.name = "memory",
                                 .describe = describe_memory,
                                 .prepare = prepare_memory,
                                 .run = run_memory,
                                 .accepts = accepts_memory,
                                 .release = kit_free_state},
                       decimal = {.name = "locale",
                                  .describe = describe_locale,
                                  .prepare = prepare_locale,
                                  .run = run_locale,
                                  .accepts = accepts_locale,
                                  .release = release_locale},
                       subnormal = {.name = "subnormal",
                                    .describe = describe_subnormal,
                                    .prepare = prepare_subnormal,
                                    .run = run_subnormal,
                                    .accepts = accepts_subnormal,
                                    .release = kit_free_state};

int main(void)
{
    static const struct op *const ops[] = {&folder, &loader, &seed, &memory, &decimal, &subnormal, NULL};
    static const struct kit_program program = {
        .name = "host", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What checking one repeat costs, measured in the kit's own loop: from the return of an operation's run to
 * the first byte that is put back for the next one. Beside it one plain memcmp of as many bytes, a SHA-256
 * and an XXH3-128 of them, and the product that the check would follow. Each line says what was measured, the
 * target and what the limit is; nothing is asserted, for a time says nothing about right or wrong.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/op.h"
#include "probes/kit/outcome.h"
#include "probes/kit/tests/bench_loop.h"
#include "suite/base/clock.h"
#include "suite/base/digest.h"

#define MIB ((size_t)1 << 20)
#define LARGE ((int64_t)64 << 18) /* floats in 64 MiB */
#define SIDE 1024                 /* of the product */
/* ---- operations ---- */

static int describe_copy(const struct kit_params *params, struct kit_shape *ret)
{
    ret->operand[0] =
        (struct kit_operand){.name = "a", .dtype = KIT_F32, .ndim = 1, .shape = {SIDE}, .batch_dim = -1};
    ret->operand[1] = (struct kit_operand){
        .name = "c", .role = KIT_OUT, .dtype = KIT_F32, .ndim = 1, .shape = {LARGE}, .batch_dim = -1};
    ret->count = 2;
    ret->flops = (double)LARGE;
    return KIT_OK;
}

static void write_copies(const float *a, float *c)
{
    for (int64_t i = 0; i < LARGE; i += SIDE) {
        memcpy(c + i, a, SIDE * sizeof(*a));
    }
}

static int run_copy(struct kit_call *call, const struct kit_buffers *buffers)
{
    const int64_t start = dp_now_ns();
    write_copies(buffers->data[0], buffers->data[1]);
    bench_loop_ran(start);
    return KIT_OK;
}

static int describe_product(const struct kit_params *params, struct kit_shape *ret)
{
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        ret->operand[i] = (struct kit_operand){.name = names[i],
                                               .role = i == 2 ? KIT_OUT : KIT_IN,
                                               .dtype = KIT_F32,
                                               .ndim = 2,
                                               .shape = {SIDE, SIDE},
                                               .batch_dim = -1};
    }
    ret->count = 3;
    ret->flops = (double)SIDE * SIDE * SIDE;
    return KIT_OK;
}

/* cblas_sgemm with its enumerations as the int that they are. */
static void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                     int lda, const float *b, int ldb, float beta, float *c, int ldc);
enum { ROW_MAJOR = 101, NO_TRANS = 111 };

static int run_product(struct kit_call *call, const struct kit_buffers *buffers)
{
    const int64_t start = dp_now_ns();
    sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, SIDE, SIDE, SIDE, 1, buffers->data[0], SIDE, buffers->data[1], SIDE,
          0, buffers->data[2], SIDE);
    bench_loop_ran(start);
    return KIT_OK;
}

static const struct op copy = {.name = "copy", .describe = describe_copy, .run = run_copy};
static const struct op product = {.name = "product", .describe = describe_product, .run = run_product};
static const struct op *const ops[] = {&copy, &product, NULL};
static const struct kit_program program = {.name = "bench", .backend = "cpu", .ops = ops};

/* ---- what it is measured against ---- */

struct plain {
    float *a, *c, *first;
    struct bench_sample memcmps, sha256s, xxh3s;
};

/* One of each on 64 MiB that were just written, as the kit's are. */
static int plain_round(struct plain *plain)
{
    char hex[DP_SHA256_HEX];
    for (int i = 0; i < BENCH_RUNS; i++) {
        write_copies(plain->a, plain->c);
        const int64_t start = dp_now_ns();
        if (memcmp(plain->c, plain->first, 64 * MIB) != 0) {
            fprintf(stderr, "bench_check: equal memory differs\n");
            return -1;
        }
        bench_take(&plain->memcmps, dp_now_ns() - start);
    }
    for (int i = 0; i < 2; i++) {
        int64_t start = dp_now_ns();
        dp_sha256_hex(plain->c, 64 * MIB, hex);
        bench_take(&plain->sha256s, dp_now_ns() - start);
        start = dp_now_ns();
        const struct dp_hash128 hash = dp_xxh3_128(plain->c, 64 * MIB);
        bench_take(&plain->xxh3s, dp_now_ns() - start + (int64_t)(hash.low == 0)); /* used, so not left out */
    }
    return 0;
}

static int plain_alloc(struct plain *plain)
{
    plain->a = kit_cpu.alloc(SIDE * sizeof(float), 64);
    plain->c = kit_cpu.alloc(64 * MIB, 64);
    plain->first = kit_cpu.alloc(64 * MIB, 64);
    if (!plain->a || !plain->c || !plain->first) {
        fprintf(stderr, "bench_check: cannot measure: out of memory\n");
        return -1;
    }
    for (int i = 0; i < SIDE; i++) {
        plain->a[i] = (float)i;
    }
    write_copies(plain->a, plain->first);
    return 0;
}

static void plain_free(struct plain *plain)
{
    kit_cpu.release(plain->a);
    kit_cpu.release(plain->c);
    kit_cpu.release(plain->first);
}

static void report_large(struct plain *plain)
{
    const double check = bench_median_ms(&bench_checks);
    const double compare = bench_median_ms(&plain->memcmps);
    const double sha256 = bench_median_ms(&plain->sha256s);
    const double xxh3 = bench_median_ms(&plain->xxh3s);
    printf("check one repeat of 64 MiB: %.2f x memcmp (%.2f ms, %.1f GB/s), target <= 1.3 x; limit: memory "
           "bandwidth, memcmp reads both buffers at %.1f GB/s\n",
           check / compare, check, bench_gigabytes_per_second(64 * MIB, check),
           bench_gigabytes_per_second(128 * MIB, compare));
    printf(
        "check one repeat instead of SHA-256 of 64 MiB: %.1f x faster, target >= 5 x; limit: SHA-256 takes "
        "%.1f ms (%.1f GB/s)\n",
        sha256 / check, sha256, bench_gigabytes_per_second(64 * MIB, sha256));
    printf("XXH3-128 of 64 MiB, for an output that differs: %.2f x memcmp (%.2f ms, %.1f GB/s), no target; "
           "limit: memory bandwidth\n",
           xxh3 / compare, xxh3, bench_gigabytes_per_second(64 * MIB, xxh3));
}

static int measure_large(struct kit_session *session)
{
    struct plain plain = {0};
    int rc = plain_alloc(&plain);
    for (int i = 0; i < BENCH_ROUNDS && !rc; i++) {
        rc = bench_loop_serve(session, "copy");
        rc = rc ? rc : plain_round(&plain);
    }
    if (!rc) {
        report_large(&plain);
    }
    plain_free(&plain);
    return rc;
}

static int measure_product(struct kit_session *session)
{
    static const char *const sonames[] = {"libcblas.so.3", "libblas.so.3", "libopenblas.so.0", NULL};
    void *const library = kit_open_role("cblas", sonames, "cblas_sgemm");
    if (!library) {
        printf("check one repeat of sgemm %d^3: not measured, %s\n", SIDE, kit_outcome()->text);
        return 0;
    }
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    bench_loop_clear();
    int rc = 0;
    for (int i = 0; i < BENCH_ROUNDS && !rc; i++) {
        rc = bench_loop_serve(session, "product");
    }
    if (!rc) {
        const double check = bench_median_ms(&bench_checks);
        const double run = bench_median_ms(&bench_runs);
        printf(
            "check one repeat of sgemm %d^3, 4 MiB: %.2f %% of its %.1f ms (%.3f ms, %.1f GB/s), target <= "
            "3 %%; limit: memory bandwidth or the cache that holds the output\n",
            SIDE, 100 * check / run, run, check, bench_gigabytes_per_second(4 * MIB, check));
    }
    return rc;
}

int main(void)
{
    const struct kit_backend timed = bench_loop_backend(&kit_cpu);
    struct kit_session session;
    kit_session_init(&session, &program, &timed);
    int rc = measure_large(&session);
    rc = rc ? rc : measure_product(&session);
    kit_session_drop(&session);
    return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

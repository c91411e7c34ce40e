/* SPDX-License-Identifier: Apache-2.0
 *
 * What checking one repeat costs on a device, measured in the kit's own loop: the comparison of large outputs
 * beside a copy on the device, which moves as many bytes, and beside the bf16 product that it would follow.
 * Prints what was measured and the target; nothing is asserted, for a time says nothing about right or wrong.
 *
 * usage: bench_device [MIB [SIDE]]: megabytes of the copy, side of the product's matrices
 */
#include <stdio.h>
#include <stdlib.h>

#include "probes/cuda/cublas.h"
#include "probes/kit/outcome.h"
#include "probes/kit/tests/bench_loop.h"
#include "suite/base/clock.h"

#define MIB ((int64_t)1 << 20)
#define SKIP 77

static int64_t megabytes = 512; /* far beyond any device's cache */
static int64_t side = 8192;

static struct kit_operand matrix(const char *name, enum kit_role role, enum kit_dtype dtype, int64_t rows,
                                 int64_t columns)
{
    return (struct kit_operand){.name = name,
                                .role = role,
                                .dtype = dtype,
                                .ndim = 2,
                                .shape = {rows, columns},
                                .align = 256,
                                .batch_dim = -1};
}

/* Enqueued work counts until the device is done with it. */
static int wait_and_take(int64_t start, int rc)
{
    rc = rc ? rc : kit_cuda.sync();
    bench_loop_ran(start);
    return rc;
}

static int describe_copy(const struct kit_params *params, struct kit_shape *ret)
{
    ret->count = 2;
    ret->operand[0] = matrix("a", KIT_IN, KIT_F32, megabytes, MIB / 4);
    ret->operand[1] = matrix("c", KIT_OUT, KIT_F32, megabytes, MIB / 4);
    return KIT_OK;
}

static int run_copy(struct kit_call *call, const struct kit_buffers *buffers)
{
    const int64_t start = dp_now_ns();
    return wait_and_take(start, kit_cuda.copy(buffers->data[1], buffers->data[0], (size_t)(megabytes * MIB)));
}

static int describe_product(const struct kit_params *params, struct kit_shape *ret)
{
    ret->count = 3;
    ret->operand[0] = matrix("a", KIT_IN, KIT_BF16, side, side);
    ret->operand[1] = matrix("b", KIT_IN, KIT_BF16, side, side);
    ret->operand[2] = matrix("c", KIT_OUT, KIT_BF16, side, side);
    return KIT_OK;
}

static int prepare_product(struct kit_call *call, struct kit_prepared *ret)
{
    static const struct cublas_modes modes = {CUBLAS_DEFAULT_MATH, CUBLAS_ATOMICS_NOT_ALLOWED,
                                              CUBLAS_POINTER_MODE_HOST, false};
    return cublas_prepare(call, &modes);
}

static int run_product(struct kit_call *call, const struct kit_buffers *buffers)
{
    static const float one = 1, zero = 0;
    const int n = (int)side;
    const int64_t start = dp_now_ns();
    const cublasStatus_t status =
        cublas.cublasGemmEx(cublas_handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, buffers->data[1],
                            CUDA_R_16BF, n, buffers->data[0], CUDA_R_16BF, n, &zero, buffers->data[2],
                            CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return wait_and_take(start, cublas_check(status, "cublasGemmEx"));
}

static const struct op copy = {.name = "copy", .describe = describe_copy, .run = run_copy};
static const struct op product = {
    .name = "product", .describe = describe_product, .prepare = prepare_product, .run = run_product};
static const struct op *const ops[] = {&copy, &product, NULL};
static const struct kit_program program = {
    .name = "bench", .backend = "cuda", .ops = ops, .memory = &kit_cuda};

static int measure(struct kit_session *session, const char *op, double *ret_run_ms, double *ret_check_ms)
{
    bench_loop_clear();
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        const int rc = bench_loop_serve(session, op);
        if (rc) {
            return rc;
        }
    }
    *ret_run_ms = bench_median_ms(&bench_runs);
    *ret_check_ms = bench_median_ms(&bench_checks);
    return KIT_OK;
}

static int measure_copy(struct kit_session *session)
{
    double run, check;
    const int rc = measure(session, "copy", &run, &check);
    if (rc) {
        return rc;
    }
    const size_t moved = (size_t)(2 * megabytes * MIB); /* a copy reads and writes, a comparison reads two */
    printf("check one repeat of %lld MiB on the device: %.0f %% of a device copy's bandwidth (%.0f of %.0f "
           "GB/s; %.3f ms), target >= 80 %%; limit: memory bandwidth\n",
           (long long)megabytes, 100 * run / check, bench_gigabytes_per_second(moved, check),
           bench_gigabytes_per_second(moved, run), check);
    return KIT_OK;
}

static int measure_product(struct kit_session *session)
{
    double run, check;
    const int rc = measure(session, "product", &run, &check);
    if (rc) {
        return rc;
    }
    const double flops = 2 * (double)side * (double)side * (double)side;
    printf("check one repeat of bf16 gemm %lld^3: %.1f %% of its %.3f ms (%.0f TFLOP/s; the check %.3f ms), "
           "target <= 10 %%; limit: memory bandwidth, and a launch and a copy of 16 bytes to the host\n",
           (long long)side, 100 * check / run, run, flops / run * 1e-9, check);
    return KIT_OK;
}

static void say_device(void)
{
    json_t *const hello = json_object();
    kit_cuda.introduce(hello);
    printf("device: %s\n", json_string_value(json_object_get(json_object_get(hello, "device"), "name")));
    json_decref(hello);
}

/* A positive number that keeps all sizes within an int. */
static int64_t number(const char *text)
{
    char *end;
    const long long value = strtoll(text, &end, 10);
    if (*end || value < 1 || value > 1 << 14) {
        fprintf(stderr, "bench_device: '%s' is not a number from 1 to %d\n", text, 1 << 14);
        exit(64);
    }
    return value;
}

int main(int argc, char **argv)
{
    struct kit_session session;
    const struct kit_backend timed = bench_loop_backend(&kit_cuda);
    megabytes = argc > 1 ? number(argv[1]) : megabytes;
    side = argc > 2 ? number(argv[2]) : side;
    int rc = cublas_open();
    if (rc) {
        printf("not measured: %s\n", kit_outcome()->text);
        return rc == KIT_SKIPPED ? SKIP : EXIT_FAILURE;
    }
    say_device();
    kit_session_init(&session, &program, &timed);
    rc = measure_copy(&session);
    rc = rc ? rc : measure_product(&session);
    kit_session_drop(&session);
    return rc == KIT_SKIPPED ? SKIP : rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

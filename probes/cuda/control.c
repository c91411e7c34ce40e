/* SPDX-License-Identifier: Apache-2.0
 *
 * Controls: operations whose answer is known beforehand. Float atomics must vary, or nothing here could be
 * seen to vary; integer atomics, exact sums and a fixed order must not; the plant differs in exactly one of
 * 50 runs by one bit. A product whose K is split must vary where parts meet through atomics, of half, half2
 * and float, and must not where they take turns or wait for a second pass.
 */
#include <stdlib.h>

#include "probes/kit/control.h"
#include "probes/kit/cuda.h"
#include "probes/kit/dtype.h"
#include "probes/kit/kernel.h"
#include "probes/kit/reference.h"

#include "probes/cuda/control.cu"

extern const char control_text[];

#define THREADS 256

/* --- histograms --- */

struct histogram {
    CUfunction add, plant;
    int64_t bins, n;
    int64_t runs; /* of this prepared call: the plant counts them */
};

static int prepare(struct kit_call *call, const char *kernel)
{
    struct histogram *const h = calloc(1, sizeof(*h));
    call->state = h;
    if (!h) {
        return kit_fail("out of memory");
    }
    h->n = call->shape->operand[KIT_CONTROL_VALUES].shape[0];
    h->bins = call->shape->operand[KIT_CONTROL_BINS].shape[0];
    const int rc = kit_cuda_kernel(kernel, &h->add);
    return rc ? rc : kit_cuda_kernel("plant", &h->plant);
}

static int prepare_float(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, "histogram_f32");
}

static int prepare_integer(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, "histogram_i32");
}

static int prepare_ordered(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, "histogram_ordered");
}

static int launch(const struct histogram *h, const struct kit_buffers *buffers, int64_t items)
{
    const struct histogram_args args = {buffers->data[KIT_CONTROL_INDICES], buffers->data[KIT_CONTROL_VALUES],
                                        buffers->data[KIT_CONTROL_BINS], h->n, h->bins};
    return kit_cuda_launch(h->add, kit_cuda_blocks(items, THREADS), THREADS, &args);
}

static int run_atomics(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct histogram *h = call->state;
    const int rc = kit_cuda_zero(buffers->data[KIT_CONTROL_BINS], (size_t)h->bins * sizeof(float));
    return rc ? rc : launch(h, buffers, h->n);
}

static int run_ordered(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct histogram *h = call->state;
    return launch(h, buffers, h->bins);
}

static int run_plant(struct kit_call *call, const struct kit_buffers *buffers)
{
    struct histogram *h = call->state;
    const struct plant_args args = {buffers->data[KIT_CONTROL_VALUES], buffers->data[KIT_CONTROL_BINS],
                                    h->bins, h->runs++, KIT_PLANT_PERIOD};
    const int rc = run_ordered(call, buffers);
    return rc ? rc : kit_cuda_launch(h->plant, 1, 1, &args);
}

/* --- a product whose K is split among blocks: C = A B^T, both of f16 --- */

enum { A, B, C };

static const struct split_form {
    const char *kernel, *second;
    enum kit_dtype dtype;
    bool zero, turns, parts;
} split_forms[] = {
    {"split_half", NULL, KIT_F16, true, false, false},
    {"split_half2", NULL, KIT_F16, true, false, false},
    {"split_float", NULL, KIT_F32, true, false, false},
    {"split_turnstile", NULL, KIT_F32, true, true, false},
    {"split_parts", "split_combine", KIT_F32, false, false, true},
};
#define SPLIT_WORDS "half-atomics|half2-atomics|float-atomics|turnstile|two-pass"

struct split {
    const struct split_form *form;
    CUfunction kernel, second;
    int64_t m, n, k, split;
};

static int split_read(const struct kit_params *params, struct split *ret)
{
    int form;
    if (kit_param_word(params, "form", SPLIT_WORDS, &form) || kit_param_int(params, "m", &ret->m) ||
        kit_param_int(params, "n", &ret->n) || kit_param_int(params, "k", &ret->k) ||
        kit_param_int(params, "split", &ret->split)) {
        return KIT_FAILED;
    }
    ret->form = &split_forms[form];
    return ret->m > 0 && ret->n > 0 && ret->n % 2 == 0 && ret->split > 0 && ret->split <= 16 &&
                   ret->k >= ret->split
               ? KIT_OK
               : kit_fail(
                     "bad params: m, n, k and split up to 16 must be positive, n even, k at least split");
}

static int split_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct split s;
    if (split_read(params, &s)) {
        return KIT_FAILED;
    }
    ret->count = 3;
    ret->operand[A] = (struct kit_operand){
        .name = "a", .role = KIT_IN, .dtype = KIT_F16, .ndim = 2, .shape = {s.m, s.k}, .batch_dim = -1};
    ret->operand[B] = (struct kit_operand){
        .name = "b", .role = KIT_IN, .dtype = KIT_F16, .ndim = 2, .shape = {s.n, s.k}, .batch_dim = -1};
    ret->operand[C] = (struct kit_operand){.name = "c",
                                           .role = KIT_OUT,
                                           .dtype = s.form->dtype,
                                           .ndim = 2,
                                           .shape = {s.m, s.n},
                                           .batch_dim = -1};
    ret->flops = (double)(s.m * s.n * s.k);
    return KIT_OK;
}

static int split_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct split *const s = calloc(1, sizeof(*s));
    call->state = s;
    int rc = s ? split_read(call->params, s) : kit_fail("out of memory");
    rc = rc ? rc : kit_cuda_kernel(s->form->kernel, &s->kernel);
    rc = rc || !s->form->second ? rc : kit_cuda_kernel(s->form->second, &s->second);
    if (rc) {
        return rc;
    }
    if (s->form->turns || s->form->parts) {
        ret->workspace_bytes =
            (size_t)(s->m * s->n) * sizeof(float) * (size_t)(s->form->parts ? s->split : 1);
    }
    return KIT_OK;
}

static int split_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct split *s = call->state;
    const int64_t cells = s->m * s->n;
    const struct split_args args = {buffers->data[A],   buffers->data[B],   buffers->data[C],
                                    buffers->workspace, buffers->workspace, (i32)s->m,
                                    (i32)s->n,          (i32)s->k,          (i32)s->split};
    int rc = KIT_OK;
    if (s->form->zero) {
        rc = kit_cuda_zero(buffers->data[C], (size_t)cells * kit_dtype_size(s->form->dtype));
    }
    if (!rc && s->form->turns) {
        rc = kit_cuda_zero(buffers->workspace, (size_t)cells * sizeof(u32));
    }
    /* by turns: a block for each part, few enough to be on the device at once */
    const int blocks = s->form->turns ? (int)s->split : kit_cuda_blocks(cells * s->split, THREADS);
    rc = rc ? rc : kit_cuda_launch(s->kernel, blocks, THREADS, &args);
    return rc || !s->second ? rc
                            : kit_cuda_launch(s->second, kit_cuda_blocks(cells, THREADS), THREADS, &args);
}

/* Half results round each part and each addition to 11 bits, whatever came before in float. */
static int split_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                           size_t count, struct kit_cell *ret)
{
    const struct split *s = call->state;
    for (size_t i = 0; i < count; i++) {
        const uint16_t *a = (const uint16_t *)in[A] + cells[i] / s->n * s->k;
        const uint16_t *b = (const uint16_t *)in[B] + cells[i] % s->n * s->k;
        ret[i] = kit_reference_dot(KIT_F16, a, b, s->k);
        ret[i].k = s->form->dtype == KIT_F16 ? 2 * s->split : s->k;
    }
    return KIT_OK;
}

#define CONTROL(form, text, describes, prepares, runs_as)                                                    \
    static const struct op form = {                                                                          \
        .name = text,                                                                                        \
        .describe = describes,                                                                               \
        .prepare = prepares,                                                                                 \
        .run = runs_as,                                                                                      \
        .reference = kit_control_reference,                                                                  \
        .release = kit_free_state,                                                                           \
    };
CONTROL(float_atomics, "float-atomics", kit_control_describe_float, prepare_float, run_atomics)
CONTROL(integer_atomics, "integer-atomics", kit_control_describe_integer, prepare_integer, run_atomics)
CONTROL(exact_sum, "exact-sum", kit_control_describe_exact, prepare_float, run_atomics)
CONTROL(fixed_order, "fixed-order", kit_control_describe_float, prepare_ordered, run_ordered)
CONTROL(plant, "plant", kit_control_describe_float, prepare_ordered, run_plant)
static const struct op split_k = {
    .name = "split-k",
    .describe = split_describe,
    .prepare = split_prepare,
    .run = split_run,
    .reference = split_reference,
    .release = kit_free_state,
};

static int open_stack(void)
{
    return kit_cuda_open(control_text);
}

int main(void)
{
    static const struct op *const ops[] = {&float_atomics, &integer_atomics, &exact_sum, &fixed_order,
                                           &plant,         &split_k,         NULL};
    static const struct kit_program program = {.name = "control",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = open_stack,
                                               .libraries = kit_cuda_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}

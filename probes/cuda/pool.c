/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling through cuDNN: maximum and averages, forward and backward, channels first or last. Backward is
 * given the output that forward makes from the same input, so a run does forward first, into the workspace:
 * a maximum is chosen, never added up, so what varies is backward's.
 */
#include <stdlib.h>

#include "probes/cuda/cudnn.h"
#include "probes/kit/pool.h"
#include "probes/kit/shape.h"

#define ALIGN 256 /* of cudaMalloc, which users' tensors have */

struct state {
    struct kit_pool pool;
    cudnnHandle_t handle;
    cudnnPoolingDescriptor_t window;
    cudnnTensorDescriptor_t src, dst; /* of values and of gradients: alike as cuDNN wants them */
    bool channels_last, deterministic;
};

static int read_params(const struct kit_params *params, struct state *ret)
{
    enum kit_dtype dtype;
    int layout;
    *ret = (struct state){.handle = NULL};
    if (kit_param_dtype(params, "dtype", "f32|f64|f16|bf16", &dtype) ||
        kit_param_word(params, "layout", "nchw|nhwc", &layout) ||
        kit_param_bool_or(params, "deterministic", false, &ret->deterministic) ||
        kit_pool_read(params, dtype, &ret->pool)) {
        return KIT_FAILED;
    }
    ret->channels_last = layout == 1;
    ret->pool.any_tied = true; /* cuDNN does not say which of them gets the gradient */
    return ret->deterministic && ret->pool.kind != KIT_POOL_MAX
               ? kit_fail("an average has no form that is called deterministic")
               : KIT_OK;
}

static void lay_out(const struct state *state, struct kit_shape *shape)
{
    for (int i = 0; i < shape->count; i++) {
        shape->operand[i].align = ALIGN;
        if (state->channels_last) {
            cudnn_channels_last(&shape->operand[i]);
        }
    }
}

static int describe_forward(const struct kit_params *params, struct kit_shape *ret)
{
    struct state state;
    if (read_params(params, &state)) {
        return KIT_FAILED;
    }
    kit_pool_shape_forward(&state.pool, ret);
    lay_out(&state, ret);
    return KIT_OK;
}

static int describe_backward(const struct kit_params *params, struct kit_shape *ret)
{
    struct state state;
    if (read_params(params, &state)) {
        return KIT_FAILED;
    }
    kit_pool_shape_backward(&state.pool, true, ret); /* cuDNN takes it for averages too */
    lay_out(&state, ret);
    return KIT_OK;
}

/* --- descriptors --- */

static cudnnPoolingMode_t mode_of(const struct state *state)
{
    static const cudnnPoolingMode_t modes[] = {
        [KIT_POOL_MAX] = CUDNN_POOLING_MAX,
        [KIT_POOL_AVERAGE_INCLUDE] = CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING,
        [KIT_POOL_AVERAGE_EXCLUDE] = CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING};
    return state->deterministic ? CUDNN_POOLING_MAX_DETERMINISTIC : modes[state->pool.kind];
}

static int make_window(struct state *state)
{
    const struct kit_pool *const g = &state->pool;
    const int window = (int)g->window, pad = (int)g->pad, stride = (int)g->stride;
    const int rc =
        cudnn_check(cudnn.cudnnCreatePoolingDescriptor(&state->window), "cudnnCreatePoolingDescriptor");
    return rc ? rc
              : cudnn_check(cudnn.cudnnSetPooling2dDescriptor(state->window, mode_of(state),
                                                              CUDNN_NOT_PROPAGATE_NAN, window, window, pad,
                                                              pad, stride, stride),
                            "cudnnSetPooling2dDescriptor");
}

/* The library's own count of outputs must be that of the operands. */
static int check_outputs(const struct state *state)
{
    const struct kit_pool *const g = &state->pool;
    int n = 0, c = 0, h = 0, w = 0;
    const int rc =
        cudnn_check(cudnn.cudnnGetPooling2dForwardOutputDim(state->window, state->src, &n, &c, &h, &w),
                    "cudnnGetPooling2dForwardOutputDim");
    if (rc || (n == g->n && c == g->c && h == g->oh && w == g->ow)) {
        return rc;
    }
    return kit_fail("cuDNN makes %dx%dx%dx%d of this pooling, not %dx%dx%dx%d", n, c, h, w, (int)g->n,
                    (int)g->c, (int)g->oh, (int)g->ow);
}

/* `src` and `dst` are operands that are shaped as input and output of the forward pass. */
static int prepare(struct kit_call *call, int src, int dst)
{
    struct state *const state = calloc(1, sizeof(*state));
    call->state = state;
    int rc = state ? read_params(call->params, state) : kit_fail("out of memory");
    rc = rc ? rc : cudnn_prepare(&state->handle);
    rc = rc ? rc : cudnn_tensor(&call->shape->operand[src], &state->src);
    rc = rc ? rc : cudnn_tensor(&call->shape->operand[dst], &state->dst);
    rc = rc ? rc : make_window(state);
    return rc ? rc : check_outputs(state);
}

static int prepare_forward(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, KIT_POOL_SRC, KIT_POOL_DST);
}

static int prepare_backward(struct kit_call *call, struct kit_prepared *ret)
{
    ret->workspace_bytes = kit_strided_bytes(&call->shape->operand[KIT_POOL_DIFF_DST]);
    return prepare(call, KIT_POOL_BACKWARD_SRC, KIT_POOL_DIFF_DST);
}

/* --- calls --- */

/* alpha and beta are double for double tensors and float for all others. */
static const void *factor(const struct state *state, bool one)
{
    static const float floats[] = {0, 1};
    static const double doubles[] = {0, 1};
    return state->pool.dtype == KIT_F64 ? (const void *)&doubles[one] : (const void *)&floats[one];
}

static int forward(const struct state *state, const void *src, void *dst)
{
    return cudnn_check(cudnn.cudnnPoolingForward(state->handle, state->window, factor(state, true),
                                                 state->src, src, factor(state, false), state->dst, dst),
                       "cudnnPoolingForward");
}

static int run_forward(struct kit_call *call, const struct kit_buffers *buffers)
{
    return forward(call->state, buffers->data[KIT_POOL_SRC], buffers->data[KIT_POOL_DST]);
}

static int run_backward(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *const state = call->state;
    const void *const src = buffers->data[KIT_POOL_BACKWARD_SRC];
    const int rc = forward(state, src, buffers->workspace);
    return rc ? rc
              : cudnn_check(cudnn.cudnnPoolingBackward(
                                state->handle, state->window, factor(state, true), state->dst,
                                buffers->workspace, state->dst, buffers->data[KIT_POOL_DIFF_DST], state->src,
                                src, factor(state, false), state->src, buffers->data[KIT_POOL_DIFF_SRC]),
                            "cudnnPoolingBackward");
}

static void release(struct kit_call *call)
{
    struct state *const state = call->state;
    if (state && state->window) {
        cudnn.cudnnDestroyPoolingDescriptor(state->window);
    }
    if (state && state->dst) {
        cudnn.cudnnDestroyTensorDescriptor(state->dst);
    }
    if (state && state->src) {
        cudnn.cudnnDestroyTensorDescriptor(state->src);
    }
    free(state);
    call->state = NULL;
}

static const struct op pool_forward = {
    .name = "pool-forward",
    .describe = describe_forward,
    .prepare = prepare_forward,
    .run = run_forward,
    .reference = kit_pool_reference_forward,
    .release = release,
};
static const struct op average_pool_backward = {
    .name = "average-pool-backward",
    .describe = describe_backward,
    .prepare = prepare_backward,
    .run = run_backward,
    .reference = kit_pool_reference_backward,
    .release = release,
};
static const struct op max_pool_backward = {
    .name = "max-pool-backward",
    .describe = describe_backward,
    .prepare = prepare_backward,
    .run = run_backward,
    .accepts = kit_pool_accepts_max_backward,
    .release = release,
};

static int open(void)
{
    return cudnn_open(CUDNN_POOLING);
}

int main(void)
{
    static const struct op *const ops[] = {&pool_forward, &average_pool_backward, &max_pool_backward, NULL};
    static const struct kit_program program = {.name = "pool",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = open,
                                               .libraries = cudnn_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}

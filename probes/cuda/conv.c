/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution through cuDNN's routines with an algorithm argument: each algorithm by name, the one that the
 * library's heuristics put first, or the one that it found to be the fastest. NCHW or NHWC, with the filter
 * in the same format. The math type is always set: FMA for plain floats, the default one (which may round
 * operands to TF32) only where that is asked for, tensor cores for 16-bit types, which are summed in float.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/cuda/conv_pass.h"
#include "probes/kit/params.h"
#include "probes/kit/reference.h"
#include "probes/kit/shape.h"

#define FIND "find"
#define ROUNDINGS 4        /* of a sum held in float: one at the end, more where partial sums are stored */
#define TF32_CAPABILITY 80 /* before it the default math type is FMA */
#define MAX_FOUND 64       /* results of Find that a process keeps */
#define LARGE_WORKSPACE 2  /* what Find may try: memory that is free, divided by this */
#define ALIGN 256

static const struct kind {
    const char *name;
    enum kit_dtype dtype;
    cudnnMathType_t math;
    int64_t roundings, lost;
} kinds[] = {
    {"f32", KIT_F32, CUDNN_FMA_MATH, 0, 0},
    {"tf32", KIT_F32, CUDNN_DEFAULT_MATH, 0, KIT_TF32_K},
    {"f16", KIT_F16, CUDNN_TENSOR_OP_MATH, ROUNDINGS, 0},
    {"bf16", KIT_BF16, CUDNN_TENSOR_OP_MATH, ROUNDINGS, 0},
    {"f32-default", KIT_F32, CUDNN_DEFAULT_MATH, 0, 0}, /* where something else forbids TF32 */
};
#define KIND_WORDS "f32|tf32|f16|bf16|f32-default"

struct state {
    struct kit_conv conv; /* first: references read it */
    const struct kind *kind;
    bool channels_last;
    const struct conv_pass *pass;
    struct conv_objects objects;
    struct conv_way way;
    size_t workspace_bytes;
};

/* --- parameters and operands --- */

static int read_params(const struct kit_params *params, struct state *ret)
{
    int kind, layout;
    if (kit_param_word(params, "data", KIND_WORDS, &kind) ||
        kit_param_word(params, "layout", "nchw|nhwc", &layout)) {
        return KIT_FAILED;
    }
    ret->kind = &kinds[kind];
    ret->channels_last = layout == 1;
    const int rc = kit_conv_read(params, ret->kind->dtype, &ret->conv);
    ret->conv.roundings = ret->kind->roundings;
    ret->conv.lost = ret->kind->lost;
    return rc;
}

static void make_shape(const struct state *state, enum kit_conv_pass pass, struct kit_shape *ret)
{
    kit_conv_shape(&state->conv, pass, ret);
    for (int i = 0; i < ret->count; i++) {
        ret->operand[i].align = ALIGN;
        if (state->channels_last) {
            cudnn_channels_last(&ret->operand[i]);
        }
    }
}

static int describe(const struct kit_params *params, enum kit_conv_pass pass, struct kit_shape *ret)
{
    struct state state;
    if (read_params(params, &state)) {
        return KIT_FAILED;
    }
    make_shape(&state, pass, ret);
    return KIT_OK;
}

static int choices(enum kit_conv_pass pass, const char *const **ret_names, int *ret_count)
{
    static const char *names[CONV_MAX_ALGORITHMS + 1];
    const int count = conv_passes[pass].count;
    for (int i = 0; i < count; i++) {
        names[i] = conv_passes[pass].algorithm[i].choice;
    }
    names[count] = FIND;
    *ret_names = names;
    *ret_count = count + 1;
    return KIT_OK;
}

/* --- descriptors --- */

static int set_math(const struct state *state, cudnnMathType_t math)
{
    return cudnn_check(cudnn.cudnnSetConvolutionMathType(state->objects.convolution, math),
                       "cudnnSetConvolutionMathType");
}

static int make_convolution(struct state *state)
{
    struct conv_objects *const o = &state->objects;
    const struct kit_conv *const g = &state->conv;
    const int pad = (int)g->pad, stride = (int)g->stride, dilation = (int)g->dilation;
    int rc = cudnn_check(cudnn.cudnnCreateConvolutionDescriptor(&o->convolution),
                         "cudnnCreateConvolutionDescriptor");
    rc = rc ? rc
            : cudnn_check(cudnn.cudnnSetConvolution2dDescriptor(o->convolution, pad, pad, stride, stride,
                                                                dilation, dilation, CUDNN_CROSS_CORRELATION,
                                                                CUDNN_DATA_FLOAT),
                          "cudnnSetConvolution2dDescriptor");
    rc = rc ? rc
            : cudnn_check(cudnn.cudnnSetConvolutionGroupCount(o->convolution, (int)g->groups),
                          "cudnnSetConvolutionGroupCount");
    return rc ? rc : set_math(state, state->kind->math);
}

static int make_filter(struct state *state, const struct kit_operand *filter)
{
    const int64_t *const s = filter->shape;
    const cudnnTensorFormat_t format = state->channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    const int rc =
        cudnn_check(cudnn.cudnnCreateFilterDescriptor(&state->objects.filter), "cudnnCreateFilterDescriptor");
    return rc ? rc
              : cudnn_check(cudnn.cudnnSetFilter4dDescriptor(state->objects.filter,
                                                             cudnn_dtype(filter->dtype), format, (int)s[0],
                                                             (int)s[1], (int)s[2], (int)s[3]),
                            "cudnnSetFilter4dDescriptor");
}

static int make_objects(struct state *state)
{
    struct kit_shape shape = {0};
    make_shape(state, KIT_CONV_FORWARD, &shape);
    int rc = cudnn_prepare(&state->objects.handle);
    rc = rc ? rc : cudnn_tensor(&shape.operand[KIT_CONV_FIRST], &state->objects.input);
    rc = rc ? rc : cudnn_tensor(&shape.operand[KIT_CONV_RESULT], &state->objects.output);
    rc = rc ? rc : make_filter(state, &shape.operand[KIT_CONV_SECOND]);
    return rc ? rc : make_convolution(state);
}

/* --- which algorithm --- */

/* The first that works of what the library lists. */
static int take_first(const struct state *state, const char *routine, const struct conv_ways *ways,
                      struct conv_way *ret)
{
    for (int i = 0; i < ways->count; i++) {
        const struct conv_way *const way = &ways->way[i];
        if (way->status == CUDNN_STATUS_SUCCESS && way->algorithm >= 0 &&
            way->algorithm < state->pass->count) {
            *ret = *way;
            return KIT_OK;
        }
    }
    return kit_skip("unsupported", "%s: no algorithm works for this convolution", routine);
}

static int by_heuristics(struct state *state)
{
    struct conv_ways ways = {0};
    const int rc = cudnn_check(state->pass->ask(&state->objects, &ways), state->pass->ask_routine);
    return rc ? rc : take_first(state, state->pass->ask_routine, &ways, &state->way);
}

/* The most that an algorithm asks for, of what memory there is. */
static size_t find_workspace(const struct state *state)
{
    const size_t limit = (size_t)(kit_cuda.available() / LARGE_WORKSPACE);
    size_t most = 0;
    for (int i = 0; i < state->pass->count; i++) {
        size_t bytes = 0;
        if (state->pass->workspace(&state->objects, i, &bytes) == CUDNN_STATUS_SUCCESS && bytes <= limit &&
            bytes > most) {
            most = bytes;
        }
    }
    return most;
}

/* Tries them on zeros in memory of its own: the operands are not there yet, and times do not depend on
 * values. */
static int try_all(const struct state *state, const struct kit_shape *shape, struct conv_ways *ret)
{
    void *data[3] = {NULL}, *workspace = NULL;
    const size_t bytes = find_workspace(state);
    int rc = KIT_OK;
    for (int i = 0; i < 3 && !rc; i++) {
        const size_t size = kit_strided_bytes(&shape->operand[i]);
        data[i] = kit_cuda.alloc(size, ALIGN);
        rc = data[i] ? kit_cuda_zero(data[i], size)
                     : kit_skip("memory", "no %zu bytes to try algorithms on", size);
    }
    if (!rc && bytes) {
        workspace = kit_cuda.alloc(bytes, ALIGN);
        rc = workspace ? KIT_OK : kit_skip("memory", "no %zu bytes to try algorithms with", bytes);
    }
    rc = rc ? rc
            : cudnn_check(state->pass->find(&state->objects, data, workspace, bytes, ret),
                          state->pass->find_routine);
    rc = rc ? rc : kit_cuda.sync();
    for (int i = 0; i < 3; i++) {
        kit_cuda.release(data[i]);
    }
    kit_cuda.release(workspace);
    return rc;
}

/* Once per problem and process, as frameworks do it: the result is kept. */
static int by_time(struct state *state, const struct kit_call *call)
{
    static struct found {
        const struct conv_pass *pass;
        char *params;
        struct conv_way way;
    } found[MAX_FOUND];
    static size_t count;
    char *const params = json_dumps(call->params->object, JSON_COMPACT | JSON_SORT_KEYS);
    for (size_t i = 0; i < count && i < MAX_FOUND; i++) {
        if (found[i].pass == state->pass && strcmp(found[i].params, params) == 0) {
            state->way = found[i].way;
            free(params);
            return KIT_OK;
        }
    }
    struct conv_ways ways = {0};
    int rc = try_all(state, call->shape, &ways);
    rc = rc ? rc : take_first(state, state->pass->find_routine, &ways, &state->way);
    if (rc) {
        free(params);
        return rc;
    }
    struct found *const place = &found[count++ % MAX_FOUND];
    free(place->params);
    *place = (struct found){state->pass, params, state->way};
    return KIT_OK;
}

/* What the library says of a named algorithm; it need not list it. */
static void ask_about(const struct state *state, const char **ret_declared)
{
    struct conv_ways ways = {0};
    if (state->pass->ask(&state->objects, &ways) != CUDNN_STATUS_SUCCESS) {
        return;
    }
    for (int i = 0; i < ways.count; i++) {
        const struct conv_way *const way = &ways.way[i];
        if (way->algorithm == state->way.algorithm && way->math == state->way.math &&
            way->status == CUDNN_STATUS_SUCCESS) {
            *ret_declared = cudnn_declared(way->determinism);
            return;
        }
    }
}

static int choose(struct state *state, const struct kit_call *call, struct kit_prepared *ret)
{
    int rc = KIT_OK;
    if (!call->choice || strcmp(call->choice, FIND) == 0) {
        rc = call->choice ? by_time(state, call) : by_heuristics(state);
        ret->declared = cudnn_declared(state->way.determinism);
    } else {
        state->way = (struct conv_way){.math = state->kind->math};
        while (strcmp(state->pass->algorithm[state->way.algorithm].choice, call->choice) != 0) {
            state->way.algorithm++; /* the kit asks for what is among the choices alone */
        }
        ask_about(state, &ret->declared);
    }
    if (state->kind->math == CUDNN_FMA_MATH) { /* whatever a list calls it: tf32 must not come in again */
        state->way.math = CUDNN_FMA_MATH;
    }
    return rc ? rc : set_math(state, state->way.math);
}

/* --- the call --- */

static int finish(struct state *state, struct kit_prepared *ret)
{
    static const char *const math[] = {[CUDNN_DEFAULT_MATH] = "default math",
                                       [CUDNN_TENSOR_OP_MATH] = "tensor-op math",
                                       [CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION] = "tensor-op math, converting",
                                       [CUDNN_FMA_MATH] = "FMA math"};
    const struct conv_way *const way = &state->way;
    const char *const name = state->pass->algorithm[way->algorithm].name;
    char what[128];
    snprintf(what, sizeof(what), "%s of algorithm %s", state->pass->workspace_routine, name);
    const int rc =
        cudnn_check(state->pass->workspace(&state->objects, way->algorithm, &state->workspace_bytes), what);
    ret->workspace_bytes = state->workspace_bytes;
    snprintf(ret->chosen, sizeof(ret->chosen), "%s%s, %s, %zu bytes of workspace", state->pass->prefix, name,
             way->math <= CUDNN_FMA_MATH ? math[way->math] : "other math", state->workspace_bytes);
    return rc;
}

static int prepare(struct kit_call *call, enum kit_conv_pass pass, struct kit_prepared *ret)
{
    struct state *const state = calloc(1, sizeof(*state));
    call->state = state;
    if (!state) {
        return kit_fail("out of memory");
    }
    state->pass = &conv_passes[pass];
    int rc = read_params(call->params, state);
    if (!rc && state->kind->lost && kit_cuda_capability() < TF32_CAPABILITY) {
        rc = kit_skip("unsupported", "there is no TF32 below compute capability 8.0");
    }
    rc = rc ? rc : make_objects(state);
    rc = rc ? rc : choose(state, call, ret);
    return rc ? rc : finish(state, ret);
}

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct state *state = call->state;
    return cudnn_check(state->pass->run(&state->objects, state->way.algorithm, buffers->data,
                                        buffers->workspace, state->workspace_bytes),
                       state->pass->routine);
}

static void release(struct kit_call *call)
{
    struct state *const state = call->state;
    if (!state) {
        return;
    }
    struct conv_objects *const o = &state->objects;
    if (o->input) {
        cudnn.cudnnDestroyTensorDescriptor(o->input);
    }
    if (o->output) {
        cudnn.cudnnDestroyTensorDescriptor(o->output);
    }
    if (o->filter) {
        cudnn.cudnnDestroyFilterDescriptor(o->filter);
    }
    if (o->convolution) {
        cudnn.cudnnDestroyConvolutionDescriptor(o->convolution);
    }
    free(state);
    call->state = NULL;
}

/* The functions of struct op do not say which op they are of. */
#define PASS(stem, number, text)                                                                             \
    static int describe_##stem(const struct kit_params *params, struct kit_shape *ret)                       \
    {                                                                                                        \
        return describe(params, number, ret);                                                                \
    }                                                                                                        \
    static int choices_##stem(const struct kit_params *params, const char *const **ret_names,                \
                              int *ret_count)                                                                \
    {                                                                                                        \
        return choices(number, ret_names, ret_count);                                                        \
    }                                                                                                        \
    static int prepare_##stem(struct kit_call *call, struct kit_prepared *ret)                               \
    {                                                                                                        \
        return prepare(call, number, ret);                                                                   \
    }                                                                                                        \
    static const struct op conv_##stem = {.name = text,                                                      \
                                          .describe = describe_##stem,                                       \
                                          .choices = choices_##stem,                                         \
                                          .prepare = prepare_##stem,                                         \
                                          .run = run,                                                        \
                                          .reference = kit_conv_reference_##stem,                            \
                                          .release = release};
PASS(forward, KIT_CONV_FORWARD, "conv-forward")
PASS(backward_data, KIT_CONV_BACKWARD_DATA, "conv-backward-data")
PASS(backward_filter, KIT_CONV_BACKWARD_FILTER, "conv-backward-filter")
#undef PASS

static int open_convolutions(void)
{
    return cudnn_open(CUDNN_CONVOLUTIONS);
}

int main(void)
{
    static const struct op *const ops[] = {&conv_forward, &conv_backward_data, &conv_backward_filter, NULL};
    static const struct kit_program program = {.name = "conv",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = open_convolutions,
                                               .libraries = cudnn_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}

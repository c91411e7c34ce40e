/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution on oneDNN: forward, backward data, backward weights; plain layouts or the library's own;
 * direct, Winograd or the library's choice. Tensors are NCHW and OIHW (GOIHW with groups) logically. oneDNN
 * promises equal bits on one machine and environment, not across thread counts or batch sizes
 * (uxlfoundation/oneDNN#1443). What can move: backward weights sums over the batch in per-thread partial
 * buffers, and the automatic choice may switch to Winograd as the batch grows.
 */
#include <stdlib.h>
#include <string.h>

#include "probes/cpu/onednn.h"
#include "probes/kit/conv.h"
#include "probes/kit/window.h"

/* In the order of the words of param `algorithm`. */
static const dnnl_alg_kind_t algorithms[] = {dnnl_convolution_auto, dnnl_convolution_direct,
                                             dnnl_convolution_winograd};

struct state {
    struct kit_conv conv;
    bool is_plain;
    dnnl_alg_kind_t algorithm;
    struct onednn_tensors plain; /* logical layouts, for packing */
    struct onednn_call call;
};

/* ---- operands ---- */

static const enum kit_conv_pass kit_pass[] = {
    [ONEDNN_FORWARD] = KIT_CONV_FORWARD,
    [ONEDNN_BACKWARD_DATA] = KIT_CONV_BACKWARD_DATA,
    [ONEDNN_BACKWARD_WEIGHTS] = KIT_CONV_BACKWARD_FILTER,
};

static int read_params(const struct kit_params *params, struct state *ret)
{
    int layout, algorithm;
    if (kit_conv_read(params, KIT_F32, &ret->conv) ||
        kit_param_word(params, "layout", "plain|any", &layout) ||
        kit_param_word_or(params, "algorithm", "auto|direct|winograd", &algorithm)) {
        return KIT_FAILED;
    }
    ret->is_plain = layout == 0;
    ret->algorithm = algorithms[algorithm];
    return KIT_OK;
}

/* OIHW and GOIHW are the same sequence; oneDNN wants the groups as a dimension where there are several. */
static void split_groups(const struct kit_conv *g, struct kit_operand *filter)
{
    if (g->groups > 1) {
        memmove(&filter->shape[1], &filter->shape[0], 4 * sizeof(filter->shape[0]));
        filter->shape[0] = g->groups;
        filter->shape[1] = g->k / g->groups;
        filter->ndim = 5;
    }
}

static void make_shape(const struct kit_conv *g, enum onednn_pass pass, struct kit_shape *ret)
{
    kit_conv_shape(g, kit_pass[pass], ret);
    for (int i = 0; i < ret->count; i++) {
        if (kit_conv_is_filter(kit_pass[pass], i)) {
            split_groups(g, &ret->operand[i]);
        }
    }
}

static int describe(const struct kit_params *params, enum onednn_pass pass, struct kit_shape *ret)
{
    struct state state;
    if (read_params(params, &state) != KIT_OK) {
        return KIT_FAILED;
    }
    make_shape(&state.conv, pass, ret);
    for (int i = 0; i < ret->count; i++) {
        ret->operand[i].chosen = !state.is_plain;
    }
    return KIT_OK;
}

static int describe_forward(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ONEDNN_FORWARD, ret);
}

static int describe_backward_data(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ONEDNN_BACKWARD_DATA, ret);
}

static int describe_backward_weights(const struct kit_params *params, struct kit_shape *ret)
{
    return describe(params, ONEDNN_BACKWARD_WEIGHTS, ret);
}

/* ---- the primitive ---- */

static int make_tensors(const struct kit_conv *g, bool plain, struct onednn_tensors *ret)
{
    const dnnl_format_tag_t any = dnnl_format_tag_any;
    const dnnl_format_tag_t filter_tag = g->groups > 1 ? dnnl_goihw : dnnl_oihw;
    struct kit_shape shape;
    make_shape(g, ONEDNN_FORWARD, &shape);
    const struct kit_operand *const filter = &shape.operand[KIT_CONV_SECOND];
    ret->src = onednn_md_make(4, shape.operand[KIT_CONV_FIRST].shape, KIT_F32, plain ? dnnl_nchw : any);
    ret->weights = onednn_md_make(filter->ndim, filter->shape, KIT_F32, plain ? filter_tag : any);
    ret->dst = onednn_md_make(4, shape.operand[KIT_CONV_RESULT].shape, KIT_F32, plain ? dnnl_nchw : any);
    return ret->src && ret->weights && ret->dst ? KIT_OK : kit_fail("oneDNN refused a tensor descriptor");
}

static int make_descriptor(struct state *state, enum onednn_pass pass, const char *choice)
{
    const struct kit_conv *g = &state->conv;
    const int64_t reach = kit_conv_reach(g);
    const struct onednn_window window = {
        .stride = {g->stride, g->stride},
        .dilation = {g->dilation - 1, g->dilation - 1},
        .pad_before = {g->pad, g->pad},
        .pad_after = {window_pad_after(g->h, reach, g->stride, g->pad),
                      window_pad_after(g->w, reach, g->stride, g->pad)},
    };
    struct onednn_tensors tensors = {0};
    dnnl_primitive_desc_t hint = NULL;
    onednn_walk walk;
    int rc = onednn_choose(choice);
    rc = rc ? rc : make_tensors(g, state->is_plain, &tensors);
    if (rc == KIT_OK && pass != ONEDNN_FORWARD) {
        rc = onednn_convolution(ONEDNN_FORWARD, state->algorithm, &tensors, &window, NULL, &walk);
        rc = rc ? rc : onednn_take(walk, NULL, &hint);
    }
    rc = rc ? rc : onednn_convolution(pass, state->algorithm, &tensors, &window, hint, &walk);
    rc = rc ? rc : onednn_take(walk, choice, &state->call.descriptor);
    if (hint) {
        dnnl_primitive_desc_destroy(hint);
    }
    onednn_tensors_free(&tensors);
    return rc;
}

/* Which argument and layout each operand has, by pass and operand number. */
static const struct {
    int arg;
    dnnl_query_t query;
} bindings[3][3] = {
    [ONEDNN_FORWARD] = {{DNNL_ARG_SRC, dnnl_query_src_md},
                        {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                        {DNNL_ARG_DST, dnnl_query_dst_md}},
    [ONEDNN_BACKWARD_DATA] = {{DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md},
                              {DNNL_ARG_WEIGHTS, dnnl_query_weights_md},
                              {DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md}},
    [ONEDNN_BACKWARD_WEIGHTS] = {{DNNL_ARG_SRC, dnnl_query_src_md},
                                 {DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md},
                                 {DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md}},
};

static int prepare(struct kit_call *call, enum onednn_pass pass, struct kit_prepared *ret)
{
    struct state *state = calloc(1, sizeof(*state));
    call->state = state;
    if (!state) {
        return kit_fail("out of memory");
    }
    int rc = read_params(call->params, state);
    if (rc == KIT_OK) {
        rc = make_descriptor(state, pass, call->choice);
    }
    if (rc == KIT_OK) {
        rc = make_tensors(&state->conv, true, &state->plain);
    }
    for (int i = 0; rc == KIT_OK && i < 3; i++) {
        rc = onednn_bind(&state->call, bindings[pass][i].arg, bindings[pass][i].query, i, ret);
    }
    return rc == KIT_OK ? onednn_finish(&state->call, ret) : rc;
}

static int prepare_forward(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, ONEDNN_FORWARD, ret);
}

static int prepare_backward_data(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, ONEDNN_BACKWARD_DATA, ret);
}

static int prepare_backward_weights(struct kit_call *call, struct kit_prepared *ret)
{
    return prepare(call, ONEDNN_BACKWARD_WEIGHTS, ret);
}

static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    struct state *state = call->state;
    return onednn_execute(&state->call, buffers);
}

static void release(struct kit_call *call)
{
    struct state *state = call->state;
    if (state) {
        onednn_release(&state->call);
        onednn_tensors_free(&state->plain);
    }
    free(state);
    call->state = NULL;
}

/* The logical layout of an operand: its role tells from its name which tensor it is. */
static onednn_const_md plain_md(const struct kit_call *call, int operand)
{
    const struct state *state = call->state;
    const char *name = call->shape->operand[operand].name;
    if (strstr(name, "weights")) {
        return state->plain.weights;
    }
    return strstr(name, "src") ? state->plain.src : state->plain.dst;
}

static int pack(struct kit_call *call, int operand, const void *logical, void *native)
{
    struct state *state = call->state;
    return onednn_permute(&state->call, operand, plain_md(call, operand), logical, native, true);
}

static int unpack(struct kit_call *call, int operand, const void *native, void *logical)
{
    struct state *state = call->state;
    return onednn_permute(&state->call, operand, plain_md(call, operand), native, logical, false);
}

#define OP(pass, reference_of, text)                                                                         \
    static int choices_##pass(const struct kit_params *params, const char *const **ret_names,                \
                              int *ret_count)                                                                \
    {                                                                                                        \
        return onednn_choices(prepare_##pass, release, params, ret_names, ret_count);                        \
    }                                                                                                        \
    static const struct op conv_##pass = {.name = text,                                                      \
                                          .describe = describe_##pass,                                       \
                                          .choices = choices_##pass,                                         \
                                          .prepare = prepare_##pass,                                         \
                                          .pack = pack,                                                      \
                                          .unpack = unpack,                                                  \
                                          .run = run,                                                        \
                                          .reference = reference_of,                                         \
                                          .release = release}

OP(forward, kit_conv_reference_forward, "conv-forward");
OP(backward_data, kit_conv_reference_backward_data, "conv-backward-data");
OP(backward_weights, kit_conv_reference_backward_filter, "conv-backward-weights");

int main(void)
{
    static const struct op *const ops[] = {&conv_forward, &conv_backward_data, &conv_backward_weights, NULL};
    static const struct kit_program program = {.name = "conv",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = onednn_open,
                                               .libraries = onednn_libraries,
                                               .concurrent = true};
    return kit_main(&program);
}

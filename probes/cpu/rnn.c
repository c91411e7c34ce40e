/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent layers on oneDNN: RNN of tanh, LSTM, GRU and linear-before-reset GRU, forward for inference and
 * for training, and backward through time. Weights are dense or in the layout that the library wants. What
 * can move: how a step's products are split over threads and samples, and the gradients of weights, which are
 * sums over all steps and samples; through the states a moved bit reaches every later step. A backward pass
 * runs the forward one first, for its workspace; where the passes want weights in other layouts, reorders run
 * before both, as in the frameworks.
 */
#include <stdlib.h>

#include "probes/cpu/onednn_layer.h"
#include "probes/kit/rnn.h"

struct state {
    struct onednn_layer layer;
    struct kit_rnn rnn;
    struct kit_rnn_results results;
    dnnl_prop_kind_t pass;
    bool any;
};

static int read_params(const struct kit_params *params, dnnl_prop_kind_t pass, struct state *ret)
{
    int weights;
    if (kit_rnn_read(params, pass == dnnl_backward, &ret->rnn) ||
        kit_param_word(params, "weights", "plain|any", &weights)) {
        return KIT_FAILED;
    }
    ret->pass = pass;
    ret->any = weights == 1;
    return KIT_OK;
}

static const int arguments[KIT_RNN_ALL] = {
    [KIT_RNN_SRC_LAYER] = DNNL_ARG_SRC_LAYER,
    [KIT_RNN_SRC_ITER] = DNNL_ARG_SRC_ITER,
    [KIT_RNN_SRC_ITER_C] = DNNL_ARG_SRC_ITER_C,
    [KIT_RNN_WEIGHTS_LAYER] = DNNL_ARG_WEIGHTS_LAYER,
    [KIT_RNN_WEIGHTS_ITER] = DNNL_ARG_WEIGHTS_ITER,
    [KIT_RNN_BIAS] = DNNL_ARG_BIAS,
    [KIT_RNN_DST_LAYER] = DNNL_ARG_DST_LAYER,
    [KIT_RNN_DST_ITER] = DNNL_ARG_DST_ITER,
    [KIT_RNN_DST_ITER_C] = DNNL_ARG_DST_ITER_C,
    [KIT_RNN_TENSORS + KIT_RNN_SRC_LAYER] = DNNL_ARG_DIFF_SRC_LAYER,
    [KIT_RNN_TENSORS + KIT_RNN_SRC_ITER] = DNNL_ARG_DIFF_SRC_ITER,
    [KIT_RNN_TENSORS + KIT_RNN_SRC_ITER_C] = DNNL_ARG_DIFF_SRC_ITER_C,
    [KIT_RNN_TENSORS + KIT_RNN_WEIGHTS_LAYER] = DNNL_ARG_DIFF_WEIGHTS_LAYER,
    [KIT_RNN_TENSORS + KIT_RNN_WEIGHTS_ITER] = DNNL_ARG_DIFF_WEIGHTS_ITER,
    [KIT_RNN_TENSORS + KIT_RNN_BIAS] = DNNL_ARG_DIFF_BIAS,
    [KIT_RNN_TENSORS + KIT_RNN_DST_LAYER] = DNNL_ARG_DIFF_DST_LAYER,
    [KIT_RNN_TENSORS + KIT_RNN_DST_ITER] = DNNL_ARG_DIFF_DST_ITER,
    [KIT_RNN_TENSORS + KIT_RNN_DST_ITER_C] = DNNL_ARG_DIFF_DST_ITER_C,
};

static bool is_weights(int tensor)
{
    return tensor == KIT_RNN_WEIGHTS_LAYER || tensor == KIT_RNN_WEIGHTS_ITER;
}

static int tensors_of(const struct state *s, struct onednn_tensor ret[KIT_MAX_OPERANDS])
{
    int which[KIT_MAX_OPERANDS];
    const int count = kit_rnn_operands(&s->rnn, which);
    for (int i = 0; i < count; i++) {
        const struct kit_operand operand = kit_rnn_operand(&s->rnn, which[i]);
        const bool both_passes = s->pass == dnnl_backward && is_weights(which[i]);
        const bool any = s->any && is_weights(which[i] % KIT_RNN_TENSORS) && !both_passes;
        ret[i] = (struct onednn_tensor){.name = operand.name,
                                        .role = operand.role,
                                        .dtype = operand.dtype,
                                        .ndim = operand.ndim,
                                        .batch_dim = operand.batch_dim,
                                        .arg = both_passes ? 0 : arguments[which[i]],
                                        .tag = any ? dnnl_format_tag_any : dnnl_format_tag_undef,
                                        .fill = operand.fill,
                                        .exponent = operand.exponent};
        for (int d = 0; d < operand.ndim; d++) {
            ret[i].shape[d] = operand.shape[d];
        }
    }
    return count;
}

static int describe(const struct kit_params *params, dnnl_prop_kind_t pass, struct kit_shape *ret)
{
    struct state s = {.pass = pass};
    struct onednn_tensor tensors[KIT_MAX_OPERANDS];
    if (read_params(params, pass, &s)) {
        return KIT_FAILED;
    }
    onednn_layer_shape(tensors, tensors_of(&s, tensors), ret);
    ret->flops = kit_rnn_flops(&s.rnn);
    return KIT_OK;
}

/* ---- primitives ---- */

/* Dense, but for weights: those of a backward pass are read along their outputs. */
static dnnl_format_tag_t tag_of(const struct state *s, int tensor, bool backward)
{
    static const dnnl_format_tag_t dense[] = {0, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde};
    if (s->any && is_weights(tensor % KIT_RNN_TENSORS)) {
        return dnnl_format_tag_any;
    }
    return backward && is_weights(tensor) ? dnnl_ldgoi : dense[kit_rnn_operand(&s->rnn, tensor).ndim];
}

static void free_descriptors(onednn_md md[KIT_RNN_ALL])
{
    for (int i = 0; i < KIT_RNN_ALL; i++) {
        onednn_md_free(md[i]);
    }
}

static int make_descriptors(const struct state *s, bool backward, onednn_md ret[KIT_RNN_ALL])
{
    for (int i = 0; i < (backward ? KIT_RNN_ALL : KIT_RNN_TENSORS); i++) {
        const struct kit_operand t = kit_rnn_operand(&s->rnn, i);
        if (!kit_rnn_has(&s->rnn, i)) {
            continue;
        }
        ret[i] = onednn_md_make(t.ndim, t.shape, t.dtype, tag_of(s, i, backward));
        if (!ret[i]) {
            return kit_fail("oneDNN refused a descriptor of '%s'", t.name);
        }
    }
    return KIT_OK;
}

static struct onednn_recurrent recurrent_of(const onednn_md *md)
{
    return (struct onednn_recurrent){
        .src_layer = md[KIT_RNN_SRC_LAYER],
        .src_iter = md[KIT_RNN_SRC_ITER],
        .src_iter_c = md[KIT_RNN_SRC_ITER_C],
        .weights_layer = md[KIT_RNN_WEIGHTS_LAYER],
        .weights_iter = md[KIT_RNN_WEIGHTS_ITER],
        .bias = md[KIT_RNN_BIAS],
        .dst_layer = md[KIT_RNN_DST_LAYER],
        .dst_iter = md[KIT_RNN_DST_ITER],
        .dst_iter_c = md[KIT_RNN_DST_ITER_C],
    };
}

/* The layer's own pass by its choice, the forward one before it as the library has it. */
static int describe_primitive(const struct state *s, dnnl_prop_kind_t pass, dnnl_primitive_desc_t hint,
                              dnnl_primitive_desc_t *ret)
{
    static const enum onednn_cell cells[] = {[KIT_RNN_TANH] = ONEDNN_RNN_TANH,
                                             [KIT_RNN_LSTM] = ONEDNN_LSTM,
                                             [KIT_RNN_GRU] = ONEDNN_GRU,
                                             [KIT_RNN_LBR_GRU] = ONEDNN_LBR_GRU};
    const dnnl_rnn_direction_t direction =
        s->rnn.directions == 2 ? dnnl_bidirectional_concat : dnnl_unidirectional_left2right;
    const bool backward = pass == dnnl_backward;
    onednn_md md[KIT_RNN_ALL] = {NULL};
    onednn_walk walk;
    int rc = make_descriptors(s, backward, md);
    const struct onednn_recurrent tensors = recurrent_of(md), gradients = recurrent_of(md + KIT_RNN_TENSORS);
    rc = rc ? rc
            : onednn_recurrent(cells[s->rnn.cell], pass, direction, &tensors, backward ? &gradients : NULL,
                               hint, &walk);
    rc = rc ? rc : onednn_take(walk, pass == s->pass ? s->layer.choice : NULL, ret);
    free_descriptors(md);
    return rc;
}

/* ---- binding ---- */

/* What the forward pass hands the backward one: places in the kit's workspace. */
struct between {
    size_t outputs[KIT_RNN_TENSORS], workspace;
};

static int bind_between(const struct state *s, struct onednn_call *call, const struct between *places)
{
    int rc = KIT_OK;
    for (int i = KIT_RNN_DST_LAYER; !rc && i <= KIT_RNN_DST_ITER_C; i++) {
        if (kit_rnn_has(&s->rnn, i)) {
            rc = onednn_bind_internal_as(call, arguments[i],
                                         onednn_query_argument(call->descriptor, arguments[i]),
                                         places->outputs[i]);
        }
    }
    return rc ? rc
              : onednn_bind_internal(call, DNNL_ARG_WORKSPACE, dnnl_query_workspace_md, places->workspace);
}

/* The weights of one of two passes. */
static int bind_weights(struct state *s, struct onednn_call *call, struct kit_prepared *ret)
{
    int which[KIT_MAX_OPERANDS], rc = KIT_OK;
    const int count = kit_rnn_operands(&s->rnn, which);
    for (int i = 0; !rc && i < count; i++) {
        if (is_weights(which[i])) {
            rc = onednn_layer_bind_reordered(&s->layer, call, arguments[which[i]], i, ret);
        }
    }
    return rc;
}

/* The forward pass of a backward one, into the workspace. */
static int prepare_forward(struct state *s, struct between *places, struct kit_prepared *ret)
{
    struct onednn_call *const call = &s->layer.forward;
    int which[KIT_MAX_OPERANDS];
    const int count = kit_rnn_operands(&s->rnn, which);
    int rc = describe_primitive(s, dnnl_forward_training, NULL, &call->descriptor);
    for (int i = KIT_RNN_DST_LAYER; !rc && i <= KIT_RNN_DST_ITER_C; i++) {
        const onednn_const_md md = onednn_query_argument(call->descriptor, arguments[i]);
        places->outputs[i] = md ? onednn_reserve(ret, dnnl_memory_desc_get_size(md)) : 0;
    }
    if (!rc) {
        places->workspace =
            onednn_reserve(ret, onednn_query_bytes(call->descriptor, dnnl_query_workspace_md));
    }
    for (int i = 0; !rc && i < count; i++) {
        if (which[i] < KIT_RNN_TENSORS && !is_weights(which[i])) {
            rc = onednn_bind_as(call, arguments[which[i]], s->layer.plain[i], i, ret);
        }
    }
    rc = rc ? rc : bind_weights(s, call, ret);
    rc = rc ? rc : bind_between(s, call, places);
    return rc ? rc : onednn_finish(call, ret);
}

static int prepare_backward(struct state *s, struct kit_prepared *ret)
{
    struct between places = {{0}, 0};
    struct onednn_call *const call = &s->layer.call;
    int rc = prepare_forward(s, &places, ret);
    rc = rc ? rc : describe_primitive(s, dnnl_backward, s->layer.forward.descriptor, &call->descriptor);
    rc = rc ? rc : bind_weights(s, call, ret);
    return rc ? rc : bind_between(s, call, &places);
}

/* A forward pass for training leaves a workspace too, which nobody reads here. */
static int prepare_alone(struct state *s, struct kit_prepared *ret)
{
    struct onednn_call *const call = &s->layer.call;
    const int rc = describe_primitive(s, s->pass, NULL, &call->descriptor);
    const size_t bytes = rc ? 0 : onednn_query_bytes(call->descriptor, dnnl_query_workspace_md);
    return rc || bytes == 0 ? rc
                            : onednn_bind_internal(call, DNNL_ARG_WORKSPACE, dnnl_query_workspace_md,
                                                   onednn_reserve(ret, bytes));
}

static int prepare(struct kit_call *call, dnnl_prop_kind_t pass, struct kit_prepared *ret)
{
    struct state *s = calloc(1, sizeof(*s));
    struct onednn_tensor tensors[KIT_MAX_OPERANDS];
    call->state = s;
    if (!s || read_params(call->params, pass, s)) {
        return s ? KIT_FAILED : kit_fail("out of memory");
    }
    const int count = tensors_of(s, tensors);
    int rc = onednn_layer_open(&s->layer, call->choice, tensors, count);
    rc = rc ? rc : pass == dnnl_backward ? prepare_backward(s, ret) : prepare_alone(s, ret);
    return rc ? rc : onednn_layer_bind(&s->layer, tensors, count, ret);
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    struct state *s = call->state;
    return kit_rnn_reference(&s->rnn, &s->results, output, in, cells, count, ret);
}

static void release(struct kit_call *call)
{
    struct state *s = call->state;
    if (s) {
        kit_rnn_results_free(&s->results);
    }
    onednn_layer_release(call);
}

ONEDNN_LAYER_OP_WITH(release, rnn_inference, "rnn-forward-inference", dnnl_forward_inference);
ONEDNN_LAYER_OP_WITH(release, rnn_training, "rnn-forward-training", dnnl_forward_training);
ONEDNN_LAYER_OP_WITH(release, rnn_backward, "rnn-backward", dnnl_backward);

int main(void)
{
    static const struct op *const ops[] = {&rnn_inference, &rnn_training, &rnn_backward, NULL};
    static const struct kit_program program = {.name = "rnn",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = onednn_open,
                                               .libraries = onednn_libraries,
                                               .concurrent = true};
    return kit_main(&program);
}

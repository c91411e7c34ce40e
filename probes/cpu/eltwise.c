/* SPDX-License-Identifier: Apache-2.0
 *
 * Activations on oneDNN, forward and backward: relu, gelu, sigmoid and their like, element by element. No sum
 * is made, so nothing ought to depend on neighbours; what can move is which vector code an element falls
 * into.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/cpu/onednn_layer.h"
#include "probes/kit/dtype.h"

enum { SRC, SECOND, THIRD };

/* f(x) and f'(x) of the developer guide's page on eltwise. */
struct activation {
    const char *name;
    dnnl_alg_kind_t kind;
    float alpha, beta;
    long double (*value)(long double x), (*slope)(long double x);
};

static long double sigmoid(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double relu(long double x)
{
    return x > 0 ? x : 0;
}
static long double relu_slope(long double x)
{
    return x > 0;
}
static long double tanh_slope(long double x)
{
    return 1 - tanhl(x) * tanhl(x);
}
static long double sigmoid_slope(long double x)
{
    return sigmoid(x) * (1 - sigmoid(x));
}
static long double elu(long double x)
{
    return x > 0 ? x : expm1l(x);
}
static long double elu_slope(long double x)
{
    return x > 0 ? 1 : expl(x);
}
static long double swish(long double x)
{
    return x * sigmoid(x);
}
static long double swish_slope(long double x)
{
    return sigmoid(x) + x * sigmoid_slope(x);
}
static long double softplus(long double x)
{
    return log1pl(expl(x));
}
static long double square(long double x)
{
    return x * x;
}
static long double square_slope(long double x)
{
    return 2 * x;
}

#define ROOT_2_OVER_PI 0.797884560802865355879892119868763737L
#define GELU_CUBE 0.044715L
static long double gelu_tanh(long double x)
{
    return 0.5L * x * (1 + tanhl(ROOT_2_OVER_PI * (x + GELU_CUBE * x * x * x)));
}
static long double gelu_tanh_slope(long double x)
{
    const long double g = ROOT_2_OVER_PI * (x + GELU_CUBE * x * x * x), t = tanhl(g);
    const long double slope = ROOT_2_OVER_PI * (1 + 3 * GELU_CUBE * x * x);
    return 0.5L * (1 + t) + 0.5L * x * (1 - t * t) * slope;
}
static long double gelu_erf(long double x)
{
    return 0.5L * x * (1 + erfl(x * sqrtl(0.5L)));
}
static long double gelu_erf_slope(long double x)
{
    return 0.5L * (1 + erfl(x * sqrtl(0.5L))) + x * expl(-x * x / 2) * ROOT_2_OVER_PI / 2;
}

static const struct activation activations[] = {
    {"relu", dnnl_eltwise_relu, 0, 0, relu, relu_slope},
    {"tanh", dnnl_eltwise_tanh, 0, 0, tanhl, tanh_slope},
    {"sigmoid", dnnl_eltwise_logistic, 0, 0, sigmoid, sigmoid_slope},
    {"elu", dnnl_eltwise_elu, 1, 0, elu, elu_slope},
    {"swish", dnnl_eltwise_swish, 1, 0, swish, swish_slope},
    {"softplus", dnnl_eltwise_soft_relu, 1, 0, softplus, sigmoid},
    {"exp", dnnl_eltwise_exp, 0, 0, expl, expl},
    {"square", dnnl_eltwise_square, 0, 0, square, square_slope},
    {"gelu-tanh", dnnl_eltwise_gelu_tanh, 0, 0, gelu_tanh, gelu_tanh_slope},
    {"gelu-erf", dnnl_eltwise_gelu_erf, 0, 0, gelu_erf, gelu_erf_slope},
};
enum { ACTIVATION_COUNT = sizeof(activations) / sizeof(activations[0]) };

struct state {
    struct onednn_layer layer;
    const struct activation *activation;
    int64_t n, c, h, w;
    dnnl_format_tag_t tag;
    bool backward;
};

static int read_params(const struct kit_params *params, bool backward, struct state *ret)
{
    const char *name;
    if (kit_param_string(params, "activation", &name) || kit_param_int(params, "n", &ret->n) ||
        kit_param_int(params, "c", &ret->c) || kit_param_int(params, "h", &ret->h) ||
        kit_param_int(params, "w", &ret->w) || onednn_layer_layout(params, &ret->tag)) {
        return KIT_FAILED;
    }
    ret->backward = backward;
    for (int i = 0; i < ACTIVATION_COUNT; i++) {
        if (strcmp(activations[i].name, name) == 0) {
            ret->activation = &activations[i];
            return KIT_OK;
        }
    }
    return kit_fail("unknown activation '%s'", name);
}

static int tensors_of(const struct state *s, struct onednn_tensor ret[3])
{
    const struct onednn_tensor data = {
        .dtype = KIT_F32, .ndim = 4, .shape = {s->n, s->c, s->h, s->w}, .batch_dim = 0, .tag = s->tag};
    ret[0] = ret[1] = ret[2] = data;
    ret[SRC].name = "src";
    ret[SRC].arg = DNNL_ARG_SRC;
    ret[SECOND].name = s->backward ? "diff_dst" : "dst";
    ret[SECOND].arg = s->backward ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST;
    ret[SECOND].role = s->backward ? KIT_IN : KIT_OUT;
    ret[THIRD].name = "diff_src";
    ret[THIRD].arg = DNNL_ARG_DIFF_SRC;
    ret[THIRD].role = KIT_OUT;
    return s->backward ? 3 : 2;
}

static int describe(const struct kit_params *params, bool backward, struct kit_shape *ret)
{
    struct state s;
    struct onednn_tensor tensors[3];
    if (read_params(params, backward, &s)) {
        return KIT_FAILED;
    }
    onednn_layer_shape(tensors, tensors_of(&s, tensors), ret);
    ret->flops = (double)(s.n * s.c * s.h * s.w);
    return KIT_OK;
}

static int describe_primitive(const struct onednn_layer *layer, bool backward, dnnl_primitive_desc_t hint,
                              onednn_walk *ret)
{
    const struct activation *a = ((const struct state *)layer)->activation;
    return onednn_eltwise(backward, a->kind, layer->native[SRC], a->alpha, a->beta, hint, ret);
}

static int prepare(struct kit_call *call, bool backward, struct kit_prepared *ret)
{
    struct state *s = calloc(1, sizeof(*s));
    struct onednn_tensor tensors[3];
    call->state = s;
    if (!s || read_params(call->params, backward, s)) {
        return s ? KIT_FAILED : kit_fail("out of memory");
    }
    return onednn_layer_prepare(&s->layer, call->choice, tensors, tensors_of(s, tensors), backward,
                                describe_primitive, ret);
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct state *s = call->state;
    for (size_t c = 0; c < count; c++) {
        const long double x = kit_value(KIT_F32, in[SRC], cells[c]);
        const long double value = s->backward
                                      ? kit_value(KIT_F32, in[SECOND], cells[c]) * s->activation->slope(x)
                                      : s->activation->value(x);
        ret[c] = (struct kit_cell){.value = value, .scale = fabsl(value), .k = 1};
    }
    return KIT_OK;
}

ONEDNN_LAYER_OP(eltwise_forward, "eltwise-forward", false);
ONEDNN_LAYER_OP(eltwise_backward, "eltwise-backward", true);

int main(void)
{
    static const struct op *const ops[] = {&eltwise_forward, &eltwise_backward, NULL};
    static const struct kit_program program = {.name = "eltwise",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = onednn_open,
                                               .libraries = onednn_libraries,
                                               .concurrent = true};
    return kit_main(&program);
}

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
#include "probes/kit/window.h"

struct geometry {
    int64_t n, c, h, w; /* input */
    int64_t k, oh, ow;  /* output channels and extents */
    int64_t window, stride, pad, groups;
    bool plain;
};

struct state {
    struct geometry geometry;
    struct onednn_tensors plain; /* logical layouts, for packing */
    struct onednn_call call;
};

enum pass_operand { FIRST, SECOND, RESULT };

static int read_geometry(const struct kit_params *params, struct geometry *g)
{
    const struct {
        const char *name;
        int64_t *target;
    } needed[] = {{"n", &g->n},           {"c", &g->c},     {"h", &g->h},
                  {"w", &g->w},           {"k", &g->k},     {"window", &g->window},
                  {"stride", &g->stride}, {"pad", &g->pad}, {"groups", &g->groups}};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (kit_param_int(params, needed[i].name, needed[i].target) != KIT_OK) {
            return KIT_FAILED;
        }
        if (*needed[i].target < (needed[i].target == &g->pad ? 0 : 1) || *needed[i].target > INT32_MAX) {
            return kit_fail("parameter '%s' is out of range", needed[i].name);
        }
    }
    int layout;
    if (kit_param_word(params, "layout", "plain|any", &layout) != KIT_OK) {
        return KIT_FAILED;
    }
    g->plain = layout == 0;
    if (g->c % g->groups != 0 || g->k % g->groups != 0) {
        return kit_fail("'groups' must divide 'c' and 'k'");
    }
    g->oh = window_count(g->h, g->window, g->stride, g->pad);
    g->ow = window_count(g->w, g->window, g->stride, g->pad);
    if (g->oh == 0 || g->ow == 0) {
        return kit_fail("'window' is larger than the padded input");
    }
    return KIT_OK;
}

/* ---- operands ---- */

static struct kit_operand tensor(const char *name, enum kit_role role, bool plain)
{
    return (struct kit_operand){
        .name = name, .role = role, .dtype = KIT_F32, .chosen = !plain, .batch_dim = -1};
}

static struct kit_operand activation(const char *name, enum kit_role role, const struct geometry *g,
                                     bool output)
{
    struct kit_operand operand = tensor(name, role, g->plain);
    operand.ndim = 4;
    operand.batch_dim = 0;
    operand.shape[0] = g->n;
    operand.shape[1] = output ? g->k : g->c;
    operand.shape[2] = output ? g->oh : g->h;
    operand.shape[3] = output ? g->ow : g->w;
    return operand;
}

static struct kit_operand filter(const char *name, enum kit_role role, const struct geometry *g)
{
    struct kit_operand operand = tensor(name, role, g->plain);
    int64_t *shape = operand.shape;
    if (g->groups > 1) {
        *shape++ = g->groups;
    }
    *shape++ = g->k / g->groups;
    *shape++ = g->c / g->groups;
    *shape++ = g->window;
    *shape++ = g->window;
    operand.ndim = (int)(shape - operand.shape);
    return operand;
}

static void finish_shape(struct kit_shape *ret, const struct geometry *g)
{
    ret->count = 3;
    ret->flops = (double)g->n * (double)g->k * (double)g->oh * (double)g->ow * (double)(g->c / g->groups) *
                 (double)g->window * (double)g->window;
}

static int describe_forward(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_geometry(params, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[FIRST] = activation("src", KIT_IN, &g, false);
    ret->operand[SECOND] = filter("weights", KIT_IN, &g);
    ret->operand[RESULT] = activation("dst", KIT_OUT, &g, true);
    finish_shape(ret, &g);
    return KIT_OK;
}

static int describe_backward_data(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_geometry(params, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[FIRST] = activation("diff_dst", KIT_IN, &g, true);
    ret->operand[SECOND] = filter("weights", KIT_IN, &g);
    ret->operand[RESULT] = activation("diff_src", KIT_OUT, &g, false);
    finish_shape(ret, &g);
    return KIT_OK;
}

static int describe_backward_weights(const struct kit_params *params, struct kit_shape *ret)
{
    struct geometry g;
    if (read_geometry(params, &g) != KIT_OK) {
        return KIT_FAILED;
    }
    ret->operand[FIRST] = activation("src", KIT_IN, &g, false);
    ret->operand[SECOND] = activation("diff_dst", KIT_IN, &g, true);
    ret->operand[RESULT] = filter("diff_weights", KIT_OUT, &g);
    finish_shape(ret, &g);
    return KIT_OK;
}

/* ---- the primitive ---- */

static const char *const algorithm_names[] = {"direct", "winograd"};

static int choices(const struct kit_params *params, const char *const **ret_names, int *ret_count)
{
    (void)params;
    *ret_names = algorithm_names;
    *ret_count = 2;
    return KIT_OK;
}

static int algorithm_of(const char *choice, dnnl_alg_kind_t *ret)
{
    if (!choice) {
        *ret = dnnl_convolution_auto;
    } else if (strcmp(choice, "direct") == 0) {
        *ret = dnnl_convolution_direct;
    } else if (strcmp(choice, "winograd") == 0) {
        *ret = dnnl_convolution_winograd;
    } else {
        return kit_fail("unknown choice '%s', one of direct winograd", choice);
    }
    return KIT_OK;
}

static int make_tensors(const struct geometry *g, bool plain, struct onednn_tensors *ret)
{
    const struct kit_operand src = activation("src", KIT_IN, g, false),
                             dst = activation("dst", KIT_OUT, g, true),
                             weights = filter("weights", KIT_IN, g);
    const dnnl_format_tag_t any = dnnl_format_tag_any;
    const dnnl_format_tag_t filter_tag = g->groups > 1 ? dnnl_goihw : dnnl_oihw;
    ret->src = onednn_md_make(4, src.shape, KIT_F32, plain ? dnnl_nchw : any);
    ret->weights = onednn_md_make(weights.ndim, weights.shape, KIT_F32, plain ? filter_tag : any);
    ret->dst = onednn_md_make(4, dst.shape, KIT_F32, plain ? dnnl_nchw : any);
    return ret->src && ret->weights && ret->dst ? KIT_OK : kit_fail("oneDNN refused a tensor descriptor");
}

static int make_descriptor(struct state *state, enum onednn_pass pass, dnnl_alg_kind_t algorithm)
{
    const struct geometry *g = &state->geometry;
    const struct onednn_window window = {
        .stride = {g->stride, g->stride},
        .pad_before = {g->pad, g->pad},
        .pad_after = {window_pad_after(g->h, g->window, g->stride, g->pad),
                      window_pad_after(g->w, g->window, g->stride, g->pad)},
    };
    struct onednn_tensors tensors = {0};
    dnnl_primitive_desc_t hint = NULL;
    int rc = make_tensors(g, g->plain, &tensors);
    if (rc == KIT_OK && pass != ONEDNN_FORWARD) {
        rc = onednn_convolution(ONEDNN_FORWARD, algorithm, &tensors, &window, NULL, &hint);
    }
    if (rc == KIT_OK) {
        rc = onednn_convolution(pass, algorithm, &tensors, &window, hint, &state->call.descriptor);
    }
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
    dnnl_alg_kind_t algorithm = dnnl_convolution_auto;
    call->state = state;
    if (!state) {
        return kit_fail("out of memory");
    }
    int rc = read_geometry(call->params, &state->geometry);
    if (rc == KIT_OK) {
        rc = algorithm_of(call->choice, &algorithm);
    }
    if (rc == KIT_OK) {
        rc = make_descriptor(state, pass, algorithm);
    }
    if (rc == KIT_OK) {
        rc = make_tensors(&state->geometry, true, &state->plain);
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

/* ---- reference: products of two floats are exact in double, so double sums carry the higher precision ----
 */

struct sum {
    double value, scale;
    int64_t k;
};

static void add_product(struct sum *sum, float a, float b)
{
    const double product = (double)a * (double)b;
    sum->value += product;
    sum->scale += product < 0 ? -product : product;
    sum->k++;
}

static struct kit_cell cell_of(const struct sum *sum)
{
    return (struct kit_cell){.value = sum->value, .scale = sum->scale, .k = sum->k > 0 ? sum->k : 1};
}

static float input_at(const struct geometry *g, const float *src, int64_t n, int64_t c, int64_t y, int64_t x)
{
    return src[((n * g->c + c) * g->h + y) * g->w + x];
}

static float output_at(const struct geometry *g, const float *dst, int64_t n, int64_t o, int64_t y, int64_t x)
{
    return dst[((n * g->k + o) * g->oh + y) * g->ow + x];
}

/* Weight of output channel o and the i-th input channel of its group; OIHW and GOIHW are the same sequence.
 */
static float weight_at(const struct geometry *g, const float *weights, int64_t o, int64_t i, int64_t r,
                       int64_t s)
{
    return weights[((o * (g->c / g->groups) + i) * g->window + r) * g->window + s];
}

static bool inside(const struct geometry *g, int64_t y, int64_t x)
{
    return y >= 0 && y < g->h && x >= 0 && x < g->w;
}

static struct sum forward_cell(const struct geometry *g, const float *src, const float *weights,
                               int64_t offset)
{
    const int64_t x = offset % g->ow, y = offset / g->ow % g->oh, o = offset / (g->ow * g->oh) % g->k,
                  n = offset / (g->ow * g->oh * g->k), per_group = g->c / g->groups,
                  first = o / (g->k / g->groups) * per_group;
    struct sum sum = {0};
    for (int64_t i = 0; i < per_group; i++) {
        for (int64_t r = 0; r < g->window; r++) {
            for (int64_t s = 0; s < g->window; s++) {
                const int64_t iy = y * g->stride - g->pad + r, ix = x * g->stride - g->pad + s;
                if (inside(g, iy, ix)) {
                    add_product(&sum, input_at(g, src, n, first + i, iy, ix),
                                weight_at(g, weights, o, i, r, s));
                }
            }
        }
    }
    return sum;
}

static struct sum backward_data_cell(const struct geometry *g, const float *diff_dst, const float *weights,
                                     int64_t offset)
{
    const int64_t x = offset % g->w, y = offset / g->w % g->h, c = offset / (g->w * g->h) % g->c,
                  n = offset / (g->w * g->h * g->c), inputs = g->c / g->groups, outputs = g->k / g->groups,
                  first = c / inputs * outputs;
    struct sum sum = {0};
    for (int64_t o = first; o < first + outputs; o++) {
        for (int64_t r = 0; r < g->window; r++) {
            for (int64_t s = 0; s < g->window; s++) {
                const int64_t oy = window_reading(y, r, g->stride, g->pad, g->oh),
                              ox = window_reading(x, s, g->stride, g->pad, g->ow);
                if (oy >= 0 && ox >= 0) {
                    add_product(&sum, output_at(g, diff_dst, n, o, oy, ox),
                                weight_at(g, weights, o, c % inputs, r, s));
                }
            }
        }
    }
    return sum;
}

static struct sum backward_weights_cell(const struct geometry *g, const float *src, const float *diff_dst,
                                        int64_t offset)
{
    const int64_t s = offset % g->window, r = offset / g->window % g->window, per_group = g->c / g->groups,
                  i = offset / (g->window * g->window) % per_group,
                  o = offset / (g->window * g->window * per_group),
                  c = o / (g->k / g->groups) * per_group + i;
    struct sum sum = {0};
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t y = 0; y < g->oh; y++) {
            for (int64_t x = 0; x < g->ow; x++) {
                const int64_t iy = y * g->stride - g->pad + r, ix = x * g->stride - g->pad + s;
                if (inside(g, iy, ix)) {
                    add_product(&sum, input_at(g, src, n, c, iy, ix), output_at(g, diff_dst, n, o, y, x));
                }
            }
        }
    }
    return sum;
}

typedef struct sum (*cell_function)(const struct geometry *g, const float *first, const float *second,
                                    int64_t offset);

static int reference(struct kit_call *call, cell_function function, const void *const *in,
                     const int64_t *cells, size_t count, struct kit_cell *ret)
{
    const struct state *state = call->state;
    for (size_t i = 0; i < count; i++) {
        const struct sum sum = function(&state->geometry, in[FIRST], in[SECOND], cells[i]);
        ret[i] = cell_of(&sum);
    }
    return KIT_OK;
}

static int reference_forward(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                             size_t count, struct kit_cell *ret)
{
    (void)output;
    return reference(call, forward_cell, in, cells, count, ret);
}

static int reference_backward_data(struct kit_call *call, int output, const void *const *in,
                                   const int64_t *cells, size_t count, struct kit_cell *ret)
{
    (void)output;
    return reference(call, backward_data_cell, in, cells, count, ret);
}

static int reference_backward_weights(struct kit_call *call, int output, const void *const *in,
                                      const int64_t *cells, size_t count, struct kit_cell *ret)
{
    (void)output;
    return reference(call, backward_weights_cell, in, cells, count, ret);
}

#define OP(pass, text)                                                                                       \
    {                                                                                                        \
        .name = text, .describe = describe_##pass, .choices = choices, .prepare = prepare_##pass,            \
        .pack = pack, .unpack = unpack, .run = run, .reference = reference_##pass, .release = release        \
    }

static const struct op conv_forward = OP(forward, "conv-forward"),
                       conv_backward_data = OP(backward_data, "conv-backward-data"),
                       conv_backward_weights = OP(backward_weights, "conv-backward-weights");

int main(void)
{
    static const struct op *const ops[] = {&conv_forward, &conv_backward_data, &conv_backward_weights, NULL};
    static const struct kit_program program = {
        .name = "conv", .backend = "cpu", .ops = ops, .open = onednn_open, .libraries = onednn_libraries};
    return kit_main(&program);
}

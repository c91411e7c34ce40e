/* SPDX-License-Identifier: Apache-2.0
 *
 * Products on oneDNN: matmul, and the inner product of a fully connected layer with both of its backward
 * passes. Weights are row-major or in the layout that the library wants. What can move: the split of k over
 * threads, the blocks that follow from m, and with them the order in which products are added.
 */
#include <stdlib.h>

#include "probes/cpu/onednn_layer.h"
#include "probes/kit/dtype.h"
#include "probes/kit/reference.h"

enum { FIRST, SECOND, RESULT, BIAS };
enum form { MATMUL, FORWARD, BACKWARD_DATA, BACKWARD_WEIGHTS };

/* result (rows x columns) = sum over k of first x second, in the terms of whatever form it is. */
struct product {
    struct onednn_layer layer;
    enum form form;
    int64_t m, n, k; /* matmul: m x k by k x n; a layer: m samples, k inputs, n outputs */
    enum kit_dtype dtype;
    bool any;
};

static int read_product(const struct kit_params *params, enum form form, struct product *ret)
{
    int weights;
    if (kit_param_int(params, "m", &ret->m) || kit_param_int(params, "n", &ret->n) ||
        kit_param_int(params, "k", &ret->k) || kit_param_dtype(params, "dtype", "f32|bf16", &ret->dtype) ||
        kit_param_word(params, "weights", "plain|any", &weights)) {
        return KIT_FAILED;
    }
    ret->form = form;
    ret->any = weights == 1;
    return KIT_OK;
}

static struct onednn_tensor tensor(const char *name, enum kit_role role, enum kit_dtype dtype, int64_t rows,
                                   int64_t columns, int batch_dim, int arg)
{
    return (struct onednn_tensor){.name = name,
                                  .role = role,
                                  .dtype = dtype,
                                  .ndim = columns ? 2 : 1,
                                  .shape = {rows, columns},
                                  .batch_dim = batch_dim,
                                  .arg = arg};
}

static int tensors_of(const struct product *p, struct onednn_tensor ret[4])
{
    const enum kit_dtype d = p->dtype;
    int weights = SECOND, count = 3;
    switch (p->form) {
    case MATMUL:
        ret[FIRST] = tensor("src", KIT_IN, d, p->m, p->k, 0, DNNL_ARG_SRC);
        ret[SECOND] = tensor("weights", KIT_IN, d, p->k, p->n, -1, DNNL_ARG_WEIGHTS);
        ret[RESULT] = tensor("dst", KIT_OUT, KIT_F32, p->m, p->n, 0, DNNL_ARG_DST);
        break;
    case FORWARD:
        ret[FIRST] = tensor("src", KIT_IN, d, p->m, p->k, 0, DNNL_ARG_SRC);
        ret[SECOND] = tensor("weights", KIT_IN, d, p->n, p->k, -1, DNNL_ARG_WEIGHTS);
        ret[RESULT] = tensor("dst", KIT_OUT, KIT_F32, p->m, p->n, 0, DNNL_ARG_DST);
        break;
    case BACKWARD_DATA:
        ret[FIRST] = tensor("diff_dst", KIT_IN, d, p->m, p->n, 0, DNNL_ARG_DIFF_DST);
        ret[SECOND] = tensor("weights", KIT_IN, d, p->n, p->k, -1, DNNL_ARG_WEIGHTS);
        ret[RESULT] = tensor("diff_src", KIT_OUT, KIT_F32, p->m, p->k, 0, DNNL_ARG_DIFF_SRC);
        break;
    case BACKWARD_WEIGHTS:
        ret[FIRST] = tensor("src", KIT_IN, d, p->m, p->k, -1, DNNL_ARG_SRC);
        ret[SECOND] = tensor("diff_dst", KIT_IN, d, p->m, p->n, -1, DNNL_ARG_DIFF_DST);
        ret[RESULT] = tensor("diff_weights", KIT_OUT, KIT_F32, p->n, p->k, -1, DNNL_ARG_DIFF_WEIGHTS);
        ret[BIAS] = tensor("diff_bias", KIT_OUT, KIT_F32, p->n, 0, -1, DNNL_ARG_DIFF_BIAS);
        weights = RESULT;
        count = 4;
        break;
    }
    if (p->any) {
        ret[weights].tag = dnnl_format_tag_any;
    }
    return count;
}

static int describe(const struct kit_params *params, enum form form, struct kit_shape *ret)
{
    struct product p;
    struct onednn_tensor tensors[4];
    if (read_product(params, form, &p)) {
        return KIT_FAILED;
    }
    onednn_layer_shape(tensors, tensors_of(&p, tensors), ret);
    ret->flops = (double)p.m * (double)p.n * (double)p.k;
    return KIT_OK;
}

static bool is_backward(enum form form)
{
    return form == BACKWARD_DATA || form == BACKWARD_WEIGHTS;
}

/* The forward pass that a backward one belongs to, all of it in the type that the layer is trained in. */
static int make_hint(const struct product *p, onednn_walk *ret)
{
    const dnnl_format_tag_t tag = p->any ? dnnl_format_tag_any : dnnl_ab;
    const int64_t src[] = {p->m, p->k}, weights[] = {p->n, p->k}, dst[] = {p->m, p->n};
    struct onednn_tensors t = {onednn_md_make(2, src, p->dtype, dnnl_ab),
                               onednn_md_make(2, weights, p->dtype, tag),
                               onednn_md_make(2, dst, p->dtype, dnnl_ab)};
    const int rc = t.src && t.weights && t.dst ? onednn_inner_product(ONEDNN_FORWARD, &t, NULL, NULL, ret)
                                               : kit_fail("oneDNN refused a tensor descriptor");
    onednn_tensors_free(&t);
    return rc;
}

/* A pass of the form; the hint of a backward one is the layer's forward pass. */
static int describe_primitive(const struct onednn_layer *layer, bool backward, dnnl_primitive_desc_t hint,
                              onednn_walk *ret)
{
    const struct product *p = (const struct product *)layer;
    const onednn_md first = layer->native[FIRST], second = layer->native[SECOND],
                    result = layer->native[RESULT];
    if (is_backward(p->form) && !backward) {
        return make_hint(p, ret);
    }
    const struct onednn_tensors forward = {first, second, result}, data = {result, second, first},
                                weights = {first, result, second};
    switch (p->form) {
    case FORWARD:
        return onednn_inner_product(ONEDNN_FORWARD, &forward, NULL, NULL, ret);
    case BACKWARD_DATA:
        return onednn_inner_product(ONEDNN_BACKWARD_DATA, &data, NULL, hint, ret);
    case BACKWARD_WEIGHTS:
        return onednn_inner_product(ONEDNN_BACKWARD_WEIGHTS, &weights, layer->native[BIAS], hint, ret);
    default:
        return onednn_matmul(first, second, result, ret);
    }
}

static int prepare(struct kit_call *call, enum form form, struct kit_prepared *ret)
{
    struct product *p = calloc(1, sizeof(*p));
    struct onednn_tensor tensors[4];
    call->state = p;
    if (!p || read_product(call->params, form, p)) {
        return p ? KIT_FAILED : kit_fail("out of memory");
    }
    return onednn_layer_prepare(&p->layer, call->choice, tensors, tensors_of(p, tensors), is_backward(form),
                                describe_primitive, ret);
}

/* The factors of a result as matrices of rows, both dense: which operand each is, and whether its transpose.
 */
static const struct {
    int left, right;
    bool left_transposed, right_transposed;
} factors[] = {
    [MATMUL] = {FIRST, SECOND, false, true},          /* src, weights^T */
    [FORWARD] = {FIRST, SECOND, false, false},        /* src, weights */
    [BACKWARD_DATA] = {FIRST, SECOND, false, true},   /* diff_dst, weights^T */
    [BACKWARD_WEIGHTS] = {SECOND, FIRST, true, true}, /* diff_dst^T, src^T */
};

static struct kit_cell sum_of(enum kit_dtype dtype, const void *values, int64_t first, int64_t count)
{
    struct kit_cell cell = {.k = count};
    for (int64_t i = first; i < first + count; i++) {
        const long double value = kit_value(dtype, values, i);
        cell.value += value;
        cell.scale += value < 0 ? -value : value;
    }
    return cell;
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct product *p = call->state;
    const struct kit_operand *result = &call->shape->operand[RESULT];
    const size_t size = kit_dtype_size(p->dtype);
    const int64_t rows = result->shape[0], columns = result->shape[1];
    const int64_t terms = p->form == BACKWARD_DATA ? p->n : p->form == BACKWARD_WEIGHTS ? p->m : p->k;
    char *left = kit_reference_matrix(p->dtype, in[factors[p->form].left], rows, terms,
                                      factors[p->form].left_transposed);
    char *right = kit_reference_matrix(p->dtype, in[factors[p->form].right], columns, terms,
                                       factors[p->form].right_transposed);
    for (size_t c = 0; c < count; c++) {
        const int64_t row = cells[c] / columns, column = cells[c] % columns;
        ret[c] = output == BIAS ? sum_of(p->dtype, left, cells[c] * terms, terms)
                                : kit_reference_dot(p->dtype, left + (size_t)(row * terms) * size,
                                                    right + (size_t)(column * terms) * size, terms);
    }
    free(left);
    free(right);
    return KIT_OK;
}

ONEDNN_LAYER_OP(matmul, "matmul", MATMUL);
ONEDNN_LAYER_OP(inner_forward, "inner-product-forward", FORWARD);
ONEDNN_LAYER_OP(inner_backward_data, "inner-product-backward-data", BACKWARD_DATA);
ONEDNN_LAYER_OP(inner_backward_weights, "inner-product-backward-weights", BACKWARD_WEIGHTS);

int main(void)
{
    static const struct op *const ops[] = {&matmul, &inner_forward, &inner_backward_data,
                                           &inner_backward_weights, NULL};
    static const struct kit_program program = {.name = "matmul",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = onednn_open,
                                               .libraries = onednn_libraries,
                                               .concurrent = true};
    return kit_main(&program);
}

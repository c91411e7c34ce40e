/* SPDX-License-Identifier: Apache-2.0
 *
 * oneDNN 2.x and 3.x behind one interface. What differs between them is the first two blocks, which make
 * memory and primitive descriptors; the rest uses calls that both have.
 */
#include "probes/cpu/onednn.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dnnl_engine_t engine;
static dnnl_stream_t stream;             /* for changes of layout */
static dnnl_primitive_attr_t attributes; /* user scratchpad; what onednn_choose says */
static int cache_capacity;               /* as the library starts */

static int failed(const char *what, dnnl_status_t status)
{
    if (status == dnnl_unimplemented) {
        return kit_skip("unsupported", "oneDNN has no implementation for %s", what);
    }
    return kit_fail("oneDNN failed in %s: %s", what, dnnl_status2str(status));
}

#define TRY(call, what)                                                                                      \
    do {                                                                                                     \
        const dnnl_status_t status_ = (call);                                                                \
        if (status_ != dnnl_success) {                                                                       \
            return failed(what, status_);                                                                    \
        }                                                                                                    \
    } while (0)

static dnnl_data_type_t data_type(enum kit_dtype dtype)
{
    static const dnnl_data_type_t types[KIT_DTYPE_MAX] = {
        [KIT_F32] = dnnl_f32, [KIT_F16] = dnnl_f16, [KIT_BF16] = dnnl_bf16,
        [KIT_S8] = dnnl_s8,   [KIT_U8] = dnnl_u8,   [KIT_S32] = dnnl_s32,
    };
    return types[dtype];
}

#if DNNL_VERSION_MAJOR >= 3

onednn_md onednn_md_make(int ndim, const int64_t *dims, enum kit_dtype dtype, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t md = NULL;
    return dnnl_memory_desc_create_with_tag(&md, ndim, dims, data_type(dtype), tag) == dnnl_success ? md
                                                                                                    : NULL;
}

void onednn_md_free(onednn_md md)
{
    if (md) {
        dnnl_memory_desc_destroy(md);
    }
}

int onednn_convolution(enum onednn_pass pass, dnnl_alg_kind_t algorithm, const struct onednn_tensors *t,
                       const struct onednn_window *w, dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    switch (pass) {
    case ONEDNN_FORWARD:
        TRY(dnnl_convolution_forward_primitive_desc_create(
                ret, engine, dnnl_forward_training, algorithm, t->src, t->weights, NULL, t->dst, w->stride,
                w->dilation, w->pad_before, w->pad_after, attributes),
            "forward convolution");
        break;
    case ONEDNN_BACKWARD_DATA:
        TRY(dnnl_convolution_backward_data_primitive_desc_create(
                ret, engine, algorithm, t->src, t->weights, t->dst, w->stride, w->dilation, w->pad_before,
                w->pad_after, hint, attributes),
            "convolution backward data");
        break;
    case ONEDNN_BACKWARD_WEIGHTS:
        TRY(dnnl_convolution_backward_weights_primitive_desc_create(
                ret, engine, algorithm, t->src, t->weights, NULL, t->dst, w->stride, w->dilation,
                w->pad_before, w->pad_after, hint, attributes),
            "convolution backward weights");
        break;
    }
    return KIT_OK;
}

int onednn_pooling(enum onednn_pass pass, dnnl_alg_kind_t algorithm, const struct onednn_tensors *t,
                   const struct onednn_window *w, dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    if (pass == ONEDNN_FORWARD) {
        TRY(dnnl_pooling_forward_primitive_desc_create(ret, engine, dnnl_forward_training, algorithm, t->src,
                                                       t->dst, w->stride, w->kernel, w->dilation,
                                                       w->pad_before, w->pad_after, attributes),
            "forward pooling");
    } else {
        TRY(dnnl_pooling_backward_primitive_desc_create(ret, engine, algorithm, t->src, t->dst, w->stride,
                                                        w->kernel, w->dilation, w->pad_before, w->pad_after,
                                                        hint, attributes),
            "pooling backward");
    }
    return KIT_OK;
}

int onednn_matmul(onednn_const_md src, onednn_const_md weights, onednn_const_md dst, onednn_walk *ret)
{
    TRY(dnnl_matmul_primitive_desc_create(ret, engine, src, weights, NULL, dst, attributes), "matmul");
    return KIT_OK;
}

int onednn_inner_product(enum onednn_pass pass, const struct onednn_tensors *t, onednn_const_md bias,
                         dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    switch (pass) {
    case ONEDNN_FORWARD:
        TRY(dnnl_inner_product_forward_primitive_desc_create(ret, engine, dnnl_forward_training, t->src,
                                                             t->weights, bias, t->dst, attributes),
            "forward inner product");
        break;
    case ONEDNN_BACKWARD_DATA:
        TRY(dnnl_inner_product_backward_data_primitive_desc_create(ret, engine, t->src, t->weights, t->dst,
                                                                   hint, attributes),
            "inner product backward data");
        break;
    case ONEDNN_BACKWARD_WEIGHTS:
        TRY(dnnl_inner_product_backward_weights_primitive_desc_create(ret, engine, t->src, t->weights, bias,
                                                                      t->dst, hint, attributes),
            "inner product backward weights");
        break;
    }
    return KIT_OK;
}

int onednn_batch_norm(bool backward, onednn_const_md data, dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    if (!backward) {
        TRY(dnnl_batch_normalization_forward_primitive_desc_create(
                ret, engine, dnnl_forward_training, data, data, ONEDNN_EPSILON,
                dnnl_use_scale | dnnl_use_shift, attributes),
            "forward batch normalization");
    } else {
        TRY(dnnl_batch_normalization_backward_primitive_desc_create(
                ret, engine, dnnl_backward, data, data, data, ONEDNN_EPSILON, dnnl_use_scale | dnnl_use_shift,
                hint, attributes),
            "batch normalization backward");
    }
    return KIT_OK;
}

int onednn_layer_norm(bool backward, onednn_const_md data, onednn_const_md statistics,
                      dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    if (!backward) {
        TRY(dnnl_layer_normalization_forward_primitive_desc_create(
                ret, engine, dnnl_forward_training, data, data, statistics, ONEDNN_EPSILON,
                dnnl_use_scale | dnnl_use_shift, attributes),
            "forward layer normalization");
    } else {
        TRY(dnnl_layer_normalization_backward_primitive_desc_create(
                ret, engine, dnnl_backward, data, data, data, statistics, ONEDNN_EPSILON,
                dnnl_use_scale | dnnl_use_shift, hint, attributes),
            "layer normalization backward");
    }
    return KIT_OK;
}

int onednn_softmax(bool backward, dnnl_alg_kind_t algorithm, onednn_const_md data, int axis,
                   dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    if (!backward) {
        TRY(dnnl_softmax_forward_primitive_desc_create(ret, engine, dnnl_forward_training, algorithm, data,
                                                       data, axis, attributes),
            "forward softmax");
    } else {
        TRY(dnnl_softmax_backward_primitive_desc_create(ret, engine, algorithm, data, data, data, axis, hint,
                                                        attributes),
            "softmax backward");
    }
    return KIT_OK;
}

int onednn_eltwise(bool backward, dnnl_alg_kind_t algorithm, onednn_const_md data, float alpha, float beta,
                   dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    if (!backward) {
        TRY(dnnl_eltwise_forward_primitive_desc_create(ret, engine, dnnl_forward_training, algorithm, data,
                                                       data, alpha, beta, attributes),
            "forward eltwise");
    } else {
        TRY(dnnl_eltwise_backward_primitive_desc_create(ret, engine, algorithm, data, data, data, alpha, beta,
                                                        hint, attributes),
            "eltwise backward");
    }
    return KIT_OK;
}

int onednn_reduction(dnnl_alg_kind_t algorithm, onednn_const_md src, onednn_const_md dst, float p,
                     onednn_walk *ret)
{
    TRY(dnnl_reduction_primitive_desc_create(ret, engine, algorithm, src, dst, p, 0, attributes),
        "reduction");
    return KIT_OK;
}

int onednn_recurrent(enum onednn_cell cell, dnnl_prop_kind_t pass, dnnl_rnn_direction_t direction,
                     const struct onednn_recurrent *t, const struct onednn_recurrent *g,
                     dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    const unsigned flags = dnnl_rnn_flags_undef;
    dnnl_status_t status = dnnl_invalid_arguments;
    switch (cell) {
    case ONEDNN_RNN_TANH:
        status = !g ? dnnl_vanilla_rnn_forward_primitive_desc_create(
                          ret, engine, pass, dnnl_eltwise_tanh, direction, t->src_layer, t->src_iter,
                          t->weights_layer, t->weights_iter, t->bias, t->dst_layer, t->dst_iter, flags, 0, 0,
                          attributes)
                    : dnnl_vanilla_rnn_backward_primitive_desc_create(
                          ret, engine, pass, dnnl_eltwise_tanh, direction, t->src_layer, t->src_iter,
                          t->weights_layer, t->weights_iter, t->bias, t->dst_layer, t->dst_iter, g->src_layer,
                          g->src_iter, g->weights_layer, g->weights_iter, g->bias, g->dst_layer, g->dst_iter,
                          flags, 0, 0, hint, attributes);
        break;
    case ONEDNN_LSTM:
        status =
            !g ? dnnl_lstm_forward_primitive_desc_create(ret, engine, pass, direction, t->src_layer,
                                                         t->src_iter, t->src_iter_c, t->weights_layer,
                                                         t->weights_iter, NULL, NULL, t->bias, t->dst_layer,
                                                         t->dst_iter, t->dst_iter_c, flags, attributes)
               : dnnl_lstm_backward_primitive_desc_create(
                     ret, engine, pass, direction, t->src_layer, t->src_iter, t->src_iter_c, t->weights_layer,
                     t->weights_iter, NULL, NULL, t->bias, t->dst_layer, t->dst_iter, t->dst_iter_c,
                     g->src_layer, g->src_iter, g->src_iter_c, g->weights_layer, g->weights_iter, NULL, NULL,
                     g->bias, g->dst_layer, g->dst_iter, g->dst_iter_c, flags, hint, attributes);
        break;
    case ONEDNN_GRU:
    case ONEDNN_LBR_GRU:
        status = !g ? (cell == ONEDNN_GRU ? dnnl_gru_forward_primitive_desc_create
                                          : dnnl_lbr_gru_forward_primitive_desc_create)(
                          ret, engine, pass, direction, t->src_layer, t->src_iter, t->weights_layer,
                          t->weights_iter, t->bias, t->dst_layer, t->dst_iter, flags, attributes)
                    : (cell == ONEDNN_GRU ? dnnl_gru_backward_primitive_desc_create
                                          : dnnl_lbr_gru_backward_primitive_desc_create)(
                          ret, engine, pass, direction, t->src_layer, t->src_iter, t->weights_layer,
                          t->weights_iter, t->bias, t->dst_layer, t->dst_iter, g->src_layer, g->src_iter,
                          g->weights_layer, g->weights_iter, g->bias, g->dst_layer, g->dst_iter, flags, hint,
                          attributes);
        break;
    }
    TRY(status, "a recurrent layer");
    return KIT_OK;
}

#else

onednn_md onednn_md_make(int ndim, const int64_t *dims, enum kit_dtype dtype, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t *md = malloc(sizeof(*md));
    if (md && dnnl_memory_desc_init_by_tag(md, ndim, dims, data_type(dtype), tag) == dnnl_success) {
        return md;
    }
    free(md);
    return NULL;
}

void onednn_md_free(onednn_md md)
{
    free(md);
}

int onednn_convolution(enum onednn_pass pass, dnnl_alg_kind_t algorithm, const struct onednn_tensors *t,
                       const struct onednn_window *w, dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    static const char *const names[] = {"forward convolution", "convolution backward data",
                                        "convolution backward weights"};
    static dnnl_convolution_desc_t desc;
    dnnl_status_t status = dnnl_success;
    switch (pass) {
    case ONEDNN_FORWARD:
        status = dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, algorithm, t->src,
                                                            t->weights, NULL, t->dst, w->stride, w->dilation,
                                                            w->pad_before, w->pad_after);
        break;
    case ONEDNN_BACKWARD_DATA:
        status = dnnl_dilated_convolution_backward_data_desc_init(&desc, algorithm, t->src, t->weights,
                                                                  t->dst, w->stride, w->dilation,
                                                                  w->pad_before, w->pad_after);
        break;
    case ONEDNN_BACKWARD_WEIGHTS:
        status = dnnl_dilated_convolution_backward_weights_desc_init(&desc, algorithm, t->src, t->weights,
                                                                     NULL, t->dst, w->stride, w->dilation,
                                                                     w->pad_before, w->pad_after);
        break;
    }
    TRY(status, names[pass]);
    TRY(dnnl_primitive_desc_iterator_create(ret, &desc, attributes, engine, hint), names[pass]);
    return KIT_OK;
}

int onednn_pooling(enum onednn_pass pass, dnnl_alg_kind_t algorithm, const struct onednn_tensors *t,
                   const struct onednn_window *w, dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    const char *name = pass == ONEDNN_FORWARD ? "forward pooling" : "pooling backward";
    static dnnl_pooling_v2_desc_t desc;
    if (pass == ONEDNN_FORWARD) {
        TRY(dnnl_pooling_v2_forward_desc_init(&desc, dnnl_forward_training, algorithm, t->src, t->dst,
                                              w->stride, w->kernel, w->dilation, w->pad_before, w->pad_after),
            name);
    } else {
        TRY(dnnl_pooling_v2_backward_desc_init(&desc, algorithm, t->src, t->dst, w->stride, w->kernel,
                                               w->dilation, w->pad_before, w->pad_after),
            name);
    }
    TRY(dnnl_primitive_desc_iterator_create(ret, &desc, attributes, engine, hint), name);
    return KIT_OK;
}

/* An operation descriptor becomes a walk, or says why not. A walk of 2.6 points to it, hence `static`: each
 * walk is at its end before another one of its kind begins. */
#define DESCRIBED(init, name)                                                                                \
    do {                                                                                                     \
        TRY(init, name);                                                                                     \
        TRY(dnnl_primitive_desc_iterator_create(ret, &desc, attributes, engine, hint), name);                \
    } while (0)

int onednn_matmul(onednn_const_md src, onednn_const_md weights, onednn_const_md dst, onednn_walk *ret)
{
    const dnnl_primitive_desc_t hint = NULL;
    static dnnl_matmul_desc_t desc;
    DESCRIBED(dnnl_matmul_desc_init(&desc, src, weights, NULL, dst), "matmul");
    return KIT_OK;
}

int onednn_inner_product(enum onednn_pass pass, const struct onednn_tensors *t, onednn_const_md bias,
                         dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    static dnnl_inner_product_desc_t desc;
    switch (pass) {
    case ONEDNN_FORWARD:
        DESCRIBED(dnnl_inner_product_forward_desc_init(&desc, dnnl_forward_training, t->src, t->weights, bias,
                                                       t->dst),
                  "forward inner product");
        break;
    case ONEDNN_BACKWARD_DATA:
        DESCRIBED(dnnl_inner_product_backward_data_desc_init(&desc, t->src, t->weights, t->dst),
                  "inner product backward data");
        break;
    case ONEDNN_BACKWARD_WEIGHTS:
        DESCRIBED(dnnl_inner_product_backward_weights_desc_init(&desc, t->src, t->weights, bias, t->dst),
                  "inner product backward weights");
        break;
    }
    return KIT_OK;
}

int onednn_batch_norm(bool backward, onednn_const_md data, dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    const unsigned flags = dnnl_use_scale | dnnl_use_shift;
    static dnnl_batch_normalization_desc_t desc;
    if (!backward) {
        DESCRIBED(dnnl_batch_normalization_forward_desc_init(&desc, dnnl_forward_training, data,
                                                             ONEDNN_EPSILON, flags),
                  "forward batch normalization");
    } else {
        DESCRIBED(dnnl_batch_normalization_backward_desc_init(&desc, dnnl_backward, data, data,
                                                              ONEDNN_EPSILON, flags),
                  "batch normalization backward");
    }
    return KIT_OK;
}

int onednn_layer_norm(bool backward, onednn_const_md data, onednn_const_md statistics,
                      dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    const unsigned flags = dnnl_use_scale | dnnl_use_shift;
    static dnnl_layer_normalization_desc_t desc;
    if (!backward) {
        DESCRIBED(dnnl_layer_normalization_forward_desc_init(&desc, dnnl_forward_training, data, statistics,
                                                             ONEDNN_EPSILON, flags),
                  "forward layer normalization");
    } else {
        DESCRIBED(dnnl_layer_normalization_backward_desc_init(&desc, dnnl_backward, data, data, statistics,
                                                              ONEDNN_EPSILON, flags),
                  "layer normalization backward");
    }
    return KIT_OK;
}

int onednn_softmax(bool backward, dnnl_alg_kind_t algorithm, onednn_const_md data, int axis,
                   dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    static dnnl_softmax_v2_desc_t desc;
    if (!backward) {
        DESCRIBED(
            dnnl_softmax_v2_forward_desc_init(&desc, dnnl_forward_training, algorithm, data, data, axis),
            "forward softmax");
    } else {
        DESCRIBED(dnnl_softmax_v2_backward_desc_init(&desc, algorithm, data, data, data, axis),
                  "softmax backward");
    }
    return KIT_OK;
}

int onednn_eltwise(bool backward, dnnl_alg_kind_t algorithm, onednn_const_md data, float alpha, float beta,
                   dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    static dnnl_eltwise_desc_t desc;
    if (!backward) {
        DESCRIBED(dnnl_eltwise_forward_desc_init(&desc, dnnl_forward_training, algorithm, data, alpha, beta),
                  "forward eltwise");
    } else {
        DESCRIBED(dnnl_eltwise_backward_desc_init(&desc, algorithm, data, data, alpha, beta),
                  "eltwise backward");
    }
    return KIT_OK;
}

int onednn_reduction(dnnl_alg_kind_t algorithm, onednn_const_md src, onednn_const_md dst, float p,
                     onednn_walk *ret)
{
    const dnnl_primitive_desc_t hint = NULL;
    static dnnl_reduction_desc_t desc;
    DESCRIBED(dnnl_reduction_desc_init(&desc, algorithm, src, dst, p, 0), "reduction");
    return KIT_OK;
}

int onednn_recurrent(enum onednn_cell cell, dnnl_prop_kind_t pass, dnnl_rnn_direction_t direction,
                     const struct onednn_recurrent *t, const struct onednn_recurrent *g,
                     dnnl_primitive_desc_t hint, onednn_walk *ret)
{
    const unsigned flags = dnnl_rnn_flags_undef;
    dnnl_status_t status = dnnl_invalid_arguments;
    static dnnl_rnn_desc_t desc;
    switch (cell) {
    case ONEDNN_RNN_TANH:
        status =
            !g ? dnnl_vanilla_rnn_forward_desc_init(&desc, pass, dnnl_eltwise_tanh, direction, t->src_layer,
                                                    t->src_iter, t->weights_layer, t->weights_iter, t->bias,
                                                    t->dst_layer, t->dst_iter, flags, 0, 0)
               : dnnl_vanilla_rnn_backward_desc_init(
                     &desc, pass, dnnl_eltwise_tanh, direction, t->src_layer, t->src_iter, t->weights_layer,
                     t->weights_iter, t->bias, t->dst_layer, t->dst_iter, g->src_layer, g->src_iter,
                     g->weights_layer, g->weights_iter, g->bias, g->dst_layer, g->dst_iter, flags, 0, 0);
        break;
    case ONEDNN_LSTM:
        status = !g ? dnnl_lstm_forward_desc_init(&desc, pass, direction, t->src_layer, t->src_iter,
                                                  t->src_iter_c, t->weights_layer, t->weights_iter, t->bias,
                                                  t->dst_layer, t->dst_iter, t->dst_iter_c, flags)
                    : dnnl_lstm_backward_desc_init(
                          &desc, pass, direction, t->src_layer, t->src_iter, t->src_iter_c, t->weights_layer,
                          t->weights_iter, t->bias, t->dst_layer, t->dst_iter, t->dst_iter_c, g->src_layer,
                          g->src_iter, g->src_iter_c, g->weights_layer, g->weights_iter, g->bias,
                          g->dst_layer, g->dst_iter, g->dst_iter_c, flags);
        break;
    case ONEDNN_GRU:
    case ONEDNN_LBR_GRU:
        status = !g ? (cell == ONEDNN_GRU ? dnnl_gru_forward_desc_init : dnnl_lbr_gru_forward_desc_init)(
                          &desc, pass, direction, t->src_layer, t->src_iter, t->weights_layer,
                          t->weights_iter, t->bias, t->dst_layer, t->dst_iter, flags)
                    : (cell == ONEDNN_GRU ? dnnl_gru_backward_desc_init : dnnl_lbr_gru_backward_desc_init)(
                          &desc, pass, direction, t->src_layer, t->src_iter, t->weights_layer,
                          t->weights_iter, t->bias, t->dst_layer, t->dst_iter, g->src_layer, g->src_iter,
                          g->weights_layer, g->weights_iter, g->bias, g->dst_layer, g->dst_iter, flags);
        break;
    }
    DESCRIBED(status, "a recurrent layer");
    return KIT_OK;
}

#endif

int onednn_open(void)
{
    TRY(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine creation");
    TRY(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream creation");
    TRY(dnnl_primitive_attr_create(&attributes), "attribute creation");
    TRY(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user), "scratchpad mode");
    TRY(dnnl_get_primitive_cache_capacity(&cache_capacity), "asking for the cache of primitives");
    return KIT_OK;
}

int onednn_choose(const char *choice)
{
    const bool deterministic = choice && strcmp(choice, ONEDNN_DETERMINISTIC) == 0;
    /* A walk that finds its first implementation in the cache gives it again as the second (2.6). */
    TRY(dnnl_set_primitive_cache_capacity(choice && !deterministic ? 0 : cache_capacity),
        "setting the cache of primitives");
#if DNNL_VERSION_MAJOR > 3 || (DNNL_VERSION_MAJOR == 3 && DNNL_VERSION_MINOR >= 4)
    TRY(dnnl_primitive_attr_set_deterministic(attributes, deterministic), "the deterministic attribute");
#else
    if (deterministic) {
        return kit_skip("version", "oneDNN %d.%d has no deterministic attribute, 3.4 is the first that has",
                        DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR);
    }
#endif
    return KIT_OK;
}

int onednn_libraries(struct kit_library *ret, int max)
{
    const dnnl_version_t *version = dnnl_version();
    if (max < 1) {
        return 0;
    }
    ret[0] = (struct kit_library){.role = "onednn"};
    snprintf(ret[0].name, sizeof(ret[0].name), "oneDNN");
    snprintf(ret[0].version, sizeof(ret[0].version), "%d.%d.%d", version->major, version->minor,
             version->patch);
    snprintf(ret[0].config, sizeof(ret[0].config), "effective isa 0x%x",
             (unsigned)dnnl_get_effective_cpu_isa());
    /* "cpu_isa_avx512_core" -> the word of ONEDNN_MAX_CPU_ISA */
    static const char prefix[] = "cpu_isa_";
    const char *isa = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
    isa += strncmp(isa, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    for (size_t i = 0; isa[i] && i + 1 < sizeof(ret[0].isa); i++) {
        ret[0].isa[i] = (char)toupper((unsigned char)isa[i]);
    }
    kit_path_of((const void *)dnnl_version, ret[0].path, sizeof(ret[0].path));
    return 1;
}

void onednn_tensors_free(struct onednn_tensors *tensors)
{
    onednn_md_free(tensors->src);
    onednn_md_free(tensors->weights);
    onednn_md_free(tensors->dst);
    *tensors = (struct onednn_tensors){0};
}

int onednn_reorder(onednn_const_md from, onednn_const_md to, dnnl_primitive_desc_t *ret)
{
    TRY(dnnl_reorder_primitive_desc_create(ret, from, engine, to, engine, attributes), "reorder");
    return KIT_OK;
}

int onednn_query_inputs(dnnl_primitive_desc_t descriptor)
{
    int count = 0;
    return dnnl_primitive_desc_query(descriptor, dnnl_query_num_of_inputs_s32, 0, &count) == dnnl_success
               ? count
               : 0;
}

size_t onednn_query_bytes(dnnl_primitive_desc_t descriptor, dnnl_query_t query)
{
    const onednn_const_md md = dnnl_primitive_desc_query_md(descriptor, query, 0);
    return md ? dnnl_memory_desc_get_size(md) : 0;
}

onednn_const_md onednn_query_argument(dnnl_primitive_desc_t descriptor, int arg)
{
    return dnnl_primitive_desc_query_md(descriptor, dnnl_query_exec_arg_md, arg);
}

static int add_memory(struct onednn_call *call, int arg, onednn_const_md md, int operand, size_t offset)
{
    if (!md || call->count == ONEDNN_MAX_ARGS) {
        return kit_fail("oneDNN argument %d of the primitive cannot be bound", arg);
    }
    struct onednn_arg *bound = &call->args[call->count];
    TRY(dnnl_memory_create(&bound->memory, md, engine, DNNL_MEMORY_NONE), "memory creation");
    bound->arg = arg;
    bound->operand = operand;
    bound->offset = offset;
    call->count++;
    return KIT_OK;
}

static int add_argument(struct onednn_call *call, int arg, dnnl_query_t query, int operand, size_t offset)
{
    return add_memory(call, arg, dnnl_primitive_desc_query_md(call->descriptor, query, 0), operand, offset);
}

int onednn_bind(struct onednn_call *call, int arg, dnnl_query_t query, int operand, struct kit_prepared *ret)
{
    ret->native_bytes[operand] = onednn_query_bytes(call->descriptor, query);
    return add_argument(call, arg, query, operand, 0);
}

int onednn_bind_as(struct onednn_call *call, int arg, onednn_const_md md, int operand,
                   struct kit_prepared *ret)
{
    ret->native_bytes[operand] = dnnl_memory_desc_get_size(md);
    return add_memory(call, arg, md, operand, 0);
}

int onednn_bind_internal_as(struct onednn_call *call, int arg, onednn_const_md md, size_t offset)
{
    return add_memory(call, arg, md, ONEDNN_WORKSPACE, offset);
}

int onednn_bind_internal(struct onednn_call *call, int arg, dnnl_query_t query, size_t offset)
{
    return add_argument(call, arg, query, ONEDNN_WORKSPACE, offset);
}

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t onednn_reserve(struct kit_prepared *ret, size_t bytes)
{
    const size_t offset = round_up(ret->workspace_bytes);
    ret->workspace_bytes = offset + bytes;
    return offset;
}

/* "jit:avx512_core"; two primitives of one operation are joined by " + ". */
static void name_implementation(const struct onednn_call *call, struct kit_prepared *ret)
{
    const char *name = "";
    dnnl_primitive_desc_query(call->descriptor, dnnl_query_impl_info_str, 0, &name);
    const size_t length = strlen(ret->chosen);
    snprintf(ret->chosen + length, sizeof(ret->chosen) - length, "%s%s", length ? " + " : "", name);
}

int onednn_finish(struct onednn_call *call, struct kit_prepared *ret)
{
    const size_t scratchpad = onednn_query_bytes(call->descriptor, dnnl_query_scratchpad_md);
    if (scratchpad > 0) {
        const int rc = onednn_bind_internal(call, DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md,
                                            onednn_reserve(ret, scratchpad));
        if (rc != KIT_OK) {
            return rc;
        }
    }
    TRY(dnnl_primitive_create(&call->primitive, call->descriptor), "primitive creation");
    TRY(dnnl_stream_create(&call->stream, engine, dnnl_stream_default_flags), "stream creation");
    name_implementation(call, ret);
    return KIT_OK;
}

int onednn_execute(struct onednn_call *call, const struct kit_buffers *buffers)
{
    dnnl_exec_arg_t args[ONEDNN_MAX_ARGS];
    for (int i = 0; i < call->count; i++) {
        const struct onednn_arg *bound = &call->args[i];
        void *data = bound->operand == ONEDNN_WORKSPACE ? (char *)buffers->workspace + bound->offset
                                                        : buffers->data[bound->operand];
        TRY(dnnl_memory_set_data_handle(bound->memory, data), "setting a buffer");
        args[i] = (dnnl_exec_arg_t){bound->arg, bound->memory};
    }
    TRY(dnnl_primitive_execute(call->primitive, call->stream, call->count, args), "execution");
    TRY(dnnl_stream_wait(call->stream), "waiting for the stream");
    return KIT_OK;
}

void onednn_release(struct onednn_call *call)
{
    for (int i = 0; i < call->count; i++) {
        dnnl_memory_destroy(call->args[i].memory);
    }
    if (call->primitive) {
        dnnl_primitive_destroy(call->primitive);
    }
    if (call->stream) {
        dnnl_stream_destroy(call->stream);
    }
    if (call->descriptor) {
        dnnl_primitive_desc_destroy(call->descriptor);
    }
    *call = (struct onednn_call){0};
}

static int reorder(onednn_const_md from_md, const void *from, onednn_const_md to_md, void *to)
{
    struct onednn_call call = {0};
    dnnl_memory_t memory[2] = {NULL, NULL};
    void *source;
    memcpy(&source, &from,
           sizeof(source)); /* oneDNN takes no pointer to const data; it only reads this one */
    TRY(dnnl_reorder_primitive_desc_create(&call.descriptor, from_md, engine, to_md, engine, NULL),
        "reorder");
    dnnl_status_t status = dnnl_primitive_create(&call.primitive, call.descriptor);
    if (status == dnnl_success) {
        status = dnnl_memory_create(&memory[0], from_md, engine, source);
    }
    if (status == dnnl_success) {
        status = dnnl_memory_create(&memory[1], to_md, engine, to);
    }
    if (status == dnnl_success) {
        const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, memory[0]}, {DNNL_ARG_TO, memory[1]}};
        status = dnnl_primitive_execute(call.primitive, stream, 2, args);
    }
    if (status == dnnl_success) {
        status = dnnl_stream_wait(stream);
    }
    for (int i = 0; i < 2; i++) {
        if (memory[i]) {
            dnnl_memory_destroy(memory[i]);
        }
    }
    onednn_release(&call);
    return status == dnnl_success ? KIT_OK : failed("reorder", status);
}

static onednn_const_md native_md(const struct onednn_call *call, int operand)
{
    for (int i = 0; i < call->count; i++) {
        onednn_const_md md = NULL;
        if (call->args[i].operand == operand &&
            dnnl_memory_get_memory_desc(call->args[i].memory, &md) == dnnl_success) {
            return md;
        }
    }
    return NULL;
}

int onednn_permute(struct onednn_call *call, int operand, onednn_const_md plain, const void *from, void *to,
                   bool to_native)
{
    const onednn_const_md native = native_md(call, operand);
    if (!native) {
        return kit_fail("operand %d has no oneDNN layout", operand);
    }
    return to_native ? reorder(plain, from, native, to) : reorder(native, from, plain, to);
}

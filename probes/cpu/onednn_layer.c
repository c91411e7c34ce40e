/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers of oneDNN from lists of tensors.
 */
#include "probes/cpu/onednn_layer.h"

#include <stdlib.h>

static dnnl_format_tag_t plain_tag(int ndim)
{
    static const dnnl_format_tag_t tags[] = {0, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde};
    return tags[ndim];
}

static bool is_plain(const struct onednn_tensor *tensor)
{
    return tensor->tag == dnnl_format_tag_undef || tensor->tag == plain_tag(tensor->ndim);
}

void onednn_layer_shape(const struct onednn_tensor *tensors, int count, struct kit_shape *ret)
{
    ret->count = count;
    for (int i = 0; i < count; i++) {
        const struct onednn_tensor *t = &tensors[i];
        struct kit_operand *operand = &ret->operand[i];
        *operand = (struct kit_operand){.name = t->name,
                                        .role = t->role,
                                        .dtype = t->dtype,
                                        .ndim = t->ndim,
                                        .batch_dim = t->batch_dim,
                                        .chosen = !is_plain(t),
                                        .fill = t->fill,
                                        .exponent = t->exponent};
        for (int d = 0; d < t->ndim; d++) {
            operand->shape[d] = t->shape[d];
        }
    }
}

int onednn_layer_open(struct onednn_layer *layer, const char *choice, const struct onednn_tensor *tensors,
                      int count)
{
    layer->choice = choice;
    for (int i = 0; i < count; i++) {
        const struct onednn_tensor *t = &tensors[i];
        layer->plain[i] = onednn_md_make(t->ndim, t->shape, t->dtype, plain_tag(t->ndim));
        layer->native[i] =
            onednn_md_make(t->ndim, t->shape, t->dtype, is_plain(t) ? plain_tag(t->ndim) : t->tag);
        if (!layer->plain[i] || !layer->native[i]) {
            return kit_fail("oneDNN refused a descriptor of '%s'", t->name);
        }
    }
    return onednn_choose(choice);
}

int onednn_layer_bind(struct onednn_layer *layer, const struct onednn_tensor *tensors, int count,
                      struct kit_prepared *ret)
{
    int rc = KIT_OK;
    for (int i = 0; rc == KIT_OK && i < count; i++) {
        const struct onednn_tensor *t = &tensors[i];
        if (t->arg == 0) {
            continue;
        }
        const onednn_const_md asked = t->tag == dnnl_format_tag_any
                                          ? onednn_query_argument(layer->call.descriptor, t->arg)
                                          : layer->native[i];
        rc = asked ? onednn_bind_as(&layer->call, t->arg, asked, i, ret)
                   : kit_fail("oneDNN has no layout for '%s'", t->name);
    }
    return rc == KIT_OK ? onednn_finish(&layer->call, ret) : rc;
}

int onednn_layer_bind_reordered(struct onednn_layer *layer, struct onednn_call *call, int arg, int operand,
                                struct kit_prepared *ret)
{
    const onednn_md plain = layer->plain[operand];
    const onednn_const_md wanted = onednn_query_argument(call->descriptor, arg);
    if (wanted && dnnl_memory_desc_equal(wanted, plain)) {
        return onednn_bind_as(call, arg, plain, operand, ret);
    }
    if (!wanted || layer->reorders == ONEDNN_LAYER_REORDERS) {
        return kit_fail("oneDNN argument %d cannot be reordered", arg);
    }
    struct onednn_call *reorder = &layer->reorder[layer->reorders++];
    const size_t place = onednn_reserve(ret, dnnl_memory_desc_get_size(wanted));
    int rc = onednn_reorder(plain, wanted, &reorder->descriptor);
    rc = rc ? rc : onednn_bind_as(reorder, DNNL_ARG_FROM, plain, operand, ret);
    rc = rc ? rc : onednn_bind_internal_as(reorder, DNNL_ARG_TO, wanted, place);
    rc = rc ? rc : onednn_finish(reorder, ret);
    return rc ? rc : onednn_bind_internal_as(call, arg, wanted, place);
}

int onednn_layer_prepare(struct onednn_layer *layer, const char *choice, const struct onednn_tensor *tensors,
                         int count, bool backward, onednn_describer *describe, struct kit_prepared *ret)
{
    dnnl_primitive_desc_t hint = NULL;
    onednn_walk walk;
    int rc = onednn_layer_open(layer, choice, tensors, count);
    if (rc == KIT_OK && backward) {
        rc = describe(layer, false, NULL, &walk);
        rc = rc ? rc : onednn_take(walk, NULL, &hint);
    }
    if (rc == KIT_OK) {
        rc = describe(layer, backward, hint, &walk);
        rc = rc ? rc : onednn_take(walk, choice, &layer->call.descriptor);
    }
    if (hint) {
        dnnl_primitive_desc_destroy(hint);
    }
    return rc == KIT_OK ? onednn_layer_bind(layer, tensors, count, ret) : rc;
}

int onednn_layer_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    struct onednn_layer *layer = call->state;
    int rc = KIT_OK;
    for (int i = 0; rc == KIT_OK && i < layer->reorders; i++) {
        rc = onednn_execute(&layer->reorder[i], buffers);
    }
    if (rc == KIT_OK && layer->forward.primitive) {
        rc = onednn_execute(&layer->forward, buffers);
    }
    return rc == KIT_OK ? onednn_execute(&layer->call, buffers) : rc;
}

int onednn_layer_pack(struct kit_call *call, int operand, const void *logical, void *native)
{
    struct onednn_layer *layer = call->state;
    return onednn_permute(&layer->call, operand, layer->plain[operand], logical, native, true);
}

int onednn_layer_unpack(struct kit_call *call, int operand, const void *native, void *logical)
{
    struct onednn_layer *layer = call->state;
    return onednn_permute(&layer->call, operand, layer->plain[operand], native, logical, false);
}

void onednn_layer_release(struct kit_call *call)
{
    struct onednn_layer *layer = call->state;
    for (int i = 0; layer && i < KIT_MAX_OPERANDS; i++) {
        onednn_md_free(layer->plain[i]);
        onednn_md_free(layer->native[i]);
    }
    for (int i = 0; layer && i < layer->reorders; i++) {
        onednn_release(&layer->reorder[i]);
    }
    if (layer) {
        onednn_release(&layer->forward);
        onednn_release(&layer->call);
    }
    free(layer);
    call->state = NULL;
}

int onednn_layer_layout(const struct kit_params *params, dnnl_format_tag_t *ret)
{
    static const dnnl_format_tag_t tags[] = {dnnl_nchw, dnnl_nChw8c, dnnl_nhwc};
    int layout;
    if (kit_param_word(params, "layout", "plain|blocked|last", &layout)) {
        return KIT_FAILED;
    }
    *ret = tags[layout];
    return KIT_OK;
}

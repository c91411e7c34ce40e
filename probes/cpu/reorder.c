/* SPDX-License-Identifier: Apache-2.0
 *
 * Reorders on oneDNN: the same tensor in another layout, or in another type. A change of layout moves
 * elements and rounds nothing; a change of type rounds each element to nearest, ties to even, whatever its
 * place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/cpu/onednn_layer.h"
#include "probes/kit/dtype.h"

enum { FROM, TO };

struct state {
    struct onednn_layer layer;
    int64_t n, c, h, w;
    enum kit_dtype to;
    dnnl_format_tag_t tags[2];
};

static int read_tag(const struct kit_params *params, const char *name, dnnl_format_tag_t *ret)
{
    static const dnnl_format_tag_t tags[] = {dnnl_nchw, dnnl_nChw8c, dnnl_nChw16c, dnnl_nhwc};
    int layout;
    if (kit_param_word(params, name, "plain|blocked8|blocked16|last", &layout)) {
        return KIT_FAILED;
    }
    *ret = tags[layout];
    return KIT_OK;
}

static int read_params(const struct kit_params *params, struct state *ret)
{
    return kit_param_int(params, "n", &ret->n) || kit_param_int(params, "c", &ret->c) ||
                   kit_param_int(params, "h", &ret->h) || kit_param_int(params, "w", &ret->w) ||
                   kit_param_dtype(params, "dtype", "f32|bf16|s8", &ret->to) ||
                   read_tag(params, "from", &ret->tags[FROM]) || read_tag(params, "to", &ret->tags[TO])
               ? KIT_FAILED
               : KIT_OK;
}

static void tensors_of(const struct state *s, struct onednn_tensor ret[2])
{
    const struct onednn_tensor data = {
        .dtype = KIT_F32, .ndim = 4, .shape = {s->n, s->c, s->h, s->w}, .batch_dim = 0};
    ret[FROM] = ret[TO] = data;
    ret[FROM].name = "from";
    ret[FROM].arg = DNNL_ARG_FROM;
    ret[FROM].tag = s->tags[FROM];
    ret[TO].name = "to";
    ret[TO].arg = DNNL_ARG_TO;
    ret[TO].tag = s->tags[TO];
    ret[TO].role = KIT_OUT;
    ret[TO].dtype = s->to;
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct state s;
    struct onednn_tensor tensors[2];
    if (read_params(params, &s)) {
        return KIT_FAILED;
    }
    tensors_of(&s, tensors);
    onednn_layer_shape(tensors, 2, ret);
    ret->flops = (double)(s.n * s.c * s.h * s.w);
    return KIT_OK;
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct state *s = calloc(1, sizeof(*s));
    struct onednn_tensor tensors[2];
    call->state = s;
    if (!s || read_params(call->params, s)) {
        return s ? KIT_FAILED : kit_fail("out of memory");
    }
    tensors_of(s, tensors);
    struct onednn_layer *const layer = &s->layer;
    int rc = onednn_layer_open(layer, call->choice, tensors, 2);
    rc = rc ? rc : onednn_reorder(layer->native[FROM], layer->native[TO], &layer->call.descriptor);
    return rc ? rc : onednn_layer_bind(layer, tensors, 2, ret);
}

/* To nearest, ties to even, in the type that is written. */
static long double rounded(enum kit_dtype dtype, float value)
{
    if (dtype == KIT_S8) {
        const float whole = nearbyintf(value);
        return whole > 127 ? 127 : whole < -128 ? -128 : whole;
    }
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if (dtype == KIT_BF16) {
        bits += 0x7fff + (bits >> 16 & 1);
        bits &= 0xffff0000u;
    }
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const struct state *s = call->state;
    for (size_t c = 0; c < count; c++) {
        ret[c] = (struct kit_cell){.value = rounded(s->to, ((const float *)in[FROM])[cells[c]]), .k = 1};
    }
    return KIT_OK;
}

static const struct op reorder = {.name = "reorder",
                                  .describe = describe,
                                  .prepare = prepare,
                                  .pack = onednn_layer_pack,
                                  .unpack = onednn_layer_unpack,
                                  .run = onednn_layer_run,
                                  .reference = reference,
                                  .release = onednn_layer_release};

int main(void)
{
    static const struct op *const ops[] = {&reorder, NULL};
    static const struct kit_program program = {.name = "reorder",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = onednn_open,
                                               .libraries = onednn_libraries,
                                               .concurrent = true};
    return kit_main(&program);
}

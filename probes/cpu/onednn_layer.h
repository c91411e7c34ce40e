/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs of oneDNN's layers share: from a list of tensors to operands, memory descriptors and bound
 * arguments. A program adds parameters, the primitive descriptor and the reference. A convolution and a
 * pooling let the library choose layouts and do without.
 */
#ifndef PROBES_CPU_ONEDNN_LAYER_H
#define PROBES_CPU_ONEDNN_LAYER_H

#include "probes/cpu/onednn.h"

/* An operand of the kit and an argument of the primitive. */
struct onednn_tensor {
    const char *name;
    enum kit_role role;
    enum kit_dtype dtype;
    int ndim;
    int64_t shape[5];
    int batch_dim; /* or -1 */
    int arg;       /* DNNL_ARG_SRC, ...; 0: of layer->forward alone */
    dnnl_format_tag_t
        tag; /* of the native layout; 0: plain, as it is described; any: the primitive chooses */
    enum kit_fill fill;
    int exponent; /* for KIT_BOUNDED */
};

enum { ONEDNN_LAYER_REORDERS = 4 };

/* The first member of a program's state: pack, unpack and release below find it there. */
struct onednn_layer {
    const char *choice; /* of the kit's call; what descriptors are made for, and layer->call's is taken by */
    struct onednn_call
        reorder[ONEDNN_LAYER_REORDERS]; /* run first: operands into layouts of one of the passes */
    int reorders;
    struct onednn_call
        forward; /* runs before `call` in a backward pass that needs what it leaves; or unused */
    struct onednn_call call;
    onednn_md plain[KIT_MAX_OPERANDS], native[KIT_MAX_OPERANDS];
};

/* The kit's operands, by number as the tensors; flops is left to the caller. */
void onednn_layer_shape(const struct onednn_tensor *tensors, int count, struct kit_shape *ret);
/* Memory descriptors, plain and native; layer->choice. Before any other descriptor is made. */
int onednn_layer_open(struct onednn_layer *layer, const char *choice, const struct onednn_tensor *tensors,
                      int count);
/* Binds every tensor that is an argument to layer->call, whose descriptor is set, and finishes it. */
int onednn_layer_bind(struct onednn_layer *layer, const struct onednn_tensor *tensors, int count,
                      struct kit_prepared *ret);

/* Binds an operand that is plain to a primitive (layer->forward or layer->call) that may want another layout:
 * then a reorder into the workspace runs before. */
int onednn_layer_bind_reordered(struct onednn_layer *layer, struct onednn_call *call, int arg, int operand,
                                struct kit_prepared *ret);

/* Primitive descriptors of the state that begins with `layer`: of its forward pass, or with one of those as
 * the `hint` of its backward one. */
typedef int onednn_describer(const struct onednn_layer *layer, bool backward, dnnl_primitive_desc_t hint,
                             onednn_walk *ret);
/* All of prepare that comes after the parameters: descriptors of tensors and primitive, bound arguments. */
int onednn_layer_prepare(struct onednn_layer *layer, const char *choice, const struct onednn_tensor *tensors,
                         int count, bool backward, onednn_describer *describe, struct kit_prepared *ret);

/* For struct op. */
int onednn_layer_run(struct kit_call *call, const struct kit_buffers *buffers);
int onednn_layer_pack(struct kit_call *call, int operand, const void *logical, void *native);
int onednn_layer_unpack(struct kit_call *call, int operand, const void *native, void *logical);
void onednn_layer_release(struct kit_call *call);

/* An operation of a program whose describe() and prepare() serve several: `...` are the words that they take
 * between the parameters or the call and what they return, and say which of them it is. */
#define ONEDNN_LAYER_OP(id, text, ...) ONEDNN_LAYER_OP_WITH(onednn_layer_release, id, text, __VA_ARGS__)
/* The same of a program whose state holds more than the layer. */
#define ONEDNN_LAYER_OP_WITH(releaser, id, text, ...)                                                        \
    static int describe_##id(const struct kit_params *params, struct kit_shape *ret)                         \
    {                                                                                                        \
        return describe(params, __VA_ARGS__, ret);                                                           \
    }                                                                                                        \
    static int prepare_##id(struct kit_call *call, struct kit_prepared *ret)                                 \
    {                                                                                                        \
        return prepare(call, __VA_ARGS__, ret);                                                              \
    }                                                                                                        \
    static int choices_##id(const struct kit_params *params, const char *const **ret_names, int *ret_count)  \
    {                                                                                                        \
        return onednn_choices(prepare_##id, releaser, params, ret_names, ret_count);                         \
    }                                                                                                        \
    static const struct op id = {.name = text,                                                               \
                                 .describe = describe_##id,                                                  \
                                 .choices = choices_##id,                                                    \
                                 .prepare = prepare_##id,                                                    \
                                 .pack = onednn_layer_pack,                                                  \
                                 .unpack = onednn_layer_unpack,                                              \
                                 .run = onednn_layer_run,                                                    \
                                 .reference = reference,                                                     \
                                 .release = releaser}

/* "plain|blocked|last" of four-dimensional tensors: nchw, nChw8c, nhwc. */
int onednn_layer_layout(const struct kit_params *params, dnnl_format_tag_t *ret);

#endif

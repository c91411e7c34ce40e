/* SPDX-License-Identifier: Apache-2.0
 *
 * oneDNN for the probes that link it: one engine per process, memory descriptors, and one prepared
 * primitive with its operands bound. This file, its .c and onednn_choice.c are the only place that knows
 * whether oneDNN is 2.x (descriptors are structs, operation descriptors exist) or 3.x (opaque handles, none).
 * Thread rule: everything from the program's one thread; oneDNN's own threads are OpenMP's.
 * Source of the calls: oneDNN developer guide 2.6 and 3.7, C API.
 */
#ifndef PROBES_CPU_ONEDNN_H
#define PROBES_CPU_ONEDNN_H

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <stdint.h>

#include "probes/kit/op.h"

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t onednn_md;
typedef const_dnnl_memory_desc_t onednn_const_md;
typedef dnnl_primitive_desc_t onednn_walk;
#else
typedef dnnl_memory_desc_t *onednn_md;
typedef const dnnl_memory_desc_t *onednn_const_md;
typedef dnnl_primitive_desc_iterator_t onednn_walk;
#endif

/* The functions of struct kit_program. */
int onednn_open(void);
int onednn_libraries(struct kit_library *ret, int max);

/* Choices: ONEDNN_DETERMINISTIC, which leaves the implementation to the library, then every implementation by
 * the name that the library gives it. */
#define ONEDNN_DETERMINISTIC "deterministic"
/* The first that prepare calls: descriptors are made for this choice from here on. KIT_SKIPPED "version"
 * where this oneDNN has no deterministic attribute; 3.4 is the first that does. */
int onednn_choose(const char *choice);
/* Ends a walk over the implementations of one operation, which begins at the library's own choice, at that of
 * `choice` (NULL: where it stands); its descriptor is owned. KIT_SKIPPED "unsupported": there is none such. A
 * hint must live until then. */
int onednn_take(onednn_walk walk, const char *choice, dnnl_primitive_desc_t *ret);
/* For struct op: prepares as far as the names of all implementations are known. */
int onednn_choices(int (*prepare)(struct kit_call *, struct kit_prepared *),
                   void (*release)(struct kit_call *), const struct kit_params *params,
                   const char *const **ret_names, int *ret_count);

/* A descriptor of `ndim` logical extents in one of oneDNN's layouts; dnnl_format_tag_any leaves the layout to
 * the library. NULL when oneDNN refuses. Owned: onednn_md_free. */
onednn_md onednn_md_make(int ndim, const int64_t *dims, enum kit_dtype dtype, dnnl_format_tag_t tag);
void onednn_md_free(onednn_md md);

/* Windows of a convolution or pooling, by spatial dimension (height, width). Dilation 0 is none, as in
 * oneDNN. */
struct onednn_window {
    dnnl_dims_t stride, dilation, pad_before, pad_after;
    dnnl_dims_t kernel; /* pooling only */
};

/* Descriptors of one operation's tensors, in the roles of a forward pass; diff_* share the slot of their
 * tensor. */
struct onednn_tensors {
    onednn_md src, weights, dst;
};
void onednn_tensors_free(struct onednn_tensors *tensors);

enum onednn_pass { ONEDNN_FORWARD, ONEDNN_BACKWARD_DATA, ONEDNN_BACKWARD_WEIGHTS };

/* Primitive descriptors: a walk over all that the library offers, for onednn_take. `hint` is the forward one
 * of a backward pass, else NULL. The scratchpad is the user's, so that the kit can poison it. KIT_SKIPPED
 * "unsupported" when no implementation fits. */
int onednn_convolution(enum onednn_pass pass, dnnl_alg_kind_t algorithm, const struct onednn_tensors *tensors,
                       const struct onednn_window *window, dnnl_primitive_desc_t hint, onednn_walk *ret);
int onednn_pooling(enum onednn_pass pass, dnnl_alg_kind_t algorithm, const struct onednn_tensors *tensors,
                   const struct onednn_window *window, dnnl_primitive_desc_t hint, onednn_walk *ret);

/* The same for other primitives. A backward pass of elementwise kind has its gradients in the layout of
 * `data`. */
#define ONEDNN_EPSILON 1e-5f /* added to variances */
int onednn_matmul(onednn_const_md src, onednn_const_md weights, onednn_const_md dst, onednn_walk *ret);
int onednn_inner_product(enum onednn_pass pass, const struct onednn_tensors *tensors, onednn_const_md bias,
                         dnnl_primitive_desc_t hint, onednn_walk *ret);
int onednn_batch_norm(bool backward, onednn_const_md data, dnnl_primitive_desc_t hint, onednn_walk *ret);
int onednn_layer_norm(bool backward, onednn_const_md data, onednn_const_md statistics,
                      dnnl_primitive_desc_t hint, onednn_walk *ret);
int onednn_softmax(bool backward, dnnl_alg_kind_t algorithm, onednn_const_md data, int axis,
                   dnnl_primitive_desc_t hint, onednn_walk *ret);
int onednn_eltwise(bool backward, dnnl_alg_kind_t algorithm, onednn_const_md data, float alpha, float beta,
                   dnnl_primitive_desc_t hint, onednn_walk *ret);
int onednn_reduction(dnnl_alg_kind_t algorithm, onednn_const_md src, onednn_const_md dst, float p,
                     onednn_walk *ret);
int onednn_reorder(onednn_const_md from, onednn_const_md to, dnnl_primitive_desc_t *ret);

/* Recurrent layers. Descriptors of their tensors, or of the gradients of these; those of the cell state are
 * NULL but for LSTM. */
enum onednn_cell { ONEDNN_RNN_TANH, ONEDNN_LSTM, ONEDNN_GRU, ONEDNN_LBR_GRU };
struct onednn_recurrent {
    onednn_const_md src_layer, src_iter, src_iter_c, weights_layer, weights_iter, bias, dst_layer, dst_iter,
        dst_iter_c;
};
/* `gradients` is NULL in a forward pass (forward_inference or forward_training). The backward pass adds to
 * the gradients of weights and bias. */
int onednn_recurrent(enum onednn_cell cell, dnnl_prop_kind_t pass, dnnl_rnn_direction_t direction,
                     const struct onednn_recurrent *tensors, const struct onednn_recurrent *gradients,
                     dnnl_primitive_desc_t hint, onednn_walk *ret);

#define ONEDNN_MAX_ARGS 24
#define ONEDNN_WORKSPACE (-1) /* instead of an operand's number: a place in the kit's workspace */

/* A primitive ready to run. Set `descriptor`, bind, finish; then execute often and release once. */
struct onednn_call {
    dnnl_primitive_desc_t descriptor;
    dnnl_primitive_t primitive;
    dnnl_stream_t stream; /* of its own: streams are not for several threads */
    int count;
    struct onednn_arg {
        int arg;       /* DNNL_ARG_SRC, ... */
        int operand;   /* the kit's operand number or ONEDNN_WORKSPACE */
        size_t offset; /* bytes into the workspace */
        dnnl_memory_t memory;
    } args[ONEDNN_MAX_ARGS];
};

/* How many inputs the primitive reads. */
int onednn_query_inputs(dnnl_primitive_desc_t descriptor);
/* Bytes of a tensor as the primitive descriptor wants it; 0: it needs none. */
size_t onednn_query_bytes(dnnl_primitive_desc_t descriptor, dnnl_query_t query);
/* The layout in which the primitive wants an argument (DNNL_ARG_WEIGHTS_ITER, ...); NULL: it has none such.
 */
onednn_const_md onednn_query_argument(dnnl_primitive_desc_t descriptor, int arg);
/* Sets aside bytes of the kit's workspace, 64-byte aligned; returns their offset. */
size_t onednn_reserve(struct kit_prepared *ret, size_t bytes);
/* Binds an argument in the layout that the primitive descriptor asks for (`query`: dnnl_query_src_md, ...) to
 * an operand, whose native_bytes it sets, or to a place in the workspace. */
int onednn_bind(struct onednn_call *call, int arg, dnnl_query_t query, int operand, struct kit_prepared *ret);
int onednn_bind_internal(struct onednn_call *call, int arg, dnnl_query_t query, size_t offset);
/* The same in a layout that the caller knows. */
int onednn_bind_as(struct onednn_call *call, int arg, onednn_const_md md, int operand,
                   struct kit_prepared *ret);
int onednn_bind_internal_as(struct onednn_call *call, int arg, onednn_const_md md, size_t offset);
/* Creates the primitive, puts its scratchpad into the workspace and adds the implementation's name to
 * ret->chosen. */
int onednn_finish(struct onednn_call *call, struct kit_prepared *ret);
int onednn_execute(struct onednn_call *call, const struct kit_buffers *buffers);
void onednn_release(struct onednn_call *call);

/* Copies between a plain layout and the primitive's own one: a pure permutation plus padding. */
int onednn_permute(struct onednn_call *call, int operand, onednn_const_md plain, const void *from, void *to,
                   bool to_native);

#endif

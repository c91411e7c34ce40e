/* SPDX-License-Identifier: Apache-2.0
 *
 * Recurrent layers as every backend has them: parameters, operands and the reference; a probe adds the call
 * and the layout. Formulas: oneDNN developer guide, page on RNN, which are those of the papers on LSTM and
 * GRU. Layouts are dense: time x samples x channels, layer x direction x samples x channels, layer x
 * direction x inputs x gates x channels. The layer's own type is that of src, weights, dst and the states
 * between steps; cell states, bias and all gradients are f32.
 */
#ifndef KIT_RNN_H
#define KIT_RNN_H

#include "probes/kit/op.h"
#include "probes/kit/running.h"

enum kit_rnn_cell { KIT_RNN_TANH, KIT_RNN_LSTM, KIT_RNN_GRU, KIT_RNN_LBR_GRU };

enum kit_rnn_tensor {
    KIT_RNN_SRC_LAYER,
    KIT_RNN_SRC_ITER,
    KIT_RNN_SRC_ITER_C, /* _C: of LSTM alone */
    KIT_RNN_WEIGHTS_LAYER,
    KIT_RNN_WEIGHTS_ITER,
    KIT_RNN_BIAS,
    KIT_RNN_DST_LAYER,
    KIT_RNN_DST_ITER,
    KIT_RNN_DST_ITER_C,
    KIT_RNN_TENSORS, /* and their gradients, in the same order */
    KIT_RNN_ALL = 2 * KIT_RNN_TENSORS
};

struct kit_rnn {
    int cell;
    int64_t layers,
        directions;     /* the second direction goes back in time; its outputs stand behind the first's */
    int64_t t, n, c, h; /* steps, samples, channels of src, channels of a state */
    enum kit_dtype dtype;
    bool backward;
};

/* From `cell`, `direction`, `layers`, `t`, `n`, `c`, `h` and `dtype`. */
int kit_rnn_read(const struct kit_params *params, bool backward, struct kit_rnn *ret);
/* Whether a cell has the tensor at all. */
bool kit_rnn_has(const struct kit_rnn *rnn, int tensor);
/* Which tensor each operand is; returns how many there are. */
int kit_rnn_operands(const struct kit_rnn *rnn, int ret[KIT_MAX_OPERANDS]);
/* Name, role, type, shape, batch dimension and fill of any tensor of the two passes. */
struct kit_operand kit_rnn_operand(const struct kit_rnn *rnn, int tensor);
/* Multiply-adds of the passes. */
double kit_rnn_flops(const struct kit_rnn *rnn);

/* Fills the outputs of the passes from the inputs, each dense, by tensor; NULL where an output is not wanted.
 * Gradients of weights and bias are added to what these hold. */
void kit_rnn_compute(const struct kit_rnn *rnn, struct kit_running *const tensor[KIT_RNN_ALL]);

/* What was computed last, kept while the inputs stay: outputs are asked for one after the other. Zeroed
 * before the first use. */
struct kit_rnn_results {
    uint64_t inputs; /* digest; 0: none yet */
    struct kit_running *tensor[KIT_RNN_ALL];
};
void kit_rnn_results_free(struct kit_rnn_results *results);
/* As in struct op, where kit_rnn_operands numbers the operands. */
int kit_rnn_reference(const struct kit_rnn *rnn, struct kit_rnn_results *results, int output,
                      const void *const *in, const int64_t *cells, size_t count, struct kit_cell *ret);

#endif

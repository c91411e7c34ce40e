/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that reduce what each rank holds, element by element. Where all ranks get the result they must
 * get the same one (MPI-4.1, section 6.9.6): how many elements of each rank's copy differ from rank 0's is an
 * output of its own, whose right value is 0.
 */
#ifndef MPI_REDUCTION_H
#define MPI_REDUCTION_H

#include "probes/kit/op.h"
#include "probes/mpi/world.h"

/* Operands by number; only ops that give all ranks a result have the last. */
enum { REDUCTION_VALUES, REDUCTION_RESULT, REDUCTION_DISAGREEING };

/* Values are in tensors of so many elements each, one behind the other in one message. */
struct reduction {
    const char *library;
    int64_t ranks, tensors, width;
    enum kit_dtype dtype;
    int reduction;
    int shuffled;
    struct world *world;
    int64_t runs;
};

int reduction_read(const struct kit_params *params, struct reduction *ret);

/* Parts of describe: what ranks hold; a result, and whether it agrees, for each of them. */
void reduction_describe_values(const struct reduction *r, struct kit_shape *ret);
void reduction_describe_everywhere(const struct reduction *r, struct kit_shape *ret);

/* Functions of struct op: with a result on every rank; with one, at rank 0 or in parts. */
int reduction_describe_all(const struct kit_params *params, struct kit_shape *ret);
int reduction_describe_one(const struct kit_params *params, struct kit_shape *ret);
int reduction_prepare(struct kit_call *call, struct kit_prepared *ret);
int reduction_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                        size_t count, struct kit_cell *ret);

/* The step for all elements, of a call that gives each rank all of the result. */
struct board_step reduction_step(const struct reduction *r, const void *from, const void *to);
/* Makes the steps, with the call's choice. */
int reduction_run(struct kit_call *call, enum board_call what, const struct board_step *steps, int count);
void reduction_disagreeing(const char *result, int64_t ranks, int64_t count, size_t size, int32_t *ret);

#endif

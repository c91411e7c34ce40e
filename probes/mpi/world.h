/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks of one MPI, started once and commanded many times.
 */
#ifndef MPI_WORLD_H
#define MPI_WORLD_H

#include "probes/mpi/board.h"
#include "probes/mpi/library.h"

struct world;

/* So many ranks of the library with that name, kept until the program ends or others need their place.
 * KIT_SKIPPED where that MPI is not here, KIT_FAILED with what its mpirun said. */
int world_of(const char *library, int64_t ranks, struct world **ret);

/* For struct op's `choices`: the algorithms that the library has for a call. */
int world_choices(const char *library, int64_t ranks, enum board_call call, const char *const **ret_names,
                  int *ret_count);

/* Makes the steps on all ranks and waits for them. `choice` NULL: the library's own; placement as on the
 * board. A rank that failed or ended is KIT_FAILED, and the world is gone: its next use starts another. */
int world_do(struct world *world, enum board_call call, const char *choice, int64_t placement,
             const struct board_step *steps, int count);

#endif

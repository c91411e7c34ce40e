/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the ranks see as well: boards first, operands behind them.
 */
#ifndef MPI_SHARED_H
#define MPI_SHARED_H

#include "probes/kit/backend.h"
#include "probes/mpi/board.h"

enum { SHARED_BOARDS = 6 };

/* The host's memory, but for where it is: in what shared_open maps. */
extern struct kit_backend shared_memory;

int shared_open(void);
/* Of what shared_memory.alloc gave: its place, for a step. */
int64_t shared_place(const void *memory);
struct board *shared_board(int number);
/* How a rank opens the memory: two words of its command line. */
const char *shared_file(void);
const char *shared_board_place(int number);

#endif

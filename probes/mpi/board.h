/* SPDX-License-Identifier: Apache-2.0
 *
 * What a probe program shares with the ranks that it started: one piece of memory, at the beginning of which
 * a board says what to do. Operands lie behind it, so nothing is copied to a rank or back. Nothing here is of
 * MPI: the program is built without it, and one rank program for each MPI.
 *
 * A byte in its pipe wakes a rank; it does what the board says and answers with a byte in the pipe that all
 * share. Both ends sleep meanwhile. The end of the pipe of commands, also that of a program that was killed,
 * ends the ranks.
 */
#ifndef MPI_BOARD_H
#define MPI_BOARD_H

#include <stdint.h>

enum { BOARD_MAX_RANKS = 16, BOARD_MAX_STEPS = 128, BOARD_MAX_CHOICES = 16, BOARD_WORD = 64 };

#define RANK_ABOUT "detprobe rank: " /* begins the line in which a rank program says its library */

enum board_call {
    BOARD_ALLREDUCE,
    BOARD_IALLREDUCE,
    BOARD_REDUCE,         /* to rank 0 */
    BOARD_REDUCE_SCATTER, /* in blocks: rank r keeps the r-th part */
    BOARD_SUM_BY_RANK,    /* at rank 0, by messages from `first`, `first` + 1, ... */
    BOARD_SUM_BY_ARRIVAL, /* at rank 0, by messages as they come */
    BOARD_CALLS
};
enum board_type { BOARD_F32, BOARD_F64, BOARD_S32 };
enum board_reduction { BOARD_SUM, BOARD_MAX };

/* One call. Rank r reads at from + r * from_stride and writes at to + r * to_stride, in bytes from the
 * beginning of the memory. */
struct board_step {
    int32_t type, reduction, first;
    int64_t count; /* elements that a rank reads */
    int64_t from, from_stride, to, to_stride;
};

enum board_command { BOARD_DO, BOARD_LIST };
enum board_answer { BOARD_DONE = 'd', BOARD_FAILED = 'f' };

struct board {
    int32_t ranks;
    int32_t wake[BOARD_MAX_RANKS], answer; /* descriptors of the program, under /proc/PID/fd */

    int32_t command;
    int32_t call;            /* of all steps */
    char choice[BOARD_WORD]; /* the algorithm of the call; "": the library's own choice */
    int64_t placement;       /* 0: ranks run where they were started; k: the k-th way to put them on cores */
    int32_t step_count;
    struct board_step steps[BOARD_MAX_STEPS];

    int32_t choice_count; /* what BOARD_LIST found */
    char choices[BOARD_MAX_CHOICES][BOARD_WORD];
    char failure[1024]; /* of a rank that answered BOARD_FAILED */
};

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting another program: it gets nothing of this one's but the environment and a pipe for what it says,
 * and ends with it.
 */
#ifndef MPI_CHILD_H
#define MPI_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/* `argv` begins with a path or a name in PATH. Its pid and in *ret_output the end of the pipe for both its
 * outputs; -1 with errno. */
pid_t child_start(const char *const *argv, int *ret_output);
/* Runs it to its end: its exit status, -1 for any other end. The beginning of what it said into `ret`. */
int child_ask(const char *const *argv, char *ret, size_t size);

/* The first line of what it said that is more than a frame, without what frames it. Changes `said`. */
const char *child_words(char *said);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The three standard descriptors of the program itself.
 */
#ifndef DP_COMMAND_STREAMS_H
#define DP_COMMAND_STREAMS_H

/* A descriptor that was closed when we were started must not become that of the report or the run log: what
 * is printed would land there. Its place is taken by one on which every read or write fails. */
void dp_streams_open(void);

/* What was printed has to arrive: a full disk or a closed standard output turns a code that says "all is
 * said" into 2, with a message. Returns the exit code. */
int dp_streams_close(int code);

#endif

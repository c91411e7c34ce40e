/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of the program. Each reads its own options, does its work through the parts below it, prints,
 * and returns the exit code. Only files in this folder and main.c print.
 */
#ifndef DP_COMMAND_COMMAND_H
#define DP_COMMAND_COMMAND_H

#include <jansson.h>
#include <stddef.h>

#include "suite/base/err.h"
#include "suite/base/options.h"

/* Behind the name of the program. */
#define DP_PROGRAM_SUMMARY                                                                                   \
    "which numerical operations return the same bits every time on this stack, and which do not"

struct dp_command {
    const char *name;
    const char *summary; /* a line of 'detprobe --help' */
    const struct dp_command_line *line;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
};

/* How a command ends: with `code`, or where that is negative with the error's, which is printed. */
int dp_command_end(int code, const struct dp_err *err);
/* What '--json' prints. */
void dp_command_print(const json_t *document);
/* A line for each library that was measured. */
void dp_command_print_libraries(const json_t *libraries);

/* By name. What parses, prints help and writes the manual reads this table. */
extern const struct dp_command *const dp_commands[];
extern const size_t dp_command_count;

extern const struct dp_command dp_command_audit;
extern const struct dp_command dp_command_baseline;
extern const struct dp_command dp_command_bisect;
extern const struct dp_command dp_command_diff;
extern const struct dp_command dp_command_doctor;
extern const struct dp_command dp_command_explain;
extern const struct dp_command dp_command_gate;
extern const struct dp_command dp_command_guarantees;
extern const struct dp_command dp_command_list;
extern const struct dp_command dp_command_new_probe;
extern const struct dp_command dp_command_order;
extern const struct dp_command dp_command_run;
extern const struct dp_command dp_command_show;
extern const struct dp_command dp_command_sign;
extern const struct dp_command dp_command_validate;
extern const struct dp_command dp_command_verify;

#endif

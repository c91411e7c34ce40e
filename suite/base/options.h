/* SPDX-License-Identifier: Apache-2.0
 *
 * Command-line options as one constant table per command: parsing, --help, suggestions, man pages and shell
 * completion come from the same rows.
 */
#ifndef DP_BASE_OPTIONS_H
#define DP_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "suite/base/err.h"

enum dp_option_kind {
    DP_OPTION_FLAG,     /* bool *      : --name sets true, --no-name false */
    DP_OPTION_STRING,   /* const char **: the last one wins */
    DP_OPTION_LIST,     /* struct dp_strings * : repeatable */
    DP_OPTION_INT,      /* int64_t *   : within [low, high] */
    DP_OPTION_DURATION, /* int64_t *   : nanoseconds */
    DP_OPTION_CHOICE    /* const char **: one of the words in `choices`, "a|b|c" */
};

struct dp_strings {
    const char **items; /* items borrowed from argv, the array owned: free(items) */
    size_t count;
};

struct dp_option {
    enum dp_option_kind kind;
    char letter;                     /* 0: no short form */
    const char *name;                /* without dashes */
    const char *argument;            /* name of the argument in --help */
    const char *help;                /* one or two sentences; wrapped by the printer */
    size_t offset;                   /* of its value in the command's struct of values */
    const char *choices;             /* "a|b|c", of a choice; what is chosen from a table elsewhere has ... */
    const char *(*choices_of)(void); /* ... a function that returns such words. Static. */
    int64_t low, high;
};

struct dp_command_line {
    const char *usage;   /* "detprobe run [--all | SELECTOR...]" */
    const char *summary; /* a paragraph under the usage line */
    const struct dp_option *options;
    size_t count;
    const char *details; /* text after the options (exit codes, examples), or NULL */
};

/* Parses argv[1..] into `values`, the struct that the rows' offsets are of. Options and operands may be
 * mixed, "--" ends options, "--name=value" and "--name value" both work.
 * --help and --version are always known: they print to stdout, set *ret_help and end the parsing. Operands
 * (borrowed) go to *ret_operands. Unknown options and values get a suggestion; code 64. */
int dp_options_parse(const struct dp_command_line *line, int argc, char **argv, void *values,
                     struct dp_strings *ret_operands, bool *ret_help, struct dp_err *err);
/* The words of a choice, from either member; NULL for other kinds. */
const char *dp_option_choices(const struct dp_option *option);
void dp_options_help(const struct dp_command_line *line, FILE *out);

#endif

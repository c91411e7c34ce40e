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
    DP_OPTION_SHARE,    /* double *    : above 0 and below 1 */
    DP_OPTION_CHOICE,   /* const char **: one of the words in `choices`, "a|b|c" */
    DP_OPTION_COMMAND   /* struct dp_strings * : all words that follow, whatever they look like */
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

/* When a command ends with a code, in its own words; a row without text ends the rows. */
struct dp_exit_row {
    int code;
    const char *text;
};

/* A command that works as it stands where report.json, before.json and after.json are reports and
 * k.pem and p.pem a pair of keys: the tests run
 * it. */
struct dp_example {
    const char *command;
    const char *text; /* what it is for */
};

enum { DP_EXITS_MOST = 8, DP_EXAMPLES_MOST = 10 };

struct dp_command_line {
    const char *usage;   /* "detprobe run [--all | SELECTOR...]" */
    const char *summary; /* a paragraph under the usage line */
    const struct dp_option *options;
    size_t count;
    const void *defaults;                         /* the values that the command begins with, or NULL */
    const char *details;                          /* a paragraph after the options, or NULL */
    struct dp_exit_row exits[DP_EXITS_MOST];      /* bad usage is every command's and needs no row */
    struct dp_example examples[DP_EXAMPLES_MOST]; /* ended by a row of NULLs, the most useful first */
};

/* Parses argv[1..] into `values`, the struct that the rows' offsets are of. Options and operands may be
 * mixed, "--" ends options, "--name=value" and "--name value" both work.
 * --help and --version are always known: they print to stdout, set *ret_help and end the parsing. Operands
 * (borrowed) go to *ret_operands. Unknown options and values get a suggestion; code 64. */
int dp_options_parse(const struct dp_command_line *line, int argc, char **argv, void *values,
                     struct dp_strings *ret_operands, bool *ret_help, struct dp_err *err);
/* The words of a choice, from either member; NULL for other kinds. */
const char *dp_option_choices(const struct dp_option *option);
/* What the argument is called; NULL for a flag. */
const char *dp_option_argument(const struct dp_option *option);
/* The value of an option that is not given, as it would be typed; owned, NULL where there is none. */
char *dp_option_default(const struct dp_command_line *line, const struct dp_option *option);
/* When the command ends with this code; NULL: it never does. */
const char *dp_exit_text(const struct dp_command_line *line, int code);
/* The options that every command has. */
extern const struct dp_option dp_options_common[];
extern const size_t dp_options_common_count;
void dp_options_help(const struct dp_command_line *line, FILE *out);

#endif

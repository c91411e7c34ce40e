/* SPDX-License-Identifier: Apache-2.0
 *
 * What a manual says beside the options: variables of the environment, files, and the words that arguments
 * are called by.
 */
#ifndef DP_DOCS_SURROUNDINGS_H
#define DP_DOCS_SURROUNDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "suite/base/options.h"

/* A variable or a file, and who reads it: names of commands with blanks between them, "*" for all; "probe" is
 * every probe program, "report" whoever reads one. Ended by a row without a name. */
struct dp_surrounding {
    const char *name, *readers, *text;
};
extern const struct dp_surrounding dp_docs_variables[];
extern const struct dp_surrounding dp_docs_files[];
bool dp_docs_reads(const struct dp_surrounding *row, const char *reader);

/* What an argument completes to, by its name. */
enum dp_completes {
    DP_COMPLETES_NOTHING, /* a number, a duration */
    DP_COMPLETES_WORDS,   /* of a closed list */
    DP_COMPLETES_LIST,    /* such words with commas between them */
    DP_COMPLETES_REPORTS, /* one of the words, a colon and a file */
    DP_COMPLETES_CASES,   /* ids and tags of the catalogue */
    DP_COMPLETES_FILES,
    DP_COMPLETES_FOLDERS,
    DP_COMPLETES_UNKNOWN /* an argument that the table does not name; a test asks for its row */
};
enum dp_completes dp_docs_completes(const char *argument);
/* The words of an option's argument with blanks between them; owned, empty where there are none. */
char *dp_docs_words(const struct dp_option *option);
/* What the operands of a command line are: the first name in capitals of "usage: detprobe show REPORT". */
enum dp_completes dp_docs_operands(const struct dp_command_line *line);

#endif

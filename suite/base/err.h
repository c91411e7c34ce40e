/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors. A function that can fail returns 0 or a negative number (or NULL) and fills a struct dp_err
 * where the failure happened; only suite/main.c and suite/command/ print one and turn it into an exit code.
 * The text is one line in the project's grammar: lower case, what failed first, the subject in single quotes,
 * no full stop, then a hint if there is something to do: "cannot open 'x.json': no such file or directory".
 */
#ifndef DP_BASE_ERR_H
#define DP_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

/* Exit codes of the program. Their precedence is decided in suite/judge/exit_code.c alone. */
enum dp_exit {
    DP_EXIT_OK = 0,
    DP_EXIT_FINDINGS = 1,
    DP_EXIT_NO_VERDICT = 2,
    DP_EXIT_USAGE = 64,
    DP_EXIT_DATA = 65,
    DP_EXIT_NOTHING_RAN = 77,
    DP_EXIT_CANNOT_RUN = 126, /* these two as env(1) and others have them that run a command */
    DP_EXIT_NOT_FOUND = 127,
    DP_EXIT_SIGNAL = 128 /* + the signal's number */
};

/* What each code means in every command, in ascending order: the only place that says it. README.md has the
 * same table, the manual and each --help are made from it. */
struct dp_exit_meaning {
    int code;
    const char *shown; /* "64", "128+N" */
    const char *meaning;
};
extern const struct dp_exit_meaning dp_exit_meanings[];
extern const size_t dp_exit_meaning_count;

struct dp_err {
    int code; /* the exit code this error asks for: one of enum dp_exit */
    char text[640];
};

/* Fills *err (which may be NULL) and returns -1, so that a failing function ends in `return dp_err_set(...)`.
 * Control characters in the formatted text are replaced by '?': messages quote hostile input. */
int dp_err_set(struct dp_err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* What the system says of an errno, as it stands in a message: "no such file or directory". Valid until the
 * next call in this thread. */
const char *dp_reason(int number);

/* Puts "prefix: " before the text of an error that is passed upwards. Returns -1. */
int dp_err_prefix(struct dp_err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

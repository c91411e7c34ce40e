/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors: one line of text and the exit code it asks for.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/err.h"
#include "suite/base/text.h"

const struct dp_exit_meaning dp_exit_meanings[] = {
    {DP_EXIT_OK, "0", "no finding: no guarantee broken, the reports agree, the gate passes"},
    {DP_EXIT_FINDINGS, "1",
     "a finding: a guarantee broken or bits wrong (with --fail-on varies any variation), the reports differ, "
     "the "
     "gate fails, a setting keeps results from repeating, something moves a case's bits"},
    {DP_EXIT_NO_VERDICT, "2",
     "no verdict: a control misbehaved, a program did not use the stack, a required backend is absent, an "
     "error, too little was measured for a policy, something could not be written or started"},
    {DP_EXIT_USAGE, "64", "bad usage"},
    {DP_EXIT_DATA, "65", "bad input: a file, a stack, a signature, or reports that cannot be compared"},
    {DP_EXIT_NOTHING_RAN, "77", "nothing could run"},
    {DP_EXIT_CANNOT_RUN, "126", "the command of audit --exec is there and cannot be run"},
    {DP_EXIT_NOT_FOUND, "127", "the command of audit --exec is not found"},
    {DP_EXIT_SIGNAL, "128+N", "stopped by signal N; the report is written and marked interrupted"},
};
const size_t dp_exit_meaning_count = sizeof(dp_exit_meanings) / sizeof(dp_exit_meanings[0]);

/* Stores the text harmless for a terminal. A text cut in the middle of a character loses that character's
 * rest to '?', which is why this comes after the cutting. */
static void store(struct dp_err *err, const char *text)
{
    char *clean = dp_printable(text, strlen(text));
    snprintf(err->text, sizeof(err->text), "%s", clean);
    free(clean);
}

const char *dp_reason(int number)
{
    static _Thread_local char text[120];
    snprintf(text, sizeof(text), "%s", strerror(number));
    if (text[0] && !isupper((unsigned char)text[1])) { /* an abbreviation keeps its capitals */
        text[0] = (char)tolower((unsigned char)text[0]);
    }
    return text;
}

int dp_err_set(struct dp_err *err, int code, const char *format, ...)
{
    if (!err) {
        return -1;
    }
    /* An argument may point into err->text. */
    char text[sizeof(err->text)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    err->code = code;
    store(err, text);
    return -1;
}

int dp_err_prefix(struct dp_err *err, const char *format, ...)
{
    if (!err) {
        return -1;
    }
    char text[2 * sizeof(err->text) + 3];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(err->text), format, args);
    va_end(args);
    const size_t length = strlen(text);
    snprintf(text + length, sizeof(text) - length, ": %s", err->text);
    text[sizeof(err->text) - 1] = '\0';
    store(err, text);
    return -1;
}

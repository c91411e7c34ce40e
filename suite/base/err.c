/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors: one line of text and the exit code it asks for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/err.h"
#include "suite/base/text.h"

/* Stores the text harmless for a terminal. A text cut in the middle of a character loses that character's
 * rest to '?', which is why this comes after the cutting. */
static void store(struct dp_err *err, const char *text)
{
    char *clean = dp_printable(text, strlen(text));
    snprintf(err->text, sizeof(err->text), "%s", clean);
    free(clean);
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

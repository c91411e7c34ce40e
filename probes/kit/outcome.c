/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a call did not succeed, in one line: one place for each thread, as host threads run operations at once.
 */
#include "probes/kit/outcome.h"

#include <stdarg.h>
#include <stdio.h>

#include "probes/kit/op.h"

static _Thread_local struct kit_outcome last;

void kit_outcome_clear(void)
{
    last.reason[0] = '\0';
    last.text[0] = '\0';
}

const struct kit_outcome *kit_outcome(void)
{
    return &last;
}

void kit_outcome_restore(const struct kit_outcome *kept)
{
    last = *kept;
}

/* Texts may quote what a request or a library said; a control character would break the line they travel in.
 */
static void keep(const char *reason, const char *format, va_list args)
{
    snprintf(last.reason, sizeof(last.reason), "%s", reason);
    vsnprintf(last.text, sizeof(last.text), format, args);
    for (char *c = last.text; *c; c++) {
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f) {
            *c = '?';
        }
    }
}

int kit_skip(const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep(reason, format, args);
    va_end(args);
    return KIT_SKIPPED;
}

int kit_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    keep("", format, args);
    va_end(args);
    return KIT_FAILED;
}

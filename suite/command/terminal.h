/* SPDX-License-Identifier: Apache-2.0
 *
 * Printing a report to standard output as the terminal there wants it.
 */
#ifndef DP_COMMAND_TERMINAL_H
#define DP_COMMAND_TERMINAL_H

#include <jansson.h>
#include <stdbool.h>

#include "suite/base/err.h"

/* Colour by "auto", "always" or "never": options beat CLICOLOR_FORCE and NO_COLOR, those beat what isatty
 * says. */
bool dp_terminal_colour(const char *when);
/* Width of what standard output is, 0 where it has none. */
int dp_terminal_columns(void);
/* Renders and writes all of it; code 2 when standard output does not take it. */
int dp_terminal_print(const json_t *report, const char *format, const char *colour, bool verbose,
                      struct dp_err *err);

#endif

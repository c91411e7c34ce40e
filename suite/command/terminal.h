/* SPDX-License-Identifier: Apache-2.0
 *
 * What standard output is: a terminal with a width and colours, or not.
 */
#ifndef DP_COMMAND_TERMINAL_H
#define DP_COMMAND_TERMINAL_H

#include <stdbool.h>

/* Colour by "auto", "always" or "never": options beat CLICOLOR_FORCE and NO_COLOR, those beat what isatty
 * says. */
bool dp_terminal_colour(const char *when);
/* Width of what standard output is, 0 where it has none. */
int dp_terminal_columns(void);

#endif

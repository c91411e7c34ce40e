/* SPDX-License-Identifier: Apache-2.0
 *
 * What standard output is.
 */
#include "suite/command/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool set(const char *variable)
{
    const char *value = getenv(variable);
    return value && value[0];
}

bool dp_terminal_colour(const char *when)
{
    if (strcmp(when, "auto") != 0) {
        return strcmp(when, "always") == 0;
    }
    if (set("CLICOLOR_FORCE") && strcmp(getenv("CLICOLOR_FORCE"), "0") != 0) {
        return true;
    }
    const char *term = getenv("TERM");
    return !set("NO_COLOR") && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

int dp_terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Printing a report to standard output. Its failure (a full disk behind a redirection) is told, not
 * swallowed.
 */
#include "suite/command/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "reports/render/render.h"
#include "suite/base/text.h"

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

int dp_terminal_print(const json_t *report, const char *format, const char *colour, bool verbose,
                      struct dp_err *err)
{
    const struct dp_render_options options = {
        .colour = dp_terminal_colour(colour), .verbose = verbose, .columns = dp_terminal_columns()};
    struct dp_text out = DP_TEXT((size_t)1 << 30);
    int rc = dp_renderer_find(format)->render(report, &options, &out, err);
    if (rc == 0 && (fwrite(out.data, 1, out.length, stdout) != out.length || fflush(stdout) != 0)) {
        rc = dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot write to standard output: %s", strerror(errno));
    }
    dp_text_free(&out);
    return rc;
}

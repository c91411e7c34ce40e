/* SPDX-License-Identifier: Apache-2.0
 *
 * From a document to bytes in their place. A failure (a full disk behind a redirection) is told, not
 * swallowed.
 */
#include "suite/command/delivery.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/command/terminal.h"

#define MOST ((size_t)1 << 30) /* bytes of a rendering: nothing is cut before memory is in danger */

/* "junit:out.xml" -> the format, owned, and the file, borrowed. */
static char *split(const char *word, const char **ret_file)
{
    const char *colon = strchr(word, ':');
    *ret_file = colon ? colon + 1 : "";
    return dp_printf("%.*s", (int)(colon ? colon - word : (long)strlen(word)), word);
}

/* Not a word of the option, or one that is for other documents. */
static int refuse(const char *option, const char *format, enum dp_document document, struct dp_err *err)
{
    static const char *const shown[DP_DOCUMENT_MAX] = {
        [DP_DOCUMENT_REPORT] = "a report",
        [DP_DOCUMENT_DIFF] = "a comparison of two reports",
        [DP_DOCUMENT_GATE] = "what a gate decided",
        [DP_DOCUMENT_MATRIX] = "a comparison of three reports or more",
        [DP_DOCUMENT_GUARANTEES] = "a table of guarantees",
    };
    const char *names = dp_format_names(document);
    for (enum dp_document other = 0; other < DP_DOCUMENT_MAX; other++) {
        if (dp_word_among(format, dp_format_names(other))) {
            return dp_err_set(err, DP_EXIT_USAGE, "option '%s': '%.80s' cannot show %s, expected %s", option,
                              format, shown[document], names);
        }
    }
    return dp_err_set(err, DP_EXIT_USAGE, "option '%s': unknown format '%.80s', expected %s", option, format,
                      names);
}

static int check_one(const char *word, enum dp_document document, struct dp_err *err)
{
    const char *file;
    char *format = split(word, &file);
    int rc = 0;
    if (!dp_word_among(format, dp_format_names(document))) {
        rc = refuse("--report", format, document, err);
    } else if (!file[0]) {
        rc = dp_err_set(err, DP_EXIT_USAGE, "option '--report': '%.80s' names no file, write '%s:FILE'", word,
                        format);
    }
    free(format);
    return rc;
}

/* One name for a file, however it was written: links and the parts of its folder resolved. Owned. */
static char *resolved(const char *file)
{
    char *whole = realpath(file, NULL);
    if (whole) {
        return whole;
    }
    const char *slash = strrchr(file, '/');
    char *folder = slash ? dp_printf("%.*s/", (int)(slash - file), file) : dp_strdup(".");
    char *real = realpath(folder, NULL);
    char *name = dp_printf("%s/%s", real ? real : folder, slash ? slash + 1 : file);
    free(real);
    free(folder);
    return name;
}

static bool is_same_file(const char *a, const char *b)
{
    char *one = resolved(a), *other = resolved(b);
    const bool same = strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

static const char *file_of(const char *word)
{
    return strchr(word, ':') + 1;
}

int dp_delivery_check(const struct dp_strings *reports, const char *output, enum dp_document document,
                      struct dp_err *err)
{
    for (size_t i = 0; i < reports->count; i++) {
        if (check_one(reports->items[i], document, err) != 0) {
            return -1;
        }
        const char *file = file_of(reports->items[i]);
        bool twice = output && strcmp(file, "-") != 0 && is_same_file(file, output);
        for (size_t k = 0; k < i; k++) {
            twice = twice || is_same_file(file, file_of(reports->items[k]));
        }
        if (twice) {
            return dp_err_set(err, DP_EXIT_USAGE, "option '--report': two reports into one file '%.200s'",
                              file);
        }
    }
    return 0;
}

bool dp_delivery_judges(const char *report)
{
    const char *file;
    char *format = split(report, &file);
    const bool judges = dp_format_judges(format);
    free(format);
    return judges;
}

int dp_delivery_check_format(const char *format, enum dp_document document, struct dp_err *err)
{
    return dp_word_among(format, dp_format_names(document)) ? 0 : refuse("--format", format, document, err);
}

/* Both are there and are one regular file, also by two links: what is no file of its own (a pipe, /dev/null)
 * loses nothing. */
static bool is_one_file(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && S_ISREG(one.st_mode) && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static int check_spared(const char *output, const char *const inputs[], size_t count, struct dp_err *err)
{
    for (size_t i = 0; i < count && strcmp(output, "-") != 0; i++) {
        if (inputs[i] && strcmp(inputs[i], "-") != 0 && is_one_file(output, inputs[i])) {
            return dp_err_set(err, DP_EXIT_USAGE,
                              "'%.200s' is read, it would be written over: name another place", output);
        }
    }
    return 0;
}

int dp_delivery_spares(const struct dp_strings *reports, const char *output, const char *const inputs[],
                       size_t count, struct dp_err *err)
{
    int rc = output ? check_spared(output, inputs, count, err) : 0;
    for (size_t i = 0; rc == 0 && i < reports->count; i++) {
        rc = check_spared(file_of(reports->items[i]), inputs, count, err);
    }
    return rc;
}

static int write_one(const char *format, const char *file, const struct dp_render_options *given,
                     enum dp_document document, const json_t *json, struct dp_err *err)
{
    const bool appended = dp_format_is_appended(format) && !dp_file_is_stdout(file);
    struct dp_render_options options = *given;
    options.taken = appended ? dp_file_size(file) : 0;
    struct dp_text out = DP_TEXT(MOST);
    int rc = dp_render(document, format, json, &options, &out, err);
    if (rc == 0) {
        rc = (appended ? dp_file_append : dp_file_write)(file, out.data ? out.data : "", out.length, err);
    }
    dp_text_free(&out);
    return rc;
}

int dp_delivery_write(const struct dp_strings *reports, enum dp_document document, const json_t *json,
                      const char *source, struct dp_err *err)
{
    const struct dp_render_options options = {.source = source};
    int rc = 0;
    for (size_t i = 0; i < reports->count; i++) {
        const char *file;
        char *format = split(reports->items[i], &file);
        if (write_one(format, file, &options, document, json, rc == 0 ? err : NULL) != 0) {
            rc = -1;
        }
        free(format);
    }
    return rc;
}

int dp_deliver(const struct dp_delivery *delivery, enum dp_document document, const json_t *json,
               struct dp_err *err)
{
    /* A file has no terminal: 100 columns, and colour only where it is asked for. */
    const bool terminal = dp_file_is_stdout(delivery->output);
    const bool colour =
        terminal ? dp_terminal_colour(delivery->colour) : strcmp(delivery->colour, "always") == 0;
    const struct dp_render_options options = {.colour = colour,
                                              .verbose = delivery->verbose,
                                              .columns = terminal ? dp_terminal_columns() : 0,
                                              .source = delivery->source};
    return write_one(delivery->format, delivery->output, &options, document, json, err);
}

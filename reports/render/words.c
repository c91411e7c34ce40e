/* SPDX-License-Identifier: Apache-2.0
 *
 * Words, columns and lines.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/render/words.h"
#include "suite/base/json.h"

#define FAMILIES_MOST ((size_t)1 << 30) /* bytes: nothing of a report is cut */

void dp_words_put(struct dp_text *out, const char *string)
{
    char *shown = dp_printable(string, strlen(string));
    dp_text_put(out, shown);
    free(shown);
}

void dp_words_markdown(struct dp_text *out, const char *string)
{
    char *shown = dp_printable(string, strlen(string));
    for (const char *c = shown; *c; c++) {
        if (strchr("\\`*_{}[]()<>#+!|&~@:", *c)) {
            dp_text_printf(out, "&#%d;", *c);
        } else {
            dp_text_add(out, c, 1);
        }
    }
    free(shown);
}

size_t dp_words_width(const char *string)
{
    size_t width = 0;
    for (; *string; string++) {
        width += ((unsigned char)*string & 0xc0) != 0x80;
    }
    return width;
}

void dp_words_blanks(struct dp_text *out, size_t count)
{
    for (; count > 0; count--) {
        dp_text_add(out, " ", 1);
    }
}

void dp_words_wrap(struct dp_text *out, const char *string, size_t at, size_t indent, size_t columns)
{
    char *shown = dp_printable(string, strlen(string));
    size_t column = at;
    bool empty = true;
    char *rest = shown;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        const size_t width = dp_words_width(word);
        if (!*word) {
            continue;
        }
        if (!empty && column + 1 + width > columns) {
            dp_text_put(out, "\n");
            dp_words_blanks(out, indent);
            column = indent;
            empty = true;
        }
        if (!empty) {
            dp_text_put(out, " ");
            column++;
        }
        /* a line that begins so is a command to GitHub's runner, and only lines of format github are meant so
         */
        const bool command = empty && strncmp(word, "::", 2) == 0;
        dp_text_put(out, command ? "?" : "");
        dp_text_put(out, word + command);
        column += width;
        empty = false;
    }
    dp_text_put(out, "\n");
    free(shown);
}

char *dp_words_count(size_t count, const char *one, const char *many)
{
    return dp_printf("%zu %s", count, count == 1 ? one : many);
}

char *dp_words_families(const json_t *rows)
{
    json_t *counts = json_object(), *count;
    struct dp_text words = DP_TEXT(FAMILIES_MOST);
    const char *family;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        char *name =
            dp_printf("%s/%s", dp_json_string(row, "backend", ""), dp_json_string(row, "family", ""));
        dp_json_count(counts, name);
        free(name);
    }
    json_object_foreach(counts, family, count)
    {
        dp_text_printf(&words, "%s%s %lld", words.length ? ", " : "", family,
                       (long long)json_integer_value(count));
    }
    json_decref(counts);
    return dp_text_take(&words);
}

void dp_words_join(struct dp_text *out, const char *separator, const char *string)
{
    if (out->length > 0) {
        dp_text_put(out, separator);
    }
    dp_text_put(out, string);
}

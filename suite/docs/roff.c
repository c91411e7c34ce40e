/* SPDX-License-Identifier: Apache-2.0
 *
 * The man macros, and the escaping of text for them.
 */
#include "suite/docs/roff.h"

#include <stdint.h>
#include <string.h>

/* What troff, or the typewriter that it imitates, would read or draw differently. */
static const struct {
    char byte;
    const char *escape;
} escapes[] = {
    {'\\', "\\e"}, {'\'', "\\(aq"}, {'"', "\\(dq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"},
};

/* Bytes of the UTF-8 character at `at`, 1 where there is none. */
static size_t character(const char *at, uint32_t *ret)
{
    const unsigned char first = (unsigned char)at[0];
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    *ret = length == 1 ? first : first & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            *ret = '?';
            return 1;
        }
        *ret = *ret << 6 | (at[i] & 0x3fu);
    }
    return length;
}

static bool at_line_start(const struct dp_text *out)
{
    return out->length == 0 || out->data[out->length - 1] == '\n';
}

static const char *escape_of(char byte)
{
    for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
        if (escapes[i].byte == byte) {
            return escapes[i].escape;
        }
    }
    return NULL;
}

/* `typed`: a dash is the one of the keyboard. */
static size_t put_character(struct dp_text *out, const char *at, bool typed)
{
    uint32_t code;
    const size_t length = character(at, &code);
    const char *escape = length == 1 ? escape_of(*at) : NULL;
    if (escape) {
        dp_text_put(out, escape);
    } else if (*at == '-' && typed) {
        dp_text_put(out, "\\-");
    } else if (code >= 0x80) {
        dp_text_printf(out, "\\[u%04X]", (unsigned)code);
    } else {
        dp_text_put(out, *at == '.' && at_line_start(out) ? "\\&" : "");
        dp_text_add(out, at, 1);
    }
    return length;
}

/* A word of prose whose dashes are typed ones: an option, a path, a case, and whatever stands in quotes. */
static bool is_typed(const char *word, size_t length)
{
    static const char before[] = "-'\"(/*@";
    return memchr(before, word[0], sizeof(before) - 1) || memchr(word, '/', length) ||
           memchr(word, '_', length) || memchr(word, '=', length);
}

/* Where \% forbids hyphens; inside a word it would allow one. */
static bool begins_word(const struct dp_text *out)
{
    return at_line_start(out) || out->data[out->length - 1] == ' ';
}

static void escape_prose(struct dp_text *out, const char *string)
{
    while (*string) {
        const size_t length = strcspn(string, " \n");
        const bool typed = length > 0 && is_typed(string, length);
        dp_text_put(out, typed && begins_word(out) ? "\\%" : ""); /* what is typed is not hyphenated */
        for (const char *end = string + length; string < end;) {
            string += put_character(out, string, typed);
        }
        if (*string) { /* a line feed of the source is a blank of the text */
            dp_text_put(out, " ");
            string++;
        }
    }
}

static void escape_typed(struct dp_text *out, const char *string)
{
    while (*string) {
        string += put_character(out, string, /* typed= */ true);
    }
}

void dp_roff_put(struct dp_text *out, enum dp_roff_font font, const char *string)
{
    if (font == DP_ROFF_PLAIN) {
        escape_prose(out, string);
        return;
    }
    const bool begins = begins_word(out);
    dp_text_printf(out, "%s%s", font == DP_ROFF_BOLD ? "\\fB" : "\\fI", begins ? "\\%" : "");
    escape_typed(out, string);
    dp_text_put(out, "\\fR");
}

void dp_roff_end(struct dp_text *out)
{
    dp_text_put(out, "\n");
}

void dp_roff_title(struct dp_text *out, const char *name, const char *section, const char *date)
{
    dp_text_put(out,
                ".\\\" SPDX-License-Identifier: Apache-2.0\n.\\\" Made by the build from the program's own "
                "tables; changes belong there.\n.TH ");
    escape_typed(out, name);
    dp_text_printf(out, " %s \"%s\" \"detprobe ", section, date);
    escape_typed(out, DP_VERSION);
    dp_text_put(out, "\" \"detprobe\"\n");
}

void dp_roff_section(struct dp_text *out, const char *heading)
{
    dp_text_put(out, ".SH \"");
    escape_prose(out, heading);
    dp_text_put(out, "\"\n");
}

void dp_roff_subsection(struct dp_text *out, const char *heading)
{
    dp_text_put(out, ".SS \"");
    escape_prose(out, heading);
    dp_text_put(out, "\"\n");
}

/* The last line, with its line feed. */
static const char *last_line(const struct dp_text *out)
{
    const char *line = out->data + out->length - 1;
    while (line > out->data && line[-1] != '\n') {
        line--;
    }
    return line;
}

/* A paragraph right behind a heading has no macro of its own: the heading begins it. */
void dp_roff_paragraph(struct dp_text *out)
{
    static const char *const beginnings[] = {".SH", ".SS", ".RS"};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        if (strncmp(last_line(out), beginnings[i], 3) == 0) {
            return;
        }
    }
    dp_text_put(out, ".PP\n");
}

void dp_roff_entry(struct dp_text *out)
{
    dp_text_put(out, ".TP\n");
}

void dp_roff_example(struct dp_text *out, const char *lines)
{
    dp_roff_paragraph(out);
    dp_text_put(out, ".EX\n");
    escape_typed(out, lines);
    if (!at_line_start(out)) {
        dp_text_put(out, "\n");
    }
    dp_text_put(out, ".EE\n");
}

void dp_roff_indent(struct dp_text *out)
{
    dp_text_put(out, ".RS\n");
}

void dp_roff_outdent(struct dp_text *out)
{
    dp_text_put(out, ".RE\n");
}

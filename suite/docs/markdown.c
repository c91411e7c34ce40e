/* SPDX-License-Identifier: Apache-2.0
 *
 * Markdown, as far as the project's pages use it, to the man macros: blocks by the beginning of their first
 * line, then the marks inside a line.
 */
#include "suite/docs/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "suite/docs/roff.h"

enum { CELLS_MOST = 8, TEXT_MOST = 1 << 20 };

/* The rest of a page, line by line. */
struct lines {
    const char *at;
};

static size_t line_length(const char *line)
{
    return strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
    line += line_length(line);
    return *line ? line + 1 : line;
}

static bool is_blank(const char *line)
{
    const size_t blanks = strspn(line, " \t");
    return line[blanks] == '\n' || line[blanks] == '\0';
}

/* Number of '#' of a heading, 0 for other lines. */
static size_t heading_level(const char *line)
{
    const size_t level = strspn(line, "#");
    return level > 0 && line[level] == ' ' ? level : 0;
}

static bool is_fence(const char *line)
{
    return strncmp(line, "```", 3) == 0;
}

/* Columns of the mark of a list's item ("- ", "12. "), 0 for other lines. */
static size_t item_mark(const char *line)
{
    if (strncmp(line, "- ", 2) == 0) {
        return 2;
    }
    const size_t digits = strspn(line, "0123456789");
    return digits > 0 && strncmp(line + digits, ". ", 2) == 0 ? digits + 2 : 0;
}

static void put_piece(struct dp_text *out, enum dp_roff_font font, const char *start, size_t length)
{
    char *piece = dp_printf("%.*s", (int)length, start);
    dp_roff_put(out, font, piece);
    free(piece);
}

/* What is marked from `at` on: `mark` around it, its text in `font`. Bytes taken, 0 where the mark has no
 * end. */
static size_t put_marked(struct dp_text *out, const char *at, const char *mark, enum dp_roff_font font)
{
    const size_t width = strlen(mark);
    const char *end = strstr(at + width, mark);
    if (!end || end == at + width) {
        return 0;
    }
    put_piece(out, font, at + width, (size_t)(end - at) - width);
    return (size_t)(end - at) + width;
}

static void put_inline(struct dp_text *out, const char *text);

/* "[text](target)": the text. */
static size_t put_link(struct dp_text *out, const char *at)
{
    const char *middle = strstr(at, "](");
    const char *end = middle ? strchr(middle, ')') : NULL;
    if (!end || memchr(at + 1, '[', (size_t)(middle - at) - 1)) {
        return 0;
    }
    char *text = dp_printf("%.*s", (int)(middle - at - 1), at + 1);
    put_inline(out, text);
    free(text);
    return (size_t)(end - at) + 1;
}

static size_t put_mark(struct dp_text *out, const char *at)
{
    switch (*at) {
    case '`':
        return put_marked(out, at, "`", DP_ROFF_BOLD);
    case '*':
        return at[1] == '*' ? put_marked(out, at, "**", DP_ROFF_BOLD)
                            : put_marked(out, at, "*", DP_ROFF_ITALIC);
    case '[':
        return put_link(out, at);
    default:
        return 0;
    }
}

/* One paragraph, its marks turned into fonts. */
static void put_inline(struct dp_text *out, const char *text)
{
    while (*text) {
        const size_t plain = strcspn(text, "`*[");
        put_piece(out, DP_ROFF_PLAIN, text, plain);
        text += plain;
        const size_t taken = *text ? put_mark(out, text) : 0;
        if (*text && taken == 0) {
            put_piece(out, DP_ROFF_PLAIN, text, 1);
        }
        text += taken > 0 ? taken : *text != '\0';
    }
}

/* Lines up to the end of a paragraph, joined. `first` is how many bytes of the first line are not its text.
 */
static void put_flow(struct lines *lines, size_t first, struct dp_text *out)
{
    struct dp_text joined = DP_TEXT(TEXT_MOST);
    const char *line = lines->at + first;
    do {
        line += strspn(line, " ");
        dp_text_printf(&joined, "%s%.*s", joined.length ? " " : "", (int)line_length(line), line);
        line = next_line(line);
    } while (!is_blank(line) && !heading_level(line) && !is_fence(line) && *line != '|' && !item_mark(line));
    lines->at = line;
    put_inline(out, joined.data);
    dp_roff_end(out);
    dp_text_free(&joined);
}

static void put_fenced(struct lines *lines, struct dp_text *out)
{
    struct dp_text code = DP_TEXT(TEXT_MOST);
    const char *line = next_line(lines->at);
    for (; *line && !is_fence(line); line = next_line(line)) {
        dp_text_printf(&code, "%.*s\n", (int)line_length(line), line);
    }
    lines->at = next_line(line);
    dp_roff_example(out, code.data ? code.data : "");
    dp_text_free(&code);
}

static void put_indented(struct lines *lines, struct dp_text *out)
{
    struct dp_text code = DP_TEXT(TEXT_MOST);
    const char *line = lines->at;
    for (; strncmp(line, "    ", 4) == 0; line = next_line(line)) {
        dp_text_printf(&code, "%.*s\n", (int)line_length(line + 4), line + 4);
    }
    lines->at = line;
    dp_roff_example(out, code.data);
    dp_text_free(&code);
}

/* The cells of "| a | b |", each owned; how many there are. */
static size_t split_row(const char *line, char *cells[CELLS_MOST])
{
    size_t count = 0;
    const char *end = line + line_length(line);
    for (const char *at = line + 1; at < end && count < CELLS_MOST;) {
        struct dp_text cell = DP_TEXT(TEXT_MOST);
        dp_text_put(&cell, "");
        at += strspn(at, " ");
        for (; at < end && *at != '|'; at++) {
            at += at[0] == '\\' && at[1] == '|';
            dp_text_add(&cell, at, 1);
        }
        while (cell.length > 0 && cell.data[cell.length - 1] == ' ') {
            cell.data[--cell.length] = '\0';
        }
        cells[count++] = dp_text_take(&cell);
        at++;
    }
    return count;
}

static void free_row(char *cells[CELLS_MOST], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(cells[i]);
    }
}

/* The first cell is the tag; what stands in a column with a heading is told with it. */
static void put_row(char *head[CELLS_MOST], char *cells[CELLS_MOST], size_t count, struct dp_text *out)
{
    dp_roff_entry(out);
    put_inline(out, cells[0]);
    dp_roff_end(out);
    const size_t start = out->length;
    for (size_t i = 1; i < count; i++) {
        if (cells[i][0]) {
            dp_roff_put(out, DP_ROFF_PLAIN, out->length > start ? "; " : "");
            put_inline(out, head[i]);
            dp_roff_put(out, DP_ROFF_PLAIN, head[i][0] ? ": " : "");
            put_inline(out, cells[i]);
        }
    }
    dp_roff_end(out);
}

static void put_table(struct lines *lines, struct dp_text *out)
{
    char *head[CELLS_MOST], *cells[CELLS_MOST];
    const size_t columns = split_row(lines->at, head);
    lines->at = next_line(lines->at);
    for (; *lines->at == '|'; lines->at = next_line(lines->at)) {
        const size_t count = split_row(lines->at, cells);
        if (count == columns && cells[0][strspn(cells[0], "-:")]) {
            put_row(head, cells, count, out);
        }
        free_row(cells, count);
    }
    free_row(head, columns);
}

static void put_item(struct lines *lines, struct dp_text *out)
{
    const size_t mark = item_mark(lines->at);
    dp_text_printf(out, ".IP \"%s\" 4\n", mark == 2 ? "\\(bu" : "");
    put_flow(lines, mark == 2 ? mark : 0, out);
}

static void put_heading(struct lines *lines, size_t level, struct dp_text *out)
{
    char *heading = dp_printf("%.*s", (int)line_length(lines->at + level + 1), lines->at + level + 1);
    dp_roff_subsection(out, heading);
    free(heading);
    lines->at = next_line(lines->at);
}

static void put_block(struct lines *lines, struct dp_text *out)
{
    if (is_blank(lines->at)) {
        lines->at = next_line(lines->at);
    } else if (heading_level(lines->at)) {
        put_heading(lines, heading_level(lines->at), out);
    } else if (is_fence(lines->at)) {
        put_fenced(lines, out);
    } else if (strncmp(lines->at, "    ", 4) == 0) {
        put_indented(lines, out);
    } else if (*lines->at == '|') {
        put_table(lines, out);
    } else if (item_mark(lines->at)) {
        put_item(lines, out);
    } else {
        dp_roff_paragraph(out);
        put_flow(lines, 0, out);
    }
}

/* The line of the heading, outside code; NULL: none. */
static const char *find_heading(const char *page, const char *heading)
{
    bool code = false;
    for (const char *line = page; *line; line = next_line(line)) {
        code = is_fence(line) ? !code : code;
        const size_t level = code ? 0 : heading_level(line);
        if (level && strlen(heading) == line_length(line) - level - 1 &&
            strncmp(line + level + 1, heading, strlen(heading)) == 0) {
            return line;
        }
    }
    return NULL;
}

int dp_markdown_section(const char *page, const char *heading, bool shallow, struct dp_text *out,
                        struct dp_err *err)
{
    const char *start = find_heading(page, heading);
    if (!start) {
        return dp_err_set(err, DP_EXIT_DATA, "no heading '%s', which suite/docs puts into the manual",
                          heading);
    }
    const size_t level = heading_level(start);
    struct lines lines = {next_line(start)};
    while (*lines.at) {
        const size_t other = heading_level(lines.at);
        if (other && (other <= level || shallow)) {
            break;
        }
        put_block(&lines, out);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe(1) and the page of each command.
 */
#include "suite/docs/manual.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "suite/docs/markdown.h"
#include "suite/docs/members.h"
#include "suite/docs/roff.h"
#include "suite/docs/surroundings.h"

void dp_manual_name(const struct dp_manual *manual, const char *name, const char *section,
                    const char *summary, struct dp_text *out)
{
    char *capitals = dp_strdup(name);
    for (char *at = capitals; *at; at++) {
        *at = (char)toupper((unsigned char)*at);
    }
    dp_roff_title(out, capitals, section, manual->date);
    free(capitals);
    dp_roff_section(out, "NAME");
    /* What indexes manuals reads this line before any font is chosen. */
    dp_text_put(out, name);
    dp_text_put(out, " \\- ");
    dp_roff_put(out, DP_ROFF_PLAIN, summary);
    dp_roff_end(out);
}

enum { WORDS_MOST = 4000 };

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '<' || c == '>';
}

/* "detprobe run [--all | SELECTOR...]": what is typed in bold, what is replaced in italics. */
static void put_usage(struct dp_text *out, const char *usage)
{
    while (*usage) {
        size_t length = 0;
        bool capital = false, small = false;
        for (; is_name(usage[length]); length++) {
            capital = capital || isupper((unsigned char)usage[length]);
            small = small || islower((unsigned char)usage[length]);
        }
        const bool name = length > 0;
        length = name ? length : 1;
        char *piece = dp_printf("%.*s", (int)length, usage);
        dp_roff_put(out, !name ? DP_ROFF_PLAIN : capital && !small ? DP_ROFF_ITALIC : DP_ROFF_BOLD, piece);
        free(piece);
        usage += length;
    }
}

static void put_paragraph(struct dp_text *out, const char *text)
{
    dp_roff_paragraph(out);
    dp_roff_put(out, DP_ROFF_PLAIN, text);
    dp_roff_end(out);
}

static void put_sentence(struct dp_text *out, const char *format, const char *value)
{
    char *text = dp_printf(format, value);
    dp_roff_put(out, DP_ROFF_PLAIN, text);
    free(text);
}

/* A text of a table as a sentence. */
static void put_capital(struct dp_text *out, const char *text, const char *end)
{
    char *sentence = dp_printf("%c%s%s", toupper((unsigned char)text[0]), text + 1, end);
    dp_roff_put(out, DP_ROFF_PLAIN, sentence);
    free(sentence);
}

/* "a|b|c" with commas; NULL where the text names each of them. Owned. */
static char *unnamed_words(const struct dp_option *option)
{
    char *words = dp_docs_words(option), *rest = words;
    struct dp_text text = DP_TEXT(WORDS_MOST);
    bool named = true;
    for (const char *word; (word = strsep(&rest, " "));) {
        dp_text_printf(&text, "%s%s", text.length ? ", " : "", word);
        named = named && strstr(option->help, word);
    }
    free(words);
    if (named) {
        dp_text_free(&text);
    }
    return text.data;
}

/* What the option's row says beside its text: the words it takes, the range, the default. */
static void put_values(const struct dp_command_line *line, const struct dp_option *option,
                       struct dp_text *out)
{
    char *words = unnamed_words(option);
    if (words) {
        const bool part = strchr(dp_option_argument(option), ':');
        put_sentence(out, part ? " FORMAT is one of %s." : " One of %s.", words);
    }
    free(words);
    if (option->kind == DP_OPTION_INT && option->high < INT64_MAX) {
        char *range = dp_printf("%lld to %lld", (long long)option->low, (long long)option->high);
        put_sentence(out, " From %s.", range);
        free(range);
    }
    char *value = dp_option_default(line, option);
    if (value) {
        put_sentence(out, " Unless it is given: %s.", value);
        free(value);
    }
}

static void put_option(const struct dp_command_line *line, const struct dp_option *option,
                       struct dp_text *out)
{
    dp_roff_entry(out);
    if (option->letter) {
        const char letter[] = {'-', option->letter, '\0'};
        dp_roff_put(out, DP_ROFF_BOLD, letter);
        dp_roff_put(out, DP_ROFF_PLAIN, ", ");
    }
    char *name = dp_printf("--%s", option->name);
    dp_roff_put(out, DP_ROFF_BOLD, name);
    free(name);
    if (option->kind != DP_OPTION_FLAG) {
        dp_roff_put(out, DP_ROFF_PLAIN, " ");
        put_usage(out, dp_option_argument(option));
    }
    dp_roff_end(out);
    put_capital(out, option->help, ".");
    put_values(line, option, out);
    dp_roff_end(out);
}

static void put_options(const struct dp_command_line *line, struct dp_text *out)
{
    dp_roff_section(out, "OPTIONS");
    for (size_t i = 0; line && i < line->count; i++) {
        put_option(line, &line->options[i], out);
    }
    for (size_t i = 0; i < dp_options_common_count; i++) {
        put_option(NULL, &dp_options_common[i], out);
    }
}

/* Of a command: its own codes in its own words; of the program: all. */
static void put_exits(const struct dp_command_line *line, struct dp_text *out)
{
    dp_roff_section(out, "EXIT STATUS");
    for (size_t i = 0; i < dp_exit_meaning_count; i++) {
        const struct dp_exit_meaning *row = &dp_exit_meanings[i];
        const char *text = line ? dp_exit_text(line, row->code) : row->meaning;
        if (text) {
            dp_roff_entry(out);
            dp_roff_put(out, DP_ROFF_BOLD, row->shown);
            dp_roff_end(out);
            dp_roff_put(out, DP_ROFF_PLAIN, text);
            dp_roff_end(out);
        }
    }
}

static void put_table(const char *heading, const struct dp_surrounding *rows, const char *reader,
                      struct dp_text *out)
{
    bool any = false;
    for (const struct dp_surrounding *row = rows; row->name; row++) {
        if (reader && !dp_docs_reads(row, reader)) {
            continue;
        }
        if (!any) {
            dp_roff_section(out, heading);
        }
        any = true;
        dp_roff_entry(out);
        dp_roff_put(out, DP_ROFF_BOLD, row->name);
        dp_roff_end(out);
        dp_roff_put(out, DP_ROFF_PLAIN, row->text);
        dp_roff_end(out);
    }
}

void dp_manual_surroundings(const char *reader, struct dp_text *out)
{
    put_table("ENVIRONMENT", dp_docs_variables, reader, out);
    put_table("FILES", dp_docs_files, reader, out);
}

static void put_example(const struct dp_example *example, struct dp_text *out)
{
    dp_roff_paragraph(out);
    put_capital(out, example->text, ":");
    dp_roff_end(out);
    dp_roff_indent(out);
    dp_roff_example(out, example->command);
    dp_roff_outdent(out);
}

static void put_page_name(const char *name, const char *section, const char *self, struct dp_text *out)
{
    if (strcmp(name, self) == 0) {
        return;
    }
    const char *end = out->data + out->length;
    dp_roff_put(out, DP_ROFF_PLAIN, end[-1] == '\n' ? "" : ", ");
    dp_roff_put(out, DP_ROFF_BOLD, name);
    dp_text_printf(out, "(%s)", section);
}

void dp_manual_see_also(const char *self, struct dp_text *out)
{
    dp_roff_section(out, "SEE ALSO");
    put_page_name("detprobe", "1", self, out);
    for (size_t i = 0; i < dp_command_count; i++) {
        char *name = dp_printf("detprobe-%s", dp_commands[i]->name);
        put_page_name(name, "1", self, out);
        free(name);
    }
    put_page_name("detprobe-report", "5", self, out);
    put_page_name("detprobe-probe", "7", self, out);
    dp_roff_end(out);
}

static void put_commands(struct dp_text *out)
{
    dp_roff_section(out, "COMMANDS");
    for (size_t i = 0; i < dp_command_count; i++) {
        char *name = dp_printf("detprobe-%s", dp_commands[i]->name);
        dp_roff_entry(out);
        dp_roff_put(out, DP_ROFF_BOLD, name);
        dp_roff_put(out, DP_ROFF_PLAIN, "(1)");
        dp_roff_end(out);
        dp_roff_put(out, DP_ROFF_PLAIN, dp_commands[i]->summary);
        dp_roff_end(out);
        free(name);
    }
}

static int put_readme(const struct dp_manual *manual, const char *title, struct dp_text *out,
                      struct dp_err *err)
{
    const int rc = dp_markdown_section(manual->readme, title, /* shallow= */ true, out, err);
    return rc == 0 ? 0 : dp_err_prefix(err, "README.md");
}

int dp_manual_program(const struct dp_manual *manual, struct dp_text *out, struct dp_err *err)
{
    dp_manual_name(manual, "detprobe", "1", DP_PROGRAM_SUMMARY, out);
    dp_roff_section(out, "SYNOPSIS");
    put_usage(out, "detprobe COMMAND [OPTION...]");
    dp_roff_end(out);
    dp_text_put(out, ".br\n");
    put_usage(out, "detprobe help [COMMAND]");
    dp_roff_end(out);
    dp_roff_section(out, "DESCRIPTION");
    if (put_readme(manual, "detprobe", out, err) != 0) {
        return -1;
    }
    put_commands(out);
    dp_roff_section(out, "WORDS");
    if (put_readme(manual, "What is observed, what is guaranteed", out, err) != 0) {
        return -1;
    }
    put_options(NULL, out);
    put_exits(NULL, out);
    dp_manual_surroundings(NULL, out);
    dp_roff_section(out, "EXAMPLES");
    for (size_t i = 0; i < dp_command_count; i++) {
        if (dp_commands[i]->line->examples[0].command) {
            put_example(&dp_commands[i]->line->examples[0], out);
        }
    }
    dp_manual_see_also("detprobe", out);
    return 0;
}

/* What belongs to one command beside its options: a section of README.md, or the members of a file. */
static const struct {
    const char *command, *heading, *title, *schema;
} sections[] = {
    {"run", "LEVELS", "How hard it looked", NULL},
    {"run", "AXES", "What is varied", NULL},
    {"list", "FAMILIES", "What is measured", NULL},
    {"run", "LIBRARIES", "Which library is measured", NULL},
    {"doctor", "LIBRARIES", "Which library is measured", NULL},
    {"show", "FORMATS", "In CI", NULL},
    {"gate", "POLICY", NULL, "policy"},
    {"sign", "SIGNED REPORTS", "Signed reports", NULL},
    {"verify", "SIGNED REPORTS", "Signed reports", NULL},
};

static int put_sections(const struct dp_manual *manual, const char *command, struct dp_text *out,
                        struct dp_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (strcmp(sections[i].command, command) == 0) {
            dp_roff_section(out, sections[i].heading);
            rc = sections[i].schema ? dp_members_put(sections[i].schema, out, err)
                                    : put_readme(manual, sections[i].title, out, err);
        }
    }
    return rc;
}

int dp_manual_command(const struct dp_manual *manual, const struct dp_command *command, struct dp_text *out,
                      struct dp_err *err)
{
    char *name = dp_printf("detprobe-%s", command->name);
    dp_manual_name(manual, name, "1", command->summary, out);
    dp_roff_section(out, "SYNOPSIS");
    put_usage(out, command->line->usage);
    dp_roff_end(out);
    dp_roff_section(out, "DESCRIPTION");
    put_paragraph(out, command->line->summary);
    if (command->line->details) {
        put_paragraph(out, command->line->details);
    }
    put_options(command->line, out);
    const int rc = put_sections(manual, command->name, out, err);
    put_exits(command->line, out);
    dp_manual_surroundings(command->name, out);
    for (size_t i = 0; i < DP_EXAMPLES_MOST && command->line->examples[i].command; i++) {
        if (i == 0) {
            dp_roff_section(out, "EXAMPLES");
        }
        put_example(&command->line->examples[i], out);
    }
    dp_manual_see_also(name, out);
    free(name);
    return rc;
}

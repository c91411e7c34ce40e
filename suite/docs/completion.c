/* SPDX-License-Identifier: Apache-2.0
 *
 * What the option tables say, in the languages of three shells, put into their frames.
 */
#include "suite/docs/completion.h"

#include <stdlib.h>
#include <string.h>

#include "suite/command/command.h"
#include "suite/docs/surroundings.h"

/* A row of a command's table, and what its argument completes to. */
struct row {
    const struct dp_command *command;
    const struct dp_option *option;
    enum dp_completes completes; /* of a flag: nothing */
    char *words;
};

typedef void put_row_function(const struct row *row, struct dp_text *out);
typedef void put_command_function(const struct dp_command *command, struct dp_text *out);

static void put_row(const struct dp_command *command, const struct dp_option *option, put_row_function *put,
                    struct dp_text *out)
{
    const char *argument = dp_option_argument(option);
    const struct row row = {.command = command,
                            .option = option,
                            .completes = argument ? dp_docs_completes(argument) : DP_COMPLETES_NOTHING,
                            .words = dp_docs_words(option)};
    put(&row, out);
    free(row.words);
}

/* Every option of a command, those that all have among them. */
static void each_option(const struct dp_command *command, put_row_function *put, struct dp_text *out)
{
    for (size_t i = 0; i < command->line->count; i++) {
        put_row(command, &command->line->options[i], put, out);
    }
    for (size_t i = 0; i < dp_options_common_count; i++) {
        put_row(command, &dp_options_common[i], put, out);
    }
}

/* A place of a frame: what stands in it for each command, and between two of them. */
struct place {
    const char *name; /* "@commands@" */
    put_command_function *put;
    const char *between;
};

/* Copies the frame; its places are filled. */
static void fill(const char *frame, const struct place *places, size_t count, struct dp_text *out)
{
    while (*frame) {
        size_t i = 0;
        while (i < count && strncmp(frame, places[i].name, strlen(places[i].name)) != 0) {
            i++;
        }
        if (i == count) {
            dp_text_add(out, frame++, 1);
            continue;
        }
        for (size_t k = 0; k < dp_command_count; k++) {
            dp_text_put(out, k ? places[i].between : "");
            places[i].put(dp_commands[k], out);
        }
        frame += strlen(places[i].name);
    }
}

static void put_name(const struct dp_command *command, struct dp_text *out)
{
    dp_text_put(out, command->name);
}

/* Text inside single quotes, a quote and some other characters escaped. */
static void put_text(struct dp_text *out, const char *text, const char *quote, const char *others)
{
    for (; *text; text++) {
        dp_text_put(out, *text == '\'' ? quote : strchr(others, *text) ? "\\" : "");
        dp_text_add(out, text, *text != '\'');
    }
}

/* bash: a function of the frame completes each kind of argument. */

static const char *bash_function(enum dp_completes completes)
{
    static const char *const functions[] = {
        [DP_COMPLETES_WORDS] = "_detprobe_words",
        [DP_COMPLETES_LIST] = "_detprobe_list",
        [DP_COMPLETES_REPORTS] = "_detprobe_reports",
        [DP_COMPLETES_CASES] = "_detprobe_cases",
        [DP_COMPLETES_FILES] = "_detprobe_files",
        [DP_COMPLETES_FOLDERS] = "_detprobe_folders",
        [DP_COMPLETES_UNKNOWN] = NULL,
    };
    return functions[completes] ? functions[completes] : ":";
}

static void put_bash_value(const struct row *row, struct dp_text *out)
{
    if (row->option->kind == DP_OPTION_FLAG) {
        return;
    }
    dp_text_printf(out, "    %s,--%s", row->command->name, row->option->name);
    if (row->option->letter) {
        dp_text_printf(out, " | %s,-%c", row->command->name, row->option->letter);
    }
    dp_text_printf(out, ") %s%s%s%s ;;\n", bash_function(row->completes), row->words[0] ? " '" : "",
                   row->words, row->words[0] ? "'" : "");
}

static void put_bash_name(const struct row *row, struct dp_text *out)
{
    dp_text_printf(out, "%s--%s", out->data[out->length - 1] == '\'' ? "" : " ", row->option->name);
}

static void put_bash_values(const struct dp_command *command, struct dp_text *out)
{
    each_option(command, put_bash_value, out);
}

static void put_bash_operands(const struct dp_command *command, struct dp_text *out)
{
    dp_text_printf(out, "    %s,*) if [[ $cur == -* ]]; then _detprobe_words '", command->name);
    each_option(command, put_bash_name, out);
    dp_text_printf(out, "'; else %s; fi ;;", bash_function(dp_docs_operands(command->line)));
}

void dp_completion_bash(const char *frame, struct dp_text *out)
{
    static const struct place places[] = {
        {"@commands@", put_name, " "},
        {"@values@\n", put_bash_values, ""},
        {"@operands@", put_bash_operands, "\n"},
    };
    fill(frame, places, sizeof(places) / sizeof(places[0]), out);
}

/* zsh: specifications of _arguments. */

static void put_zsh_text(struct dp_text *out, const char *text)
{
    put_text(out, text, "'\\''", "[]:\\");
}

static void put_zsh_action(struct dp_text *out, enum dp_completes completes, const char *words)
{
    static const char *const actions[] = {
        [DP_COMPLETES_WORDS] = "(%s)",
        [DP_COMPLETES_LIST] = "{_detprobe_list \"%s\"}",
        [DP_COMPLETES_REPORTS] = "{_detprobe_reports \"%s\"}",
        [DP_COMPLETES_CASES] = "_detprobe_cases",
        [DP_COMPLETES_FILES] = "_files",
        [DP_COMPLETES_FOLDERS] = "_files -/",
        [DP_COMPLETES_UNKNOWN] = NULL,
    };
    const char *action = actions[completes] ? actions[completes] : " ";
    const char *place = strstr(action, "%s");
    dp_text_add(out, action, place ? (size_t)(place - action) : strlen(action));
    dp_text_printf(out, "%s%s", place ? words : "", place ? place + 2 : "");
}

static void put_zsh_option(const struct row *row, struct dp_text *out)
{
    const struct dp_option *option = row->option;
    const bool flag = option->kind == DP_OPTION_FLAG;
    const char *often = option->kind == DP_OPTION_LIST ? "*" : "";
    if (option->letter) {
        dp_text_printf(out, " \\\n            '%s'{-%c%s,--%s%s}'[", often, option->letter, flag ? "" : "+",
                       option->name, flag ? "" : "=");
    } else {
        dp_text_printf(out, " \\\n            '%s--%s%s[", often, option->name, flag ? "" : "=");
    }
    put_zsh_text(out, option->help);
    dp_text_put(out, "]");
    if (!flag) {
        dp_text_put(out, ":");
        put_zsh_text(out, dp_option_argument(option));
        dp_text_put(out, ":");
        put_zsh_action(out, row->completes, row->words);
    }
    dp_text_put(out, "'");
}

static void put_zsh_command(const struct dp_command *command, struct dp_text *out)
{
    dp_text_printf(out, "        '%s:", command->name);
    put_zsh_text(out, command->summary);
    dp_text_put(out, "'");
}

static void put_zsh_operands(const struct dp_command *command, struct dp_text *out)
{
    dp_text_printf(out, "    %s)\n        _arguments -s -S", command->name);
    each_option(command, put_zsh_option, out);
    dp_text_put(out, " \\\n            '*: :");
    put_zsh_action(out, dp_docs_operands(command->line), "");
    dp_text_put(out, "'\n        ;;");
}

void dp_completion_zsh(const char *frame, struct dp_text *out)
{
    static const struct place places[] = {
        {"@commands@", put_zsh_command, "\n"},
        {"@operands@", put_zsh_operands, "\n"},
    };
    fill(frame, places, sizeof(places) / sizeof(places[0]), out);
}

/* fish: a line for each option. */

static void put_fish_text(struct dp_text *out, const char *text)
{
    dp_text_put(out, " -d '");
    put_text(out, text, "\\'", "\\");
    dp_text_put(out, "'\n");
}

static void put_fish_values(struct dp_text *out, enum dp_completes completes, const char *words)
{
    switch (completes) {
    case DP_COMPLETES_WORDS:
        dp_text_printf(out, " -a '%s'", words);
        break;
    case DP_COMPLETES_LIST:
        dp_text_printf(out, " -a '(__detprobe_list \"%s\")'", words);
        break;
    case DP_COMPLETES_REPORTS:
        dp_text_printf(out, " -a '(__detprobe_reports \"%s\")'", words);
        break;
    case DP_COMPLETES_CASES:
        dp_text_put(out, " -a '(__detprobe_cases)'");
        break;
    case DP_COMPLETES_FILES:
        dp_text_put(out, " -F");
        break;
    case DP_COMPLETES_FOLDERS:
        dp_text_put(out, " -a '(__fish_complete_directories (commandline -ct))'");
        break;
    case DP_COMPLETES_NOTHING:
    case DP_COMPLETES_UNKNOWN:
        break;
    }
}

static void put_fish_option(const struct row *row, struct dp_text *out)
{
    dp_text_printf(out, "complete -c detprobe -n '__detprobe_command %s' -l %s", row->command->name,
                   row->option->name);
    if (row->option->letter) {
        dp_text_printf(out, " -s %c", row->option->letter);
    }
    if (row->option->kind != DP_OPTION_FLAG) {
        dp_text_put(out, row->completes == DP_COMPLETES_FILES ? " -r" : " -x");
        put_fish_values(out, row->completes, row->words);
    }
    put_fish_text(out, row->option->help);
}

static void put_fish_command(const struct dp_command *command, struct dp_text *out)
{
    dp_text_printf(out, "complete -c detprobe -n '__detprobe_command help' -a %s\n", command->name);
    dp_text_printf(out, "complete -c detprobe -n __detprobe_no_command -a %s", command->name);
    put_fish_text(out, command->summary);
}

static void put_fish_operands(const struct dp_command *command, struct dp_text *out)
{
    each_option(command, put_fish_option, out);
    dp_text_printf(out, "complete -c detprobe -n '__detprobe_command %s'", command->name);
    put_fish_values(out, dp_docs_operands(command->line), "");
    dp_text_put(out, "\n");
}

void dp_completion_fish(const char *frame, struct dp_text *out)
{
    static const struct place places[] = {
        {"@commands@\n", put_fish_command, ""},
        {"@operands@\n", put_fish_operands, ""},
    };
    fill(frame, places, sizeof(places) / sizeof(places[0]), out);
}

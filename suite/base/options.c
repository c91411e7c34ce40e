/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines: one loop over argv driven by the command's table.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/options.h"
#include "suite/base/text.h"

enum { HELP_COLUMN = 28, EXIT_COLUMN = 9, HELP_WIDTH = 96 };

static void strings_add(struct dp_strings *strings, const char *item)
{
    strings->items = dp_realloc(strings->items, strings->count + 1, sizeof(*strings->items));
    strings->items[strings->count++] = item;
}

static const struct dp_option *find_long(const struct dp_command_line *line, const char *name, size_t length)
{
    for (size_t i = 0; i < line->count; i++) {
        const char *own = line->options[i].name;
        if (strncmp(own, name, length) == 0 && own[length] == '\0') {
            return &line->options[i];
        }
    }
    return NULL;
}

static const struct dp_option *find_short(const struct dp_command_line *line, char letter)
{
    for (size_t i = 0; i < line->count; i++) {
        if (letter && line->options[i].letter == letter) {
            return &line->options[i];
        }
    }
    return NULL;
}

/* Every command has these two; they print and end the parsing. */
const struct dp_option dp_options_common[] = {
    {.kind = DP_OPTION_FLAG, .letter = 'h', .name = "help", .help = "print this text"},
    {.kind = DP_OPTION_FLAG, .letter = 'V', .name = "version", .help = "print the program's version"},
};
enum { COMMON_COUNT = sizeof(dp_options_common) / sizeof(dp_options_common[0]) };
const size_t dp_options_common_count = COMMON_COUNT;

/* Whether `word` is one of them, by its short or its long name. */
static const struct dp_option *find_common(const char *word)
{
    for (size_t i = 0; i < COMMON_COUNT; i++) {
        const char letter[] = {'-', dp_options_common[i].letter, '\0'};
        if (strcmp(word, letter) == 0 ||
            (strncmp(word, "--", 2) == 0 && strcmp(word + 2, dp_options_common[i].name) == 0)) {
            return &dp_options_common[i];
        }
    }
    return NULL;
}

static void print_common(const struct dp_command_line *line, const struct dp_option *option)
{
    if (option == &dp_options_common[0]) {
        dp_options_help(line, stdout);
    } else {
        puts("detprobe " DP_VERSION);
    }
}

/* Bytes of "detprobe run" of a usage line. */
static int command_length(const char *usage)
{
    const size_t program = strcspn(usage, " ");
    return (int)(usage[program] ? program + 1 + strcspn(usage + program + 1, " ") : program);
}

static int unknown_option(const struct dp_command_line *line, const char *name, struct dp_err *err)
{
    const char **names = dp_alloc(line->count + COMMON_COUNT, sizeof(*names));
    for (size_t i = 0; i < line->count; i++) {
        names[i] = line->options[i].name;
    }
    for (size_t i = 0; i < COMMON_COUNT; i++) {
        names[line->count + i] = dp_options_common[i].name;
    }
    const char *near = dp_suggest(name, names, line->count + COMMON_COUNT);
    free(names);
    return near ? dp_err_set(err, DP_EXIT_USAGE, "unknown option '--%.80s', did you mean '--%s'?", name, near)
                : dp_err_set(err, DP_EXIT_USAGE, "unknown option '--%.80s', see '%.*s --help'", name,
                             command_length(line->usage), line->usage);
}

const char *dp_option_choices(const struct dp_option *option)
{
    return option->choices_of ? option->choices_of() : option->choices;
}

const char *dp_option_argument(const struct dp_option *option)
{
    const char *choices = dp_option_choices(option);
    return option->kind == DP_OPTION_FLAG ? NULL
           : option->argument             ? option->argument
           : choices                      ? choices
                                          : "VALUE";
}

static char *show_duration(int64_t ns)
{
    const int64_t second = 1000000000;
    return ns <= 0            ? NULL
           : ns % second == 0 ? dp_printf("%llds", (long long)(ns / second))
                              : dp_printf("%lldms", (long long)(ns * 1000 / second));
}

char *dp_option_default(const struct dp_command_line *line, const struct dp_option *option)
{
    const void *at = line && line->defaults ? (const char *)line->defaults + option->offset : NULL;
    const char *word = NULL;
    switch (at ? option->kind : DP_OPTION_FLAG) {
    case DP_OPTION_FLAG:
    case DP_OPTION_LIST:
    case DP_OPTION_COMMAND:
        return NULL;
    case DP_OPTION_INT: /* a number that could not be typed says that none was */
        return *(const int64_t *)at < option->low ? NULL : dp_printf("%lld", (long long)*(const int64_t *)at);
    case DP_OPTION_DURATION:
        return show_duration(*(const int64_t *)at);
    case DP_OPTION_SHARE:
        return *(const double *)at > 0.0 ? dp_printf("%g", *(const double *)at) : NULL;
    case DP_OPTION_STRING:
    case DP_OPTION_CHOICE:
        word = *(const char *const *)at;
    }
    return word ? dp_strdup(word) : NULL;
}

const char *dp_exit_text(const struct dp_command_line *line, int code)
{
    for (size_t i = 0; i < DP_EXITS_MOST && line->exits[i].text; i++) {
        if (line->exits[i].code == code) {
            return line->exits[i].text;
        }
    }
    for (size_t i = 0; code == DP_EXIT_USAGE && i < dp_exit_meaning_count; i++) {
        if (dp_exit_meanings[i].code == code) {
            return dp_exit_meanings[i].meaning;
        }
    }
    return NULL;
}

/* The word of "a|b|c" that equals `value`: the target must outlive argv's copy, so the caller's value is kept
 * and this only checks. */
static int check_choice(const struct dp_option *option, const char *value, struct dp_err *err)
{
    const char *choices = dp_option_choices(option);
    char *copy = dp_strdup(choices);
    const char *words[32];
    size_t count = 0;
    bool found = false;
    char *rest = copy;
    for (char *word; count < sizeof(words) / sizeof(words[0]) && (word = strsep(&rest, "|"));) {
        words[count++] = word;
        found = found || strcmp(word, value) == 0;
    }
    const char *near = dp_suggest(value, words, count);
    int rc = 0;
    if (!found && near) {
        rc = dp_err_set(err, DP_EXIT_USAGE, "option '--%s': unknown word '%.80s', did you mean '%s'?",
                        option->name, value, near);
    } else if (!found) {
        rc = dp_err_set(err, DP_EXIT_USAGE, "option '--%s': unknown word '%.80s', expected %s", option->name,
                        value, choices);
    }
    free(copy);
    return rc;
}

static void *target_of(const struct dp_option *option, void *values)
{
    return (char *)values + option->offset;
}

static int store_number(const struct dp_option *option, void *values, const char *value, struct dp_err *err)
{
    int64_t number = 0;
    const int rc = option->kind == DP_OPTION_INT
                       ? dp_parse_int(value, option->low, option->high, &number, err)
                       : dp_parse_duration(value, &number, err);
    if (rc != 0) {
        return dp_err_prefix(err, "option '--%s'", option->name);
    }
    if (option->kind == DP_OPTION_DURATION && number == 0) { /* no budget and no time: nobody means that */
        return dp_err_set(err, DP_EXIT_USAGE, "option '--%s' must be above 0", option->name);
    }
    *(int64_t *)target_of(option, values) = number;
    return 0;
}

static int store(const struct dp_option *option, void *values, const char *value, struct dp_err *err)
{
    switch (option->kind) {
    case DP_OPTION_FLAG:
        *(bool *)target_of(option, values) = true;
        return 0;
    case DP_OPTION_LIST:
    case DP_OPTION_COMMAND:
        strings_add(target_of(option, values), value);
        return 0;
    case DP_OPTION_INT:
    case DP_OPTION_DURATION:
        return store_number(option, values, value, err);
    case DP_OPTION_SHARE:
        return dp_parse_share(value, target_of(option, values), err) == 0
                   ? 0
                   : dp_err_prefix(err, "option '--%s'", option->name);
    case DP_OPTION_CHOICE:
        if (check_choice(option, value, err) != 0) {
            return -1;
        }
        break;
    case DP_OPTION_STRING:
        break;
    }
    *(const char **)target_of(option, values) = value;
    return 0;
}

/* The value, and of a command the words behind it. */
static int store_value(const struct dp_option *option, void *values, const char *value, int argc, char **argv,
                       int *at, struct dp_err *err)
{
    int rc = store(option, values, value, err);
    while (rc == 0 && option->kind == DP_OPTION_COMMAND && *at + 1 < argc) {
        rc = store(option, values, argv[++*at], err);
    }
    return rc;
}

/* argv[*at] is "--name", "--name=value" or "--no-name". */
static int parse_long(const struct dp_command_line *line, int argc, char **argv, void *values, int *at,
                      struct dp_err *err)
{
    const char *name = argv[*at] + 2;
    const size_t length = strcspn(name, "=");
    const bool has_value = name[length] == '=';
    const struct dp_option *option = find_long(line, name, length);
    if (!option && strncmp(name, "no-", 3) == 0) {
        option = find_long(line, name + 3, length - 3);
        if (option && option->kind == DP_OPTION_FLAG && !has_value) {
            *(bool *)target_of(option, values) = false;
            return 0;
        }
        option = NULL;
    }
    if (!option) {
        char *bare = dp_printf("%.*s", (int)(length < 200 ? length : 200), name);
        const int rc = unknown_option(line, bare, err);
        free(bare);
        return rc;
    }
    if (option->kind == DP_OPTION_FLAG && has_value) {
        return dp_err_set(err, DP_EXIT_USAGE, "option '--%s' takes no value", option->name);
    }
    if (option->kind == DP_OPTION_FLAG) {
        return store(option, values, NULL, err);
    }
    if (!has_value && *at + 1 >= argc) {
        return dp_err_set(err, DP_EXIT_USAGE, "option '--%s' needs a value", option->name);
    }
    const char *value = has_value ? name + length + 1 : argv[++*at];
    return store_value(option, values, value, argc, argv, at, err);
}

/* argv[*at] is "-abc", "-o", "-oFILE". */
static int parse_short(const struct dp_command_line *line, int argc, char **argv, void *values, int *at,
                       struct dp_err *err)
{
    for (const char *letter = argv[*at] + 1; *letter; letter++) {
        const struct dp_option *option = find_short(line, *letter);
        if (!option) {
            return dp_err_set(err, DP_EXIT_USAGE, "unknown option '-%c', see '%.*s --help'", *letter,
                              command_length(line->usage), line->usage);
        }
        if (option->kind == DP_OPTION_FLAG) {
            store(option, values, NULL, err);
            continue;
        }
        if (!letter[1] && *at + 1 >= argc) {
            return dp_err_set(err, DP_EXIT_USAGE, "option '-%c' needs a value", *letter);
        }
        const char *value = letter[1] ? letter + 1 : argv[++*at];
        return store_value(option, values, value, argc, argv, at, err);
    }
    return 0;
}

int dp_options_parse(const struct dp_command_line *line, int argc, char **argv, void *values,
                     struct dp_strings *ret_operands, bool *ret_help, struct dp_err *err)
{
    bool only_operands = false;
    *ret_help = false;
    *ret_operands = (struct dp_strings){0};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        int rc = 0;
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            strings_add(ret_operands, word);
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (find_common(word)) { /* whatever else stands there, the user asked for this */
            print_common(line, find_common(word));
            *ret_help = true;
            return 0;
        } else if (word[1] == '-') {
            rc = parse_long(line, argc, argv, values, &i, err);
        } else {
            rc = parse_short(line, argc, argv, values, &i, err);
        }
        if (rc != 0) {
            free(ret_operands->items);
            *ret_operands = (struct dp_strings){0};
            return rc;
        }
    }
    return 0;
}

/* A word to print in one piece: up to the next space, of a list that is wider than the room up to a bar. */
static int piece_length(const char *text, int room)
{
    const int word = (int)strcspn(text, " ");
    const char *bar = word > room ? memrchr(text, '|', (size_t)room) : NULL;
    return bar ? (int)(bar - text) + 1 : word;
}

/* Prints words from `column` on, in lines of HELP_WIDTH. */
static void print_wrapped(FILE *out, const char *text, int column)
{
    int at = column;
    while (*text) {
        const int word = piece_length(text, HELP_WIDTH - column);
        if (at > column && at + 1 + word > HELP_WIDTH) {
            fprintf(out, "\n%*s", column, "");
            at = column;
        }
        at += fprintf(out, "%s%.*s", at > column ? " " : "", word, text);
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

/* What a table elsewhere offers and the value it has by itself cannot stand in the text. Owned. */
static char *full_help(const struct dp_command_line *line, const struct dp_option *option)
{
    const char *choices = option->choices_of ? option->choices_of() : "";
    char *value = dp_option_default(line, option);
    char *help = *choices || value
                     ? dp_printf("%s (%s%s%s%s)", option->help, choices, *choices && value ? "; " : "",
                                 value ? "default " : "", value ? value : "")
                     : dp_strdup(option->help);
    free(value);
    return help;
}

static void print_option(const struct dp_command_line *line, const struct dp_option *option, FILE *out)
{
    char letter[8] = "    ";
    if (option->letter) {
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    }
    const char *argument = dp_option_argument(option);
    int at =
        fprintf(out, "  %s--%s%s%s", letter, option->name, argument ? " " : "", argument ? argument : "");
    if (at >= HELP_COLUMN) {
        fputc('\n', out);
        at = 0;
    }
    fprintf(out, "%*s", HELP_COLUMN - at, "");
    char *help = full_help(line, option);
    print_wrapped(out, help, HELP_COLUMN);
    free(help);
}

static void print_exits(const struct dp_command_line *line, FILE *out)
{
    fputs("\nexit codes:\n", out);
    for (size_t i = 0; i < dp_exit_meaning_count; i++) {
        const char *text = dp_exit_text(line, dp_exit_meanings[i].code);
        if (text) {
            fprintf(out, "  %-*s  ", EXIT_COLUMN - 4, dp_exit_meanings[i].shown);
            print_wrapped(out, text, EXIT_COLUMN);
        }
    }
}

static void print_examples(const struct dp_command_line *line, FILE *out)
{
    for (size_t i = 0; i < DP_EXAMPLES_MOST && line->examples[i].command; i++) {
        fprintf(out, "%s  %s\n      %s\n", i ? "" : "\nexamples:\n", line->examples[i].command,
                line->examples[i].text);
    }
}

void dp_options_help(const struct dp_command_line *line, FILE *out)
{
    fprintf(out, "usage: %s\n\n", line->usage);
    print_wrapped(out, line->summary, 0);
    fputs("\noptions:\n", out);
    for (size_t i = 0; i < line->count; i++) {
        print_option(line, &line->options[i], out);
    }
    for (size_t i = 0; i < COMMON_COUNT; i++) {
        print_option(NULL, &dp_options_common[i], out);
    }
    if (line->details) {
        fputc('\n', out);
        print_wrapped(out, line->details, 0);
    }
    print_exits(line, out);
    print_examples(line, out);
}

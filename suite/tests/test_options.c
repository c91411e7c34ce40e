/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines: every kind of option in every form, and every way to get one wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "suite/base/options.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { WORDS_MAX = 16 };

struct values {
    bool verbose, quiet;
    const char *output, *level;
    struct dp_strings exclude, command;
    int64_t runs, budget;
    struct dp_strings operands;
    bool help;
    struct dp_err err;
};

static const struct dp_option options[] = {
    {.kind = DP_OPTION_FLAG,
     .letter = 'v',
     .name = "verbose",
     .help = "say more",
     .offset = offsetof(struct values, verbose)},
    {.kind = DP_OPTION_FLAG,
     .letter = 'q',
     .name = "quiet",
     .help = "say less",
     .offset = offsetof(struct values, quiet)},
    {.kind = DP_OPTION_STRING,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .help = "a file",
     .offset = offsetof(struct values, output)},
    {.kind = DP_OPTION_LIST,
     .letter = 'x',
     .name = "exclude",
     .help = "leave out",
     .offset = offsetof(struct values, exclude)},
    {.kind = DP_OPTION_INT,
     .letter = 'r',
     .name = "runs",
     .help = "runs",
     .offset = offsetof(struct values, runs),
     .low = 2,
     .high = 100},
    {.kind = DP_OPTION_DURATION, .name = "budget", .help = "time", .offset = offsetof(struct values, budget)},
    {.kind = DP_OPTION_CHOICE,
     .name = "level",
     .help = "level",
     .offset = offsetof(struct values, level),
     .choices = "quick|default|deep"},
    {.kind = DP_OPTION_COMMAND,
     .letter = 'e',
     .name = "exec",
     .help = "run",
     .offset = offsetof(struct values, command)},
};
static const struct dp_command_line line = {
    .usage = "detprobe run", .summary = "Runs.", .options = options, .count = COUNT(options)};

static int parse(struct values *v, const char *const *words)
{
    char *argv[WORDS_MAX] = {(char[]){"run"}};
    int argc = 1;
    for (; words[argc - 1]; argc++) {
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    }
    *v = (struct values){.level = "default", .runs = -1, .budget = -1};
    return dp_options_parse(&line, argc, argv, v, &v->operands, &v->help, &v->err);
}

static void release(struct values *v)
{
    free(v->exclude.items);
    free(v->command.items);
    free(v->operands.items);
}

static void test_every_form(void **state)
{
    struct values v;
    assert_int_equal(
        parse(&v, (const char *[]){"a", "--verbose", "-o", "f", "--exclude=x", "b", "-xy", "--exclude", "z",
                                   "--runs=5", "--budget", "2m", "--level", "quick", NULL}),
        0);
    assert_true(v.verbose);
    assert_false(v.quiet);
    assert_string_equal(v.output, "f");
    assert_int_equal(v.exclude.count, 3);
    assert_string_equal(v.exclude.items[0], "x");
    assert_string_equal(v.exclude.items[1], "y");
    assert_string_equal(v.exclude.items[2], "z");
    assert_int_equal(v.operands.count, 2);
    assert_string_equal(v.operands.items[1], "b");
    assert_int_equal(v.runs, 5);
    assert_true(v.budget == INT64_C(120000000000));
    assert_string_equal(v.level, "quick");
    release(&v);
}

static void test_short_and_last_wins(void **state)
{
    struct values v;
    assert_int_equal(parse(&v, (const char *[]){"-vqofile", "-o", "other", "--no-verbose", "-r2", NULL}), 0);
    assert_false(v.verbose);
    assert_true(v.quiet);
    assert_string_equal(v.output, "other");
    assert_int_equal(v.runs, 2);
    release(&v);
    assert_int_equal(parse(&v, (const char *[]){"-o", "--level", NULL}),
                     0); /* a value may look like an option */
    assert_string_equal(v.output, "--level");
    release(&v);
    assert_int_equal(parse(&v, (const char *[]){"--output=", NULL}), 0);
    assert_string_equal(v.output, "");
    release(&v);
}

static void test_operands(void **state)
{
    struct values v;
    assert_int_equal(parse(&v, (const char *[]){"-", "--", "--verbose", "--", NULL}), 0);
    assert_false(v.verbose);
    assert_int_equal(v.operands.count, 3);
    assert_string_equal(v.operands.items[0], "-");
    assert_string_equal(v.operands.items[1], "--verbose");
    assert_string_equal(v.operands.items[2], "--");
    release(&v);
}

/* Everything behind it is the command's, whatever it looks like. */
static void test_command(void **state)
{
    static const char *const forms[][3] = {{"--exec", "a"}, {"--exec=a"}, {"-e", "a"}, {"-ea"}};
    for (size_t i = 0; i < COUNT(forms); i++) {
        const char *words[WORDS_MAX] = {"x", forms[i][0], forms[i][1]};
        const char *const rest[] = {"--verbose", "--help", "--", "-q", "", NULL};
        memcpy(words + (forms[i][1] ? 3 : 2), rest, sizeof(rest));
        struct values v;
        assert_int_equal(parse(&v, words), 0);
        assert_false(v.verbose || v.quiet || v.help);
        assert_int_equal(v.operands.count, 1);
        assert_int_equal(v.command.count, 6);
        assert_string_equal(v.command.items[0], "a");
        for (size_t k = 0; rest[k]; k++) {
            assert_string_equal(v.command.items[k + 1], rest[k]);
        }
        release(&v);
    }
    struct values v;
    assert_int_not_equal(parse(&v, (const char *[]){"--exec", NULL}), 0);
    assert_int_equal(parse(&v, (const char *[]){"--", "--exec", "a", NULL}), 0);
    assert_int_equal(v.command.count, 0);
    release(&v);
}

static void test_help_wins(void **state)
{
    struct values v;
    assert_int_equal(parse(&v, (const char *[]){"a", "--help", "--nonsense", NULL}), 0);
    assert_true(v.help);
    release(&v);
    assert_int_equal(parse(&v, (const char *[]){"-h", NULL}), 0);
    assert_true(v.help);
    release(&v);
    assert_int_equal(parse(&v, (const char *[]){"a", NULL}), 0);
    assert_false(v.help);
    release(&v);
}

static void test_errors(void **state)
{
    static const struct {
        const char *words[4];
        const char *text;
    } rows[] = {
        {{"--verbos"}, "unknown option '--verbos', did you mean '--verbose'?"},
        {{"--zzzzzz"}, "unknown option '--zzzzzz', see 'detprobe run --help'"},
        {{"-z"}, "unknown option '-z', see 'detprobe run --help'"},
        {{"--no-output"}, "unknown option '--no-output', did you mean '--output'?"},
        {{"--verbose=1"}, "option '--verbose' takes no value"},
        {{"--no-verbose=1"}, "unknown option '--no-verbose', did you mean '--verbose'?"},
        {{"--output"}, "option '--output' needs a value"},
        {{"-o"}, "option '-o' needs a value"},
        {{"--runs", "x"}, "option '--runs': 'x' is not a whole number"},
        {{"--runs", "1"}, "option '--runs': '1' is not within 2 to 100"},
        {{"--runs=101"}, "option '--runs': '101' is not within 2 to 100"},
        {{"--budget", "5 s"},
         "option '--budget': '5 s' is not a duration, write it like 50s, 250ms, 2m, 1h or 7d"},
        {{"--level", "quik"}, "option '--level': unknown word 'quik', did you mean 'quick'?"},
        {{"--level", "xyzzyx"}, "option '--level': unknown word 'xyzzyx', expected quick|default|deep"},
        {{"--level", "quick|default"},
         "option '--level': unknown word 'quick|default', expected quick|default|deep"},
        {{"--level", ""}, "option '--level': unknown word '', expected quick|default|deep"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct values v;
        const char *words[] = {rows[i].words[0], rows[i].words[1], NULL};
        assert_int_equal(parse(&v, words), -1);
        assert_string_equal(v.err.text, rows[i].text);
        assert_int_equal(v.err.code, DP_EXIT_USAGE);
        assert_null(v.operands.items);
        assert_string_equal(v.level, "default"); /* nothing bad was stored */
        assert_int_equal(v.runs, -1);
        release(&v);
    }
}

static const char *few_words(void)
{
    return "c|d";
}

/* The rows of the table above, with the value each has by itself. */
static void test_defaults(void **state)
{
    const struct values defaults = {.output = "-", .level = "quick", .runs = -1, .budget = 1500000000};
    const struct values others = {.verbose = true, .runs = 7, .budget = INT64_C(120000000000)};
    const struct dp_command_line lines[] = {
        {.options = options, .count = COUNT(options), .defaults = &defaults},
        {.options = options, .count = COUNT(options), .defaults = &others},
        {.options = options, .count = COUNT(options)},
    };
    const struct {
        const char *name, *values[COUNT(lines)];
    } rows[] = {
        {"verbose", {NULL, NULL, NULL}}, {"output", {"-", NULL, NULL}}, {"level", {"quick", NULL, NULL}},
        {"exclude", {NULL, NULL, NULL}}, {"runs", {NULL, "7", NULL}},   {"budget", {"1500ms", "120s", NULL}},
    };
    size_t seen = 0;
    for (size_t i = 0; i < COUNT(options); i++) {
        for (size_t k = 0; k < COUNT(rows) * COUNT(lines); k++) {
            if (strcmp(rows[k / COUNT(lines)].name, options[i].name) == 0) {
                const char *expected = rows[k / COUNT(lines)].values[k % COUNT(lines)];
                char *value = dp_option_default(&lines[k % COUNT(lines)], &options[i]);
                assert_string_equal(value ? value : "none", expected ? expected : "none");
                free(value);
                seen++;
            }
        }
    }
    assert_int_equal(seen, COUNT(rows) * COUNT(lines));
}

static void test_help_text(void **state)
{
    static const struct shown {
        bool verbose;
        const char *level, *format;
    } defaults = {.format = "c"};
    const struct dp_option rows[] = {
        {.kind = DP_OPTION_FLAG,
         .letter = 'v',
         .name = "verbose",
         .help = "say more",
         .offset = offsetof(struct shown, verbose)},
        {.kind = DP_OPTION_CHOICE,
         .name = "level",
         .offset = offsetof(struct shown, level),
         .help = "words and words and words and words and words and words and words and words",
         .choices = "a|b"},
        {.kind = DP_OPTION_CHOICE,
         .name = "format",
         .argument = "FORMAT",
         .help = "one of",
         .offset = offsetof(struct shown, format),
         .choices_of = few_words},
    };
    const struct dp_command_line shown = {.usage = "detprobe x FILE",
                                          .summary = "Does x.",
                                          .options = rows,
                                          .count = COUNT(rows),
                                          .defaults = &defaults,
                                          .details =
                                              "More of x: words and words and words and words and words and "
                                              "words and words and words and words.",
                                          .exits = {{DP_EXIT_OK, "done"}, {DP_EXIT_SIGNAL, "stopped"}},
                                          .examples = {{"detprobe x y", "does y"}}};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    dp_options_help(&shown, out);
    fclose(out);
    assert_string_equal(
        text,
        "usage: detprobe x FILE\n\n"
        "Does x.\n\n"
        "options:\n"
        "  -v, --verbose             say more\n"
        "      --level a|b           words and words and words and words and words and words and words\n"
        "                            and words\n"
        "      --format FORMAT       one of (c|d; default c)\n"
        "  -h, --help                print this text\n"
        "  -V, --version             print the program's version\n\n"
        "More of x: words and words and words and words and words and words and words and words and\n"
        "words.\n\n"
        "exit codes:\n"
        "  0      done\n"
        "  64     bad usage\n"
        "  128+N  stopped\n\n"
        "examples:\n"
        "  detprobe x y\n"
        "      does y\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form), cmocka_unit_test(test_short_and_last_wins),
        cmocka_unit_test(test_operands),   cmocka_unit_test(test_help_wins),
        cmocka_unit_test(test_errors),     cmocka_unit_test(test_help_text),
        cmocka_unit_test(test_defaults),   cmocka_unit_test(test_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

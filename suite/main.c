/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe: table dispatch to the commands, nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/err.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/command/complete.h"
#include "suite/command/streams.h"

static void print_help(FILE *out)
{
    fputs("usage: detprobe COMMAND [OPTION...]\n\n"
          "Finds " DP_PROGRAM_SUMMARY ".\n\n",
          out);
    for (size_t i = 0; i < dp_command_count; i++) {
        fprintf(out, "  %-11s %s\n", dp_commands[i]->name, dp_commands[i]->summary);
    }
    fputs("\nTo begin: 'detprobe doctor', then 'detprobe run --all --level quick -o report.json'.\n"
          "'detprobe help COMMAND' describes the options of a command.\n",
          out);
}

static int unknown_command(const char *name)
{
    const char **names = dp_alloc(dp_command_count, sizeof(*names));
    for (size_t i = 0; i < dp_command_count; i++) {
        names[i] = dp_commands[i]->name;
    }
    const char *near = dp_suggest(name, names, dp_command_count);
    char *shown = dp_printable(name, strlen(name));
    fprintf(stderr, "detprobe: unknown command '%s'", shown);
    fprintf(stderr, near ? ", did you mean '%s'?\n" : ", see 'detprobe --help'\n", near);
    free(shown);
    free(names);
    return DP_EXIT_USAGE;
}

static const struct dp_command *find_command(const char *name)
{
    for (size_t i = 0; i < dp_command_count; i++) {
        if (strcmp(name, dp_commands[i]->name) == 0) {
            return dp_commands[i];
        }
    }
    return NULL;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* "help" and "help COMMAND". */
static int help(int argc, char **argv)
{
    if (argc < 2 || asks_for_help(argv[1])) {
        print_help(stdout);
        return DP_EXIT_OK;
    }
    const struct dp_command *command = find_command(argv[1]);
    if (!command) {
        return unknown_command(argv[1]);
    }
    dp_options_help(command->line, stdout);
    return DP_EXIT_OK;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return DP_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (asks_for_help(name)) {
        return help(argc - 1, argv + 1);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("detprobe " DP_VERSION);
        return DP_EXIT_OK;
    }
    if (strcmp(name, DP_COMPLETE_NAME) == 0) {
        return dp_complete(argc > 2 ? argv[2] : "");
    }
    const struct dp_command *command = find_command(name);
    return command ? command->run(argc - 1, argv + 1) : unknown_command(name);
}

int main(int argc, char **argv)
{
    dp_streams_open();
    return dp_streams_close(dispatch(argc, argv));
}

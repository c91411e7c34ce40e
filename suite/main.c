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
#include "suite/command/streams.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

static const struct command commands[] = {
    {"diff", cmd_diff, "compare two reports: what changed, and what may explain it"},
    {"doctor", cmd_doctor, "say what can run here and which library files would be measured"},
    {"list", cmd_list, "list the cases of the catalogue with what is guaranteed for each"},
    {"run", cmd_run, "run cases, print what varies, write the report"},
    {"show", cmd_show, "print a report"},
    {"validate", cmd_validate, "check report and catalogue files strictly"},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
    fputs("usage: detprobe COMMAND [OPTION...]\n\n"
          "Which numerical operations return the same bits every time on this stack, and which do not.\n\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fputs("\n'detprobe COMMAND --help' describes the options of a command.\n", out);
}

static int unknown_command(const char *name)
{
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i].name;
    }
    const char *near = dp_suggest(name, names, COMMAND_COUNT);
    char *shown = dp_printable(name, strlen(name));
    fprintf(stderr, "detprobe: unknown command '%s'", shown);
    fprintf(stderr, near ? ", did you mean '%s'?\n" : ", see 'detprobe --help'\n", near);
    free(shown);
    return DP_EXIT_USAGE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return DP_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return DP_EXIT_OK;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("detprobe " DP_VERSION);
        return DP_EXIT_OK;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return unknown_command(name);
}

int main(int argc, char **argv)
{
    dp_streams_open();
    return dp_streams_close(dispatch(argc, argv));
}

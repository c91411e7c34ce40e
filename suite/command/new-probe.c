/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe new-probe: a folder with a probe that works, to be changed into one's own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite/base/json.h"
#include "suite/base/options.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/plan/catalogue.h"

#define FILE_MOST ((size_t)1 << 20)
#define NAME_MOST 60
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define PLACEHOLDER "@NAME@"
#define FILES_MOST 4

/* Of each language: what is copied from the folder of the built-in probes, and what it is called. */
static const struct language {
    const char *name, *backend;
    bool built; /* by make */
    struct {
        const char *from, *to;
    } files[FILES_MOST];
} languages[] = {
    {"c",
     "cpu",
     true,
     {{"skeleton/probe.c", PLACEHOLDER ".c"},
      {"skeleton/c.json.in", PLACEHOLDER ".json"},
      {"skeleton/Makefile", "Makefile"},
      {"skeleton/op.h", "op.h"}}},
    {"python",
     "python",
     false,
     /* with a dash, so that no name is that of a module, which Python would then import from here */
     {{"skeleton/probe.py", PLACEHOLDER "-probe.py"},
      {"skeleton/python.json.in", PLACEHOLDER ".json"},
      {"python/kit.py", "kit.py"}}},
};

struct new_probe_options {
    const char *language, *output;
    struct dp_strings operands;
};

static const struct new_probe_options defaults = {.language = "python"};

static const struct dp_option option_table[] = {
    {.kind = DP_OPTION_CHOICE,
     .name = "lang",
     .argument = "LANG",
     .help = "the language of the program",
     .choices = "c|python",
     .offset = offsetof(struct new_probe_options, language)},
    {.kind = DP_OPTION_STRING,
     .letter = 'o',
     .name = "output",
     .argument = "FOLDER",
     .help = "the folder to make instead of NAME",
     .offset = offsetof(struct new_probe_options, output)},
};

static const struct dp_command_line command_line = {
    .usage = "detprobe new-probe NAME [OPTION...]",
    .summary = "Makes a folder with a probe that works as it is: a program with one operation in two orders, "
               "one of which varies, its catalogue file, and the kit. What to change into an operation of "
               "one's own is marked CHANGE in both. NAME is the family in the ids of its cases.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &defaults,
    .exits = {{DP_EXIT_OK, "made"},
              {DP_EXIT_NO_VERDICT,
               "the folder, of which nothing is left, or standard output could not be written"}},
    .examples =
        {{"detprobe new-probe mine && DETPROBE_PROBE_PATH=mine detprobe run 'python/mine/*' --level quick",
          "a probe in Python, and what it gives"},
         {"detprobe new-probe loop --lang c && make -C loop && DETPROBE_PROBE_PATH=loop detprobe list "
          "'cpu/loop/*'",
          "one in C; its kit is in the program that runs it, so nothing is linked"}},
};

/* With the name in its places. Owned. */
static char *filled(const char *text, const char *name)
{
    struct dp_text out = DP_TEXT(FILE_MOST);
    for (const char *place; (place = strstr(text, PLACEHOLDER)); text = place + strlen(PLACEHOLDER)) {
        dp_text_add(&out, text, (size_t)(place - text));
        dp_text_put(&out, name);
    }
    dp_text_put(&out, text);
    return out.data;
}

/* ---- what is asked for ---- */

static const struct language *language_of(const char *name)
{
    const struct language *language = languages;
    while (strcmp(language->name, name) != 0) {
        language++;
    }
    return language;
}

/* The family in an id, the beginning of files' names: the characters that are plain in both. Code 64. */
static int check_name(const char *name, struct dp_err *err)
{
    const size_t length = strlen(name);
    if (length == 0 || length > NAME_MOST || strspn(name, NAME_CHARACTERS) != length || name[0] == '-') {
        return dp_err_set(
            err, DP_EXIT_USAGE,
            "bad name '%.80s': lower-case letters, digits and dashes, at most %d, the first no dash", name,
            NAME_MOST);
    }
    return 0;
}

/* Ids of the user's and of the project's never meet. Code 64. */
static int check_family(const char *builtin, const char *name, struct dp_err *err)
{
    struct dp_catalogue catalogue;
    if (dp_catalogue_load_from(builtin, NULL, &catalogue, err) != 0) {
        return -1;
    }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < catalogue.case_count; i++) {
        if (strcmp(catalogue.cases[i].family, name) == 0) {
            rc = dp_err_set(err, DP_EXIT_USAGE, "'%s' is a family of the built-in probes, take another name",
                            name);
        }
    }
    dp_catalogue_free(&catalogue);
    return rc;
}

/* It must be possible to say it in a variable of folders, and in a line. Code 64. */
static int check_folder(const char *folder, struct dp_err *err)
{
    char *shown = dp_printable(folder, strlen(folder));
    const bool plain = folder[0] && !strchr(folder, ':') && strcmp(shown, folder) == 0;
    free(shown);
    return plain ? 0
                 : dp_err_set(err, DP_EXIT_USAGE,
                              "bad folder '%.200s': a colon would part it in DETPROBE_PROBE_PATH, and what "
                              "cannot be printed is no name",
                              folder);
}

/* ---- what is made ---- */

static char *path_of(const char *folder, const char *file, const char *name)
{
    char *filename = filled(file, name);
    char *path = dp_printf("%s/%s", folder, filename);
    free(filename);
    return path;
}

static int write_file(const char *from, const char *to, const char *name, struct dp_err *err)
{
    size_t length;
    char *template = dp_file_read(from, FILE_MOST, &length, err);
    char *text = template ? filled(template, name) : NULL;
    const int rc = text ? dp_file_write(to, text, strlen(text), err) : -1;
    free(text);
    free(template);
    return rc;
}

/* All of them, or none and no folder. */
static int make_folder(const struct language *language, const char *builtin, const char *folder,
                       const char *name, struct dp_err *err)
{
    if (mkdir(folder, 0777) != 0) {
        return errno == EEXIST ? dp_err_set(err, DP_EXIT_USAGE,
                                            "'%.200s' exists, name another folder with '-o FOLDER'", folder)
                               : dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot make folder '%.200s': %s",
                                            folder, dp_reason(errno));
    }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < FILES_MOST && language->files[i].from; i++) {
        char *from = dp_printf("%s/%s", builtin, language->files[i].from);
        char *to = path_of(folder, language->files[i].to, name);
        rc = write_file(from, to, name, err);
        free(to);
        free(from);
    }
    for (size_t i = 0; rc != 0 && i < FILES_MOST && language->files[i].from; i++) {
        char *to = path_of(folder, language->files[i].to, name);
        unlink(to);
        free(to);
    }
    if (rc != 0) {
        rmdir(folder);
        err->code = DP_EXIT_NO_VERDICT;
    }
    return rc;
}

static void print_next(const struct language *language, const char *folder, const char *name)
{
    struct dp_text word = DP_TEXT(FILE_MOST);
    dp_text_put_word(&word, folder);
    printf("made %s: it works as it is, what to change is marked CHANGE\n\n", word.data);
    if (language->built) {
        printf("  make -C %s\n", word.data);
    }
    printf("  DETPROBE_PROBE_PATH=%s detprobe run '%s/%s/*'\n", word.data, language->backend, name);
    dp_text_free(&word);
}

static int new_probe(const struct new_probe_options *o, struct dp_err *err)
{
    if (o->operands.count != 1) {
        return dp_err_set(err, DP_EXIT_USAGE, "%s, see 'detprobe new-probe --help'",
                          o->operands.count == 0 ? "no name for the probe" : "more than one name");
    }
    const char *name = o->operands.items[0];
    const struct language *language = language_of(o->language);
    const char *folder = o->output ? o->output : name;
    char *builtin = check_name(name, err) == 0 ? dp_catalogue_builtin_folder(err) : NULL;
    int rc = builtin ? check_family(builtin, name, err) : -1;
    rc = rc == 0 ? check_folder(folder, err) : rc;
    rc = rc == 0 ? make_folder(language, builtin, folder, name, err) : rc;
    free(builtin);
    if (rc == 0) {
        print_next(language, folder, name);
    }
    return rc;
}

static int cmd_new_probe(int argc, char **argv)
{
    struct new_probe_options o = defaults;
    struct dp_err err = {.code = DP_EXIT_USAGE};
    bool help = false;
    int rc = dp_options_parse(&command_line, argc, argv, &o, &o.operands, &help, &err);
    rc = rc == 0 && !help ? new_probe(&o, &err) : rc;
    free(o.operands.items);
    return dp_command_end(rc, &err);
}

const struct dp_command dp_command_new_probe = {"new-probe", "make the skeleton of a probe of your own",
                                                &command_line, cmd_new_probe};

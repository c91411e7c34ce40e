/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of what a manual says beside the options. A test holds the variables against those that the sources
 * read.
 */
#include "suite/docs/surroundings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"
#include "suite/plan/selector.h"

enum { WORDS_MOST = 4000 };

const struct dp_surrounding dp_docs_variables[] = {
    {"DETPROBE_PROBE_PATH", "list run doctor audit explain bisect guarantees",
     "folders with catalogue files and probe programs of your own, with colons between them"},
    {"DETPROBE_LIB_<ROLE>", "run doctor audit explain bisect guarantees probe",
     "the file of one library to measure, by its role: DETPROBE_LIB_CBLAS, DETPROBE_LIB_CUDNN; 'none': no "
     "such library; the report of a run records it"},
    {"DETPROBE_DEVICE", "run doctor guarantees probe",
     "number of the GPU to measure, 0 unless it is set; set by the suite for each further GPU of axis "
     "device"},
    {"DETPROBE_FORCE", "run probe", "1: measure on a GPU that other processes use; set by --force"},
    {"DETPROBE_STACK", "probe",
     "set by the suite under --stack: a library without DETPROBE_LIB_<ROLE> is missing and is looked for "
     "nowhere"},
    {"DETPROBE_SCRATCH", "probe",
     "set by the suite: a folder for the time of a run, where processes of a program keep what is costly to "
     "make; "
     "programs do without where there is none"},
    {"DETPROBE_IN_FD", "probe", "set by the suite: the descriptor that requests come from"},
    {"DETPROBE_OUT_FD", "probe", "set by the suite: the descriptor that answers go to"},
    {"DETPROBE_SETTING", "probe",
     "set by the suite for cases that ask for it: what the program does to its library before it says hello"},
    {"DETPROBE_PROCESS", "probe", "set by the suite: a mark by which it finds what a program left behind"},
    {"OMP_WAIT_POLICY", "run explain bisect",
     "'passive' for the programs unless it is set; the report records it"},
    {"LD_LIBRARY_PATH", "run doctor audit explain bisect guarantees probe",
     "chooses linked libraries (oneDNN, OpenMP) and those found by their names"},
    {"GLIBC_TUNABLES", "run", "the programs' own; axis isa sets glibc.cpu.hwcaps in it and keeps the rest"},
    {"CUDA_HOME", "run doctor guarantees probe",
     "where the CUDA toolkit is, for the library CUPTI beside it"},
    {"TMPDIR", "run explain bisect", "where the scratch folder of a run is made, /tmp unless it is set"},
    {"VIRTUAL_ENV", "audit", "the Python environment whose packages are looked at without --stack"},
    {"CONDA_PREFIX", "audit", "likewise"},
    {"NO_COLOR", "*", "set and not empty: no colour, unless --color asks for it"},
    {"CLICOLOR_FORCE", "*", "set, not empty and not 0: colour without a terminal too"},
    {"TERM", "*", "'dumb': neither colour nor a line of progress"},
    {"CI", "run", "set: no line of progress"},
    {NULL, NULL, NULL},
};

const struct dp_surrounding dp_docs_files[] = {
    {"FILE.log.jsonl", "run",
     "the run log beside the report of '-o FILE', from which '--resume' goes on; may be deleted once the "
     "report is "
     "there"},
    {DP_DOCS_PROBES, "run list doctor audit explain bisect guarantees new-probe probe",
     "the built-in probe programs and their catalogue files, a folder for each backend; the kits, and what "
     "a new probe begins with"},
    {DP_DOCS_SCHEMAS, "* probe report", "JSON Schemas of everything that is read and written"},
    {NULL, NULL, NULL},
};

bool dp_docs_reads(const struct dp_surrounding *row, const char *reader)
{
    const size_t length = strlen(reader);
    const bool is_format = strcmp(reader, "probe") == 0 || strcmp(reader, "report") == 0;
    for (const char *at = row->readers; *at;) {
        const size_t word = strcspn(at, " ");
        const bool everyone = word == 1 && *at == '*' && !is_format;
        if (everyone || (word == length && strncmp(at, reader, length) == 0)) {
            return true;
        }
        at += word;
        at += strspn(at, " ");
    }
    return false;
}

static const struct {
    const char *argument;
    enum dp_completes completes;
} arguments[] = {
    {"AFTER", DP_COMPLETES_FILES},    {"AREA", DP_COMPLETES_LIST},      {"AXIS", DP_COMPLETES_LIST},
    {"BACKEND", DP_COMPLETES_WORDS},  {"BASELINE", DP_COMPLETES_FILES}, {"BEFORE", DP_COMPLETES_FILES},
    {"CASE", DP_COMPLETES_CASES},     {"CMD", DP_COMPLETES_FILES},      {"FILE", DP_COMPLETES_FILES},
    {"FOLDER", DP_COMPLETES_FOLDERS}, {"FORMAT", DP_COMPLETES_WORDS},   {"FORMAT:FILE", DP_COMPLETES_REPORTS},
    {"LANG", DP_COMPLETES_WORDS},     {"KEY", DP_COMPLETES_FILES},      {"LEVEL", DP_COMPLETES_WORDS},
    {"LOG", DP_COMPLETES_FILES},      {"N", DP_COMPLETES_NOTHING},      {"NAME", DP_COMPLETES_NOTHING},
    {"POLICY", DP_COMPLETES_FILES},   {"RATE", DP_COMPLETES_NOTHING},   {"REPORT", DP_COMPLETES_FILES},
    {"SELECTOR", DP_COMPLETES_CASES}, {"SHARE", DP_COMPLETES_NOTHING},  {"SIGNED", DP_COMPLETES_FILES},
    {"STACK", DP_COMPLETES_FOLDERS},  {"TIME", DP_COMPLETES_NOTHING},   {"VERSIONS", DP_COMPLETES_NOTHING},
    {"WHAT", DP_COMPLETES_WORDS},     {"WHEN", DP_COMPLETES_WORDS},
};

enum dp_completes dp_docs_completes(const char *argument)
{
    for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
        if (strcmp(arguments[i].argument, argument) == 0) {
            return arguments[i].completes;
        }
    }
    return DP_COMPLETES_UNKNOWN;
}

static void add_word(struct dp_text *words, const char *word, size_t length)
{
    dp_text_put(words, words->length ? " " : "");
    dp_text_add(words, word, length);
}

char *dp_docs_words(const struct dp_option *option)
{
    struct dp_text words = DP_TEXT(WORDS_MOST);
    dp_text_put(&words, "");
    const char *choices = dp_option_choices(option);
    for (const char *at = choices ? choices : ""; *at;) {
        const size_t length = strcspn(at, "|");
        add_word(&words, at, length);
        at += length + (at[length] == '|');
    }
    const char *argument = option->argument ? option->argument : "";
    for (size_t i = 0; strcmp(argument, "BACKEND") == 0 && dp_backends[i]; i++) {
        add_word(&words, dp_backends[i], strlen(dp_backends[i]));
    }
    return dp_text_take(&words);
}

/* Is the word an option that takes an argument? */
static bool takes_argument(const struct dp_command_line *line, const char *word)
{
    for (size_t i = 0; strncmp(word, "--", 2) == 0 && i < line->count; i++) {
        if (strcmp(line->options[i].name, word + 2) == 0) {
            return line->options[i].kind != DP_OPTION_FLAG;
        }
    }
    return false;
}

enum dp_completes dp_docs_operands(const struct dp_command_line *line)
{
    static const char between[] = " []|.";
    char *usage = dp_strdup(line->usage), *rest = usage;
    enum dp_completes completes = DP_COMPLETES_NOTHING;
    bool argument = false;
    for (const char *word; completes == DP_COMPLETES_NOTHING && (word = strsep(&rest, between));) {
        if (isupper((unsigned char)*word) && !argument && strcmp(word, "OPTION") != 0) {
            completes = dp_docs_completes(word);
        }
        argument = *word ? takes_argument(line, word) : argument;
    }
    free(usage);
    return completes;
}

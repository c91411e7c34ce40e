/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe audit: every setting that decides whether numerical programs repeat, what it is, what it should
 * be, and the line that sets it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite/audit/machine.h"
#include "suite/audit/readers.h"
#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/command/auditing.h"
#include "suite/command/command.h"
#include "suite/plan/catalogue.h"
#include "suite/run/environment.h"
#include "suite/run/runner.h"

#define ENVIRONMENT_MOST ((size_t)4 << 20)
#define OUTPUT_MOST ((size_t)1 << 22)

struct audit_options {
    struct dp_strings areas, names, command;
    const char *stack;
    bool json, shell, prove, verbose;
};

static const struct dp_option option_table[] = {
    {.kind = DP_OPTION_LIST,
     .letter = 'f',
     .name = "for",
     .argument = "AREA",
     .help = "audit this, whether or not it is found here; repeatable, or several with commas; without it "
             "what is found",
     .offset = offsetof(struct audit_options, areas),
     .choices_of = dp_audit_areas},
    {.kind = DP_OPTION_STRING,
     .name = "stack",
     .argument = "STACK",
     .help = "look at the libraries of this Python environment or prefix and no others, or at what a running "
             "process (pid:N) was started with",
     .offset = offsetof(struct audit_options, stack)},
    {.kind = DP_OPTION_FLAG,
     .name = "prove",
     .help = "run cases with each setting and without, and say what it changed",
     .offset = offsetof(struct audit_options, prove)},
    {.kind = DP_OPTION_FLAG,
     .name = "json",
     .help = "print an array of objects: everything that is known of each setting",
     .offset = offsetof(struct audit_options, json)},
    {.kind = DP_OPTION_FLAG,
     .name = "shell",
     .help = "print the lines that set what should be set, for eval by a shell",
     .offset = offsetof(struct audit_options, shell)},
    {.kind = DP_OPTION_COMMAND,
     .letter = 'e',
     .name = "exec",
     .argument = "CMD",
     .help = "run this command, to the end of the line, with those variables set and without a shell",
     .offset = offsetof(struct audit_options, command)},
    {.kind = DP_OPTION_FLAG,
     .letter = 'v',
     .name = "verbose",
     .help = "say of each setting which values it takes, what reads it and where that is documented",
     .offset = offsetof(struct audit_options, verbose)},
};

static const struct dp_command_line command_line = {
    .usage = "detprobe audit [NAME...] [OPTION...] [--exec CMD...]",
    .summary =
        "Checks the variables and the facts of the machine that decide whether numerical programs repeat: "
        "what each is, what it should be, and the line that sets it. A NAME is that of a setting or a glob "
        "over them; without one all of what is installed here.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .details =
        "Statuses: ok; missing (not set, and what holds by itself does not repeat); wrong (a value that does "
        "not repeat); ignored (set, and nothing here reads it); unknown (a value that what reads it does not "
        "document, or nobody can tell); too_late (of a process: it began without it and what reads it is "
        "loaded). What a program decides inside of itself (seeds, torch.use_deterministic_algorithms) cannot "
        "be seen from outside. With --exec the command's exit code is the program's.",
    .exits = {{DP_EXIT_OK, "every setting is ok or ignored; printed with --shell"},
              {DP_EXIT_FINDINGS, "a setting is missing, wrong, unknown or too late"},
              {DP_EXIT_NO_VERDICT, "no probes are installed, or the output was not written"},
              {DP_EXIT_DATA, "bad catalogue, stack or process"},
              {DP_EXIT_CANNOT_RUN, "the command of --exec is there and cannot be run"},
              {DP_EXIT_NOT_FOUND, "the command of --exec is not found"},
              {DP_EXIT_SIGNAL, "a proof was stopped by signal N"}},
    .examples =
        {{"detprobe audit", "what is installed here"},
         {"detprobe audit --for pytorch,cuda --json | jq -r '.[] | select(.status != \"ok\") | .name'",
          "what a job on a GPU would need"},
         {"eval \"$(detprobe audit --shell)\"", "set what should be set, in this shell"},
         {"detprobe audit --exec python3 -c 'print(hash(\"a\"))'", "run one command with it"},
         {"detprobe audit PYTHONHASHSEED --prove", "whether this setting changes anything here"}},
};

/* --- the environment --- */

extern char **environ;

/* Owned, with its strings. */
static char **copy_environment(char **from)
{
    size_t count = 0;
    while (from && from[count]) {
        count++;
    }
    char **ret = dp_alloc(count + 1, sizeof(*ret));
    for (size_t i = 0; i < count; i++) {
        ret[i] = dp_strdup(from[i]);
    }
    return ret;
}

static void free_environment(char **environment)
{
    for (size_t i = 0; environment && environment[i]; i++) {
        free(environment[i]);
    }
    free(environment);
}

/* What process N was started with: strings with NULs between. Owned, or NULL with *err. */
static char **process_environment(const char *digits, struct dp_err *err)
{
    char *path = dp_printf("/proc/%s/environ", digits);
    size_t length = 0, count = 0;
    char *bytes = dp_file_read(path, ENVIRONMENT_MOST, &length, err);
    free(path);
    if (!bytes) {
        return NULL;
    }
    char **ret = dp_alloc(length + 1, sizeof(*ret));
    for (size_t at = 0; at < length; at += strlen(bytes + at) + 1) {
        ret[count++] = dp_strdup(bytes + at);
    }
    free(bytes);
    return ret;
}

/* The value; where there are several, the first, as getenv() does. *ret_rest is what stands behind it. */
static const char *look_up_from(char **environment, const char *name, char ***ret_rest)
{
    const size_t length = strlen(name);
    for (; *environment; environment++) {
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
            *ret_rest = environment + 1;
            return *environment + length + 1;
        }
    }
    return NULL;
}

static const char *look_up(char **environment, const char *name)
{
    char **rest;
    return look_up_from(environment, name, &rest);
}

/* Two values of one variable: a shell takes the last, getenv() the first. */
static bool is_ambiguous(char **environment, const char *name)
{
    char **rest;
    const char *value = look_up_from(environment, name, &rest), *next;
    while (value && (next = look_up_from(rest, name, &rest))) {
        if (strcmp(next, value) != 0) {
            return true;
        }
    }
    return false;
}

char **audit_with(char **environment, const char *name, const char *value, char **ret_own)
{
    size_t count = 0, used = 0;
    const size_t length = strlen(name);
    while (environment[count]) {
        count++;
    }
    char **ret = dp_alloc(count + 2, sizeof(*ret));
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environment[i], name, length) != 0 || environment[i][length] != '=') {
            ret[used++] = environment[i];
        }
    }
    *ret_own = value ? dp_printf("%s=%s", name, value) : NULL;
    ret[used] = *ret_own;
    return ret;
}

/* --- looking --- */

/* Everything that judging needs. */
struct looking {
    const struct audit_options *options;
    struct dp_readers readers;
    struct dp_machine machine;
    struct dp_strings areas; /* pieces of `areas_text` */
    char *areas_text;
    char **environment; /* that is judged */
    json_t *hellos;
    bool asked, running; /* the user named an area or a setting; `environment` is a process's */
};

/* One program for each library whose version and file decide something. */
static const char *const asked_programs[] = {"cpu/gemm", "cpu/conv", "cuda/gemm", "cuda/conv",
                                             "python/stdlib"};

static void add_python(struct dp_readers *readers, const char *path)
{
    const char *bin = strstr(path, "/bin/");
    if (bin) {
        char *prefix = dp_printf("%.*s", (int)(bin - path), path);
        dp_readers_add_prefix(readers, prefix);
        free(prefix);
    }
}

/* What is judged must not decide what is found: with a PYTHONHASHSEED that it cannot read no Python starts,
 * and then nothing here would read it. From now on programs start without the variables. */
static void clear_judged(void)
{
    const json_t *settings = json_object_get(dp_audit_settings(), "settings");
    for (size_t i = 0; i < json_array_size(settings); i++) {
        const json_t *setting = json_array_get(settings, i);
        if (json_object_get(setting, "reader")) {
            unsetenv(dp_json_string(setting, "name", ""));
        }
    }
}

static void ask_programs(struct looking *looking, const struct dp_catalogue *catalogue,
                         const struct dp_stack *stack)
{
    json_t *libraries = json_array();
    for (size_t i = 0; i < catalogue->program_count; i++) {
        const struct dp_program *program = catalogue->programs[i];
        bool wanted = false;
        for (size_t k = 0; k < sizeof(asked_programs) / sizeof(asked_programs[0]); k++) {
            wanted = wanted || strcmp(program->name, asked_programs[k]) == 0;
        }
        json_t *hello = wanted ? dp_run_hello(program, stack, DP_HELLO_TIMEOUT_NS) : NULL;
        if (strcmp(dp_json_string(hello, "type", ""), "hello") == 0) {
            dp_environment_add_libraries(libraries, NULL, hello);
            json_array_append(looking->hellos, hello);
            if (json_array_size(json_object_get(hello, "devices")) > 0) {
                looking->machine.devices = json_object_get(hello, "devices");
                looking->machine.states = json_object_get(hello, "device_state");
            }
        }
        json_decref(hello);
    }
    dp_readers_add_libraries(&looking->readers, libraries);
    for (size_t i = 0; i < json_array_size(libraries) && !stack; i++) {
        const json_t *library = json_array_get(libraries, i);
        if (strcmp(dp_json_string(library, "role", ""), "python") == 0) {
            add_python(&looking->readers, dp_json_string(library, "path", ""));
        }
    }
    json_decref(libraries);
}

/* What is installed: the stack's libraries, or those that programs find and the Python environment in use. */
static int look_here(struct looking *looking, const struct dp_stack *stack, struct dp_err *err)
{
    static const char *const prefixes[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    struct dp_catalogue catalogue = {0};
    if (dp_stack_check_roles(err) != 0 || dp_catalogue_load(&catalogue, err) != 0) {
        return -1;
    }
    if (stack) {
        dp_stack_apply(stack, &catalogue);
        dp_readers_add_prefix(&looking->readers, stack->root);
        const char *role;
        json_t *file;
        json_object_foreach(stack->roles, role, file)
        {
            json_t *row = json_is_string(file) ? json_pack("{sO}", "path", file) : NULL;
            if (row) {
                json_array_append_new(looking->readers.files, row);
            }
        }
    }
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]) && !stack; i++) {
        const char *prefix = look_up(looking->environment, prefixes[i]);
        if (prefix && *prefix) {
            dp_readers_add_prefix(&looking->readers, prefix);
        }
    }
    clear_judged();
    ask_programs(looking, &catalogue, stack);
    dp_catalogue_free(&catalogue);
    return 0;
}

/* With the stack, if one was asked for. */
static int look(struct looking *looking, char **environment, struct dp_err *err)
{
    static const char prefix[] = "pid:";
    const char *name = looking->options->stack;
    struct dp_stack stack = {0};
    dp_readers_open(&looking->readers);
    dp_machine_read("", &looking->machine);
    looking->hellos = json_array();
    int rc = name ? dp_stack_look_at(name, &stack, err) : 0;
    if (rc == 0 && stack.mapped) {
        looking->running = true;
        looking->environment = process_environment(stack.name + strlen(prefix), err);
        rc = looking->environment ? 0 : -1;
        json_object_set_new(stack.mapped, stack.root, json_true());
        dp_readers_add_mapped(&looking->readers, stack.mapped);
    } else if (rc == 0) {
        looking->environment = copy_environment(environment);
        rc = look_here(looking, name ? &stack : NULL, err);
    }
    dp_stack_free(&stack);
    return rc;
}

/* --- which settings --- */

/* "--for pytorch,cuda" is two areas. */
static int split_areas(struct looking *looking, struct dp_err *err)
{
    const struct dp_strings *given = &looking->options->areas;
    struct dp_text joined = DP_TEXT((size_t)1 << 12);
    for (size_t i = 0; i < given->count; i++) {
        dp_text_printf(&joined, "%s%s", i ? "," : "", given->items[i]);
    }
    looking->areas_text = joined.data;
    char *rest = joined.data;
    for (char *area; rest && (area = strsep(&rest, ","));) {
        if (!dp_word_among(area, dp_audit_areas())) {
            return dp_err_set(err, DP_EXIT_USAGE, "option '--for': unknown area '%.80s', expected %s", area,
                              dp_audit_areas());
        }
        looking->areas.items =
            dp_realloc(looking->areas.items, looking->areas.count + 1, sizeof(*looking->areas.items));
        looking->areas.items[looking->areas.count++] = area;
    }
    looking->asked = given->count > 0 || looking->options->names.count > 0;
    return 0;
}

static int check_names(const struct dp_strings *names, struct dp_err *err)
{
    const json_t *settings = json_object_get(dp_audit_settings(), "settings");
    const size_t count = json_array_size(settings);
    const char **known = dp_alloc(count, sizeof(*known));
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        known[i] = dp_json_string(json_array_get(settings, i), "name", "");
    }
    for (size_t n = 0; rc == 0 && n < names->count; n++) {
        bool found = false;
        for (size_t i = 0; i < count; i++) {
            found = found || dp_glob_match(names->items[n], known[i]);
        }
        char *upper = dp_strdup(names->items[n]);
        for (char *at = upper; *at; at++) {
            *at = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
        }
        const char *near = dp_suggest(names->items[n], known, count);
        near = near ? near : dp_suggest(upper, known, count);
        free(upper);
        if (!found) {
            rc = near ? dp_err_set(err, DP_EXIT_USAGE, "unknown setting '%.80s', did you mean '%s'?",
                                   names->items[n], near)
                      : dp_err_set(err, DP_EXIT_USAGE,
                                   "unknown setting '%.80s', see 'detprobe audit --for %s'", names->items[n],
                                   dp_audit_areas());
        }
    }
    free(known);
    return rc;
}

static bool is_chosen(const struct looking *looking, const json_t *setting)
{
    const struct dp_strings *names = &looking->options->names;
    const json_t *areas = json_object_get(setting, "for");
    bool named = names->count == 0, within = looking->areas.count == 0 && names->count > 0;
    for (size_t i = 0; i < names->count; i++) {
        named = named || dp_glob_match(names->items[i], dp_json_string(setting, "name", ""));
    }
    for (size_t i = 0; i < json_array_size(areas); i++) {
        const char *area = json_string_value(json_array_get(areas, i));
        for (size_t k = 0; k < looking->areas.count; k++) {
            within = within || strcmp(area, looking->areas.items[k]) == 0;
        }
        within = within || (looking->areas.count == 0 && dp_readers_have_area(&looking->readers, area));
    }
    return named && within;
}

/* --- judging --- */

/* How many threads OMP_NUM_THREADS fixes, 0: it does not. */
static int fixed_threads(const struct looking *looking)
{
    const char *value = look_up(looking->environment, "OMP_NUM_THREADS");
    int64_t threads = 0;
    char *first = dp_printf("%.*s", value ? (int)strcspn(value, ",") : 0, value ? value : "");
    const bool good = dp_parse_int(first, 1, 1 << 20, &threads, NULL) == 0;
    free(first);
    return good ? (int)threads : 0;
}

/* False: this machine has no such fact. */
static bool judge_machine(const struct looking *looking, struct audit_row *row)
{
    const char *name = dp_json_string(row->setting, "name", "");
    return !looking->running && dp_machine_judge(&looking->machine, name, fixed_threads(looking),
                                                 &row->verdict, &row->value, &row->line);
}

static void take_other(const struct looking *looking, const json_t *setting, struct dp_audit_seen *seen)
{
    const json_t *names = json_object_get(setting, "instead");
    for (size_t i = 0; i < json_array_size(names) && !seen->other; i++) {
        seen->other_name = json_string_value(json_array_get(names, i));
        seen->other = look_up(looking->environment, seen->other_name);
    }
}

static bool is_finding(enum dp_audit_status status)
{
    return status != DP_AUDIT_OK && status != DP_AUDIT_IGNORED;
}

/* False: it is not set and nothing here reads it, and nobody believes the contrary. */
static bool judge_variable(const struct looking *looking, struct audit_row *row)
{
    const char *name = dp_json_string(row->setting, "name", ""), *version = NULL;
    const json_t *readers = json_object_get(dp_audit_settings(), "readers");
    const json_t *reader = json_object_get(readers, dp_json_string(row->setting, "reader", ""));
    struct dp_audit_seen seen = {.value = look_up(looking->environment, name), .running = looking->running};
    seen.presence = dp_readers_find(&looking->readers, row->setting, looking->asked, &version);
    seen.version = version;
    take_other(looking, row->setting, &seen);
    dp_audit_judge(row->setting, &seen, &row->verdict);
    if (is_ambiguous(looking->environment, name) && row->verdict.status != DP_AUDIT_IGNORED) {
        row->verdict.status = DP_AUDIT_UNKNOWN;
        snprintf(row->verdict.reason, sizeof(row->verdict.reason),
                 "it stands several times in the environment, programs differ in which value they take");
    }
    row->shown_effect = json_is_true(json_object_get(reader, "foreign"));
    row->brief = row->shown_effect && !seen.value && looking->options->names.count == 0;
    row->value = seen.value ? dp_strdup(seen.value) : NULL;
    row->version = version ? dp_strdup(version) : NULL;
    /* flags that nobody can take apart are left to their owner */
    row->mend = is_finding(row->verdict.status) &&
                !(row->verdict.status == DP_AUDIT_UNKNOWN && json_object_get(row->setting, "flag"));
    if (row->mend) {
        row->wanted = dp_audit_wanted(row->setting, seen.value, dp_machine_cores(&looking->machine));
    }
    if (row->mend || row->verdict.status == DP_AUDIT_IGNORED) {
        row->line = dp_audit_line(name, row->wanted);
    }
    return seen.value || seen.presence != DP_AUDIT_ABSENT || row->shown_effect ||
           looking->options->names.count > 0;
}

static void free_row(struct audit_row *row)
{
    free(row->value);
    free(row->version);
    free(row->wanted);
    free(row->line);
    json_decref(row->proof);
}

static void judge_all(const struct looking *looking, struct audit *audit)
{
    const json_t *settings = json_object_get(dp_audit_settings(), "settings");
    audit->rows = dp_alloc(json_array_size(settings), sizeof(*audit->rows));
    for (size_t i = 0; i < json_array_size(settings); i++) {
        struct audit_row row = {.setting = json_array_get(settings, i)};
        if (!is_chosen(looking, row.setting)) {
            continue;
        }
        const bool machine = json_is_true(json_object_get(row.setting, "machine"));
        if ((machine ? judge_machine : judge_variable)(looking, &row)) {
            audit->rows[audit->count++] = row;
        } else {
            free_row(&row);
        }
    }
}

/* --- delivering --- */

/* The command without a "--" that ends the options before it. */
static struct dp_strings without_dashes(const struct dp_strings *command)
{
    const size_t dashes = command->count > 0 && strcmp(command->items[0], "--") == 0;
    return (struct dp_strings){.items = command->items + dashes, .count = command->count - dashes};
}

/* Runs the command with what is to be mended. Comes back where it cannot. */
static int execute(const struct audit *audit, const struct dp_strings *command, struct dp_err *err)
{
    struct step {
        char **environment, *own;
    } *steps = dp_alloc(audit->count + 1, sizeof(*steps));
    size_t mended = 0;
    char **environment = audit->environment;
    for (size_t i = 0; i < audit->count; i++) {
        const struct audit_row *row = &audit->rows[i];
        if (row->mend) {
            struct step *step = &steps[mended++];
            environment = step->environment =
                audit_with(environment, dp_json_string(row->setting, "name", ""), row->wanted, &step->own);
        }
    }
    char **words = dp_alloc(command->count + 1, sizeof(*words));
    for (size_t i = 0; i < command->count; i++) {
        words[i] = dp_strdup(command->items[i]);
    }
    signal(SIGXFSZ, SIG_DFL); /* ignored by us alone */
    execvpe(words[0], words, environment);
    dp_err_set(err, errno == ENOENT ? DP_EXIT_NOT_FOUND : DP_EXIT_CANNOT_RUN, "cannot start '%.200s': %s",
               words[0], dp_reason(errno));
    for (size_t i = 0; i < command->count; i++) {
        free(words[i]);
    }
    free(words);
    for (size_t i = 0; i < mended; i++) {
        free(steps[i].environment);
        free(steps[i].own);
    }
    free(steps);
    return -1;
}

static int print(const struct audit *audit, const struct audit_options *o, struct dp_err *err)
{
    struct dp_text out = DP_TEXT(OUTPUT_MOST);
    dp_text_put(&out, "");
    if (o->json) {
        json_t *described = audit_describe(audit);
        char *text = dp_json_pretty(described);
        dp_text_put(&out, text);
        free(text);
        json_decref(described);
    } else if (o->shell) {
        audit_put_shell(audit, &out);
    } else {
        audit_put_table(audit, o->verbose, &out);
    }
    const int rc = dp_file_write("-", out.data, out.length, err);
    dp_text_free(&out);
    return rc;
}

static int deliver(struct audit *audit, const struct audit_options *o, struct dp_err *err)
{
    if (o->command.count > 0) {
        const struct dp_strings command = without_dashes(&o->command);
        return execute(audit, &command, err);
    }
    const int stopped = o->prove ? audit_prove(audit) : 0;
    if (print(audit, o, err) != 0) {
        return -1;
    }
    bool found = false;
    for (size_t i = 0; i < audit->count && !o->shell; i++) {
        found = found || is_finding(audit->rows[i].verdict.status);
    }
    return stopped ? DP_EXIT_SIGNAL + stopped : found ? DP_EXIT_FINDINGS : DP_EXIT_OK;
}

static int check_options(const struct audit_options *o, struct dp_err *err)
{
    const bool process = o->stack && strncmp(o->stack, "pid:", 4) == 0;
    if (o->json + o->shell + (o->command.count > 0) > 1) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "'--json', '--shell' and '--exec' exclude each other, keep one");
    }
    if (o->prove && (o->shell || o->command.count > 0)) {
        return dp_err_set(err, DP_EXIT_USAGE, "'--prove' goes with the table and '--json' only");
    }
    if (process && (o->prove || o->command.count > 0)) {
        return dp_err_set(err, DP_EXIT_USAGE,
                          "a running process has its environment, drop '--prove' and '--exec'");
    }
    const struct dp_strings command = without_dashes(&o->command);
    if (o->command.count > 0 && (command.count == 0 || !command.items[0][0])) {
        return dp_err_set(err, DP_EXIT_USAGE, "option '--exec' needs a command");
    }
    return check_names(&o->names, err);
}

static int run_audit(const struct audit_options *o, struct dp_err *err)
{
    struct looking looking = {.options = o};
    struct audit audit = {.environment = copy_environment(environ), .stack = o->stack};
    int rc = check_options(o, err);
    rc = rc == 0 ? split_areas(&looking, err) : rc;
    rc = rc == 0 ? look(&looking, audit.environment, err) : rc;
    if (rc == 0) {
        judge_all(&looking, &audit);
        rc = deliver(&audit, o, err);
    }
    for (size_t i = 0; i < audit.count; i++) {
        free_row(&audit.rows[i]);
    }
    free(audit.rows);
    free_environment(audit.environment);
    free_environment(looking.environment);
    dp_readers_free(&looking.readers);
    json_decref(looking.hellos);
    free(looking.areas.items);
    free(looking.areas_text);
    return rc;
}

static int cmd_audit(int argc, char **argv)
{
    struct audit_options o = {.stack = NULL};
    struct dp_err err = {.code = DP_EXIT_USAGE};
    bool help = false;
    int rc = dp_options_parse(&command_line, argc, argv, &o, &o.names, &help, &err);
    rc = rc == 0 && !help ? run_audit(&o, &err) : rc;
    free(o.areas.items);
    free(o.names.items);
    free(o.command.items);
    return dp_command_end(rc, &err);
}

const struct dp_command dp_command_audit = {
    "audit", "check the variables and the machine for what keeps results from repeating", &command_line,
    cmd_audit};

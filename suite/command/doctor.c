/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe doctor: says what can run here, which library files would be measured, and why not where not. Each
 * program is asked for its hello and nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/options.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/plan/catalogue.h"
#include "suite/plan/selector.h"
#include "suite/run/environment.h"
#include "suite/run/runner.h"

struct findings {
    const struct dp_stack *stack; /* NULL: none was asked for */
    bool mismatch;                /* a program did not use it */
    json_t *ready;                /* backend -> number of programs that answered */
    json_t *libraries;            /* as in a report */
    json_t *missing;              /* reason -> names of the programs that give it, "cuda/blas, cuda/gemm" */
};

static void add_missing(json_t *missing, const char *program, const char *reason)
{
    const char *names = dp_json_string(missing, reason, NULL);
    char *longer = names ? dp_printf("%s, %s", names, program) : dp_strdup(program);
    json_object_set_new(missing, reason, json_string(longer));
    free(longer);
}

static void ask(const struct dp_program *program, struct findings *findings)
{
    char *backend = dp_strdup(program->name);
    backend[strcspn(backend, "/")] = '\0';
    json_t *hello = dp_run_hello(program, findings->stack, DP_HELLO_TIMEOUT_NS);
    const bool answers = strcmp(dp_json_string(hello, "type", ""), "hello") == 0;
    if (answers && !program->controls_only) { /* what controls link is not measured, and not the stack's */
        const json_int_t known = dp_json_int(findings->ready, backend, 0);
        json_object_set_new(findings->ready, backend, json_integer(known + 1));
        dp_environment_add_libraries(findings->libraries, NULL, hello);
    } else if (!answers) {
        findings->mismatch = findings->mismatch || strcmp(dp_json_string(hello, "reason", ""), "stack") == 0;
        add_missing(findings->missing, program->name, dp_json_string(hello, "text", "no answer"));
    }
    json_decref(hello);
    free(backend);
}

static void print_host(void)
{
    json_t *host = dp_host_facts();
    const double gib = atof(dp_json_string(host, "memory", "0")) / (1 << 30);
    printf("host       %s, %d of %lld cores allowed, %.1f GiB, Linux %s, %s\n",
           dp_json_string(host, "cpu_model", "unknown CPU"), dp_host_cores_allowed(),
           (long long)dp_json_int(host, "cores_online", 0), gib, dp_json_string(host, "kernel", "?"),
           dp_json_string(host, "libc", "?"));
    json_decref(host);
}

static void print_backends(const struct findings *findings)
{
    fputs("backends  ", stdout);
    for (size_t i = 0; dp_backends[i]; i++) {
        const json_int_t count = dp_json_int(findings->ready, dp_backends[i], 0);
        if (count > 0) {
            printf("%s %s: %lld program%s", i ? "," : "", dp_backends[i], (long long)count,
                   count == 1 ? "" : "s");
        } else {
            printf("%s %s: none", i ? "," : "", dp_backends[i]);
        }
    }
    putchar('\n');
}

/* One a line, as 'run' prints them: a line of all is too long to read. */
static void print_libraries(const json_t *libraries)
{
    size_t i;
    json_t *library;
    json_array_foreach(libraries, i, library)
    {
        const char *version = dp_json_string(library, "version", "");
        char *line =
            dp_printf("%s %s %s", dp_json_string(library, "name", "?"),
                      version[0] ? version : "(version unknown)", dp_json_string(library, "path", ""));
        char *shown = dp_printable(line, strlen(line));
        printf("%-10s %s\n", i ? "" : "libraries", shown);
        free(shown);
        free(line);
    }
    if (json_array_size(libraries) == 0) {
        puts("libraries  none");
    }
}

/* One a line too, with the programs that give the reason. */
static void print_missing(json_t *missing)
{
    const char *reason;
    json_t *names;
    bool first = true;
    json_object_foreach(missing, reason, names)
    {
        char *line = dp_printf("%s: %s", json_string_value(names), reason);
        char *shown = dp_printable(line, strlen(line));
        printf("%-10s %s\n", first ? "missing" : "", shown);
        first = false;
        free(shown);
        free(line);
    }
    if (first) {
        puts("missing    nothing");
    }
}

/* Something missing is no reason to wait. */
static void print_next(bool any, bool stack)
{
    puts(!any    ? "next       install what is missing, or name with --stack where it is"
         : stack ? "next       detprobe run --all --level quick -o report.json, with the same --stack"
                 : "next       detprobe run --all --level quick -o report.json");
}

static int diagnose(const struct dp_catalogue *catalogue, const struct dp_stack *stack)
{
    struct findings findings = {
        .stack = stack, .ready = json_object(), .libraries = json_array(), .missing = json_object()};
    size_t controls = 0, programs = 0;
    for (size_t i = 0; i < catalogue->program_count; i++) {
        if (!catalogue->programs[i]->base) {
            ask(catalogue->programs[i], &findings);
            programs++;
        }
    }
    for (size_t i = 0; i < catalogue->case_count; i++) {
        controls += catalogue->cases[i].control;
    }
    printf("detprobe   %s, %zu cases and %zu controls in %zu programs\n", DP_VERSION,
           catalogue->case_count - controls, controls, programs);
    print_host();
    if (stack) {
        printf("stack      %s %s\n", stack->kind, stack->root);
    }
    print_backends(&findings);
    print_libraries(findings.libraries);
    print_missing(findings.missing);
    const bool any = json_object_size(findings.ready) > 0;
    print_next(any, stack != NULL);
    json_decref(findings.missing);
    json_decref(findings.ready);
    json_decref(findings.libraries);
    return findings.mismatch ? DP_EXIT_NO_VERDICT : any ? DP_EXIT_OK : DP_EXIT_NOTHING_RAN;
}

/* With the stack, if one was asked for. */
static int examine(const char *name, struct dp_err *err)
{
    struct dp_catalogue catalogue = {0};
    struct dp_stack stack = {0};
    int rc = dp_stack_check_roles(err);
    rc = rc == 0 ? dp_catalogue_load(&catalogue, err) : rc;
    if (rc == 0 && name) {
        rc = dp_stack_open(name, &stack, err);
    }
    if (rc == 0 && name) {
        dp_stack_apply(&stack, &catalogue);
    }
    const int code = rc == 0 ? diagnose(&catalogue, name ? &stack : NULL) : err->code;
    dp_stack_free(&stack);
    dp_catalogue_free(&catalogue);
    return code;
}

struct doctor_options {
    const char *stack;
};

static const struct dp_option option_table[] = {
    {.kind = DP_OPTION_STRING,
     .name = "stack",
     .argument = "STACK",
     .help = "look at the libraries of this Python environment, prefix or process (pid:N) and no others",
     .offset = offsetof(struct doctor_options, stack)},
};

static const struct dp_command_line command_line = {
    .usage = "detprobe doctor [--stack STACK]",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .summary =
        "Says which backends and probe programs can run here, which library files would be measured, and why "
        "not where not.",
    .exits = {{DP_EXIT_OK, "something can run"},
              {DP_EXIT_NO_VERDICT, "no probes installed, or a program that does not use the stack"},
              {DP_EXIT_DATA, "bad catalogue or stack"},
              {DP_EXIT_NOTHING_RAN, "nothing can run"}},
    .examples = {{"detprobe doctor", "what can run here, and which library files would be measured"},
                 {"detprobe doctor --stack /usr", "the same for the libraries of a prefix and no others"}},
};

static int cmd_doctor(int argc, char **argv)
{
    struct doctor_options o = {0};
    struct dp_strings operands = {0};
    struct dp_err err = {0};
    bool help = false;
    int code = 0;
    if (dp_options_parse(&command_line, argc, argv, &o, &operands, &help, &err) != 0) {
        code = err.code;
    } else if (!help && operands.count > 0) {
        code = DP_EXIT_USAGE;
        dp_err_set(&err, code, "unexpected operand '%s', 'doctor' takes none", operands.items[0]);
    } else if (!help) {
        code = examine(o.stack, &err);
    }
    if (err.text[0]) {
        fprintf(stderr, "detprobe: %s\n", err.text);
    }
    free(operands.items);
    return code;
}

const struct dp_command dp_command_doctor = {
    "doctor", "say what can run here and which library files would be measured", &command_line, cmd_doctor};

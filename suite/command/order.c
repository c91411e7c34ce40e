/* SPDX-License-Identifier: Apache-2.0
 *
 * detprobe order: in which order an operation adds up, revealed by its own results.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/order.h"
#include "suite/base/json.h"
#include "suite/base/options.h"
#include "suite/base/text.h"
#include "suite/command/command.h"
#include "suite/command/running.h"
#include "suite/plan/levels.h"
#include "suite/plan/selector.h"
#include "suite/run/environment.h"
#include "suite/run/order.h"
#include "suite/run/scratch.h"
#include "suite/run/stack.h"

#define DRAWN_MOST 32 /* summands of a tree that is printed */

struct order_options {
    int64_t summands, threads, timeout_ns;
    const char *stack;
    bool json, dot;
};

static const struct order_options order_defaults = {.summands = 512, .timeout_ns = INT64_C(600) * 1000000000};

#define OPTION(kind_, name_, argument_, member, help_)                                                       \
    .kind = DP_OPTION_##kind_, .name = name_, .argument = argument_, .help = help_,                          \
    .offset = offsetof(struct order_options, member)

static const struct dp_option option_table[] = {
    {OPTION(INT, "n", "N", summands,
            "how many summands to look at where there are more: the first N, and every so many-th of all"),
     .low = 3, .high = DP_ORDER_LEAVES_MOST},
    {OPTION(INT, "threads", "N", threads, "let the library run N threads instead of as many as it would"),
     .low = 1, .high = 4096},
    {OPTION(STRING, "stack", "STACK", stack,
            "ask the libraries of this Python environment, prefix or process (pid:N) and no others")},
    {OPTION(DURATION, "timeout", "TIME", timeout_ns, "the most it may take")},
    {OPTION(FLAG, "json", NULL, json, "print one object, with the fingerprint and the trees")},
    {OPTION(FLAG, "dot", NULL, dot, "print the tree as a graph for Graphviz")},
};

static const struct dp_command_line command_line = {
    .usage = "detprobe order CASE [OPTION...]",
    .summary = "Reveals in which order an operation adds up the summands of one element of its output: two "
               "of them are huge and cancel, the others are ones, and how many of these are left says which "
               "were added after the two had met. Only for cases whose arithmetic is direct. Equal "
               "fingerprints are equal orders, whatever the library; another number of threads, batch or "
               "instruction set that changes bits mostly changes the order, and this says how.",
    .options = option_table,
    .count = sizeof(option_table) / sizeof(option_table[0]),
    .defaults = &order_defaults,
    .details =
        "The tree is then held against random summands: if its additions in f32, f64 or a type of the "
        "operands give the bits that the operation gave, 'in f32' or the like is said. Where several are "
        "added at once, as matrix units do, '20 bits of the largest kept' says to how many bits they are cut "
        "first, if that gives the bits. An operation without one order gets no fingerprint.",
    .exits = {{DP_EXIT_OK, "revealed, or nothing is ever lost: exact, compensated; there is a fingerprint"},
              {DP_EXIT_FINDINGS, "no one order: it changes from run to run"},
              {DP_EXIT_NO_VERDICT, "given up, an error of the program, or the stack was not used"},
              {DP_EXIT_DATA, "bad catalogue file or stack"},
              {DP_EXIT_NOTHING_RAN, "the case cannot run here, is no plain sum, or no tree gives its sums"}},
    .examples = {{"detprobe order cpu/reduce/sum-ordered-f32-128x256 --n 64", "how an OpenMP loop adds up"},
                 {"detprobe order cpu/reduce/sum-tree-f32-128x256 --n 16 --dot | dot -Tsvg >order.svg",
                  "a drawing of it"},
                 {"detprobe order cpu/reduce/sum-tree-f32-128x256 --json | jq -r .fingerprint",
                  "what to compare between machines"}},
};

/* One request and what belongs to it. */
struct inquiry {
    struct order_options options;
    struct dp_catalogue catalogue;
    struct dp_stack stack;
    struct dp_answers answers;
    const struct dp_case *item;
};

static int find_case(struct inquiry *inquiry, const struct dp_strings *operands, struct dp_err *err)
{
    const struct dp_strings none = {0};
    size_t count = 0;
    if (operands->count != 1) {
        return dp_err_set(err, DP_EXIT_USAGE, "'order' takes one case, see 'detprobe order --help'");
    }
    bool *chosen = dp_alloc(inquiry->catalogue.case_count, sizeof(*chosen));
    const int rc = dp_select(&inquiry->catalogue, operands, &none, chosen, err);
    for (size_t i = 0; i < inquiry->catalogue.case_count; i++) {
        inquiry->item = chosen[i] ? &inquiry->catalogue.cases[i] : inquiry->item;
        count += chosen[i];
    }
    free(chosen);
    if (rc == 0 && count != 1) {
        return dp_err_set(err, DP_EXIT_USAGE, "'%s' names %zu cases, 'order' takes one", operands->items[0],
                          count);
    }
    return rc;
}

/* Asks the program; the answer is the first of `answers`. */
static int ask(struct inquiry *inquiry, struct dp_err *err)
{
    const struct order_options *o = &inquiry->options;
    char *setting = o->threads ? dp_printf("%lld*%lld", (long long)o->threads, (long long)o->summands)
                               : dp_printf("%lld", (long long)o->summands);
    struct dp_request request = {.axis = o->threads ? "threads*order" : "order",
                                 .setting = setting,
                                 .set = "unit",
                                 .runs = DP_ORDER_RUNS_MAX};
    const struct dp_plan plan = {.catalogue = &inquiry->catalogue,
                                 .options = {.seed = 1},
                                 .cases = &inquiry->item,
                                 .case_count = 1,
                                 .requests = &request,
                                 .request_count = 1};
    const struct dp_run_options options = {
        .jobs = 1, .timeout_ns = o->timeout_ns, .stack = o->stack ? &inquiry->stack : NULL};
    enum dp_run_end end = DP_RUN_DONE;
    int signal = 0;
    run_let_threads_sleep();
    dp_scratch_open();
    int rc = dp_run(&plan, &inquiry->answers, &options, &end, &signal, err);
    dp_scratch_close();
    free(setting);
    return rc == 0 && !inquiry->answers.items[0]
               ? dp_err_set(err, DP_EXIT_SIGNAL + signal, "stopped by signal %d", signal)
               : rc;
}

static bool has_kind(const json_t *answer, const char *kind)
{
    size_t i;
    json_t *view;
    json_array_foreach(json_object_get(answer, "views"), i, view)
    {
        if (strcmp(dp_json_string(view, "kind", ""), kind) == 0) {
            return true;
        }
    }
    return false;
}

/* The worst of the views, once they are printed: with status 0 there is a fingerprint. */
static int end_of(const struct inquiry *inquiry, const json_t *answer, struct dp_err *err)
{
    if (has_kind(answer, "varies")) {
        return DP_EXIT_FINDINGS;
    }
    if (has_kind(answer, "costly")) {
        return dp_err_set(err, DP_EXIT_NO_VERDICT,
                          "gave up on '%s': too many pairs to ask, take a smaller '--n'", inquiry->item->id);
    }
    return has_kind(answer, "none")
               ? dp_err_set(err, DP_EXIT_NOTHING_RAN,
                            "'%s' has no order to show: its sums repeat and are of no tree of additions",
                            inquiry->item->id)
               : DP_EXIT_OK;
}

static json_t *libraries_of(const struct inquiry *inquiry)
{
    json_t *libraries = json_array();
    dp_environment_add_libraries(libraries, NULL,
                                 json_object_get(inquiry->answers.hellos, inquiry->item->program->name));
    return libraries;
}

/* The tree of a view; false where it has none. */
static bool tree_of(const json_t *view, struct dp_order_tree *ret)
{
    struct dp_err err;
    return dp_order_tree_read(json_object_get(view, "parents"), (int)dp_json_int(view, "summands", 0), ret,
                              &err) == 0;
}

static void print_json(const struct inquiry *inquiry, const json_t *answer)
{
    json_t *shown = json_deep_copy(answer);
    char fingerprint[65];
    size_t i;
    json_t *view;
    json_object_del(shown, "type");
    json_object_del(shown, "spent_ns");
    json_object_set_new(shown, "case", json_string(inquiry->item->id));
    json_object_set_new(shown, "libraries", libraries_of(inquiry));
    json_object_set_new(shown, "fingerprint",
                        dp_order_fingerprint(answer, fingerprint) ? json_string(fingerprint) : json_null());
    json_array_foreach(json_object_get(shown, "views"), i, view)
    {
        char *words = dp_order_view_words(view);
        struct dp_order_tree tree;
        json_object_set_new(view, "words", json_string(words));
        if (tree_of(view, &tree)) {
            char *text = dp_order_text(&tree);
            json_object_set_new(view, "tree", json_string(text));
            free(text);
            dp_order_tree_free(&tree);
        }
        json_object_del(view, "parents");
        free(words);
    }
    dp_command_print(shown);
    json_decref(shown);
}

/* One graph: of the first view that has a tree. */
static void print_dot(const json_t *answer)
{
    struct dp_order_tree tree;
    if (tree_of(json_array_get(json_object_get(answer, "views"), 0), &tree)) {
        char *dot = dp_order_dot(&tree);
        fputs(dot, stdout);
        free(dot);
        dp_order_tree_free(&tree);
    }
}

static void print_facts(const struct inquiry *inquiry, const json_t *answer)
{
    json_t *libraries = libraries_of(inquiry), *index;
    size_t i;
    printf("%-11s %s\n", "case", inquiry->item->id);
    dp_command_print_libraries(libraries);
    json_decref(libraries);
    if (dp_json_string(answer, "chosen", NULL)) {
        printf("%-11s %s\n", "chosen", dp_json_string(answer, "chosen", ""));
    }
    if (dp_json_int(answer, "threads", 0) > 0) {
        printf("%-11s %lld\n", "threads", (long long)dp_json_int(answer, "threads", 0));
    }
    printf("%-11s %s[", "sum", dp_json_string(answer, "output", ""));
    json_array_foreach(json_object_get(answer, "cell"), i, index)
    {
        printf("%s%lld", i ? ", " : "", (long long)json_integer_value(index));
    }
    printf("] of %lld from %s (%s), in %lld runs\n", (long long)dp_json_int(answer, "summands", 0),
           dp_json_string(answer, "operand", ""), dp_json_string(answer, "dtype", ""),
           (long long)dp_json_int(answer, "runs", 0));
}

static void print_text(const struct inquiry *inquiry, const json_t *answer)
{
    char fingerprint[65];
    size_t i;
    json_t *view;
    print_facts(inquiry, answer);
    json_array_foreach(json_object_get(answer, "views"), i, view)
    {
        char *words = dp_order_view_words(view);
        char *what = dp_order_view_of(view);
        struct dp_order_tree tree;
        printf("%-11s %s\n", what, words);
        if (dp_json_int(view, "changed", 0) > 0) {
            printf("%-11s %lld of %lld sums that were asked again were others\n", "",
                   (long long)dp_json_int(view, "changed", 0), (long long)dp_json_int(view, "twice", 0));
        }
        if (dp_json_int(view, "summands", 0) <= DRAWN_MOST && tree_of(view, &tree)) {
            char *text = dp_order_text(&tree);
            printf("%-11s %s\n", "tree", text);
            free(text);
            dp_order_tree_free(&tree);
        }
        free(what);
        free(words);
    }
    printf("%-11s %s\n", "fingerprint", dp_order_fingerprint(answer, fingerprint) ? fingerprint : "none");
}

/* Why nothing was shown, in words of this command: 'threads*order' is the protocol's. */
static const char *reason_of(const struct inquiry *inquiry, const char *text)
{
    const json_t *axes =
        json_object_get(json_object_get(inquiry->answers.hellos, inquiry->item->program->name), "axes");
    if (!axes) {
        return text;
    }
    if (!dp_json_array_has(axes, "order")) {
        return "its program offers none; those of sums in C do, as 'cpu/gemm/*', 'cpu/blas/*', "
               "'cpu/reduce/*'";
    }
    return inquiry->options.threads && !dp_json_array_has(axes, "threads")
               ? "the library has no number of threads to set, leave '--threads' out"
               : text;
}

/* Prints what was answered; returns the exit code. */
static int tell(const struct inquiry *inquiry, struct dp_err *err)
{
    const json_t *answer = inquiry->answers.items[0];
    const char *type = dp_json_string(answer, "type", ""), *text = dp_json_string(answer, "text", "");
    if (strcmp(type, "skip") == 0) {
        return dp_err_set(err, DP_EXIT_NOTHING_RAN, "'%s' has no order to show here: %.300s",
                          inquiry->item->id, reason_of(inquiry, text));
    }
    if (strcmp(type, "order") != 0) {
        return dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot reveal the order of '%s': %.300s",
                          inquiry->item->id, text);
    }
    if (inquiry->options.json) {
        print_json(inquiry, answer);
    } else if (inquiry->options.dot) {
        print_dot(answer);
    } else {
        print_text(inquiry, answer);
    }
    return end_of(inquiry, answer, err);
}

static int reveal(struct inquiry *inquiry, const struct dp_strings *operands, struct dp_err *err)
{
    const char *stack = inquiry->options.stack;
    int rc = dp_stack_check_roles(err);
    rc = rc == 0 ? dp_catalogue_load(&inquiry->catalogue, err) : rc;
    rc = rc == 0 ? find_case(inquiry, operands, err) : rc;
    rc = rc == 0 && stack ? dp_stack_open(stack, &inquiry->stack, err) : rc;
    if (rc == 0 && stack) {
        dp_stack_apply(&inquiry->stack, &inquiry->catalogue);
    }
    rc = rc == 0 ? ask(inquiry, err) : rc;
    return rc == 0 ? tell(inquiry, err) : rc;
}

static int cmd_order(int argc, char **argv)
{
    struct inquiry inquiry = {.options = order_defaults};
    struct dp_strings operands = {0};
    struct dp_err err = {0};
    bool help = false;
    int code = dp_options_parse(&command_line, argc, argv, &inquiry.options, &operands, &help, &err);
    if (code == 0 && !help && inquiry.options.json && inquiry.options.dot) {
        code = dp_err_set(&err, DP_EXIT_USAGE, "--json and --dot exclude each other");
    }
    code = code == 0 && !help ? reveal(&inquiry, &operands, &err) : code;
    dp_answers_free(&inquiry.answers);
    dp_stack_free(&inquiry.stack);
    dp_catalogue_free(&inquiry.catalogue);
    free(operands.items);
    return dp_command_end(code, &err);
}

const struct dp_command dp_command_order = {"order", "reveal in which order an operation adds up",
                                            &command_line, cmd_order};

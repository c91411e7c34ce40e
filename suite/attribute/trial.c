/* SPDX-License-Identifier: Apache-2.0
 *
 * From setups to a plan of one case, and from its answers to what the bits did.
 */
#include "suite/attribute/trial.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/host.h"
#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/judge/facts.h"
#include "suite/run/scratch.h"

#define BITS_MOST ((size_t)1 << 22) /* bytes: 64 outputs of each of 1000 seeds */

/* A plan of setups: each is a case of its own, and all with the same variables share a program. */
struct table {
    struct dp_program *programs;
    size_t program_count;
    struct dp_case *cases; /* by setup */
    const struct dp_case **items;
    struct dp_plan plan;
};

/* The case's program, started with these variables over those of the case. */
static const struct dp_program *program_with(struct table *table, const struct dp_case *item,
                                             const json_t *variables)
{
    json_t *environment = item->program->environment ? json_copy(item->program->environment) : json_object();
    json_object_update(environment, (json_t *)(uintptr_t)variables);
    for (size_t i = 0; i < table->program_count; i++) {
        if (json_equal(table->programs[i].environment, environment)) {
            json_decref(environment);
            return &table->programs[i];
        }
    }
    struct dp_program *program = &table->programs[table->program_count++];
    *program = *item->program;
    char *text = dp_variables_text(environment);
    program->name = dp_printf("%s %s", item->program->name, text);
    program->environment = environment;
    free(text);
    return program;
}

/* A process for each repetition, and within it one for each cap: the one without comes first, it is what a
 * capped one is held against. */
static int process_of(const struct dp_setup *setup, int repetition)
{
    enum { CAPS_MOST = 1000 };
    return repetition * CAPS_MOST + (setup->cap ? 1 + (int)(setup->cap - dp_caps()) : 0);
}

/* Callers at once share the runs behind the first, which one makes alone. */
static int runs_of(const struct dp_setup *setup, int runs)
{
    return strcmp(setup->axis, "concurrency") == 0 ? 1 + atoi(setup->setting) * runs : runs;
}

static void add_requests(struct table *table, const struct dp_setup *setups, size_t count,
                         struct dp_amount amount)
{
    struct dp_plan *plan = &table->plan;
    plan->requests =
        dp_alloc(count * (size_t)amount.seeds * (size_t)amount.processes, sizeof(*plan->requests));
    for (int process = 0; process < amount.processes; process++) {
        for (int seed = 0; seed < amount.seeds; seed++) {
            for (size_t i = 0; i < count; i++) {
                plan->requests[plan->request_count++] =
                    (struct dp_request){.case_index = (int)i,
                                        .axis = setups[i].axis,
                                        .setting = setups[i].setting,
                                        .seed_index = seed,
                                        .set = "wide",
                                        .runs = runs_of(&setups[i], amount.runs),
                                        .process = process_of(&setups[i], process),
                                        .cap = setups[i].cap};
            }
        }
    }
}

static void table_make(const struct dp_bench *bench, const struct dp_setup *setups, size_t count,
                       struct dp_amount amount, struct table *ret)
{
    *ret = (struct table){.programs = dp_alloc(count, sizeof(*ret->programs)),
                          .cases = dp_alloc(count, sizeof(*ret->cases)),
                          .items = dp_alloc(count, sizeof(struct dp_case *))};
    for (size_t i = 0; i < count; i++) {
        ret->cases[i] = *bench->item;
        ret->cases[i].program =
            (struct dp_program *)(uintptr_t)program_with(ret, bench->item, setups[i].variables);
        ret->items[i] = &ret->cases[i];
    }
    ret->plan = (struct dp_plan){.options = {.seed = bench->seed}, .cases = ret->items, .case_count = count};
    add_requests(ret, setups, count, amount);
}

static void table_free(struct table *table)
{
    for (size_t i = 0; i < table->program_count; i++) {
        free(table->programs[i].name);
        json_decref(table->programs[i].environment);
    }
    free(table->programs);
    free(table->cases);
    free(table->items);
    free(table->plan.requests);
}

/* --- reading --- */

/* A line for each output, so that equal bits are equal texts. */
static void put_outputs(const struct dp_plan *plan, const struct dp_fact *fact, struct dp_text *bits,
                        json_t *outputs)
{
    char *seed = dp_seed_name(plan, fact->request->seed_index);
    size_t i;
    json_t *output;
    json_array_foreach(json_object_get(fact->answer, "outputs"), i, output)
    {
        const json_t *class = json_array_get(json_object_get(output, "classes"), 0);
        const char *sha256 = dp_json_string(class, "sha256", "");
        json_t *row = json_pack("{sO sO sO ss ss ss}", "name", json_object_get(output, "name"), "dtype",
                                json_object_get(output, "dtype"), "shape", json_object_get(output, "shape"),
                                "seed", seed, "set", fact->request->set, "sha256", sha256);
        char *line = json_dumps(row, JSON_COMPACT | JSON_SORT_KEYS);
        dp_text_printf(bits, "%s\n", line);
        free(line);
        json_array_append_new(outputs, row);
    }
    free(seed);
}

static const char *why_of(const struct dp_fact *fact)
{
    return fact->text && fact->text[0] ? fact->text : fact->reason ? fact->reason : "it was not asked";
}

/* The observations of one setup, in the plan's order: all seeds of the first process come first. */
static void read_view(const struct dp_plan *plan, const struct dp_view *view, struct dp_trial *ret)
{
    struct dp_text first = DP_TEXT(BITS_MOST), now = DP_TEXT(BITS_MOST);
    json_t *outputs = json_array(), *others = json_array();
    bool within = false, between = false;
    const int process = view->count ? view->facts[0]->request->process : 0;
    *ret = (struct dp_trial){.kind = DP_TRIAL_REPEATS};
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (fact->kind != DP_FACT_OBSERVATION) {
            ret->kind = DP_TRIAL_UNKNOWN;
            ret->why = dp_strdup(why_of(fact));
            ret->skipped = fact->kind == DP_FACT_SKIP;
            break;
        }
        ret->runs += (size_t)fact->request->runs;
        ret->comparisons += (size_t)fact->request->runs - 1;
        ret->mismatches += fact->mismatches;
        within = within || fact->distinct > 1;
        const bool is_first = fact->request->process == process;
        put_outputs(plan, fact, is_first ? &first : &now, is_first ? outputs : others);
        if (!is_first && json_array_size(others) == json_array_size(outputs)) {
            between = between || strcmp(first.data, now.data) != 0;
            dp_text_free(&now);
            now = DP_TEXT(BITS_MOST);
            json_array_clear(others);
        }
    }
    if (ret->kind != DP_TRIAL_UNKNOWN && (within || between)) {
        ret->kind = DP_TRIAL_VARIES;
        ret->between = !within;
    } else if (ret->kind == DP_TRIAL_REPEATS) {
        ret->bits = dp_strdup(first.data ? first.data : "");
        ret->outputs = json_incref(outputs);
    }
    dp_text_free(&first);
    dp_text_free(&now);
    json_decref(outputs);
    json_decref(others);
}

/* What the first program that started says of itself. */
static void keep_hello(struct dp_bench *bench, const struct table *table, const struct dp_answers *answers)
{
    for (size_t i = 0; i < table->program_count && !bench->hello; i++) {
        json_t *hello = json_object_get(answers->hellos, table->programs[i].name);
        if (strcmp(dp_json_string(hello, "type", ""), "hello") == 0) {
            bench->hello = json_incref(hello);
        }
    }
}

static int run(struct dp_bench *bench, const struct table *table, struct dp_answers *answers,
               struct dp_err *err)
{
    const struct dp_run_options options = {.jobs = 1, .timeout_ns = bench->timeout_ns, .stack = bench->stack};
    enum dp_run_end end = DP_RUN_DONE;
    dp_scratch_open();
    const int rc = dp_run(&table->plan, answers, &options, &end, &bench->signal, err);
    dp_scratch_close();
    return rc == 0 && bench->signal
               ? dp_err_set(err, DP_EXIT_SIGNAL + bench->signal, "stopped by signal %d", bench->signal)
               : rc;
}

int dp_try(struct dp_bench *bench, const struct dp_setup *setups, size_t count, struct dp_amount amount,
           struct dp_trial *ret, struct dp_err *err)
{
    struct table table;
    struct dp_answers answers = {0};
    struct dp_facts facts;
    memset(ret, 0, count * sizeof(*ret));
    if (bench->signal) {
        return dp_err_set(err, DP_EXIT_SIGNAL + bench->signal, "stopped by signal %d", bench->signal);
    }
    table_make(bench, setups, count, amount, &table);
    const int rc = run(bench, &table, &answers, err);
    if (rc == 0) {
        keep_hello(bench, &table, &answers);
        dp_facts_read(&table.plan, &answers, &facts);
        for (size_t i = 0; i < count; i++) {
            read_view(&table.plan, &facts.views[i], &ret[i]);
        }
        dp_facts_free(&facts);
        bench->trials += count;
    }
    dp_answers_free(&answers);
    table_free(&table);
    return rc;
}

bool dp_trials_differ(const struct dp_trial *a, const struct dp_trial *b)
{
    return a->kind == DP_TRIAL_REPEATS && b->kind == DP_TRIAL_REPEATS && strcmp(a->bits, b->bits) != 0;
}

void dp_setup_free(struct dp_setup *setup)
{
    json_decref(setup->variables);
    free(setup->axis);
    free(setup->setting);
}

void dp_trial_free(struct dp_trial *trial)
{
    free(trial->why);
    free(trial->bits);
    json_decref(trial->outputs);
}

void dp_bench_free(struct dp_bench *bench)
{
    json_decref(bench->hello);
}

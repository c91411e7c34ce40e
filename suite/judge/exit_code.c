/* SPDX-License-Identifier: Apache-2.0
 *
 * The exit code: one table, read from the top; the first rule that holds decides. Nothing else in the program
 * turns results into a code.
 */
#include <string.h>

#include "suite/base/err.h"
#include "suite/judge/judge.h"

static bool fails_on(const struct dp_verdict *verdict, const char *word)
{
    return strcmp(verdict->fail_on ? verdict->fail_on : "broken", word) == 0;
}

static bool stopped(const struct dp_verdict *verdict)
{
    return verdict->signal != 0;
}

static bool bad_usage(const struct dp_verdict *verdict)
{
    return verdict->usage_error;
}

static bool bad_data(const struct dp_verdict *verdict)
{
    return verdict->data_error;
}

static bool bad_control(const struct dp_verdict *verdict)
{
    return verdict->control_misbehaved;
}

static bool other_stack(const struct dp_verdict *verdict)
{
    return verdict->stack_mismatch;
}

static bool absent(const struct dp_verdict *verdict)
{
    return verdict->required_absent;
}

static bool lost(const struct dp_verdict *verdict)
{
    return verdict->report_lost;
}

static bool broken(const struct dp_verdict *verdict)
{
    return verdict->broken > 0 && (fails_on(verdict, "broken") || fails_on(verdict, "varies"));
}

static bool wrong(const struct dp_verdict *verdict)
{
    return verdict->wrong > 0 && (fails_on(verdict, "broken") || fails_on(verdict, "varies"));
}

/* What a library computes at an instruction set that it can be held to, and that this processor runs, is a
 * promise of its as much as what it computes by itself. */
static bool wrong_under(const struct dp_verdict *verdict)
{
    return verdict->wrong_under > 0 && (fails_on(verdict, "broken") || fails_on(verdict, "varies"));
}

static bool varies(const struct dp_verdict *verdict)
{
    return verdict->varies > 0 && fails_on(verdict, "varies");
}

static bool gate_is_silent(const struct dp_verdict *verdict)
{
    return verdict->gate == DP_GATE_NO_VERDICT;
}

static bool gate_failed(const struct dp_verdict *verdict)
{
    return verdict->gate == DP_GATE_FAILED;
}

static bool gate_passed(const struct dp_verdict *verdict)
{
    return verdict->gate == DP_GATE_PASSED;
}

static bool failed(const struct dp_verdict *verdict)
{
    return verdict->errors > 0;
}

static bool unconfirmed(const struct dp_verdict *verdict)
{
    return verdict->unconfirmed;
}

static bool insensitive(const struct dp_verdict *verdict)
{
    return verdict->insensitive && !verdict->allow_insensitive;
}

/* What an insensitive backend repeats counts as untested; a user who allows that asked for no 77 either. */
static bool nothing_ran(const struct dp_verdict *verdict)
{
    return verdict->ran == 0 && !verdict->insensitive;
}

static bool otherwise(const struct dp_verdict *verdict)
{
    return verdict != NULL;
}

struct rule {
    bool (*holds)(const struct dp_verdict *verdict);
    int code;
    const char *reason;
};

static const struct rule rules[] = {
    {stopped, DP_EXIT_SIGNAL, "stopped by a signal"},
    {bad_usage, DP_EXIT_USAGE, "bad usage"},
    {bad_data, DP_EXIT_DATA, "bad input"},
    {bad_control, DP_EXIT_NO_VERDICT, "a control misbehaved"},
    {other_stack, DP_EXIT_NO_VERDICT, "a program did not use the stack"},
    {absent, DP_EXIT_NO_VERDICT, "a required backend is absent"},
    {lost, DP_EXIT_NO_VERDICT, "the report could not be written"},
    {gate_is_silent, DP_EXIT_NO_VERDICT, "the gate has no verdict"},
    {gate_failed, DP_EXIT_FINDINGS, "the gate failed"},
    {gate_passed, DP_EXIT_OK, "the gate passed"},
    {wrong, DP_EXIT_FINDINGS, "an operation gives wrong results"},
    {broken, DP_EXIT_FINDINGS, "a guarantee is broken"},
    {wrong_under, DP_EXIT_FINDINGS, "an operation gives wrong results under a capped instruction set"},
    {varies, DP_EXIT_FINDINGS, "an operation varies"},
    {failed, DP_EXIT_NO_VERDICT, "an operation could not be tested because of an error"},
    {unconfirmed, DP_EXIT_NO_VERDICT, "a difference was seen and not confirmed"},
    {insensitive, DP_EXIT_NO_VERDICT, "a backend cannot show differences here"},
    {nothing_ran, DP_EXIT_NOTHING_RAN, "nothing ran"},
    {otherwise, DP_EXIT_OK, "no finding"},
};

static const struct rule *decide(const struct dp_verdict *verdict)
{
    const struct rule *rule = rules;
    while (!rule->holds(verdict)) {
        rule++;
    }
    return rule;
}

int dp_exit_code(const struct dp_verdict *verdict)
{
    const struct rule *rule = decide(verdict);
    return rule->code == DP_EXIT_SIGNAL ? DP_EXIT_SIGNAL + verdict->signal : rule->code;
}

const char *dp_exit_reason(const struct dp_verdict *verdict)
{
    return decide(verdict)->reason;
}

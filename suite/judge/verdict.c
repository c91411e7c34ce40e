/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict on one case. What its base requests did comes first (skipped, error, untested), then what was
 * seen (wrong, varies, repeats), then whether a finding came again in a new process.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/judge/facts.h"

/* What the requests of one round show. `where` is the fact that showed `wrong`. */
struct shown {
    bool wrong;
    bool repeat;  /* repeat does not hold at the base setting */
    bool fresh;   /* a new process gave other bits */
    bool chosen;  /* and had chosen another algorithm each time */
    bool setting; /* repeat does not hold at a setting, or the bits changed along a covered axis */
    bool moved;   /* an axis that the guarantee calls invariant moved */
    bool missing; /* a request was not answered */
};

static bool varied(const struct shown *shown)
{
    return shown->repeat || shown->fresh || shown->setting;
}

/* Where a fact was made, for a sentence: "" at the base setting. Owned. */
static char *place_of(const struct dp_request *request)
{
    const bool base = strcmp(request->axis, "repeat") == 0;
    return base ? dp_strdup("") : dp_printf(" at %s %s", request->axis, request->setting);
}

static bool is_set(const struct dp_fact *fact, const char *set)
{
    return strcmp(fact->request->set, set) == 0;
}

static bool is_capped(const struct dp_fact *fact)
{
    return strcmp(fact->request->axis, "isa") == 0;
}

static char *wrong_reason(const struct dp_view *view, const struct dp_fact *fact)
{
    const bool base = strcmp(fact->request->axis, "repeat") == 0 || is_capped(fact);
    char *place = place_of(fact->request);
    char *reason = NULL;
    if (fact->unwritten) {
        reason = dp_printf("unwritten: output '%s' has elements that were never written%s", fact->unwritten,
                           place);
    } else if (fact->guard) {
        reason = dp_printf("guard: bytes outside output '%s' were written%s", fact->guard, place);
    } else if (base && !is_set(fact, "wide") && fact->error_over_bound > 1.0) {
        reason = dp_printf("bound: output '%s' is farther from the reference than its error bound (set %s)%s",
                           fact->error_output, fact->request->set, place);
    } else if (is_set(fact, "exact") && fact->distinct > 1 && view->full &&
               strcmp(dp_json_string(view->item->json, "arithmetic", ""), "direct") == 0) {
        reason = dp_printf("corruption: sums that are exact in any order differ%s", place);
    }
    free(place);
    return reason;
}

bool dp_round_is_wrong(const struct dp_view *view, int round, char **ret_reason)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        char *reason = NULL;
        if (fact->kind == DP_FACT_OBSERVATION && fact->request->retest == round && !is_capped(fact)) {
            reason = wrong_reason(view, fact);
        }
        if (reason) {
            *ret_reason = reason;
            return true;
        }
    }
    return false;
}

char *dp_capped_wrong(const struct dp_view *view, const struct dp_fact *fact)
{
    return is_capped(fact) && fact->kind == DP_FACT_OBSERVATION ? wrong_reason(view, fact) : NULL;
}

/* Is there a result of these rounds at the cap that is wrong? */
static bool wrong_at(const struct dp_view *view, const char *setting, int first, int last)
{
    bool wrong = false;
    for (size_t i = 0; i < view->count && !wrong; i++) {
        const struct dp_request *request = view->facts[i]->request;
        if (request->retest >= first && request->retest <= last && strcmp(request->setting, setting) == 0) {
            char *reason = dp_capped_wrong(view, view->facts[i]);
            wrong = reason != NULL;
            free(reason);
        }
    }
    return wrong;
}

/* Are results wrong under a cap in the first pass and, under the same, in this round? */
static bool capped_again(const struct dp_view *view, int round)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_request *request = view->facts[i]->request;
        if (request->retest == 0 && is_capped(view->facts[i]) && wrong_at(view, request->setting, 0, 0) &&
            wrong_at(view, request->setting, round, round)) {
            return true;
        }
    }
    return false;
}

/* The caps at which results are wrong, each when a new process shows it again. Where none does, also because
 * it ended or was cut off, the case has no verdict, as without a cap. */
static void find_capped(const struct dp_view *view, int rounds, struct dp_found *found)
{
    found->wrong_under = json_array();
    for (size_t i = 0; i < view->count; i++) {
        const char *setting = view->facts[i]->request->setting;
        if (view->facts[i]->request->retest != 0 || !is_capped(view->facts[i]) ||
            dp_json_array_has(found->wrong_under, setting) || !wrong_at(view, setting, 0, 0)) {
            continue;
        }
        if (wrong_at(view, setting, 1, rounds)) {
            json_array_append_new(found->wrong_under, json_string(setting));
        } else {
            dp_found_untested(found, "wrong results were seen under '%s' and not again in a new process",
                              setting);
            found->unconfirmed = true;
            found->suspect = found->suspect || rounds < DP_RETEST_ROUNDS;
        }
    }
}

/* Where repeat itself does not hold. */
static void show_repeats(const struct dp_view *view, int round, struct shown *shown)
{
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (fact->request->retest != round) {
            continue;
        }
        shown->missing = shown->missing || fact->kind == DP_FACT_MISSING;
        const bool seen = fact->kind == DP_FACT_OBSERVATION || fact->kind == DP_FACT_ORDER;
        if (!seen || fact->distinct <= 1 || dp_fact_is_uncovered(view->item, fact)) {
            continue;
        }
        const bool base = strcmp(fact->request->axis, "repeat") == 0;
        shown->repeat = shown->repeat || base;
        shown->setting = shown->setting || !base;
    }
}

static void show_axis(const struct dp_view *view, const char *axis, int round, struct shown *shown)
{
    const struct dp_moved moved = dp_axis_moved(view, axis, round);
    if (!moved.moved) {
        return;
    }
    const bool covered = dp_case_covers(view->item, axis);
    shown->moved = shown->moved || dp_case_invariant(view->item, axis);
    if (covered && strcmp(axis, "fresh") == 0) {
        shown->fresh = true;
        shown->chosen = moved.chosen_moved;
    } else if (covered) {
        shown->setting = true;
    }
}

static struct shown show(const struct dp_view *view, int round)
{
    struct shown shown = {0};
    char *reason = NULL;
    shown.wrong = dp_round_is_wrong(view, round, &reason);
    free(reason);
    show_repeats(view, round, &shown);
    for (size_t i = 0; i < DP_AXIS_COUNT; i++) {
        if (strcmp(dp_axes[i].name, "repeat") != 0) {
            show_axis(view, dp_axes[i].name, round, &shown);
        }
    }
    return shown;
}

bool dp_round_confirms(const struct dp_view *view, int round)
{
    const struct shown first = show(view, 0), again = show(view, round);
    const bool differs = varied(&first) || first.moved;
    return first.wrong ? again.wrong
                       : (differs && (varied(&again) || again.moved)) || capped_again(view, round);
}

static void settle(struct dp_found *found, enum dp_observed observed, const char *reason)
{
    found->observed = observed;
    free(found->reason);
    found->reason = reason ? dp_strdup(reason) : NULL;
}

/* skipped, error or untested: true when the base requests leave nothing to judge. */
static bool settle_unrun(const struct dp_view *view, struct dp_found *found)
{
    const struct dp_fact *skip = NULL, *error = NULL;
    bool missing = false, base = false, short_runs = false;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        missing = missing || (fact->kind == DP_FACT_MISSING && fact->request->retest == 0);
        if (!dp_fact_is_base(fact)) {
            continue;
        }
        base = true;
        short_runs = short_runs || fact->request->runs < 2;
        skip = !skip && fact->kind == DP_FACT_SKIP && dp_fact_is_first(fact) ? fact : skip;
        error = !error && fact->kind == DP_FACT_ERROR ? fact : error;
    }
    if (error) {
        settle(found, DP_ERROR, error->reason);
    } else if (skip) {
        settle(found, DP_SKIPPED, skip->reason);
        found->text = skip->text;
    } else if (missing) {
        settle(found, DP_UNTESTED, "interrupted");
    } else if (!base || short_runs) {
        settle(found, DP_UNTESTED, "fewer than 2 runs");
    } else {
        return false;
    }
    return true;
}

/* The failure of a new process where none of them answered: what fails whenever it starts anew does not
 * repeat its bits, it does not run. NULL: one answered, or all were skipped. */
static const struct dp_fact *failed_anew(const struct dp_view *view)
{
    const struct dp_fact *failed = NULL;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        if (strcmp(fact->request->axis, "fresh") != 0 || fact->request->retest != 0) {
            continue;
        }
        if (fact->kind == DP_FACT_OBSERVATION) {
            return NULL;
        }
        failed = !failed && fact->kind == DP_FACT_ERROR ? fact : failed;
    }
    return failed;
}

/* In which ways it showed is left to the measurements: a rare difference may show in one way today and in
 * another tomorrow, and the result must come out equal. */
static void settle_varies(const struct shown *shown, struct dp_found *found)
{
    settle(found, DP_VARIES, NULL);
    found->difference = shown->fresh && shown->chosen && !shown->repeat ? "selection" : "execution";
}

static const char *status_of(const struct dp_view *view, const struct shown *shown)
{
    const char *level = dp_json_string(view->stated, "level", "unstated");
    if (strcmp(level, "run_to_run") == 0 || strcmp(level, "gpu_to_gpu") == 0) {
        return varied(shown) || shown->moved ? "broken" : "kept";
    }
    return strcmp(level, "not_guaranteed") == 0 ? "allows" : "none";
}

void dp_found_untested(struct dp_found *found, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    settle(found, DP_UNTESTED, text);
    found->status = NULL;
    found->difference = NULL;
    found->suspect = false;
}

/* varies or repeats: what is left where nothing is wrong. */
static void settle_bits(const struct shown *shown, struct dp_found *found)
{
    settle(found, DP_REPEATS, NULL);
    if (varied(shown)) {
        settle_varies(shown, found);
    }
}

/* A finding counts when a new process shows the same kind of it again. What was wrong once and only
 * differed afterwards still breaks its guarantee. */
static void confirm(const struct dp_view *view, int rounds, const struct shown *first, struct dp_found *found)
{
    bool wrong = false, broken = false, missing = false;
    for (int round = 1; round <= rounds; round++) {
        const struct shown shown = show(view, round);
        missing = missing || shown.missing;
        wrong = wrong || shown.wrong;
        broken = broken || varied(&shown) || shown.moved;
    }
    broken = broken && strcmp(found->status, "broken") == 0;
    if (first->wrong ? wrong : broken) {
        return;
    }
    if (missing) {
        dp_found_untested(found, "interrupted");
    } else if (rounds < DP_RETEST_ROUNDS) {
        dp_found_untested(found, "a difference was seen and not yet again in a new process");
        found->unconfirmed = true;
        found->suspect = true;
    } else if (broken) {
        settle_bits(first, found);
    } else {
        dp_found_untested(found, "a difference was seen once and not again in %d new processes", rounds);
        found->unconfirmed = true;
    }
}

/* Whether a case that varies is tried again though its verdict does not wait for that. */
static bool wants_retest(const struct dp_view *view, int rounds)
{
    for (int round = 1; round <= rounds; round++) {
        if (dp_round_confirms(view, round)) {
            return false;
        }
    }
    return view->plan->options.retest_varies && rounds < DP_RETEST_ROUNDS;
}

void dp_find(const struct dp_view *view, int rounds, struct dp_found *ret)
{
    *ret = (struct dp_found){.observed = DP_REPEATS};
    if (settle_unrun(view, ret)) {
        return;
    }
    const struct shown first = show(view, 0);
    ret->status = status_of(view, &first);
    if (first.wrong) {
        ret->observed = DP_WRONG;
        dp_round_is_wrong(view, 0, &ret->reason);
    } else {
        settle_bits(&first, ret);
    }
    if (first.wrong || strcmp(ret->status, "broken") == 0) {
        confirm(view, rounds, &first, ret);
    }
    if (ret->observed == DP_VARIES && wants_retest(view, rounds)) {
        ret->suspect = true;
    }
    const struct dp_fact *const failed = ret->observed == DP_REPEATS ? failed_anew(view) : NULL;
    if (failed) {
        settle(ret, DP_ERROR, failed->reason);
        ret->status = NULL;
    }
    if (ret->status && ret->observed != DP_WRONG) { /* what is wrong without a cap is wrong once */
        find_capped(view, rounds, ret);
    }
}

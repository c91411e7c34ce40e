/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of differences: a table of rules, of which the first that holds gives the kind. What is wrong by
 * itself comes first, then what says when it happens, then what says how large it is.
 */
#include "suite/judge/diagnosis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"

#define BY_CHANCE 0.05 /* at most so likely, exact sums repeated though they vary as often as the others */

static bool is_set(const struct dp_fact *fact, const char *set)
{
    return strcmp(fact->request->set, set) == 0;
}

static bool is_first_pass(const struct dp_fact *fact)
{
    return fact->kind == DP_FACT_OBSERVATION && fact->request->retest == 0;
}

/* ---- what happens when ---- */

static bool first_run_is_alone(const struct dp_fact *fact)
{
    const json_t *class = json_array_get(json_object_get(fact->most, "classes"), 0);
    return fact->request->runs > 2 && fact->distinct == 2 && dp_json_int(class, "first_run", -1) == 0 &&
           dp_json_int(class, "runs", 0) == 1;
}

static bool varies_at_base(const struct dp_fact *fact)
{
    return dp_fact_is_base(fact) && fact->kind == DP_FACT_OBSERVATION && fact->distinct > 1;
}

bool dp_first_run_differs(const struct dp_view *view)
{
    size_t varied = 0, alone = 0;
    for (size_t i = 0; i < view->count; i++) {
        const bool varies = varies_at_base(view->facts[i]);
        varied += varies;
        alone += varies && first_run_is_alone(view->facts[i]);
    }
    return varied > 0 && alone == varied;
}

/* One observation may have met a rare difference in its first run by chance. Several of them have not, nor
 * one whose first run is as those of new processes, which make a first run each. */
static bool first_call_alone(const struct dp_view *view)
{
    size_t varied = 0, like = 0, unlike = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        varied += varies_at_base(fact);
        const bool fresh = is_first_pass(fact) && strcmp(fact->request->axis, "fresh") == 0;
        const struct dp_fact *base = fresh ? dp_base_of(view, fact) : NULL;
        if (base && base->distinct > 1) {
            like += dp_same_bits(base, fact);
            unlike += !dp_same_bits(base, fact);
        }
    }
    return dp_first_run_differs(view) && unlike == 0 && (like > 0 || varied > 1);
}

/* Several patterns that all gave the same other bits are not followed: something else moved meanwhile. */
static bool patterns_agree(const struct dp_view *view, const struct dp_fact *fact)
{
    size_t others = 0, same = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *other = view->facts[i];
        const bool partner = other != fact && is_first_pass(other) &&
                             strcmp(other->request->axis, "poison") == 0 &&
                             dp_base_of(view, other) == dp_base_of(view, fact);
        others += partner;
        same += partner && dp_same_bits(other, fact);
    }
    return others > 0 && same == others;
}

static bool follows_poison(const struct dp_view *view)
{
    const struct dp_moved moved = dp_axis_moved(view, "poison", 0);
    bool followed = false;
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        const bool poison = strcmp(fact->request->axis, "poison") == 0;
        if (!is_first_pass(fact) || (!poison && !dp_fact_is_base(fact))) {
            continue;
        }
        if (fact->distinct > 1) {
            return false;
        }
        const struct dp_fact *base = poison ? dp_base_of(view, fact) : NULL;
        followed = followed || (base && !dp_same_bits(base, fact) && !patterns_agree(view, fact));
    }
    return moved.moved && !moved.chosen_moved && followed;
}

/* ---- reading ---- */

static void read_mismatch(const struct dp_fact *fact, struct dp_traits *ret)
{
    const json_t *mismatch = json_object_get(fact->answer, "mismatch");
    if (!json_is_object(mismatch)) {
        return;
    }
    const double ratio = dp_json_number(mismatch, "error_over_bound", -1.0);
    const char *flipped = dp_json_string(mismatch, "flipped", NULL);
    const bool permutation = strcmp(dp_json_string(mismatch, "kind", ""), "permutation") == 0;
    const bool first = ret->mismatches++ == 0;
    const bool unknown = ratio < 0 || (!first && ret->error_over_bound < 0);
    ret->error_over_bound = unknown ? -1 : fmax(ratio, ret->error_over_bound);
    ret->flipped = first || ret->flipped ? flipped : NULL;
    ret->permutation = permutation && (first || ret->permutation);
    if (dp_request_varies(fact->request, "concurrency") &&
        json_is_true(json_object_get(mismatch, "from_caller"))) {
        ret->caller = fact->request->setting;
    }
}

static void read_base(const struct dp_fact *fact, struct dp_traits *ret)
{
    const size_t comparisons = (size_t)fact->request->runs - 1;
    if (is_set(fact, "exact")) {
        ret->exact_varies = ret->exact_varies || fact->distinct > 1;
        ret->exact_comparisons += comparisons;
    } else if (is_set(fact, "wide")) {
        ret->unlike += fact->mismatches;
        ret->comparisons += comparisons;
    }
}

/* Along an axis that the guarantee does not speak of, other bits are expected, and no pair of outputs is
 * seen. */
static bool settings_differ(const struct dp_view *view)
{
    for (size_t i = 0; i < DP_AXIS_COUNT; i++) {
        if (dp_case_covers(view->item, dp_axes[i].name) && dp_axis_moved(view, dp_axes[i].name, 0).moved) {
            return true;
        }
    }
    return false;
}

void dp_traits_read(const struct dp_view *view, struct dp_traits *ret)
{
    const char *arithmetic = dp_json_string(view->item->json, "arithmetic", "");
    const struct dp_moved fresh = dp_axis_moved(view, "fresh", 0);
    bool base_varies = false;
    *ret = (struct dp_traits){.error_over_bound = -1,
                              .direct = strcmp(arithmetic, "direct") == 0,
                              .plain = strcmp(arithmetic, "none") == 0,
                              .follows_poison = follows_poison(view),
                              .first_call = first_call_alone(view)};
    for (size_t i = 0; i < view->count; i++) {
        const struct dp_fact *fact = view->facts[i];
        ret->order_varies = ret->order_varies ||
                            (fact->kind == DP_FACT_ORDER && fact->request->retest == 0 && fact->distinct > 1);
        if (!is_first_pass(fact)) {
            continue;
        }
        if (dp_fact_is_base(fact)) {
            read_base(fact, ret);
            base_varies = base_varies || fact->distinct > 1;
        }
        if (fact->distinct > 1) {
            ret->varied++;
            read_mismatch(fact, ret);
        }
        if (fact->unwritten && strcmp(fact->request->axis, "isa") != 0) {
            ret->unwritten = ret->unwritten ? ret->unwritten : fact->unwritten;
        }
    }
    ret->selection = fresh.moved && fresh.chosen_moved && !base_varies;
    ret->differs = ret->varied > 0 || ret->order_varies || ret->unwritten || settings_differ(view);
}

/* ---- the rules ---- */

static char *is_unwritten(const struct dp_traits *traits)
{
    return traits->unwritten
               ? dp_printf("output '%s' has elements that no run wrote, they keep what memory held",
                           traits->unwritten)
               : NULL;
}

static char *is_uninitialised_read(const struct dp_traits *traits)
{
    return traits->follows_poison
               ? dp_strdup("the bits follow what memory held before the run: each pattern repeats its own")
               : NULL;
}

static char *is_cross_talk(const struct dp_traits *traits)
{
    return traits->caller ? dp_printf("at concurrency %s what differs holds the values of another caller",
                                      traits->caller)
                          : NULL;
}

static char *is_corruption(const struct dp_traits *traits)
{
    if (traits->direct && traits->exact_varies) {
        return dp_strdup("sums that are exact in any order differ");
    }
    if (traits->plain && traits->error_over_bound > 1) {
        return dp_strdup("nothing in it rounds, and elements that differ are not what the reference says");
    }
    return traits->flipped && traits->error_over_bound > 1
               ? dp_printf("each element that differs does so in one bit (%s), and beyond its error bound",
                           traits->flipped)
               : NULL;
}

static char *is_first_call(const struct dp_traits *traits)
{
    return traits->first_call ? dp_strdup("only the first call of a process differs, all later ones agree")
                              : NULL;
}

static char *is_selection(const struct dp_traits *traits)
{
    return traits->selection ? dp_strdup("a process repeats its bits, a new one chose another implementation")
                             : NULL;
}

static char *is_race_sized(const struct dp_traits *traits)
{
    return traits->direct && traits->error_over_bound > 1
               ? dp_printf(
                     "elements that differ are up to %.3g times their error bound from the reference: no "
                     "order of the sum explains that",
                     fmin(traits->error_over_bound, 1e9))
               : NULL;
}

static char *is_permutation(const struct dp_traits *traits)
{
    return traits->mismatches > 0 && traits->permutation ? dp_strdup("the same elements in another order")
                                                         : NULL;
}

/* Where no bound is known, that exact sums repeat: were they as likely to differ as others, they would have.
 */
static char *is_reordering(const struct dp_traits *traits)
{
    if (traits->order_varies) {
        return dp_strdup("its order of additions was revealed, and is another when asked again");
    }
    if (!traits->direct || traits->varied == 0) {
        return NULL;
    }
    if (traits->error_over_bound >= 0 && traits->mismatches == traits->varied) {
        return dp_printf("elements that differ are within the error bound of a sum in any order (%.2g of it)",
                         traits->error_over_bound);
    }
    const double rate = traits->comparisons > 0 ? (double)traits->unlike / (double)traits->comparisons : 0;
    return pow(1 - rate, (double)traits->exact_comparisons) <= BY_CHANCE
               ? dp_printf("%zu of %zu comparisons differ, and none of %zu where sums are exact in any order",
                           traits->unlike, traits->comparisons, traits->exact_comparisons)
               : NULL;
}

static const struct {
    const char *kind;
    char *(*reason)(const struct dp_traits *traits); /* why it holds, owned; NULL: it does not */
} rules[] = {
    {"unwritten", is_unwritten},   {"uninitialised_read", is_uninitialised_read},
    {"cross_talk", is_cross_talk}, {"corruption", is_corruption},
    {"first_call", is_first_call}, {"selection", is_selection},
    {"race_sized", is_race_sized}, {"permutation", is_permutation},
    {"reordering", is_reordering},
};

static const char *unknown_reason(const struct dp_traits *traits)
{
    return traits->varied == 0
               ? "outputs of different processes or settings are not compared element by element"
           : traits->error_over_bound < 0 ? "no error bound for each element tells another order from a fault"
           : traits->plain                ? "several results are right, and runs give different ones of them"
                                          : "nothing that was measured decides for a kind";
}

const char *dp_diagnose(const struct dp_traits *traits, char **ret_reason)
{
    if (!traits->differs) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        *ret_reason = rules[i].reason(traits);
        if (*ret_reason) {
            return rules[i].kind;
        }
    }
    *ret_reason = dp_strdup(unknown_reason(traits));
    return "unknown";
}

json_t *dp_diagnosis_json(const struct dp_view *view)
{
    struct dp_traits traits;
    char *reason = NULL;
    dp_traits_read(view, &traits);
    const char *kind = dp_diagnose(&traits, &reason);
    json_t *ret = kind ? json_pack("{ss ss}", "kind", kind, "reason", reason) : NULL;
    free(reason);
    return ret;
}

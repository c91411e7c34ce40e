/* SPDX-License-Identifier: Apache-2.0
 *
 * Trying factors: many setups at once where each stands for itself, pairs of them where a part of several is
 * tried.
 */
#include "suite/attribute/search.h"

#include <stdlib.h>
#include <string.h>

#include "suite/attribute/ddmin.h"
#include "suite/base/text.h"

#define CHOICES_MOST ((size_t)512) /* of all factors; tables and a report's bound them far below */

/* What a trial shows beside the one that it is compared with; NULL: no effect. Static. */
static const char *effect_of(enum dp_effect effect, const struct dp_trial *from, const struct dp_trial *to)
{
    if (effect == DP_EFFECT_STEADIES) {
        return to->kind == DP_TRIAL_REPEATS ? "repeats" : NULL;
    }
    if (from->kind == DP_TRIAL_REPEATS && to->kind == DP_TRIAL_VARIES) {
        return "varies";
    }
    return dp_trials_differ(from, to) ? "other_bits" : NULL;
}

int dp_search_try(const struct dp_search *search, const struct dp_choice *choices, size_t count,
                  struct dp_amount amount, const char **ret_effect, struct dp_err *err)
{
    struct dp_setup setups[2] = {dp_setup_of(search->factors, choices, count, false),
                                 dp_setup_of(search->factors, choices, count, true)};
    struct dp_trial trials[2] = {0};
    /* what steadies is compared with nothing: a trial may be many processes of seconds each */
    const size_t tried = search->effect == DP_EFFECT_STEADIES ? 1 : 2;
    const int rc = dp_try(search->bench, setups, tried, amount, trials, err);
    *ret_effect = rc == 0 ? effect_of(search->effect, &trials[1], &trials[0]) : NULL;
    for (size_t i = 0; i < 2; i++) {
        dp_setup_free(&setups[i]);
        dp_trial_free(&trials[i]);
    }
    return rc != 0 ? -1 : *ret_effect != NULL;
}

/* --- parts --- */

struct parts {
    const struct dp_search *search;
    const struct dp_choice *choices;
    struct dp_err *err;
};

static bool part_has_effect(void *context, const size_t *part, size_t count)
{
    const struct parts *parts = context;
    struct dp_choice *choices = dp_alloc(count, sizeof(*choices));
    const char *effect;
    for (size_t i = 0; i < count; i++) {
        choices[i] = parts->choices[part[i]];
    }
    const int found = dp_search_try(parts->search, choices, count, parts->search->first, &effect, parts->err);
    free(choices);
    return found > 0;
}

size_t dp_search_reduce(const struct dp_search *search, struct dp_choice *choices, size_t count,
                        struct dp_err *err)
{
    struct parts parts = {search, choices, err};
    size_t *items = dp_alloc(count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        items[i] = i;
    }
    const size_t left = dp_ddmin(items, count, part_has_effect, &parts);
    for (size_t i = 0; i < left; i++) { /* in their order: none is overwritten before it is read */
        choices[i] = choices[items[i]];
    }
    free(items);
    return left;
}

/* --- one at a time --- */

/* Everything of one search: the choices with their trials, and the places of those they are compared with. */
struct singles {
    struct dp_choice choices[CHOICES_MOST];
    struct dp_trial trials[CHOICES_MOST + 1]; /* the first is of no choice, then those of the choices */
    size_t against[CHOICES_MOST];             /* into trials */
    bool once[CHOICES_MOST]; /* had an effect that did not come again: nothing is said of it */
    size_t count;
};

static void add_choice(struct singles *singles, size_t factor, const char *from, const char *value)
{
    if (singles->count < CHOICES_MOST) {
        singles->choices[singles->count++] = (struct dp_choice){factor, from, value};
    }
}

/* Settings that are compared among themselves: which is compared with which is known once they ran. */
static bool is_among(const struct dp_factor *factor)
{
    return factor->kind == DP_FACTOR_AXIS && factor->from[0];
}

/* A factor that only disturbs cannot keep bits. */
static void add_choices(const struct dp_search *search, struct singles *ret)
{
    for (size_t f = 0; f < search->factors->count; f++) {
        const struct dp_factor *factor = &search->factors->items[f];
        const bool among = is_among(factor);
        if (search->effect == DP_EFFECT_STEADIES && factor->disturbs) {
            continue;
        }
        if (among) {
            add_choice(ret, f, "", factor->from);
        }
        for (size_t i = 0; i < factor->to_count; i++) {
            add_choice(ret, f, among ? "" : factor->from, factor->to[i]);
        }
    }
}

/* Settings compared among themselves are held against the first of them that repeats: one that varies, or
 * cannot run, tells nothing of the others. Where none repeats, and where bits are to be kept, against the
 * base setting. */
static void find_references(const struct dp_search *search, struct singles *singles)
{
    const size_t none = SIZE_MAX;
    size_t factor = none, reference = none;
    for (size_t i = 0; i < singles->count && search->effect == DP_EFFECT_MOVES; i++) {
        struct dp_choice *choice = &singles->choices[i];
        if (choice->factor != factor) {
            factor = choice->factor;
            reference = none;
            for (size_t k = i; k < singles->count && singles->choices[k].factor == factor; k++) {
                const bool repeats = singles->trials[1 + k].kind == DP_TRIAL_REPEATS;
                reference = reference == none && repeats ? k : reference;
            }
        }
        if (is_among(&search->factors->items[factor]) && reference != none) {
            choice->from = singles->choices[reference].value;
            singles->against[i] = 1 + reference;
        }
    }
}

static bool is_reference(const struct singles *singles, size_t i)
{
    return singles->against[i] == 1 + i;
}

/* All of them in one go: those of one process share it. */
static int try_singles(const struct dp_search *search, struct singles *singles, struct dp_err *err)
{
    const size_t count = 1 + singles->count;
    struct dp_setup *setups = dp_alloc(count, sizeof(*setups));
    setups[0] = dp_setup_of(search->factors, NULL, 0, true);
    for (size_t i = 0; i < singles->count; i++) {
        setups[1 + i] = dp_setup_of(search->factors, &singles->choices[i], 1, false);
    }
    const int rc = dp_try(search->bench, setups, count, search->first, singles->trials, err);
    find_references(search, singles);
    for (size_t i = 0; i < count; i++) {
        dp_setup_free(&setups[i]);
    }
    free(setups);
    return rc;
}

static const char *single_effect(const struct dp_search *search, const struct singles *singles, size_t i)
{
    return effect_of(search->effect, &singles->trials[singles->against[i]], &singles->trials[1 + i]);
}

/* --- results --- */

static json_t *cause_json(const struct dp_search *search, const struct dp_choice *choices, size_t count,
                          const char *effect)
{
    const struct dp_amount amount = search->again;
    json_t *change = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(change, dp_choice_json(search->factors, &choices[i]));
    }
    return json_pack("{so ss si si}", "change", change, "effect", effect, "runs",
                     amount.seeds * amount.runs * amount.processes, "processes", amount.processes);
}

static void add_not_tried(json_t *rows, const struct dp_search *search, const struct dp_choice *choice,
                          const char *reason)
{
    json_t *row = dp_choice_json(search->factors, choice);
    char *shown = dp_printable(reason, strlen(reason));
    json_object_del(row, "from");
    json_object_set(row, "setting", json_object_get(row, "to"));
    json_object_del(row, "to");
    json_object_set_new(row, "reason", json_string(shown));
    json_array_append_new(rows, row);
    free(shown);
}

static void add_without(json_t *rows, const struct dp_search *search, const struct dp_choice *choice)
{
    json_t *value = choice->value ? json_string(choice->value) : json_null();
    const char *name = search->factors->items[choice->factor].name;
    json_t *last = json_array_get(rows, json_array_size(rows) - 1);
    if (last && strcmp(json_string_value(json_object_get(last, "name")), name) == 0) {
        json_array_append_new(json_object_get(last, "settings"), value);
        return;
    }
    json_t *row = dp_choice_json(search->factors, choice);
    json_object_del(row, "from");
    json_object_del(row, "to");
    json_object_set_new(row, "settings", json_pack("[o]", value));
    json_array_append_new(rows, row);
}

/* The search as it goes on. */
struct finding {
    const struct dp_search *search;
    struct singles *singles;
    bool *moved; /* by factor: has an effect alone */
    json_t *causes, *without, *not_tried;
    struct dp_err *err;
};

/* Again in new processes; a difference that does not come again is none of this. */
static int confirm(struct finding *finding, const struct dp_choice *choices, size_t count)
{
    const char *effect;
    const int found =
        dp_search_try(finding->search, choices, count, finding->search->again, &effect, finding->err);
    if (found > 0) {
        json_array_append_new(finding->causes, cause_json(finding->search, choices, count, effect));
    }
    return found;
}

/* Of each factor the first value that has the effect. */
static int take_singles(struct finding *finding)
{
    const struct singles *singles = finding->singles;
    for (size_t i = 0; i < singles->count; i++) {
        const struct dp_choice *choice = &singles->choices[i];
        const struct dp_trial *trial = &singles->trials[1 + i];
        if (trial->kind == DP_TRIAL_UNKNOWN) {
            add_not_tried(finding->not_tried, finding->search, choice, trial->why);
        } else if (!finding->moved[choice->factor] && single_effect(finding->search, singles, i)) {
            const int found = confirm(finding, choice, 1);
            if (found < 0) {
                return -1;
            }
            finding->moved[choice->factor] = found > 0;
            finding->singles->once[i] = found == 0;
            if (found == 0) {
                add_not_tried(finding->not_tried, finding->search, choice,
                              "the difference did not come again in new processes");
            }
        }
    }
    return 0;
}

/* Was it tried, with a result, beside another? */
static bool is_tried(const struct singles *singles, size_t i)
{
    return singles->trials[1 + i].kind != DP_TRIAL_UNKNOWN && !is_reference(singles, i);
}

/* The values of a factor that can be tried. Returns their number. */
static size_t usable(const struct finding *finding, size_t factor, const struct dp_choice *ret[CHOICES_MOST])
{
    size_t count = 0;
    for (size_t i = 0; i < finding->singles->count; i++) {
        const struct dp_choice *choice = &finding->singles->choices[i];
        if (choice->factor == factor && is_tried(finding->singles, i)) {
            ret[count++] = choice;
        }
    }
    return count;
}

/* What is left: of each factor that did nothing alone its n-th value, or of fewer the n-th again from the
 * first on. Returns how many; *ret_most is the largest number of values. */
static size_t rest_of(const struct finding *finding, size_t n, struct dp_choice *ret, size_t *ret_most)
{
    const struct dp_choice *values[CHOICES_MOST];
    size_t count = 0;
    *ret_most = 0;
    for (size_t f = 0; f < finding->search->factors->count; f++) {
        const size_t found = usable(finding, f, values);
        if (found > 0 && !finding->moved[f] && !finding->search->factors->items[f].disturbs) {
            ret[count++] = *values[n % found];
            *ret_most = found > *ret_most ? found : *ret_most;
        }
    }
    return count;
}

/* Together, until a combination has the effect. */
static int take_rest(struct finding *finding)
{
    const struct dp_search *search = finding->search;
    struct dp_choice *rest = dp_alloc(search->factors->count + 1, sizeof(*rest));
    const char *effect;
    int found = 0;
    for (size_t n = 0, most = 1; n < most && found == 0; n++) {
        size_t count = rest_of(finding, n, rest, &most);
        found = count < 2 ? 0 : dp_search_try(search, rest, count, search->first, &effect, finding->err);
        if (found > 0) {
            count = dp_search_reduce(search, rest, count, finding->err);
            found = search->bench->signal ? -1 : confirm(finding, rest, count);
        }
        for (size_t i = 0; i < count && found > 0; i++) {
            finding->moved[rest[i].factor] = true;
        }
    }
    free(rest);
    return found < 0 ? -1 : 0;
}

static int find(struct finding *finding)
{
    if (try_singles(finding->search, finding->singles, finding->err) != 0 || take_singles(finding) != 0 ||
        take_rest(finding) != 0) {
        return -1;
    }
    for (size_t i = 0; i < finding->singles->count; i++) {
        const struct dp_choice *choice = &finding->singles->choices[i];
        if (!finding->moved[choice->factor] && is_tried(finding->singles, i) && !finding->singles->once[i]) {
            add_without(finding->without, finding->search, choice);
        }
    }
    return 0;
}

int dp_search_run(const struct dp_search *search, json_t **ret_causes, json_t **ret_without,
                  json_t **ret_not_tried, struct dp_err *err)
{
    struct singles *singles = dp_alloc(1, sizeof(*singles));
    struct finding finding = {.search = search,
                              .singles = singles,
                              .moved = dp_alloc(search->factors->count + 1, sizeof(bool)),
                              .causes = json_array(),
                              .without = json_array(),
                              .not_tried = json_array(),
                              .err = err};
    add_choices(search, singles);
    const int rc = find(&finding);
    for (size_t i = 0; i <= singles->count; i++) {
        dp_trial_free(&singles->trials[i]);
    }
    free(singles);
    free(finding.moved);
    *ret_causes = finding.causes;
    *ret_without = finding.without;
    *ret_not_tried = finding.not_tried;
    return rc;
}

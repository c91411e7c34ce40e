/* SPDX-License-Identifier: Apache-2.0
 *
 * --budget: which cases are left out. The rule, which depends on nothing but catalogue and options (costs of
 * a former report among them): in every round each family, in the order of the price of its next case, offers
 * its cheapest case that was not offered yet; it is taken if it fits, with the start of its program and with
 * its backend's controls where they are not paid for yet. So every family is there before any has two, and
 * what is dear goes first.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"
#include "suite/plan/scheme.h"

struct offer {
    size_t index; /* into the catalogue */
    const struct dp_case *item;
    int64_t ns;
    size_t round; /* its place within the family, cheapest first */
};

static bool same_family(const struct dp_case *a, const struct dp_case *b)
{
    return strcmp(a->backend, b->backend) == 0 && strcmp(a->family, b->family) == 0;
}

static int compare_price(const struct offer *a, const struct offer *b)
{
    return a->ns != b->ns ? (a->ns > b->ns) - (a->ns < b->ns) : strcmp(a->item->id, b->item->id);
}

static int by_family(const void *a, const void *b)
{
    const struct offer *x = a;
    const struct offer *y = b;
    int order = strcmp(x->item->backend, y->item->backend);
    order = order ? order : strcmp(x->item->family, y->item->family);
    return order ? order : compare_price(x, y);
}

static int by_round(const void *a, const void *b)
{
    const struct offer *x = a;
    const struct offer *y = b;
    return x->round != y->round ? (x->round > y->round) - (x->round < y->round) : compare_price(x, y);
}

static size_t make_offers(const struct scheme *scheme, const struct dp_catalogue *catalogue,
                          const bool *chosen, struct offer *offers)
{
    size_t count = 0;
    for (size_t i = 0; i < catalogue->case_count; i++) {
        if (chosen[i]) {
            const struct dp_case *item = &catalogue->cases[i];
            offers[count++] = (struct offer){.index = i, .item = item, .ns = scheme_case_ns(scheme, item)};
        }
    }
    if (count == 0) {
        return 0;
    }
    qsort(offers, count, sizeof(*offers), by_family);
    for (size_t i = 1; i < count; i++) {
        offers[i].round = same_family(offers[i].item, offers[i - 1].item) ? offers[i - 1].round + 1 : 0;
    }
    qsort(offers, count, sizeof(*offers), by_round);
    return count;
}

/* What is paid for already, a flag for each case and program of the catalogue. */
struct paid {
    bool *cases, *programs;
};

static int64_t pay_program(const struct scheme *scheme, const struct dp_catalogue *catalogue,
                           const struct dp_program *program, struct paid *paid)
{
    struct use use = {0};
    for (size_t i = 0; i < catalogue->case_count; i++) {
        if (catalogue->cases[i].program == program) {
            scheme_add_use(scheme, &catalogue->cases[i], &use);
        }
    }
    for (size_t i = 0; i < catalogue->program_count; i++) {
        if (catalogue->programs[i] == program && !paid->programs[i]) {
            paid->programs[i] = true;
            return scheme_program_ns(scheme, program, use);
        }
    }
    return 0;
}

/* The price of taking the offer now; marks in `paid` what it pays for. */
static int64_t pay(const struct scheme *scheme, const struct dp_catalogue *catalogue,
                   const struct offer *offer, struct paid *paid)
{
    int64_t ns = offer->ns + pay_program(scheme, catalogue, offer->item->program, paid);
    for (size_t i = 0; i < catalogue->case_count; i++) {
        const struct dp_case *control = &catalogue->cases[i];
        if (control->control && !paid->cases[i] && strcmp(control->backend, offer->item->backend) == 0 &&
            scheme_takes(scheme, control)) {
            paid->cases[i] = true;
            ns += scheme_case_ns(scheme, control) + pay_program(scheme, catalogue, control->program, paid);
        }
    }
    return ns;
}

int budget_cut(const struct scheme *scheme, const struct dp_catalogue *catalogue, int64_t budget_ns,
               bool *chosen, struct dp_err *err)
{
    struct offer *offers = dp_alloc(catalogue->case_count, sizeof(*offers));
    const size_t count = make_offers(scheme, catalogue, chosen, offers);
    struct paid paid = {dp_alloc(catalogue->case_count, sizeof(bool)),
                        dp_alloc(catalogue->program_count, sizeof(bool))};
    struct paid before = {dp_alloc(catalogue->case_count, sizeof(bool)),
                          dp_alloc(catalogue->program_count, sizeof(bool))};
    int64_t spent = 0;
    int64_t least = INT64_MAX; /* price of the cheapest offer that did not fit */
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(before.cases, paid.cases, catalogue->case_count * sizeof(bool));
        memcpy(before.programs, paid.programs, catalogue->program_count * sizeof(bool));
        const int64_t price = pay(scheme, catalogue, &offers[i], &paid);
        if (spent + price <= budget_ns) {
            spent += price;
            taken++;
            continue;
        }
        memcpy(paid.cases, before.cases, catalogue->case_count * sizeof(bool));
        memcpy(paid.programs, before.programs, catalogue->program_count * sizeof(bool));
        chosen[offers[i].index] = false;
        least = price < least ? price : least;
    }
    free(before.cases);
    free(before.programs);
    free(paid.cases);
    free(paid.programs);
    free(offers);
    if (count > 0 && taken == 0) {
        return dp_err_set(
            err, DP_EXIT_USAGE,
            "the budget holds no case: the cheapest takes %.1f s with its controls and the start of "
            "its program",
            (double)least * 1e-9);
    }
    return 0;
}

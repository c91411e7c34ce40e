/* SPDX-License-Identifier: Apache-2.0
 *
 * From catalogue and options to the list of requests.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/text.h"
#include "suite/plan/plan.h"
#include "suite/plan/scheme.h"
#include "suite/plan/selector.h"

struct builder {
    struct dp_plan *plan;
    int case_index;
};

void plan_append(struct dp_plan *plan, const struct dp_request *request)
{
    if (plan->request_count >= plan->request_capacity) {
        plan->request_capacity = 2 * plan->request_count + 256;
        plan->requests = dp_realloc(plan->requests, plan->request_capacity, sizeof(*plan->requests));
    }
    plan->requests[plan->request_count++] = *request;
}

static void append(void *context, const struct dp_request *request)
{
    const struct builder *builder = context;
    struct dp_request own = *request;
    own.case_index = builder->case_index;
    plan_append(builder->plan, &own);
}

static bool has_backend(const struct dp_catalogue *catalogue, const bool *chosen, const char *backend)
{
    for (size_t i = 0; i < catalogue->case_count; i++) {
        if (chosen[i] && strcmp(catalogue->cases[i].backend, backend) == 0) {
            return true;
        }
    }
    return false;
}

/* Controls of every backend that takes part. In a second array: a control may not bring in others. */
static void add_controls(const struct scheme *scheme, const struct dp_catalogue *catalogue,
                         const bool *chosen, bool *ret_taken)
{
    for (size_t i = 0; i < catalogue->case_count; i++) {
        const struct dp_case *item = &catalogue->cases[i];
        ret_taken[i] = item->control
                           ? scheme_takes(scheme, item) && has_backend(catalogue, chosen, item->backend)
                           : chosen[i];
    }
}

/* Programs and cases of the catalogue are sorted by name, so by program, then by id. */
static void add_cases(struct dp_plan *plan, const bool *taken)
{
    const struct dp_catalogue *catalogue = plan->catalogue;
    plan->cases = dp_alloc(catalogue->case_count, sizeof(*plan->cases));
    for (size_t p = 0; p < catalogue->program_count; p++) {
        for (size_t i = 0; i < catalogue->case_count; i++) {
            if (taken[i] && catalogue->cases[i].program == catalogue->programs[p]) {
                plan->cases[plan->case_count++] = &catalogue->cases[i];
            }
        }
    }
}

/* The requests of cases [first, last) of one program, process by process. */
static void add_program(struct builder *builder, const struct scheme *scheme, size_t first, size_t last)
{
    struct share *shares = dp_alloc(last - first, sizeof(*shares));
    for (size_t i = first; i < last; i++) {
        shares[i - first] = scheme_share(scheme, builder->plan->cases[i]);
    }
    for (int process = 0; process <= scheme->fresh; process++) {
        for (size_t i = first; i < last; i++) {
            builder->case_index = (int)i;
            scheme_requests(scheme, &shares[i - first], process, append, builder);
        }
    }
    free(shares);
}

static void add_requests(struct dp_plan *plan, const struct scheme *scheme)
{
    struct builder builder = {.plan = plan};
    for (size_t first = 0; first < plan->case_count;) {
        const struct dp_program *program = plan->cases[first]->program;
        size_t last = first;
        struct use use = {0};
        while (last < plan->case_count && plan->cases[last]->program == program) {
            scheme_add_use(scheme, plan->cases[last], &use);
            plan->expected_ns += scheme_case_ns(scheme, plan->cases[last++]);
        }
        plan->expected_ns += scheme_program_ns(scheme, program, use);
        add_program(&builder, scheme, first, last);
        first = last;
    }
}

static void add_left_out(struct dp_plan *plan, const bool *selected, const bool *chosen)
{
    const struct dp_catalogue *catalogue = plan->catalogue;
    plan->left_out = dp_alloc(catalogue->case_count, sizeof(*plan->left_out));
    for (size_t i = 0; i < catalogue->case_count; i++) {
        if (selected[i] && !chosen[i]) {
            plan->left_out[plan->left_out_count++] = (struct dp_left_out){catalogue->cases[i].id, "budget"};
        }
    }
}

static bool has_request(const struct dp_plan *plan, const char *axis)
{
    for (size_t i = 0; i < plan->request_count; i++) {
        if (strcmp(plan->requests[i].axis, axis) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_case(const struct dp_plan *plan, const struct dp_axis *axis)
{
    for (size_t i = 0; i < plan->case_count; i++) {
        if (!plan->cases[i]->control && dp_axis_is_of(axis, plan->cases[i]->backend)) {
            return true;
        }
    }
    return false;
}

static bool has_capped(const struct dp_plan *plan, const struct scheme *scheme)
{
    for (size_t i = 0; i < plan->case_count; i++) {
        if (scheme_takes_caps(scheme, plan->cases[i])) {
            return true;
        }
    }
    return false;
}

static bool has_taker(const struct dp_plan *plan, const struct scheme *scheme, size_t axis)
{
    for (size_t i = 0; i < plan->case_count; i++) {
        if (scheme_takes_axis(scheme, plan->cases[i], axis)) {
            return true;
        }
    }
    return false;
}

/* An axis that no case of the plan takes is none of it, unless it was asked for. */
static void add_axes(struct dp_plan *plan, const struct scheme *scheme)
{
    plan->axes = dp_alloc(scheme->axis_count, sizeof(*plan->axes));
    for (size_t i = 0; i < scheme->axis_count; i++) {
        const struct dp_axis *axis = scheme->axes[i];
        const bool later = axis->reveals                      ? has_taker(plan, scheme, i)
                           : axis->extent == DP_EXTENT_DEVICE ? has_case(plan, axis)
                           : axis->extent == DP_EXTENT_ISA    ? has_capped(plan, scheme)
                                                              : false;
        if (scheme->asked[i] || later || has_request(plan, axis->name)) {
            plan->axes[plan->axis_count++] = axis->name;
        }
    }
    plan->seeds = scheme->seeds;
    plan->runs = scheme->sequential ? FIRST_RUNS : scheme->runs;
    plan->fresh = scheme->fresh;
}

int dp_plan_make(const struct dp_catalogue *catalogue, const struct dp_plan_options *options,
                 struct dp_plan *ret, struct dp_err *err)
{
    struct scheme scheme;
    if (scheme_make(options, &scheme, err) != 0) {
        return -1;
    }
    bool *selected = dp_alloc(catalogue->case_count, sizeof(bool));
    bool *chosen = dp_alloc(catalogue->case_count, sizeof(bool));
    bool *taken = dp_alloc(catalogue->case_count, sizeof(bool));
    int rc = dp_select(catalogue, &options->include, &options->exclude, selected, err);
    memcpy(chosen, selected, catalogue->case_count * sizeof(bool));
    if (rc == 0 && options->budget_ns > 0 && options->detect_rate <= 0.0) {
        rc = budget_cut(&scheme, catalogue, options->budget_ns, chosen, err);
    }
    if (rc == 0) {
        *ret = (struct dp_plan){.catalogue = catalogue, .options = *options};
        add_controls(&scheme, catalogue, chosen, taken);
        add_cases(ret, taken);
        add_left_out(ret, selected, chosen);
        add_requests(ret, &scheme);
        add_axes(ret, &scheme);
        if (options->price) {
            price_pairs(&scheme, ret);
        }
        rc = stages_begin(ret, &scheme, err);
        if (rc != 0) {
            dp_plan_free(ret);
        }
    }
    free(selected);
    free(chosen);
    free(taken);
    return rc;
}

static bool is_suspect(const size_t *suspects, size_t count, int case_index)
{
    for (size_t i = 0; i < count; i++) {
        if (suspects[i] == (size_t)case_index) {
            return true;
        }
    }
    return false;
}

/* All requests of the case's first pass: a difference between settings needs both sides again, and one
 * between processes the same processes. Their order, by program, process and case, is the first pass' own. */
void dp_plan_add_retest(struct dp_plan *plan, const size_t *suspects, size_t count, int round)
{
    const size_t old_count = plan->request_count;
    for (size_t i = 0; i < old_count; i++) {
        struct dp_request request = plan->requests[i];
        if (request.retest == 0 && !request.dropped && is_suspect(suspects, count, request.case_index)) {
            request.retest = round;
            plan_append(plan, &request);
        }
    }
    for (size_t i = 0; i < count; i++) {
        stages_complete(plan, suspects[i], round);
    }
}

void dp_plan_free(struct dp_plan *plan)
{
    free(plan->cases);
    free(plan->requests);
    for (size_t i = 0; i < plan->text_count; i++) {
        free(plan->texts[i]);
    }
    free(plan->texts);
    free(plan->left_out);
    free(plan->priced);
    free(plan->axes);
    *plan = (struct dp_plan){0};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the plan leaves open until the machine is known: axes device and isa.
 */
#include "suite/plan/later.h"

#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/scheme.h"

static const struct {
    const char *axis;
    void (*add)(const struct later *later, const struct dp_request *request);
} axes[] = {
    {"device", later_devices},
    {"isa", later_caps},
    {"isa*order", later_cap_orders},
};

const char *later_keep(struct dp_plan *plan, char *text)
{
    for (size_t i = 0; i < plan->text_count; i++) {
        if (strcmp(plan->texts[i], text) == 0) {
            free(text);
            return plan->texts[i];
        }
    }
    plan->texts = dp_realloc(plan->texts, plan->text_count + 1, sizeof(*plan->texts));
    return plan->texts[plan->text_count++] = text;
}

static bool has_axis(const struct dp_plan *plan, const char *axis)
{
    for (size_t i = 0; i < plan->axis_count; i++) {
        if (strcmp(plan->axes[i], axis) == 0) {
            return true;
        }
    }
    return false;
}

/* By name: then a program that cannot vary it says so. */
static bool is_asked(const struct dp_plan *plan, const char *axis)
{
    for (size_t i = 0; i < plan->options.axes.count; i++) {
        if (strcmp(plan->options.axes.items[i], axis) == 0) {
            return true;
        }
    }
    return false;
}

/* The base setting's requests as they are first planned; of a control nothing else is asked. */
static bool is_base(const struct dp_plan *plan, const struct dp_request *request)
{
    return strcmp(request->axis, "repeat") == 0 && request->retest == 0 &&
           request->seed_index < FIRST_SEEDS && !plan->cases[request->case_index]->control;
}

void dp_plan_add_later(struct dp_plan *plan, const json_t *hellos, const json_t *host)
{
    const size_t count = plan->request_count;
    const struct dp_level *level = dp_level_find(plan->options.level);
    for (size_t a = 0; a < sizeof(axes) / sizeof(axes[0]); a++) {
        const bool planned =
            has_axis(plan, axes[a].axis) && (!dp_axis_reveals(axes[a].axis) || is_asked(plan, axes[a].axis));
        for (size_t i = 0; i < count && planned; i++) {
            const struct dp_request request = plan->requests[i];
            const char *program = plan->cases[request.case_index]->program->name;
            const bool asked = is_asked(plan, axes[a].axis);
            const struct later later = {.plan = plan,
                                        .hello = json_object_get(hellos, program),
                                        .host = host,
                                        .asked = asked,
                                        .all = asked || (level && level->products)};
            if (is_base(plan, &request)) {
                axes[a].add(&later, &request);
            }
        }
    }
}

void dp_plan_add_orders(struct dp_plan *plan, const size_t *moved, size_t count)
{
    const struct dp_level *level = dp_level_find(plan->options.level);
    for (size_t i = 0; i < count; i++) {
        struct dp_request request = plan->requests[moved[i]];
        char *axis = dp_printf("%s*order", request.axis);
        const struct dp_axis *product = dp_axis_find(axis, &(struct dp_err){0});
        request.runs = order_runs(level, plan->cases[request.case_index], is_asked(plan, "order"));
        if (product && has_axis(plan, product->name) && !is_asked(plan, product->name) && request.runs > 0) {
            request.axis = product->name;
            request.set = "unit";
            request.setting = later_keep(plan, dp_printf("%s*" DP_ORDER_SUMMANDS, request.setting));
            plan_append(plan, &request);
        }
        free(axis);
    }
}

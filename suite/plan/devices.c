/* SPDX-License-Identifier: Apache-2.0
 *
 * Axis device: a process for each other device of the machine than the one that the base process opened.
 */
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"
#include "suite/plan/later.h"
#include "suite/plan/scheme.h"

#define AXIS "device"

/* The device with this number, or NULL. */
static const json_t *device_of(const json_t *devices, json_int_t ordinal)
{
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        if (dp_json_int(device, "ordinal", -1) == ordinal) {
            return device;
        }
    }
    return NULL;
}

/* Vendors' promises end at the architecture and the number of multiprocessors; another model may differ in
 * more.
 */
static bool same_class(const json_t *a, const json_t *b)
{
    static const char *const members[] = {"name", "compute_capability", "multiprocessors", "mig"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const json_t *left = json_object_get(a, members[i]), *right = json_object_get(b, members[i]);
        if (left != right && !json_equal(left, right)) {
            return false;
        }
    }
    return true;
}

static const char *why_dropped(struct dp_plan *plan, const json_t *base, const json_t *device)
{
    return same_class(base, device)
               ? NULL
               : later_keep(
                     plan,
                     dp_printf("another class of device than %lld: %.80s, compute capability %.20s, %lld "
                               "multiprocessors",
                               (long long)dp_json_int(base, "ordinal", 0),
                               dp_json_string(device, "name", "unnamed"),
                               dp_json_string(device, "compute_capability", "unknown"),
                               (long long)dp_json_int(device, "multiprocessors", 0)));
}

static void append(struct dp_plan *plan, struct dp_request request, json_int_t ordinal, const char *dropped)
{
    request.axis = AXIS;
    request.setting = request.device = dp_number_setting((int)ordinal);
    request.process = plan->fresh + 1 + (int)ordinal;
    request.runs = INVARIANT_RUNS;
    request.dropped = dropped;
    plan_append(plan, &request);
}

/* All devices for the inputs of one request at the base setting. */
static void add_for(struct dp_plan *plan, const struct dp_request *request, const json_t *hello)
{
    const json_t *base = json_object_get(hello, "device"), *devices = json_object_get(hello, "devices");
    const json_int_t own = dp_json_int(base, "ordinal", 0);
    if (json_array_size(devices) < 2) {
        append(plan, *request, own,
               later_keep(plan, dp_strdup("the machine has one device, there is none to compare "
                                          "it with")));
        return;
    }
    for (json_int_t ordinal = 0; ordinal <= DP_FRESH_MAX; ordinal++) {
        const json_t *device = device_of(devices, ordinal);
        if (device && ordinal != own) {
            append(plan, *request, ordinal, why_dropped(plan, base, device));
        }
    }
}

void later_devices(const struct later *later, const struct dp_request *request)
{
    if (strcmp(request->set, "wide") != 0) {
        return;
    }
    if (dp_json_array_has(json_object_get(later->hello, "axes"), AXIS)) {
        add_for(later->plan, request, later->hello);
    } else if (later->asked) {
        append(later->plan, *request, 0,
               later_keep(later->plan, dp_strdup("the program does not know axis 'device'")));
    }
}

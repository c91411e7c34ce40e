/* SPDX-License-Identifier: Apache-2.0
 *
 * What the whole run may have missed. Each case that repeats has a bound of its own on the rate of a
 * variation; that none of K such bounds is passed is less sure than that one is not.
 */
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/statistics.h"
#include "suite/judge/facts.h"

#define CONFIDENCE 0.95 /* unless the run was asked for another */

static int64_t comparisons_of(const json_t *entry)
{
    const json_t *repeat = json_object_get(json_object_get(entry, "axes"), "repeat");
    return dp_json_int(repeat, "comparisons", 0);
}

json_t *dp_strength_json(const struct dp_plan_options *options, const json_t *results, const json_t *measured)
{
    const double missed = 1.0 - (options->confidence > 0.0 ? options->confidence : CONFIDENCE);
    json_int_t cases = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        if (strcmp(dp_json_string(result, "observed", ""), "repeats") == 0) {
            const int64_t comparisons = comparisons_of(json_array_get(measured, i));
            least = comparisons < least ? comparisons : least;
            cases++;
        }
    }
    if (cases == 0) {
        return NULL;
    }
    return json_pack("{sI sI sf sf sf}", "cases", cases, "comparisons", (json_int_t)least, "missed", missed,
                     "rate", dp_rate_bound(least, missed), "rate_of_all",
                     dp_rate_bound(least, missed / (double)cases));
}

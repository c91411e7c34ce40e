/* SPDX-License-Identifier: Apache-2.0
 *
 * How many calls a run takes, and the middle one of the runs. The median, not the shortest: threads that wait
 * for each other, as those that add up in the order of arrival do, cost what they usually cost.
 */
#include "probes/kit/stopwatch.h"

#include <stdlib.h>

#include "probes/kit/shape.h"
#include "suite/base/statistics.h"
#include "suite/base/text.h"

#define RUN_NS 100000    /* that a run should take: against it the clock is nothing */
#define CALLS_MOST 10000 /* of one run; a device's queue holds fewer and waits */
#define WARM_UP 2

/* What a run changes is put back before the next run, not before the next call: a second sort has nothing
 * left to sort. Outputs are written anew by each call. */
static bool may_be_called_again(const struct kit_shape *shape)
{
    for (int i = 0; i < shape->count; i++) {
        if (kit_is_input(&shape->operand[i]) && kit_is_changed(&shape->operand[i])) {
            return false;
        }
    }
    return true;
}

void kit_stopwatch_start(struct kit_stopwatch *watch, const struct kit_shape *shape, int runs)
{
    *watch = (struct kit_stopwatch){
        .calls = 1, .several = may_be_called_again(shape), .ns = dp_alloc((size_t)runs, sizeof(double))};
}

int64_t kit_stopwatch_take(struct kit_stopwatch *watch, int run, int64_t ns)
{
    const double one = (double)ns / watch->calls;
    watch->ns[run] = one;
    watch->count = run + 1;
    if (watch->several && run < WARM_UP) {
        const double calls = one > 0 ? RUN_NS / one : CALLS_MOST;
        watch->calls = calls < 1 ? 1 : calls > CALLS_MOST ? CALLS_MOST : (int)calls;
    }
    return one < 1 ? 1 : (int64_t)one;
}

void kit_stopwatch_tell(const struct kit_stopwatch *watch, json_t *time)
{
    const int first = watch->count > WARM_UP ? WARM_UP : watch->count - 1;
    const struct dp_median median = dp_median_of(watch->ns + first, (size_t)(watch->count - first));
    json_object_set_new(time, "median_ns", json_real(median.value));
    json_object_set_new(time, "calls", json_integer(watch->calls));
}

void kit_stopwatch_free(struct kit_stopwatch *watch)
{
    free(watch->ns);
}

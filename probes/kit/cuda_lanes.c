/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs at once: each lane has a stream, all of them wait for one gate, and what is enqueued behind it lane
 * after lane starts together when it opens. Without the gate a short kernel would be done before the next is
 * launched.
 */
#include "probes/kit/cuda_lanes.h"

#include "probes/kit/cuda.h"
#include "probes/kit/cuda_occupy.h"
#include "probes/kit/outcome.h"

#define MAX_FOLLOWERS 4

static struct {
    CUstream stream[KIT_MAX_LANES]; /* NULL: not made yet */
    int current;
    int (*followers[MAX_FOLLOWERS])(void);
    int follower_count;
} lanes;

CUstream kit_cuda_stream(void)
{
    return lanes.stream[lanes.current];
}

int kit_cuda_lane(void)
{
    return lanes.current;
}

void kit_cuda_follow(int (*follower)(void))
{
    if (lanes.follower_count < MAX_FOLLOWERS) {
        lanes.followers[lanes.follower_count++] = follower;
    }
}

static int make_stream(int lane)
{
    return lanes.stream[lane]
               ? KIT_OK
               : kit_driver_check(kit_driver.cuStreamCreate(&lanes.stream[lane], CU_STREAM_NON_BLOCKING),
                                  "cuStreamCreate");
}

int kit_lanes_open(void)
{
    return make_stream(0);
}

static int enter(int lane)
{
    int rc = KIT_OK;
    lanes.current = lane;
    for (int i = 0; i < lanes.follower_count && !rc; i++) {
        rc = lanes.followers[i]();
    }
    return rc;
}

static int enqueue(int count, int (*run)(void *context, int lane), void *context)
{
    int rc = KIT_OK;
    for (int lane = 0; lane < count && !rc; lane++) {
        rc = enter(lane);
        rc = rc ? rc : kit_occupy_wait_behind_gate(lanes.stream[lane]);
        rc = rc ? rc : run(context, lane);
    }
    return rc;
}

/* Lanes that got nothing are done. */
static int wait_for(int count)
{
    int rc = KIT_OK;
    for (int lane = 0; lane < count; lane++) {
        const int one =
            kit_driver_check(kit_driver.cuStreamSynchronize(lanes.stream[lane]), "waiting for the device");
        rc = rc ? rc : one;
    }
    return rc;
}

/* What must be done also after a failure, whose text is kept. */
static int leave(int count, bool *ret_at_once)
{
    const int opened = kit_occupy_open_gate(ret_at_once);
    const int waited = wait_for(count);
    const int back = enter(0);
    return opened ? opened : waited ? waited : back;
}

int kit_lanes_at_once(int count, int (*run)(void *context, int lane), void *context, bool *ret_at_once)
{
    int rc = KIT_OK;
    for (int lane = 0; lane < count && !rc; lane++) {
        rc = make_stream(lane);
    }
    rc = rc ? rc : kit_occupy_close_gate();
    if (rc) {
        return rc;
    }
    rc = enqueue(count, run, context);
    const struct kit_outcome kept = *kit_outcome();
    const int left = leave(count, ret_at_once);
    if (rc) {
        kit_outcome_restore(&kept);
    }
    return rc ? rc : left;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Work beside the measured operation, and a gate before it. Work takes half of the multiprocessors, so that a
 * kernel that needs a whole one is not kept waiting, and is made anew before it reaches its limit. That it
 * began, and is still there, is looked at before each run: where launches wait for their kernels there is no
 * work beside another.
 */
#include "probes/kit/cuda_occupy.h"

#include <time.h>

#include "probes/kit/cuda.h"
#include "suite/base/clock.h"

#include "probes/kit/kernel.h"

#include "probes/kit/device.cu"

#define MS INT64_C(1000000)
#define LIMIT_NS (50 * MS)   /* of one kernel */
#define RENEW_NS (20 * MS)   /* what is older is made anew: a run has the rest of the limit */
#define START_NS (1000 * MS) /* a kernel that has not begun by then will not */
#define THREADS 1024
#define MEMORY_BYTES ((int64_t)256 << 20) /* more than any second-level cache holds */

static struct {
    CUstream stream;
    CUevent gate; /* after the kernel */
    CUfunction kernel;
    volatile struct kit_occupy_flags *flags; /* as the host sees them */
    CUdeviceptr device_flags;
    CUdeviceptr memory;
    int64_t bytes;
    bool launched;      /* and not waited for since */
    enum kit_busy work; /* of axis busy; KIT_IDLE: none, or the gate */
    int64_t since;
} beside;

static int open_once(void)
{
    void *flags = NULL;
    if (beside.flags) {
        return KIT_OK;
    }
    int rc = kit_cuda_kernel("kit_occupy", &beside.kernel);
    rc = rc ? rc
            : kit_driver_check(kit_driver.cuStreamCreate(&beside.stream, CU_STREAM_NON_BLOCKING),
                               "cuStreamCreate");
    rc = rc ? rc
            : kit_driver_check(kit_driver.cuEventCreate(&beside.gate, CU_EVENT_DISABLE_TIMING),
                               "cuEventCreate");
    rc = rc ? rc
            : kit_driver_check(
                  kit_driver.cuMemHostAlloc(&flags, sizeof(*beside.flags), CU_MEMHOSTALLOC_DEVICEMAP),
                  "cuMemHostAlloc");
    rc = rc ? rc
            : kit_driver_check(kit_driver.cuMemHostGetDevicePointer_v2(&beside.device_flags, flags, 0),
                               "cuMemHostGetDevicePointer");
    beside.flags = rc ? NULL : flags;
    return rc;
}

static int blocks(void)
{
    return kit_cuda_sm_count() > 1 ? kit_cuda_sm_count() / 2 : 1;
}

/* Ends what is under way and waits for it. */
static int stop(void)
{
    if (!beside.launched) {
        return KIT_OK;
    }
    beside.launched = false;
    beside.work = KIT_IDLE;
    beside.flags->end = 1;
    return kit_driver_check(kit_driver.cuStreamSynchronize(beside.stream), "waiting for other work");
}

static int take_memory(enum kit_busy work)
{
    const int64_t step = (int64_t)blocks() * THREADS * (int64_t)sizeof(struct kit_quad);
    const int64_t part = kit_cuda.available() / 8;
    const int64_t wanted = work == KIT_BUSY_COMPUTE ? step : part < MEMORY_BYTES ? part : MEMORY_BYTES;
    if (beside.memory) {
        return KIT_OK;
    }
    beside.bytes = wanted / step * step;
    return beside.bytes ? kit_driver_check(kit_driver.cuMemAlloc_v2(&beside.memory, (size_t)beside.bytes),
                                           "cuMemAlloc")
                        : kit_skip("memory", "no device memory for other work");
}

/* `quads` to stream through, 0: arithmetic; without memory it only waits. */
static int launch(int count, int threads, CUdeviceptr memory, int64_t quads)
{
    const struct kit_occupy_args args = {
        .flags = (volatile struct kit_occupy_flags *)(uintptr_t)beside.device_flags,
        .memory = (struct kit_quad *)(uintptr_t)memory,
        .quads = (i64)quads,
        .limit_ns = (u64)LIMIT_NS};
    beside.flags->end = 0;
    beside.flags->under_way = 0;
    const int rc = kit_cuda_launch_on(beside.stream, beside.kernel, count, threads, &args);
    beside.launched = !rc;
    beside.since = dp_now_ns();
    return rc;
}

static int launch_work(enum kit_busy work)
{
    const int64_t quads = work == KIT_BUSY_MEMORY ? beside.bytes / (int64_t)sizeof(struct kit_quad) : 0;
    const int rc = launch(blocks(), THREADS, beside.memory, quads);
    beside.work = rc ? KIT_IDLE : work;
    return rc;
}

static bool is_under_way(void)
{
    return beside.flags->under_way && kit_driver.cuStreamQuery(beside.stream) == CUDA_ERROR_NOT_READY;
}

static int await_start(void)
{
    const struct timespec moment = {.tv_nsec = 10000};
    while (!beside.flags->under_way && dp_now_ns() - beside.since < START_NS) {
        nanosleep(&moment, NULL);
    }
    if (is_under_way()) {
        return KIT_OK;
    }
    const int rc = stop();
    return rc ? rc
              : kit_skip("unsupported", "nothing runs beside another kernel here: CUDA_LAUNCH_BLOCKING or a "
                                        "profiler makes launches wait");
}

static int end(void)
{
    const int rc = stop();
    if (beside.memory) {
        kit_driver.cuMemFree_v2(beside.memory);
        beside.memory = 0;
    }
    return rc;
}

int kit_occupy_busy(enum kit_busy work)
{
    if (work == KIT_IDLE) {
        return end();
    }
    if (work == KIT_BUSY_PROCESS) {
        return kit_skip("unsupported", "another process on the cores is no work for a device");
    }
    if (beside.work == work && is_under_way() && dp_now_ns() - beside.since < RENEW_NS) {
        return KIT_OK;
    }
    int rc = open_once();
    rc = rc ? rc : stop();
    rc = rc ? rc : take_memory(work);
    rc = rc ? rc : launch_work(work);
    return rc ? rc : await_start();
}

int kit_occupy_close_gate(void)
{
    int rc = open_once();
    rc = rc ? rc : stop();
    rc = rc ? rc : launch(1, 1, 0, 0);
    return rc ? rc : kit_driver_check(kit_driver.cuEventRecord(beside.gate, beside.stream), "cuEventRecord");
}

int kit_occupy_wait_behind_gate(CUstream stream)
{
    return kit_driver_check(kit_driver.cuStreamWaitEvent(stream, beside.gate, 0), "cuStreamWaitEvent");
}

int kit_occupy_open_gate(bool *ret_held)
{
    *ret_held = kit_driver.cuStreamQuery(beside.stream) == CUDA_ERROR_NOT_READY;
    return stop();
}

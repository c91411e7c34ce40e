/* SPDX-License-Identifier: Apache-2.0
 *
 * The kit's loop under a clock: the backend's `fill` ends a check, for it puts back what the last run wrote.
 */
#include "probes/kit/tests/bench_loop.h"

#include <stdio.h>
#include <stdlib.h>

#include "probes/kit/outcome.h"
#include "suite/base/clock.h"

struct bench_sample bench_runs, bench_checks;
static const struct kit_backend *timed;
static int64_t ran_at; /* when the last run returned; 0: its check is over, or is not to be counted */
static int runs_done;  /* of this request */

void bench_take(struct bench_sample *sample, int64_t ns)
{
    if (sample->count < BENCH_SAMPLES) {
        sample->ns[sample->count++] = ns;
    }
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

double bench_median_ms(struct bench_sample *sample)
{
    qsort(sample->ns, (size_t)sample->count, sizeof(sample->ns[0]), by_value);
    return (double)sample->ns[sample->count / 2] * 1e-6;
}

double bench_gigabytes_per_second(size_t bytes, double ms)
{
    return (double)bytes / ms * 1e-6;
}

void bench_loop_clear(void)
{
    bench_runs.count = bench_checks.count = 0;
}

static int timed_fill(void *to, const struct kit_pattern *pattern, size_t bytes)
{
    if (ran_at) {
        bench_take(&bench_checks, dp_now_ns() - ran_at);
        ran_at = 0;
    }
    return timed->fill(to, pattern, bytes);
}

struct kit_backend bench_loop_backend(const struct kit_backend *base)
{
    struct kit_backend backend = *base;
    timed = base;
    backend.fill = timed_fill;
    return backend;
}

void bench_loop_ran(int64_t start)
{
    const int64_t now = dp_now_ns();
    bench_take(&bench_runs, now - start);
    ran_at = runs_done++ > 0 ? now : 0;
}

int bench_loop_serve(struct kit_session *session, const char *op)
{
    json_t *const message = json_pack(
        "{s:i, s:s, s:s, s:{}, s:n, s:s, s:s, s:i, s:n, s:s, s:s, s:s, s:s, s:i}", "id", 1, "case", "bench",
        "op", op, "params", "choice", "problem", "bench", "arithmetic", "direct", "bound", 1, "batch", "seed",
        "1/0", "set", "wide", "axis", "repeat", "setting", "", "runs", BENCH_RUNS);
    struct kit_request request;
    json_t *observation = NULL;
    kit_outcome_clear();
    runs_done = 0;
    ran_at = 0;
    int rc = kit_request_parse(message, &request);
    rc = rc ? rc : kit_session_serve(session, &request, &observation);
    json_decref(message);
    json_decref(observation);
    if (rc) {
        fprintf(stderr, "cannot measure '%s': %s\n", op, kit_outcome()->text);
    }
    return rc;
}

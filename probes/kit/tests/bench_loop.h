/* SPDX-License-Identifier: Apache-2.0
 *
 * What benchmarks of the kit's own loop share: samples of times, a backend that looks at the clock, and
 * requests served without a suite. A check is measured from the return of an operation's run to the first
 * byte that is put back for the next one.
 */
#ifndef KIT_TESTS_BENCH_LOOP_H
#define KIT_TESTS_BENCH_LOOP_H

#include "probes/kit/backend.h"
#include "probes/kit/session.h"

#define BENCH_ROUNDS 4 /* of kit and plain loops in turn, so that both see the same machine */
#define BENCH_RUNS 12  /* of one request */
#define BENCH_SAMPLES (BENCH_ROUNDS * BENCH_RUNS)

struct bench_sample {
    int64_t ns[BENCH_SAMPLES];
    int count;
};

void bench_take(struct bench_sample *sample, int64_t ns);
double bench_median_ms(struct bench_sample *sample); /* sorts it */
double bench_gigabytes_per_second(size_t bytes, double ms);

/* Of all requests since bench_loop_clear. The first run of a request is kept and digested, not checked. */
extern struct bench_sample bench_runs, bench_checks;
void bench_loop_clear(void);
/* `base`, which lives on, with a look at the clock where outputs are put back. */
struct kit_backend bench_loop_backend(const struct kit_backend *base);
/* An operation's run calls it last, with the time at which it began. */
void bench_loop_ran(int64_t start);
/* One request of BENCH_RUNS runs of the op named. KIT_OK, or a line on standard error. */
int bench_loop_serve(struct kit_session *session, const char *op);

#endif

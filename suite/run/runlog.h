/* SPDX-License-Identifier: Apache-2.0
 *
 * The run log FILE.log.jsonl beside -o FILE. First line {"plan": {options, catalogue_sha256, version,
 * environment, ending}}, then
 * {"hello": {program, message}} and {"request": n, "key": "...", "answer": {...}} as they come. A line is
 * written with one write(), so a killed run leaves at most one broken line, the last, which a resume drops.
 */
#ifndef DP_RUN_RUNLOG_H
#define DP_RUN_RUNLOG_H

#include "suite/base/err.h"
#include "suite/plan/plan.h"
#include "suite/run/runner.h"

struct dp_runlog;

/* Creates (truncates) the log and writes the plan line. `ending` says what decides the run's exit code, for
 * whoever resumes it; NULL: nothing does. Code 2 when it cannot be written. */
struct dp_runlog *dp_runlog_create(const char *path, const struct dp_plan *plan, const json_t *ending,
                                   struct dp_err *err);
/* What was given as `ending`, an empty object where nothing was. Owned. Code 65. */
json_t *dp_runlog_ending(const char *path, struct dp_err *err);
/* Reads the plan line of an existing log: options object (owned) and catalogue digest. Code 65. */
json_t *dp_runlog_options(const char *path, char ret_catalogue_sha256[65], struct dp_err *err);
/* Fills answers from an existing log made by the same plan and opens it for appending. Code 65 when it does
 * not fit. */
struct dp_runlog *dp_runlog_resume(const char *path, const struct dp_plan *plan, struct dp_answers *answers,
                                   struct dp_err *err);
/* A failed append (full disk) is kept and returned by dp_runlog_close; the run goes on. */
void dp_runlog_answer(struct dp_runlog *log, const struct dp_plan *plan, size_t request,
                      const json_t *answer);
void dp_runlog_hello(struct dp_runlog *log, const char *program, const json_t *message);
int dp_runlog_close(struct dp_runlog *log, struct dp_err *err);

#endif

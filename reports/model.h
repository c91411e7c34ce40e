/* SPDX-License-Identifier: Apache-2.0
 *
 * The one model of a report: a JSON document (schema/report.schema.json). Built here, read strictly here;
 * every renderer takes the document alone. Knows nothing of processes.
 */
#ifndef DP_REPORTS_MODEL_H
#define DP_REPORTS_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "suite/base/err.h"

#define DP_REPORT_SCHEMA_VERSION "1.0"

/* The parts a report is made of; all borrowed. `environment`, `plan`, `results` and `controls` go into the
 * body. */
struct dp_report_parts {
    const json_t *environment;
    const json_t *plan;
    const json_t *results;
    const json_t *controls;
    const json_t *measurements; /* the whole `measurements` object */
};
/* Adds summary, schema_version, tool and digest. Owned; NULL if the body leaves the canonical subset (a bug:
 * code 2). */
json_t *dp_report_make(const struct dp_report_parts *parts, struct dp_err *err);

/* Size limit, schema, digest equal to the body's, and parts that agree with each other. Code 65. `check` is
 * for who judges the report itself; `accept` takes a newer minor version too, whose members it does not know
 * are passed over. */
int dp_report_check(const json_t *report, struct dp_err *err);
int dp_report_accept(const json_t *report, struct dp_err *err);
/* Reads a file that dp_report_accept takes. Owned. */
json_t *dp_report_load(const char *path, struct dp_err *err);
/* Frees what each setting of each axis gave, most of a large report: for who compares reports. */
void dp_report_forget_settings(json_t *report);

/* The axes in the order of the design, ended by NULL: every list of them, also those of the schemas, is held
 * against this one by a test. */
extern const char *const dp_report_axes[];

/* Of body.results or measurements.cases the entry of this case, NULL: none. Borrowed. */
const json_t *dp_report_entry(const json_t *entries, const char *id);
/* Of an entry of body.results (or body.controls, for the first): is this what was observed; did it give a
 * verdict (repeats, varies, wrong); is its guarantee broken? */
bool dp_result_is(const json_t *result, const char *observed);
bool dp_result_ran(const json_t *result);
bool dp_result_broken(const json_t *result);
/* Are its results wrong under a capped instruction set, and not without? */
bool dp_result_wrong_under(const json_t *result);
/* Did any case of the backend give a verdict? */
bool dp_backend_ran(const json_t *results, const char *backend);

/* Of an entry of body.controls: it ought to vary and could not, so it says nothing; it lied, so the run is
 * not valid. */
bool dp_control_insensitive(const json_t *control);
bool dp_control_misbehaved(const json_t *control);

#endif

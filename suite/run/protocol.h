/* SPDX-License-Identifier: Apache-2.0
 *
 * Protocol 1, read strictly: what a program says is hostile until every member has been looked at. A checked
 * message is a copy that holds the known members only, so nothing unknown reaches the log, the judge or a
 * report.
 */
#ifndef DP_RUN_PROTOCOL_H
#define DP_RUN_PROTOCOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "suite/base/err.h"

#define DP_PROTOCOL 1
#define DP_LINE_LIMIT ((size_t)1 << 20) /* bytes of a line, newline not counted */
#define DP_CLASSES_LISTED 8
#define DP_CLASSES_COUNTED 1024 /* `distinct` stops counting here */

enum dp_message_type {
    DP_MESSAGE_HELLO,
    DP_MESSAGE_OBSERVATION,
    DP_MESSAGE_ORDER,
    DP_MESSAGE_SKIP,
    DP_MESSAGE_FAILURE,
    DP_MESSAGE_DONE,
    DP_MESSAGE_MAX
};

struct dp_message {
    enum dp_message_type type;
    json_int_t id; /* of all but hello; also of one that is wrong otherwise, -1: not known */
    json_t *body;  /* hello, or the answer without its id; NULL of done. Owned */
    bool last;     /* of done: the program can do no more */
};

/* Reads one line. `runs` of the request at hand bounds what an observation may claim. -1 with a text that
 * goes after "the program sent ". */
int dp_message_read(const char *line, size_t length, int runs, struct dp_message *ret, struct dp_err *err);

/* Checks an answer as it stands in a run log, also of type error. runs 0: not known. Owned copy, or NULL. */
json_t *dp_answer_check(const json_t *answer, int runs, struct dp_err *err);
/* Checks a hello message. Owned copy, or NULL. Does not look at the protocol's number. */
json_t *dp_hello_check(const json_t *message, struct dp_err *err);

/* Answers that the runner makes. Owned; `log` (may be NULL) is quoted in the answer. */
json_t *dp_answer_error(const char *reason, const char *text, const char *log);
json_t *dp_answer_skip(const char *reason, const char *text);

#endif

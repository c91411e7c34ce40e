/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake probe program: it computes nothing and answers, or misbehaves, exactly as the case's `op` says. The
 * real runner and the real judge are tested with it.
 */
#ifndef DP_TESTS_FAKE_H
#define DP_TESTS_FAKE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

struct request {
    const json_t *message, *params;
    json_int_t id;
    const char *axis, *setting, *set;
    int setting_number; /* of "4" or "16/15"; 0 for "" */
    int seed_index, runs;
    int served; /* requests that this process served before */
    FILE *out;
};

/* Which output the given run produces: equal numbers, equal bits. */
typedef uint64_t fake_value(const struct request *request, int run);
/* Changes the observation before it is sent. */
typedef void fake_edit(const struct request *request, json_t *observation, json_t *output);

/* An operation that answers. `act` (may be NULL) happens before the answer. */
struct fake {
    const char *name;
    fake_value *value; /* NULL: every run the same */
    fake_edit *edit;   /* NULL: none */
    void (*act)(const struct request *request);
    int (*answer)(const struct request *request); /* instead of an observation; 1: it sent `done` itself */
};

extern const struct fake fake_answers[]; /* ended by a NULL name */
extern const struct fake fake_damages[];

/* A number that follows from problem, seed, set and `run` alone. */
uint64_t fake_draw(const struct request *request, int run);
json_int_t fake_param(const struct request *request, const char *name, json_int_t fallback);
const char *fake_word(const struct request *request, const char *name, const char *fallback);
/* A whole observation of the request, and its only output (borrowed). */
json_t *fake_observation(const struct request *request, fake_value *value, json_t **ret_output);
void fake_send(const struct request *request, json_t *message); /* takes it over */
void fake_send_done(const struct request *request, json_int_t id);

#endif

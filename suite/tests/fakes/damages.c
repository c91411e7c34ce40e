/* SPDX-License-Identifier: Apache-2.0
 *
 * Fakes that break: they die, hang, or say what the protocol does not allow.
 */
#include "suite/tests/fakes/fake.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void act_signal(const struct request *request)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {{"segv", SIGSEGV}, {"abrt", SIGABRT}, {"ill", SIGILL}, {"kill", SIGKILL}};
    const char *name = fake_word(request, "signal", "segv");
    fprintf(stderr, "fakes: about to end by %s\n", name);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (strcmp(signals[i].name, name) == 0) {
            signal(signals[i].number, SIG_DFL); /* a sanitizer may have put its own handler there */
            raise(signals[i].number);
        }
    }
}

static void act_exit(const struct request *request)
{
    _exit((int)fake_param(request, "status", 0));
}

static void act_hang(const struct request *request)
{
    if (fake_param(request, "deaf", 0)) {
        signal(SIGTERM, SIG_IGN);
    }
    for (;;) {
        pause();
    }
}

static void act_flood(const struct request *request)
{
    static char bytes[65536];
    memset(bytes, 'y', sizeof(bytes));
    while (write(2, bytes, sizeof(bytes)) > 0) {
    }
}

/* A line of `megabytes` without an end. */
static void act_long_line(const struct request *request)
{
    static char bytes[65536];
    memset(bytes, ' ', sizeof(bytes));
    for (json_int_t i = 0; i < 16 * fake_param(request, "megabytes", 100); i++) {
        fwrite(bytes, 1, sizeof(bytes), request->out);
    }
    fflush(request->out);
}

static void act_close(const struct request *request)
{
    close(fileno(request->out));
    for (;;) {
        pause();
    }
}

/* One line as it is, from the case's `line`. */
static void act_line(const struct request *request)
{
    fprintf(request->out, "%s\n", fake_word(request, "line", "{"));
    fflush(request->out);
}

static void act_deep(const struct request *request)
{
    for (int i = 0; i < 500000; i++) {
        fputc('[', request->out);
    }
    fputc('\n', request->out);
    fflush(request->out);
}

static void act_bytes(const struct request *request)
{
    static const char bytes[] = "{\"type\":\"do\0ne\",\"x\":\"\xff\xfe\"}\n";
    fwrite(bytes, 1, sizeof(bytes) - 1, request->out);
    fflush(request->out);
}

static int no_answer(const struct request *request)
{
    return 0;
}

static int two_answers(const struct request *request)
{
    json_t *output;
    fake_send(request, fake_observation(request, NULL, &output));
    fake_send(request, fake_observation(request, NULL, &output));
    return 0;
}

static int other_id(const struct request *request)
{
    json_t *output;
    json_t *observation = fake_observation(request, NULL, &output);
    json_object_set_new(observation, "id", json_integer(request->id + 1000));
    fake_send(request, observation);
    return 0;
}

/* A whole answer, then more about the same request, at once or when the next one is out. */
static int chatter(const struct request *request)
{
    json_t *output;
    fake_send(request, fake_observation(request, NULL, &output));
    fake_send_done(request, request->id);
    if (fake_param(request, "late", 0)) {
        usleep(50000);
    }
    fake_send(request, fake_observation(request, NULL, &output));
    fake_send_done(request, request->id);
    return 1;
}

static json_t *class_at(json_t *output, size_t place)
{
    return json_array_get(json_object_get(output, "classes"), place);
}

/* What `lie` says: each breaks one rule of an observation. */
static void lie(const struct request *request, json_t *observation, json_t *output)
{
    const char *lie = fake_word(request, "lie", "");
    if (strcmp(lie, "sum") == 0) {
        json_object_set_new(class_at(output, 0), "runs", json_integer(request->runs + 1));
    } else if (strcmp(lie, "short-sum") == 0) {
        json_object_set_new(class_at(output, 0), "runs", json_integer(request->runs - 1));
    } else if (strcmp(lie, "sha256") == 0) {
        json_object_set_new(class_at(output, 0), "sha256", json_string("not a digest"));
    } else if (strcmp(lie, "distinct") == 0) {
        json_object_set_new(output, "distinct", json_integer(2));
    } else if (strcmp(lie, "negative") == 0) {
        json_object_set_new(output, "unwritten", json_integer(-1));
    } else if (strcmp(lie, "name-twice") == 0) {
        json_t *copy = json_deep_copy(output);
        json_array_append_new(json_object_get(observation, "outputs"), copy);
    } else if (strcmp(lie, "no-outputs") == 0) {
        json_object_set_new(observation, "outputs", json_array());
    } else if (strcmp(lie, "control") == 0) {
        json_object_set_new(observation, "chosen", json_string("a\033[2Jb"));
    } else if (strcmp(lie, "mismatch") == 0) {
        json_object_set_new(observation, "mismatch", json_pack("{s:i, s:s}", "runs", 1, "output", "y"));
    }
}

const struct fake fake_damages[] = {
    {.name = "signal", .act = act_signal},
    {.name = "exit", .act = act_exit},
    {.name = "hang", .act = act_hang},
    {.name = "flood-forever", .act = act_flood},
    {.name = "long-line", .act = act_long_line},
    {.name = "close-output", .act = act_close},
    {.name = "line", .act = act_line},
    {.name = "deep", .act = act_deep},
    {.name = "bytes", .act = act_bytes},
    {.name = "no-answer", .answer = no_answer},
    {.name = "two-answers", .answer = two_answers},
    {.name = "other-id", .answer = other_id},
    {.name = "chatter", .answer = chatter},
    {.name = "lie", .edit = lie},
    {.name = NULL},
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * The program: hello, then one answer per request until end of input. Requests come on DETPROBE_IN_FD and
 * answers go to DETPROBE_OUT_FD; without them standard input and output serve, so that a probe can be driven
 * by hand.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/kit/library.h"
#include "probes/kit/outcome.h"
#include "probes/kit/request.h"
#include "probes/kit/session.h"
#include "probes/kit/threads.h"

#define MAX_LINE ((size_t)1 << 20)
#define MAX_LIBRARIES 16
#define EXIT_LIBRARY_MISSING 127 /* as the loader itself ends a program without its libraries */
#define EXIT_FAULT 1
#define EXIT_PROTOCOL 2
#define EXIT_LOST 3 /* the device's context is gone: another process may do the rest */

/* A descriptor from the environment, or `fallback`. */
static int descriptor(const char *variable, int fallback)
{
    const char *const text = getenv(variable);
    char *end;
    if (!text || !*text) {
        return fallback;
    }
    const long value = strtol(text, &end, 10);
    return *end || value < 0 || value > 1 << 20 ? -1 : (int)value;
}

static int send_line(int fd, json_t *message)
{
    char *const text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    const size_t length = text ? strlen(text) : 0;
    if (!text) {
        return -1;
    }
    text[length] = '\n'; /* over the NUL: one write, one line */
    size_t done = 0;
    while (done < length + 1) {
        const ssize_t written = write(fd, text + done, length + 1 - done);
        if (written < 0 && errno != EINTR) {
            break;
        }
        done += written > 0 ? (size_t)written : 0;
    }
    free(text);
    return done == length + 1 ? 0 : -1;
}

static json_t *library_json(const struct kit_library *library)
{
    json_t *const item = json_pack("{s:s, s:s, s:s, s:s}", "role", library->role, "name", library->name,
                                   "version", library->version, "path", library->path);
    if (item && library->config[0]) {
        json_object_set_new(item, "config", json_string(library->config));
    }
    if (item && library->isa[0]) {
        json_object_set_new(item, "isa", json_string(library->isa));
    }
    return item;
}

/* What the program opened, and the OpenMP runtime in the process where there is one. */
static json_t *libraries_json(const struct kit_program *program)
{
    struct kit_library libraries[MAX_LIBRARIES + 1];
    json_t *const list = json_array();
    bool openmp = false;
    memset(libraries, 0, sizeof(libraries));
    int count = program->libraries ? program->libraries(libraries, MAX_LIBRARIES) : 0;
    for (int i = 0; i < count; i++) {
        openmp = openmp || strcmp(libraries[i].role, "openmp") == 0;
    }
    if (!openmp && kit_openmp_library(&libraries[count])) {
        count++;
    }
    for (int i = 0; i < count; i++) {
        json_array_append_new(list, library_json(&libraries[i]));
    }
    return list;
}

static bool has_choices(const struct op *op)
{
    return op->choices != NULL;
}

static bool has_reference(const struct op *op)
{
    return op->reference != NULL;
}

static bool offers(const struct kit_program *program, bool (*what)(const struct op *op))
{
    for (int i = 0; program->ops[i]; i++) {
        if (what(program->ops[i])) {
            return true;
        }
    }
    return false;
}

static json_t *hello(const struct kit_program *program, const struct kit_session *session)
{
    json_t *const axes =
        json_pack("[s, s, s, s, s, s, s]", "repeat", "fresh", "poison", "batch", "align", "isa", "price");
    if (offers(program, has_reference)) {
        json_array_append_new(axes, json_string("order"));
    }
    if (session->initial_threads > 0) {
        json_array_append_new(axes, json_string("threads"));
    }
    if (session->backend->busy) {
        json_array_append_new(axes, json_string("busy"));
    }
    if (session->backend->at_once || (session->backend->callers && program->concurrent)) {
        json_array_append_new(axes, json_string("concurrency"));
    }
    if (session->backend->ordinal) {
        json_array_append_new(axes, json_string("device"));
    }
    if (offers(program, has_choices)) {
        json_array_append_new(axes, json_string("algorithm"));
    }
    json_t *const message = json_pack("{s:s, s:s, s:i, s:o, s:o}", "type", "hello", "program", program->name,
                                      "protocol", 1, "axes", axes, "libraries", libraries_json(program));
    json_t *const environment = kit_float_json();
    if (environment) {
        json_object_set_new(message, "float_environment", environment);
    }
    if (session->backend->introduce) {
        session->backend->introduce(message);
    }
    return message;
}

static json_t *refusal(int rc, json_int_t id)
{
    const struct kit_outcome *outcome = kit_outcome();
    return rc == KIT_SKIPPED
               ? json_pack("{s:s, s:I, s:s, s:s}", "type", "skip", "id", id, "reason", outcome->reason,
                           "text", outcome->text)
               : json_pack("{s:s, s:I, s:s}", "type", "failure", "id", id, "text", outcome->text);
}

static int answer(struct kit_session *session, int out, const json_t *message)
{
    struct kit_request request;
    json_t *observation = NULL;
    kit_outcome_clear();
    int rc = kit_request_parse(message, &request);
    rc = rc ? rc : kit_session_serve(session, &request, &observation);
    json_t *const result = rc ? refusal(rc, request.id) : observation;
    json_t *const done = json_pack("{s:s, s:I}", "type", "done", "id", request.id);
    if (session->backend->lost && session->backend->lost()) {
        json_object_set_new(done, "last", json_true());
    }
    return send_line(out, result) || send_line(out, done);
}

/* Reads requests until end of input; returns the exit status. */
static int serve(struct kit_session *session, int in, int out)
{
    FILE *const stream = fdopen(in, "r");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    int status = stream ? 0 : EXIT_PROTOCOL;
    while (status == 0 && (length = getline(&line, &capacity, stream)) > 0) {
        json_error_t error;
        json_t *const message = (size_t)length <= MAX_LINE
                                    ? json_loadb(line, (size_t)length, JSON_REJECT_DUPLICATES, &error)
                                    : NULL;
        if (!json_is_object(message)) {
            fprintf(stderr, "%s: bad request: not one JSON object on a line\n", session->program->name);
            status = EXIT_PROTOCOL;
        } else if (answer(session, out, message)) {
            fprintf(stderr, "%s: cannot write an answer: %s\n", session->program->name, strerror(errno));
            status = EXIT_PROTOCOL;
        } else if (session->backend->lost && session->backend->lost()) {
            status = EXIT_LOST;
        }
        json_decref(message);
    }
    free(line);
    if (stream) {
        fclose(stream);
    }
    return status;
}

/* The stack did not open: a skip instead of hello says why, where it is more than a missing library. */
static int closed(const struct kit_program *program, int out)
{
    const struct kit_outcome *why = kit_outcome();
    fprintf(stderr, "%s\n", why->text); /* the suite says of which program */
    if (strcmp(why->reason, "library_missing") == 0) {
        return EXIT_LIBRARY_MISSING;
    }
    if (!why->reason[0]) {
        return EXIT_FAULT;
    }
    return send_line(out,
                     json_pack("{s:s, s:s, s:s}", "type", "skip", "reason", why->reason, "text", why->text))
               ? EXIT_PROTOCOL
               : 0;
}

#if __SIZEOF_POINTER__ == 8
_Static_assert(KIT_INTERFACE == 3 && sizeof(struct kit_program) == 72 && sizeof(struct op) == 88 &&
                   sizeof(struct kit_call) == 176 && sizeof(struct kit_shape) == 2832 &&
                   sizeof(struct kit_prepared) == 624 && sizeof(struct kit_cell) == 48 &&
                   sizeof(struct kit_library) == 968,
               "a struct of op.h changed: raise KIT_INTERFACE");
#endif

int kit_main_of(const struct kit_program *program, int interface)
{
    if (interface != KIT_INTERFACE) {
        fprintf(stderr, "compiled with op.h of interface %d, this detprobe has %d: compile it with its own\n",
                interface, KIT_INTERFACE);
        return EXIT_FAULT;
    }
    const int in = descriptor("DETPROBE_IN_FD", STDIN_FILENO);
    const int out = descriptor("DETPROBE_OUT_FD", STDOUT_FILENO);
    const struct kit_backend *const backend = program->memory ? program->memory : &kit_cpu;
    if (in < 0 || out < 0) {
        fprintf(stderr, "%s: bad DETPROBE_IN_FD or DETPROBE_OUT_FD: not a descriptor\n", program->name);
        return EXIT_PROTOCOL;
    }
    signal(SIGPIPE, SIG_IGN);
    kit_float_watch("main");
    if (program->open && program->open()) {
        return closed(program, out);
    }
    struct kit_session session;
    kit_session_init(&session, program, backend);
    const int status = send_line(out, hello(program, &session)) ? EXIT_PROTOCOL : serve(&session, in, out);
    if (status != EXIT_LOST) { /* what is lost cannot be released either */
        kit_session_drop(&session);
    }
    return status;
}

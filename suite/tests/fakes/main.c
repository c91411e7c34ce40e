/* SPDX-License-Identifier: Apache-2.0
 *
 * The fake program: request loop and observations.
 */
#include "suite/tests/fakes/fake.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LISTED 8
#define COUNTED 1024

json_int_t fake_param(const struct request *request, const char *name, json_int_t fallback)
{
    const json_t *value = json_object_get(request->params, name);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

const char *fake_word(const struct request *request, const char *name, const char *fallback)
{
    const char *value = json_string_value(json_object_get(request->params, name));
    return value ? value : fallback;
}

void fake_send(const struct request *request, json_t *message)
{
    json_dumpf(message, request->out, JSON_COMPACT);
    fputc('\n', request->out);
    fflush(request->out);
    json_decref(message);
}

void fake_send_done(const struct request *request, json_int_t id)
{
    fake_send(request, json_pack("{s:s, s:I}", "type", "done", "id", id));
}

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Of problem, seed, set and value alone. */
static uint64_t mix_request(const struct request *request, uint64_t value)
{
    static const char *const keys[] = {"problem", "seed", "set"};
    uint64_t state = mix(value);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *text = json_string_value(json_object_get(request->message, keys[i]));
        for (; text && *text; text++) {
            state = mix(state ^ (unsigned char)*text);
        }
    }
    return state;
}

uint64_t fake_draw(const struct request *request, int run)
{
    return mix_request(request, UINT64_C(0x6472617700000000) + (uint64_t)run);
}

/* 64 hex digits that depend on them. */
static void digest(const struct request *request, uint64_t value, char ret[65])
{
    uint64_t state = mix_request(request, value);
    for (int i = 0; i < 4; i++) {
        state = mix(state);
        snprintf(ret + 16 * i, 17, "%016llx", (unsigned long long)state);
    }
}

struct class
{
    uint64_t value;
    int runs, first_run;
};

static int classify(const struct request *request, fake_value *value, struct class *classes)
{
    int count = 0;
    for (int run = 0; run < request->runs; run++) {
        uint64_t now = value ? value(request, run) : 0;
        int place = 0;
        while (place < count && classes[place].value != now) {
            place++;
        }
        if (place == count && count < COUNTED) {
            classes[count++] = (struct class){now, 0, run};
        }
        if (place < count) {
            classes[place].runs++;
        }
    }
    return count;
}

static void add_mismatch(const struct request *request, json_t *observation, const struct class *classes,
                         int count)
{
    int largest = 0;
    for (int i = 0; i < count; i++) {
        largest = classes[i].runs > largest ? classes[i].runs : largest;
    }
    json_object_set_new(observation, "mismatch",
                        json_pack("{s:i, s:s, s:i, s:i, s:s, s:f, s:f, s:i, s:s}", "runs",
                                  request->runs - largest, "output", "y", "elements", 1, "of", 16, "max_ulp",
                                  "1", "max_abs", 1e-7, "max_rel", 1e-7, "first_index", 3, "kind",
                                  fake_word(request, "kind", "values")));
}

/* On axis price: what a call took, by the case's params `ns` and `calls`; every other round `jitter` times as
 * long. Without `ns` the program does not say. */
static void add_price(const struct request *request, json_t *observation)
{
    const json_int_t ns = fake_param(request, "ns", 0);
    if (strcmp(request->axis, "price") == 0 && ns > 0) {
        const json_int_t jitter = request->setting_number % 2 ? fake_param(request, "jitter", 1) : 1;
        json_t *time = json_object_get(observation, "time");
        json_object_set_new(time, "median_ns", json_real((double)(ns * jitter)));
        json_object_set_new(time, "calls", json_integer(fake_param(request, "calls", 1)));
    }
}

json_t *fake_observation(const struct request *request, fake_value *value, json_t **ret_output)
{
    static struct class classes[COUNTED];
    int count = classify(request, value, classes);
    json_t *list = json_array();
    for (int i = 0; i < count && i < LISTED; i++) {
        char sha256[65];
        digest(request, classes[i].value, sha256);
        json_array_append_new(list, json_pack("{s:s, s:i, s:i}", "sha256", sha256, "runs", classes[i].runs,
                                              "first_run", classes[i].first_run));
    }
    json_t *output = json_pack("{s:s, s:s, s:[i], s:i, s:o, s:i, s:s, s:f}", "name", "y", "dtype", "f32",
                               "shape", 16, "distinct", count, "classes", list, "unwritten", 0, "guard",
                               "intact", "error_over_bound", 0.25);
    json_t *ret = json_pack("{s:s, s:I, s:[o], s:s, s:{s:i, s:i, s:i}}", "type", "observation", "id",
                            request->id, "outputs", output, "chosen", "plain", "time", "first_ns", 2000,
                            "min_ns", 1000, "mean_ns", 1500);
    if (count > 1) {
        add_mismatch(request, ret, classes, count);
    }
    if (strstr(request->axis, "threads") != NULL) {
        json_object_set_new(ret, "threads", json_integer(request->setting_number));
    }
    add_price(request, ret);
    *ret_output = output;
    return ret;
}

static const struct fake *find(const char *name)
{
    const struct fake *const tables[] = {fake_answers, fake_damages};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const struct fake *at = tables[i]; at->name; at++) {
            if (strcmp(at->name, name) == 0) {
                return at;
            }
        }
    }
    return NULL;
}

/* `when` = "axis" or "axis:setting" confines a case's behaviour to that; elsewhere it repeats. */
static bool applies(const struct request *request)
{
    const char *when = fake_word(request, "when", NULL);
    if (!when) {
        return true;
    }
    size_t axis = strcspn(when, ":");
    return strlen(request->axis) == axis && strncmp(request->axis, when, axis) == 0 &&
           (!when[axis] || strcmp(request->setting, when + axis + 1) == 0);
}

static void serve(const struct request *request)
{
    static const struct fake repeats = {.name = "repeats"};
    const char *op = json_string_value(json_object_get(request->message, "op"));
    const struct fake *fake = op && applies(request) ? find(op) : &repeats;
    if (!fake) {
        fake_send(request, json_pack("{s:s, s:I, s:s}", "type", "failure", "id", request->id, "text",
                                     "the fake program knows no such op"));
        fake_send_done(request, request->id);
        return;
    }
    if (fake->act) {
        fake->act(request);
    }
    if (fake->answer) {
        if (!fake->answer(request)) {
            fake_send_done(request, request->id);
        }
        return;
    }
    json_t *output;
    json_t *observation = fake_observation(request, fake->value, &output);
    if (fake->edit) {
        fake->edit(request, observation, output);
    }
    fake_send(request, observation);
    fake_send_done(request, request->id);
}

static const char *text_of(const json_t *message, const char *key)
{
    const char *text = json_string_value(json_object_get(message, key));
    return text ? text : "";
}

static FILE *open_fd(const char *name, const char *mode)
{
    const char *number = getenv(name);
    FILE *file = number ? fdopen(atoi(number), mode) : NULL;
    if (!file) {
        fprintf(stderr, "fakes: %s is not a descriptor\n", name);
        exit(2);
    }
    return file;
}

/* With FAKE_CBWR a library like MKL, which nothing holds by itself, and which takes its branch, or refuses it
 * and chooses. */
static void add_branched(json_t *libraries)
{
    const char *mode = getenv("FAKE_CBWR"), *branch = getenv("MKL_CBWR");
    if (mode) {
        const char *isa = !branch ? "off" : strcmp(mode, "takes") == 0 ? branch : "auto";
        json_array_append_new(libraries,
                              json_pack("{s:s, s:s, s:s, s:s, s:s}", "role", "cblas", "name", "MKL",
                                        "version", "1.0", "path", "/nowhere/libmkl_rt.so", "isa", isa));
    }
}

/* With FAKE_ISA a second library, which can be capped and which takes its cap, ignores it, falls back to
 * Haswell, does not say what it runs on under it, or ends in SIGILL. Without a cap it runs on Zen. */
static void add_capped(json_t *libraries)
{
    const char *mode = getenv("FAKE_ISA"), *cap = getenv("OPENBLAS_CORETYPE");
    if (!mode) {
        return;
    }
    if (cap && strcmp(mode, "dies") == 0) {
        signal(SIGILL, SIG_DFL); /* a sanitizer may have put its own handler there */
        raise(SIGILL);
    }
    json_t *library = json_pack("{s:s, s:s, s:s, s:s}", "role", "cblas", "name", "OpenBLAS", "version", "1.0",
                                "path", "/nowhere/libblas.so");
    if (!cap || strcmp(mode, "mute") != 0) {
        const bool takes = cap && strcmp(mode, "takes") == 0, falls = cap && strcmp(mode, "falls back") == 0;
        json_object_set_new(library, "isa", json_string(takes ? cap : falls ? "Haswell" : "Zen"));
    }
    json_array_append_new(libraries, library);
}

int main(void)
{
    FILE *in = open_fd("DETPROBE_IN_FD", "r"), *out = open_fd("DETPROBE_OUT_FD", "w");
    struct request request = {.out = out};
    json_t *libraries = json_pack("[{s:s, s:s, s:s, s:s}]", "role", "fake", "name", "fakelib", "version",
                                  "1.0", "path", "/nowhere/libfake.so");
    add_capped(libraries);
    add_branched(libraries);
    fake_send(&request, json_pack("{s:s, s:s, s:i, s:[s,s,s,s,s,s], s:o}", "type", "hello", "program",
                                  "fakes", "protocol", 1, "axes", "repeat", "poison", "threads", "batch",
                                  "isa", "price", "libraries", libraries));
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, in) > 0) {
        json_t *message = json_loads(line, 0, NULL);
        const char *seed = strchr(text_of(message, "seed"), '/');
        request.message = message;
        request.params = json_object_get(message, "params");
        request.id = json_integer_value(json_object_get(message, "id"));
        request.axis = text_of(message, "axis");
        request.setting = text_of(message, "setting");
        request.set = text_of(message, "set");
        request.setting_number = atoi(request.setting);
        request.seed_index = seed ? atoi(seed + 1) : 0;
        request.runs = (int)json_integer_value(json_object_get(message, "runs"));
        serve(&request);
        request.served++;
        json_decref(message);
    }
    free(line);
    fclose(in);
    fclose(out);
    return 0;
}

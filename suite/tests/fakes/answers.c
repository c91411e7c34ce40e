/* SPDX-License-Identifier: Apache-2.0
 *
 * Fakes that keep to the protocol: what they claim to have seen is for the judge.
 */
#include "suite/tests/fakes/fake.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What varies by its order only does not vary where sums are exact. */
static bool sums_are_exact(const struct request *request)
{
    return strcmp(request->set, "exact") == 0;
}

static uint64_t each_run(const struct request *request, int run)
{
    return sums_are_exact(request) ? 0 : (uint64_t)run;
}

static uint64_t corrupts(const struct request *request, int run)
{
    return sums_are_exact(request) ? (uint64_t)run % 2 : 0;
}

/* One run in `period`, counted through the seeds: the same ones in every process. */
static uint64_t rarely(const struct request *request, int run)
{
    json_int_t period = fake_param(request, "period", 64);
    json_int_t number = (json_int_t)request->seed_index * request->runs + run;
    return !sums_are_exact(request) && number % period == fake_param(request, "at", 40) ? 1 : 0;
}

/* Each run by itself, one in `period` on average: drawn, but the same for the same seed. */
static uint64_t drawn(const struct request *request, int run)
{
    const uint64_t period = (uint64_t)fake_param(request, "period", 500);
    return !sums_are_exact(request) && fake_draw(request, run) % period == 0 ? 1 : 0;
}

/* The seed says which run of every 50 is the one. */
static uint64_t plant(const struct request *request, int run)
{
    return run % 50 == (7 + 11 * request->seed_index) % 50 ? 1 : 0;
}

static uint64_t first_run(const struct request *request, int run)
{
    return run == 0 && !sums_are_exact(request) ? 1 : 0;
}

static uint64_t by_process(const struct request *request, int run)
{
    return strcmp(request->axis, "fresh") == 0 ? 1 + (uint64_t)request->setting_number : 0;
}

static uint64_t above_two_threads(const struct request *request, int run)
{
    return strcmp(request->axis, "threads") == 0 && request->setting_number > 2 ? 1 : 0;
}

static uint64_t by_threads(const struct request *request, int run)
{
    return strcmp(request->axis, "threads") == 0 ? (uint64_t)request->setting_number : 0;
}

/* Varies in the runs of every thread setting above one, so that fewer than two settings repeat. */
static uint64_t repeats_alone(const struct request *request, int run)
{
    return strcmp(request->axis, "threads") == 0 && request->setting_number > 1 ? (uint64_t)run : 0;
}

static uint64_t by_batch(const struct request *request, int run)
{
    return strcmp(request->axis, "batch") == 0 && request->setting_number >= 16 ? 1 : 0;
}

static uint64_t by_poison(const struct request *request, int run)
{
    return strcmp(request->axis, "poison") == 0 && strcmp(request->setting, "nan") == 0 ? 1 : 0;
}

/* Other kernels give other bits. */
static uint64_t by_cap(const struct request *request, int run)
{
    return getenv("OPENBLAS_CORETYPE") ? 1 : 0;
}

/* Only while a file does not exist that it then makes: a difference that never comes again. */
static uint64_t once(const struct request *request, int run)
{
    static int varies = -1;
    const char *path = getenv("FAKE_ONCE");
    if (varies < 0) {
        int fd = path ? open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;
        varies = fd >= 0;
        close(fd);
    }
    return varies ? each_run(request, run) : 0;
}

static void edit_number(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

static void unwritten(const struct request *request, json_t *observation, json_t *output)
{
    edit_number(output, "unwritten", json_integer(fake_param(request, "elements", 3)));
}

static void guard_broken(const struct request *request, json_t *observation, json_t *output)
{
    edit_number(output, "guard", json_string("broken"));
}

static void out_of_bound(const struct request *request, json_t *observation, json_t *output)
{
    edit_number(output, "error_over_bound", json_real(3.5));
}

static void bits_only(const struct request *request, json_t *observation, json_t *output)
{
    json_object_del(output, "unwritten");
    json_object_del(output, "guard");
    json_object_del(output, "error_over_bound");
}

static void one_thread(const struct request *request, json_t *observation, json_t *output)
{
    edit_number(observation, "threads", json_integer(1));
}

static void other_choice(const struct request *request, json_t *observation, json_t *output)
{
    if (strcmp(request->axis, "fresh") == 0) {
        edit_number(observation, "chosen", json_string("other"));
    }
}

/* "NVIDIA_TF32_OVERRIDE=0 CUBLAS_WORKSPACE_CONFIG unset" as chosen, and the process as its threads. */
static void tell_variables(const struct request *request, json_t *observation, json_t *output)
{
    static const char *const names[] = {"NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG"};
    char text[200] = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        const size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s%s%s", i ? " " : "", names[i], value ? "=" : " unset",
                 value ? value : "");
    }
    edit_number(observation, "chosen", json_string(text));
    edit_number(observation, "threads", json_integer(getpid()));
}

static void be_slow(const struct request *request)
{
    json_int_t ms = fake_param(request, "ms", 20) * request->runs;
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
}

/* Prints `megabytes` to standard output. */
static void flood(const struct request *request)
{
    static char line[65536];
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    for (json_int_t i = 0; i < 16 * fake_param(request, "megabytes", 200); i++) {
        ssize_t ignored = write(1, line, sizeof(line));
        (void)ignored;
    }
}

/* A child that outlives the program, holds all its descriptors, and with `setsid` leaves its group. */
static void leave_child(const struct request *request)
{
    if (fork() == 0) {
        if (fake_param(request, "setsid", 0)) {
            setsid();
            signal(SIGTERM, SIG_IGN);
            if (fork() > 0) {
                _exit(0);
            }
        }
        sleep(1000);
        _exit(0);
    }
}

static int skip(const struct request *request)
{
    fake_send(request,
              json_pack("{s:s, s:I, s:s, s:s}", "type", "skip", "id", request->id, "reason",
                        fake_word(request, "reason", "unsupported"), "text", "the fake has no such"));
    return 0;
}

static int failure(const struct request *request)
{
    fake_send(request, json_pack("{s:s, s:I, s:s}", "type", "failure", "id", request->id, "text",
                                 "the fake could not"));
    return 0;
}

const struct fake fake_answers[] = {
    {.name = "repeats"},
    {.name = "varies", .value = each_run},
    {.name = "corrupts", .value = corrupts},
    {.name = "rarely", .value = rarely},
    {.name = "drawn", .value = drawn},
    {.name = "plant", .value = plant},
    {.name = "first-call", .value = first_run},
    {.name = "fresh", .value = by_process},
    {.name = "fresh-choice", .value = by_process, .edit = other_choice},
    {.name = "above-two-threads", .value = above_two_threads},
    {.name = "by-threads", .value = by_threads},
    {.name = "repeats-alone", .value = repeats_alone},
    {.name = "by-batch", .value = by_batch},
    {.name = "by-poison", .value = by_poison},
    {.name = "by-cap", .value = by_cap},
    {.name = "once", .value = once},
    {.name = "unwritten", .edit = unwritten},
    {.name = "guard-broken", .edit = guard_broken},
    {.name = "out-of-bound", .edit = out_of_bound},
    {.name = "bits-only", .edit = bits_only},
    {.name = "ignores-threads", .value = by_threads, .edit = one_thread},
    {.name = "variables", .edit = tell_variables},
    {.name = "slow", .act = be_slow},
    {.name = "flood", .act = flood},
    {.name = "leave-child", .act = leave_child},
    {.name = "skip", .answer = skip},
    {.name = "failure", .answer = failure},
    {.name = NULL},
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting, commanding and ending ranks. While they start, they open the program's pipes by way of /proc
 * (their mpirun hands on no descriptors); afterwards each side has its ends alone, and sees the other's end.
 */
#include "probes/mpi/world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probes/mpi/child.h"
#include "probes/mpi/shared.h"

enum { END_MS = 5000 }; /* for ranks to end by themselves, then for their mpirun to end them */

struct world {
    const struct mpi_library *library;
    int ranks;
    pid_t pid; /* of mpirun; 0: there is none */
    int log;   /* what mpirun and the ranks say */
    int wake[BOARD_MAX_RANKS], answer;
    struct board *board;
    int64_t used; /* by a clock of uses */
    char said[2048];
    size_t said_length;
    const char *choices[BOARD_MAX_CHOICES];
};

static struct world worlds[SHARED_BOARDS];

/* --- ending --- */

static void close_one(int *descriptor)
{
    if (*descriptor >= 0) {
        close(*descriptor);
        *descriptor = -1;
    }
}

/* Ranks that wait see the end of their pipes. */
static void dismiss(struct world *world)
{
    for (int i = 0; i < world->ranks; i++) {
        close_one(&world->wake[i]);
    }
    close_one(&world->answer);
}

/* Passes on to our own log what was said, and keeps the beginning for a failure's text. False at the end. */
static bool listen(struct world *world)
{
    char text[1024];
    const ssize_t got = read(world->log, text, sizeof(text));
    if (got > 0) {
        const size_t room = sizeof(world->said) - 1 - world->said_length;
        const size_t kept = (size_t)got < room ? (size_t)got : room;
        memcpy(world->said + world->said_length, text, kept);
        world->said_length += kept;
        world->said[world->said_length] = '\0';
        fwrite(text, 1, (size_t)got, stderr);
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until mpirun and all that it started have closed their output; false if they take too long, also by
 * talking. */
static bool has_ended(struct world *world)
{
    struct pollfd log = {.fd = world->log, .events = POLLIN};
    const int64_t end = now_ms() + END_MS;
    for (int64_t left = END_MS; left > 0 && poll(&log, 1, (int)left) > 0; left = end - now_ms()) {
        if (!listen(world)) {
            return true;
        }
    }
    return false;
}

static void end(struct world *world)
{
    static const int signals[] = {0, SIGTERM, SIGKILL};
    if (world->pid == 0) {
        return;
    }
    dismiss(world);
    for (int i = 0; i < 3 && (i == 0 || kill(world->pid, signals[i]) == 0) && !has_ended(world); i++) {
    }
    kill(world->pid, SIGKILL);
    waitpid(world->pid, NULL, 0);
    close_one(&world->log);
    world->pid = 0;
}

static void end_all(void)
{
    for (int i = 0; i < SHARED_BOARDS; i++) {
        if (worlds[i].pid) {
            dismiss(&worlds[i]); /* all of them, so that they end together */
        }
    }
    for (int i = 0; i < SHARED_BOARDS; i++) {
        end(&worlds[i]);
    }
}

/* --- commanding --- */

/* The world is lost: ends what is left of it, for ranks may wait for one that is gone. `why` NULL: as mpirun
 * says. */
static int lose(struct world *world, const char *why)
{
    kill(world->pid, SIGTERM);
    end(world);
    return kit_fail("%s, %d ranks: %s%.300s", world->library->title, world->ranks,
                    why ? "" : "mpirun ended: ", why ? why : child_words(world->said));
}

/* Takes answers; negative if one was a failure. */
static int take_answers(struct world *world)
{
    char answers[BOARD_MAX_RANKS];
    const ssize_t got = read(world->answer, answers, sizeof(answers));
    for (ssize_t i = 0; i < got; i++) {
        if (answers[i] != BOARD_DONE) {
            return -1;
        }
    }
    return got > 0 ? (int)got : 0;
}

/* Waits for an answer of every rank. */
static int await(struct world *world)
{
    enum { ANSWER, LOG };
    struct pollfd ends[] = {{.fd = world->answer, .events = POLLIN}, {.fd = world->log, .events = POLLIN}};
    int answers = 0;
    while (answers < world->ranks) {
        if (poll(ends, 2, -1) < 0 && errno != EINTR) {
            return lose(world, strerror(errno));
        }
        const int more = ends[ANSWER].revents & POLLIN ? take_answers(world) : 0;
        if (more < 0) {
            return lose(world, world->board->failure);
        }
        answers += more;
        if (ends[ANSWER].revents & POLLHUP) {
            ends[ANSWER].fd = -1; /* no rank is left; their mpirun says why */
        }
        if (more == 0 && ends[LOG].revents && !listen(world)) {
            return lose(world, NULL);
        }
    }
    return KIT_OK;
}

static int command(struct world *world, enum board_command what, enum board_call call)
{
    world->said_length = 0;
    world->said[0] = '\0';
    world->board->command = what;
    world->board->call = call;
    for (int i = 0; i < world->ranks; i++) {
        if (write(world->wake[i], "", 1) != 1) {
            return has_ended(world), lose(world, NULL);
        }
    }
    return await(world);
}

int world_do(struct world *world, enum board_call call, const char *choice, int64_t placement,
             const struct board_step *steps, int count)
{
    struct board *board = world->board;
    if (count > BOARD_MAX_STEPS) {
        return kit_fail("%d calls in one run are more than %d", count, BOARD_MAX_STEPS);
    }
    snprintf(board->choice, sizeof(board->choice), "%s", choice ? choice : "");
    board->placement = placement;
    board->step_count = count;
    memcpy(board->steps, steps, (size_t)count * sizeof(*steps));
    return command(world, BOARD_DO, call);
}

/* --- starting --- */

/* The ends that ranks open, and close_theirs when all have. */
struct theirs {
    int wake[BOARD_MAX_RANKS], answer;
};

static void close_theirs(struct theirs *theirs, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        close_one(&theirs->wake[i]);
    }
    close_one(&theirs->answer);
}

static bool make_pipe(int *reader, int *writer)
{
    int ends[2] = {-1, -1};
    const bool made = pipe2(ends, O_CLOEXEC) == 0;
    *reader = ends[0];
    *writer = ends[1];
    return made;
}

static bool make_pipes(struct world *world, struct theirs *theirs)
{
    bool made = make_pipe(&world->answer, &theirs->answer);
    for (int i = 0; i < world->ranks; i++) {
        made = make_pipe(&theirs->wake[i], &world->wake[i]) && made;
        world->board->wake[i] = theirs->wake[i];
    }
    world->board->answer = theirs->answer;
    return made;
}

static int start(struct world *world, const struct mpi_library *library, int ranks)
{
    struct theirs theirs;
    char count[16];
    const int number = (int)(world - worlds);
    *world = (struct world){.library = library, .ranks = ranks, .board = shared_board(number)};
    memset(world->board, 0, sizeof(*world->board));
    world->board->ranks = ranks;
    snprintf(count, sizeof(count), "%d", ranks);
    const char *const argv[] = {library->launcher,          "-n", count, library->rank, shared_file(),
                                shared_board_place(number), NULL};
    int rc = make_pipes(world, &theirs) ? KIT_OK : kit_fail("cannot make pipes: %s", strerror(errno));
    const pid_t pid = rc ? -1 : child_start(argv, &world->log);
    if (pid > 0) {
        world->pid = pid;
        rc = await(world);
    } else {
        rc = rc ? rc : kit_fail("cannot start '%s': %s", library->launcher, strerror(errno));
        dismiss(world);
    }
    close_theirs(&theirs, ranks);
    return rc;
}

/* The one of these ranks, else a place that is free or was used longest ago. */
static struct world *choose(const struct mpi_library *library, int ranks)
{
    struct world *oldest = &worlds[0];
    for (int i = 0; i < SHARED_BOARDS; i++) {
        if (worlds[i].pid && worlds[i].library == library && worlds[i].ranks == ranks) {
            return &worlds[i];
        }
        if (worlds[i].pid ? oldest->pid && worlds[i].used < oldest->used : oldest->pid != 0) {
            oldest = &worlds[i];
        }
    }
    end(oldest);
    return oldest;
}

int world_of(const char *library, int64_t ranks, struct world **ret)
{
    static int64_t uses;
    const struct mpi_library *found;
    if (ranks < 2 || ranks > BOARD_MAX_RANKS) {
        return kit_fail("bad param 'ranks': from 2 to %d", BOARD_MAX_RANKS);
    }
    int rc = mpi_library_find(library, &found);
    if (rc) {
        return rc;
    }
    struct world *world = choose(found, (int)ranks);
    if (world->pid == 0) {
        rc = start(world, found, (int)ranks);
    }
    if (uses++ == 0) {
        atexit(end_all);
    }
    world->used = uses;
    *ret = world;
    return rc;
}

int world_choices(const char *library, int64_t ranks, enum board_call call, const char *const **ret_names,
                  int *ret_count)
{
    struct world *world;
    int rc = world_of(library, ranks, &world);
    rc = rc ? rc : command(world, BOARD_LIST, call);
    if (rc) {
        return rc;
    }
    *ret_count = world->board->choice_count;
    for (int i = 0; i < *ret_count; i++) {
        world->choices[i] = world->board->choices[i];
    }
    *ret_names = world->choices;
    return KIT_OK;
}

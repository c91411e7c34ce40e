/* SPDX-License-Identifier: Apache-2.0
 *
 * One rank. Built once for each MPI, started by its mpirun, commanded through the board (board.h). Which
 * algorithm a collective takes is set as a user sets it, by the library's control variable, but through MPI's
 * tools interface (MPI-4.1, section 15.3): ranks that run already take another one.
 *
 * usage: rank MEMORY BOARD     the file to map and where in it the board is
 *        rank --about          says the version of the library and its file
 */
#include <mpi.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "probes/mpi/board.h"

/* --- what the library calls its algorithms --- */

/* The control variable of a call's algorithm. Its values' names are the library's own list where it gives
 * one, else `words`, from 0; 0 is the library's own choice. */
struct variable {
    const char *name;
    const char *words[BOARD_MAX_CHOICES];
};

#ifdef OPEN_MPI
static const struct variable variables[BOARD_CALLS] = {
    [BOARD_ALLREDUCE] = {"coll_tuned_allreduce_algorithm", {0}},
    [BOARD_IALLREDUCE] = {"coll_libnbc_iallreduce_algorithm", {0}},
    [BOARD_REDUCE] = {"coll_tuned_reduce_algorithm", {0}},
    [BOARD_REDUCE_SCATTER] = {"coll_tuned_reduce_scatter_block_algorithm", {0}},
};
#else /* MPICH numbers them in the order in which the variable's description has them */
static const struct variable variables[BOARD_CALLS] = {
    [BOARD_ALLREDUCE] = {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM",
                         {"auto", "nb", "smp", "recursive_doubling", "reduce_scatter_allgather", "tree",
                          "recexch", "ring", "k_reduce_scatter_allgather"}},
    [BOARD_IALLREDUCE] = {"MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM",
                          {"auto", "sched_auto", "sched_naive", "sched_smp", "sched_recursive_doubling",
                           "sched_reduce_scatter_allgather", "tsp_recexch_single_buffer",
                           "tsp_recexch_multiple_buffer", "tsp_tree", "tsp_ring",
                           "tsp_recexch_reduce_scatter_recexch_allgatherv"}},
    [BOARD_REDUCE] = {"MPIR_CVAR_REDUCE_INTRA_ALGORITHM",
                      {"auto", "binomial", "nb", "smp", "reduce_scatter_gather"}},
    [BOARD_REDUCE_SCATTER] = {"MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM",
                              {"auto", "noncommutative", "recursive_doubling", "pairwise",
                               "recursive_halving", "nb"}},
};
#endif

static struct {
    int rank, ranks;
    char *memory;
    struct board *board;
    MPI_Comm comm; /* that the choice in force holds for */
    int call;      /* of that choice */
    char choice[BOARD_WORD];
    int64_t placement;
    cpu_set_t cores; /* that this process may use */
    void *scratch;
    size_t scratch_bytes;
} self = {.comm = MPI_COMM_NULL};

/* --- failures --- */

/* Keeps the text for the program; returns false. */
static bool refuse(const char *what, const char *why)
{
    snprintf(self.board->failure, sizeof(self.board->failure), "%s: %s", what, why);
    return false;
}

static bool check(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS) {
        return true;
    }
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
        snprintf(text, sizeof(text), "error %d", code);
    }
    return refuse(what, text);
}

/* --- algorithms --- */

struct knob {
    int index;
    MPI_T_enum values;
    char description[4096];
};

static bool find_knob(const char *name, struct knob *ret)
{
    char same[128];
    int length = sizeof(same), description = sizeof(ret->description), verbosity, bind, scope;
    MPI_Datatype type;
    return name && MPI_T_cvar_get_index(name, &ret->index) == MPI_SUCCESS &&
           MPI_T_cvar_get_info(ret->index, same, &length, &verbosity, &type, &ret->values, ret->description,
                               &description, &bind, &scope) == MPI_SUCCESS &&
           type == MPI_INT;
}

/* Does a description that has "name   - what it does" for each value have this one? */
static bool describes(const char *description, const char *word)
{
    for (const char *at = strstr(description, word); at; at = strstr(at + 1, word)) {
        const char *after = at + strlen(word);
        const size_t blanks = strspn(after, " ");
        if (blanks > 0 && after[blanks] == '-') {
            return true;
        }
    }
    return false;
}

/* The i-th value and its name, into `word`; false behind the last. */
static bool value_at(const struct variable *variable, const struct knob *knob, int i, int *ret_value,
                     char word[BOARD_WORD])
{
    int length = BOARD_WORD, count;
    if (knob->values == MPI_T_ENUM_NULL) {
        *ret_value = i;
        snprintf(word, BOARD_WORD, "%s",
                 i < BOARD_MAX_CHOICES && variable->words[i] ? variable->words[i] : "");
        return word[0] && describes(knob->description, word);
    }
    return MPI_T_enum_get_info(knob->values, &count, NULL, NULL) == MPI_SUCCESS && i < count &&
           MPI_T_enum_get_item(knob->values, i, ret_value, word, &length) == MPI_SUCCESS;
}

/* Fills the board's choices; the value 0 is none of them. */
static void list_choices(void)
{
    struct board *board = self.board;
    const struct variable *variable = &variables[board->call];
    struct knob knob;
    int value;
    board->choice_count = 0;
    for (int i = 0; find_knob(variable->name, &knob) && board->choice_count < BOARD_MAX_CHOICES &&
                    value_at(variable, &knob, i, &value, board->choices[board->choice_count]);
         i++) {
        board->choice_count += value != 0;
    }
}

static bool find_value(const struct variable *variable, const struct knob *knob, const char *choice, int *ret)
{
    char word[BOARD_WORD];
    for (int i = 0; value_at(variable, knob, i, ret, word); i++) {
        if (strcmp(word, choice) == 0) {
            return true;
        }
    }
    return refuse(choice, "the library has no such algorithm");
}

/* Gives the call's variable the value of that name; "": the one that it had at first, which may be the
 * user's. */
static bool set_choice(int call, const char *choice)
{
    static struct {
        bool known;
        int value;
    } first[BOARD_CALLS];
    const struct variable *variable = &variables[call];
    struct knob knob;
    MPI_T_cvar_handle handle;
    int count, value, written = -1;
    if (!find_knob(variable->name, &knob)) {
        return !choice[0] || refuse(choice, "the library has no variable for it");
    }
    if (MPI_T_cvar_handle_alloc(knob.index, NULL, &handle, &count) != MPI_SUCCESS ||
        (!first[call].known && MPI_T_cvar_read(handle, &first[call].value) != MPI_SUCCESS)) {
        return refuse(variable->name, "cannot be read");
    }
    first[call].known = true;
    value = first[call].value;
    const bool taken = (!choice[0] || find_value(variable, &knob, choice, &value)) &&
                       (MPI_T_cvar_write(handle, &value) == MPI_SUCCESS || refuse(choice, "cannot be set")) &&
                       MPI_T_cvar_read(handle, &written) == MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    return taken && (written == value || refuse(choice, "was not taken"));
}

/* Open MPI looks at its variables when a communicator is made, so each choice gets one of its own. */
static bool take_choice(void)
{
    const struct board *board = self.board;
    if (self.comm != MPI_COMM_NULL && self.call == board->call && strcmp(self.choice, board->choice) == 0) {
        return true;
    }
    if (!set_choice(board->call, board->choice) ||
        (self.comm != MPI_COMM_NULL && !check(MPI_Comm_free(&self.comm), "MPI_Comm_free")) ||
        !check(MPI_Comm_dup(MPI_COMM_WORLD, &self.comm), "MPI_Comm_dup")) {
        return false;
    }
    self.call = board->call;
    snprintf(self.choice, sizeof(self.choice), "%s", board->choice);
    return check(MPI_Comm_set_errhandler(self.comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

/* --- cores --- */

/* Way k: in turn from core k / 2 on, and every other way with the ranks backwards. */
static bool take_placement(void)
{
    const int64_t way = self.board->placement;
    const int cores = CPU_COUNT(&self.cores);
    const int64_t turn = way / 2 + (way % 2 ? self.ranks - 1 - self.rank : self.rank);
    cpu_set_t one;
    if (way == self.placement) {
        return true;
    }
    CPU_ZERO(&one);
    for (int core = 0, seen = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &self.cores) && seen++ == turn % cores) {
            CPU_SET(core, &one);
        }
    }
    self.placement = way;
    return sched_setaffinity(0, sizeof(one), way ? &one : &self.cores) == 0 ||
           refuse("sched_setaffinity", strerror(errno));
}

/* --- waiting where there are more ranks than cores --- */

/* An MPI that waits by polling keeps its core until the scheduler takes it away, milliseconds later. So each
 * rank gives its core away after every slice, from a signal: no MPI has to know of it. The next slice is
 * counted from the end of the handler, or a slow machine would do nothing else. */
static const struct itimerspec slice = {.it_value = {.tv_nsec = 100000}};
static timer_t timer;
static volatile sig_atomic_t gives_way;

static void give_way(int signal)
{
    const int kept = errno;
    if (gives_way) {
        sched_yield();
        timer_settime(timer, 0, &slice, NULL);
    }
    errno = kept;
}

static bool make_timer(void)
{
    struct sigaction action = {.sa_handler = give_way, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    event._sigev_un._tid = gettid();
    return (sigaction(SIGALRM, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) ||
           refuse("timer_create", strerror(errno));
}

static void share_cores(bool on)
{
    static const struct itimerspec never;
    if (self.ranks > CPU_COUNT(&self.cores)) {
        gives_way = on;
        timer_settime(timer, 0, on ? &slice : &never, NULL);
    }
}

/* --- calls --- */

static MPI_Datatype type_of(const struct board_step *step)
{
    const MPI_Datatype types[] = {
        [BOARD_F32] = MPI_FLOAT, [BOARD_F64] = MPI_DOUBLE, [BOARD_S32] = MPI_INT32_T};
    return types[step->type];
}

static size_t bytes_of(const struct board_step *step)
{
    return (size_t)step->count * (step->type == BOARD_F64 ? 8 : 4);
}

static MPI_Op op_of(const struct board_step *step)
{
    return step->reduction == BOARD_MAX ? MPI_MAX : MPI_SUM;
}

static void *from_of(const struct board_step *step, int rank)
{
    return self.memory + step->from + rank * step->from_stride;
}

static void *to_of(const struct board_step *step)
{
    return self.memory + step->to + self.rank * step->to_stride;
}

static bool allreduce(const struct board_step *step, int number)
{
    return check(MPI_Allreduce(from_of(step, self.rank), to_of(step), (int)step->count, type_of(step),
                               op_of(step), self.comm),
                 "MPI_Allreduce");
}

static bool iallreduce(const struct board_step *step, int number)
{
    MPI_Request request;
    return check(MPI_Iallreduce(from_of(step, self.rank), to_of(step), (int)step->count, type_of(step),
                                op_of(step), self.comm, &request),
                 "MPI_Iallreduce") &&
           check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
}

static bool reduce(const struct board_step *step, int number)
{
    return check(MPI_Reduce(from_of(step, self.rank), self.rank ? NULL : to_of(step), (int)step->count,
                            type_of(step), op_of(step), 0, self.comm),
                 "MPI_Reduce");
}

static bool reduce_scatter(const struct board_step *step, int number)
{
    return check(MPI_Reduce_scatter_block(from_of(step, self.rank), to_of(step),
                                          (int)(step->count / self.ranks), type_of(step), op_of(step),
                                          self.comm),
                 "MPI_Reduce_scatter_block");
}

#define ADD(type)                                                                                            \
    for (int64_t i = 0; i < step->count; i++) {                                                              \
        ((type *)sum)[i] += ((const type *)term)[i];                                                         \
    }
static void add(const struct board_step *step, void *sum, const void *term)
{
    if (step->type == BOARD_F32) {
        ADD(float)
    } else if (step->type == BOARD_F64) {
        ADD(double)
    } else {
        ADD(int32_t)
    }
}

/* The term of `source` (or of whoever comes first), into scratch memory but for rank 0's own. */
static const void *receive(const struct board_step *step, int source, int number)
{
    if (source == 0) {
        return from_of(step, 0);
    }
    return check(MPI_Recv(self.scratch, (int)step->count, type_of(step), source, number, self.comm,
                          MPI_STATUS_IGNORE),
                 "MPI_Recv")
               ? self.scratch
               : NULL;
}

static bool grow_scratch(size_t bytes)
{
    if (self.scratch_bytes < bytes) {
        free(self.scratch);
        self.scratch = malloc(bytes);
        self.scratch_bytes = self.scratch ? bytes : 0;
    }
    return self.scratch || refuse("malloc", strerror(ENOMEM));
}

/* Messages of a step carry its number, or a quick rank's next one would be taken for this one. */
static bool sum_at_0(const struct board_step *step, int number, bool by_arrival)
{
    if (self.rank > 0) {
        return check(
            MPI_Send(from_of(step, self.rank), (int)step->count, type_of(step), 0, number, self.comm),
            "MPI_Send");
    }
    void *sum = to_of(step);
    bool good = grow_scratch(bytes_of(step));
    for (int i = 0; i < self.ranks && good; i++) {
        const int source = !by_arrival ? (step->first + i) % self.ranks : i ? MPI_ANY_SOURCE : 0;
        const void *term = receive(step, source, number);
        good = term != NULL;
        if (good && i == 0) {
            memcpy(sum, term, bytes_of(step));
        } else if (good) {
            add(step, sum, term);
        }
    }
    return good;
}

static bool sum_by_rank(const struct board_step *step, int number)
{
    return sum_at_0(step, number, false);
}

static bool sum_by_arrival(const struct board_step *step, int number)
{
    return sum_at_0(step, number, true);
}

static bool do_steps(void)
{
    static bool (*const calls[BOARD_CALLS])(const struct board_step *step, int number) = {
        [BOARD_ALLREDUCE] = allreduce,     [BOARD_IALLREDUCE] = iallreduce,
        [BOARD_REDUCE] = reduce,           [BOARD_REDUCE_SCATTER] = reduce_scatter,
        [BOARD_SUM_BY_RANK] = sum_by_rank, [BOARD_SUM_BY_ARRIVAL] = sum_by_arrival,
    };
    share_cores(true);
    bool good = take_choice() && take_placement();
    for (int i = 0; i < self.board->step_count && good; i++) {
        good = calls[self.board->call](&self.board->steps[i], i);
    }
    share_cores(false);
    return good;
}

/* --- the program's side --- */

static int open_of(int descriptor, int flags, long pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", pid, descriptor);
    return open(path, flags | O_CLOEXEC);
}

/* Maps the memory and sets self.board. */
static bool map_memory(const char *file, const char *offset)
{
    struct stat status;
    const int memory = open(file, O_RDWR | O_CLOEXEC);
    const bool good = memory >= 0 && fstat(memory, &status) == 0;
    self.memory =
        good ? mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0) : MAP_FAILED;
    if (self.memory == MAP_FAILED) {
        fprintf(stderr, "cannot map '%s': %s\n", file, strerror(errno));
        return false;
    }
    self.board = (struct board *)(self.memory + strtoll(offset, NULL, 10));
    close(memory);
    return true;
}

static bool prepare(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &self.ranks);
    CPU_ZERO(&self.cores);
    int provided;
    if (self.ranks != self.board->ranks) {
        return refuse("MPI_Comm_size", "not as many as were started; is this another MPI's mpirun?");
    }
    return sched_getaffinity(0, sizeof(self.cores), &self.cores) == 0 && make_timer() &&
           check(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "MPI_T_init_thread");
}

/* Answers that it is ready, then does what it is woken for until the pipe ends. */
static int serve(long pid)
{
    const bool ready = prepare();
    const int wake = open_of(self.board->wake[self.rank], O_RDONLY, pid);
    const int answers = open_of(self.board->answer, O_WRONLY, pid);
    char answer = ready ? BOARD_DONE : BOARD_FAILED, byte;
    if (wake < 0 || answers < 0) {
        fprintf(stderr, "cannot open the pipes of process %ld: %s\n", pid, strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); /* the others would wait for this one */
    }
    while (write(answers, &answer, 1) == 1 && read(wake, &byte, 1) == 1) {
        bool good = true;
        if (self.board->command == BOARD_DO) {
            good = do_steps();
        } else if (self.rank == 0) {
            list_choices();
        }
        answer = good ? BOARD_DONE : BOARD_FAILED;
    }
    return 0;
}

/* A line with the version and the file, that nothing else begins like. */
static int about(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    Dl_info file;
    MPI_Get_library_version(version, &length);
    const char *number = version + strcspn(version, "0123456789");
    char *path = dladdr((void *)(uintptr_t)MPI_Init, &file) ? realpath(file.dli_fname, NULL) : NULL;
    printf("\n" RANK_ABOUT "%.*s %s\n", (int)strcspn(number, " ,\n"), number, path ? path : "");
    free(path);
    return 0;
}

int main(int argc, char **argv)
{
    long pid;
    if (argc == 2 && strcmp(argv[1], "--about") == 0) {
        return about();
    }
    if (argc != 3 || sscanf(argv[1], "/proc/%ld/fd/", &pid) != 1) {
        fprintf(stderr, "usage: %s MEMORY BOARD | --about\n", argv[0]);
        return 64;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* an mpirun that was killed ends nobody */
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        return EXIT_FAILURE;
    }
    if (!map_memory(argv[1], argv[2])) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    const int status = serve(pid);
    if (self.comm != MPI_COMM_NULL) {
        MPI_Comm_free(&self.comm);
    }
    MPI_T_finalize();
    MPI_Finalize();
    return status;
}

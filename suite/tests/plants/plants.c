/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations with a planted fault, for the tests of what kind of difference a case shows: sums of rows, and a
 * list that is built in some order. Param `fault` names what is wrong; neighbours do almost the same.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/kit/op.h"
#include "probes/kit/tests/sums.h"

#define FAULTS                                                                                               \
    "none|order|late-order|first|lost|lost-rounded|bit|low-bit|tile|unwritten|workspace|choice|process"
enum fault {
    NONE,
    ORDER,        /* every second run adds up backward */
    LATE_ORDER,   /* the third run of a process does */
    FIRST,        /* the first run of a process does */
    LOST,         /* every second run loses an addend of one row, as a race does */
    LOST_ROUNDED, /* only where values have fractions */
    BIT,     /* every second run has the highest bit of an exponent flipped, where values have fractions */
    LOW_BIT, /* every second run has the lowest bit of a mantissa flipped */
    TILE,    /* every second run adds up a tile of rows backward */
    UNWRITTEN,
    WORKSPACE, /* what the workspace holds decides the lowest bit */
    CHOICE,    /* one process of all adds up backward, and says so */
    PROCESS,   /* one process of all adds up backward, and does not say so */
    FAULT_MAX
};
enum operand { X, Y };
enum { MOST = 4096, ROW = 5, TILE_FROM = 8, TILE_ROWS = 4 };

static int runs_of[FAULT_MAX]; /* in this process */

static int fault_of(const struct kit_params *params, int *ret)
{
    return kit_param_word(params, "fault", FAULTS, ret);
}

static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    int64_t rows, columns, n;
    int fault;
    if (kit_param_int(params, "rows", &rows) || kit_param_int(params, "columns", &columns) ||
        kit_param_int(params, "n", &n) || fault_of(params, &fault)) {
        return KIT_FAILED;
    }
    if (n < 3 || n > MOST || rows * columns <= ROW) {
        return kit_fail("bad rows, columns or n");
    }
    ret->count = 2;
    ret->operand[X] = (struct kit_operand){
        .name = "x", .dtype = KIT_F32, .ndim = 3, .shape = {rows, columns, n}, .batch_dim = -1};
    ret->operand[Y] = (struct kit_operand){
        .name = "y", .role = KIT_OUT, .dtype = KIT_F32, .ndim = 2, .shape = {rows, columns}, .batch_dim = -1};
    ret->flops = (double)(rows * columns * n);
    return KIT_OK;
}

/* Whether this process is the one that made the file; asked once of each name. */
static bool is_the_one(const char *name)
{
    char path[4096];
    const char *folder = getenv("PLANTS_FOLDER");
    snprintf(path, sizeof(path), "%s/%s", folder ? folder : ".", name);
    const int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static bool is_backward(int fault)
{
    static int one[FAULT_MAX]; /* 0: not asked yet */
    if (fault != CHOICE && fault != PROCESS) {
        return false;
    }
    one[fault] = one[fault] ? one[fault] : is_the_one(fault == CHOICE ? "choice" : "process") ? 1 : 2;
    return one[fault] == 1;
}

static int prepare(struct kit_call *call, struct kit_prepared *ret)
{
    int fault;
    if (fault_of(call->params, &fault)) {
        return KIT_FAILED;
    }
    ret->workspace_bytes = 64;
    if (fault == CHOICE) {
        strcpy(ret->chosen, is_backward(fault) ? "backward" : "forward");
    }
    return KIT_OK;
}

static void flip(float *value, int bit)
{
    uint32_t bits;
    memcpy(&bits, value, sizeof(bits));
    bits ^= (uint32_t)1 << bit;
    memcpy(value, &bits, sizeof(bits));
}

static bool has_fraction(float value)
{
    return value != truncf(value);
}

static bool is_turned(int fault, int run, int64_t row, int64_t column)
{
    const bool in_tile = row >= TILE_FROM && row < TILE_FROM + TILE_ROWS && column < TILE_ROWS;
    return fault == ORDER        ? run % 2
           : fault == LATE_ORDER ? run == 2
           : fault == FIRST      ? run == 0
           : fault == TILE       ? run % 2 && in_tile
                                 : is_backward(fault);
}

static int run_sums(struct kit_call *call, const struct kit_buffers *buffers)
{
    const int64_t *shape = call->shape->operand[X].shape;
    const float *x = buffers->data[X];
    float *y = buffers->data[Y];
    const int n = (int)shape[2];
    int fault;
    if (fault_of(call->params, &fault)) {
        return KIT_FAILED;
    }
    const int run = runs_of[fault]++;
    for (int64_t cell = 0; cell < shape[0] * shape[1]; cell++) {
        const float *terms = x + cell * n;
        const bool fractions = has_fraction(terms[0]) || has_fraction(terms[1]);
        const bool hit = cell == ROW && run % 2;
        const bool loses = hit && (fault == LOST || (fault == LOST_ROUNDED && fractions));
        const bool turned = is_turned(fault, run, cell / shape[1], cell % shape[1]);
        if (fault == UNWRITTEN && cell == ROW) {
            continue;
        }
        y[cell] = (turned ? backward : forward)(terms, loses ? n - 1 : n);
        if (hit && fractions && (fault == BIT || fault == LOW_BIT)) {
            flip(&y[cell], fault == BIT ? 30 : 0);
        }
        if (cell == ROW && fractions && fault == WORKSPACE &&
            *(const unsigned char *)buffers->workspace & 1) {
            flip(&y[cell], 0);
        }
    }
    return KIT_OK;
}

static int reference_of_sums(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                             size_t count, struct kit_cell *ret)
{
    const int64_t n = call->shape->operand[X].shape[2];
    const float *x = in[X];
    for (size_t c = 0; c < count; c++) {
        ret[c] = (struct kit_cell){.k = n};
        for (int64_t i = 0; i < n; i++) {
            ret[c].value += x[cells[c] * n + i];
            ret[c].scale += fabsf(x[cells[c] * n + i]);
        }
    }
    return KIT_OK;
}

/* ---- a list of the numbers below its length ---- */

#define LIST_FAULTS "none|turned|twice|either"
enum list_fault { LIST_NONE, TURNED, TWICE, EITHER };
static int list_runs;

static int describe_list(const struct kit_params *params, struct kit_shape *ret)
{
    int64_t length;
    int fault;
    if (kit_param_int(params, "length", &length) || kit_param_word(params, "fault", LIST_FAULTS, &fault)) {
        return KIT_FAILED;
    }
    ret->count = 1;
    ret->operand[0] = (struct kit_operand){
        .name = "list", .role = KIT_OUT, .dtype = KIT_S32, .ndim = 1, .shape = {length}, .batch_dim = -1};
    ret->flops = 1;
    return KIT_OK;
}

/* In every second run: from the end, with one number twice, or the first two by their negatives. */
static int run_list(struct kit_call *call, const struct kit_buffers *buffers)
{
    const int32_t length = (int32_t)call->shape->operand[0].shape[0];
    int32_t *list = buffers->data[0];
    int fault;
    if (kit_param_word(call->params, "fault", LIST_FAULTS, &fault)) {
        return KIT_FAILED;
    }
    const bool odd = list_runs++ % 2;
    for (int32_t i = 0; i < length; i++) {
        list[i] = fault == TURNED && odd ? length - 1 - i : i;
    }
    if (odd && fault == TWICE) {
        list[3] = list[2];
    }
    for (int i = 1; i < 3 && odd && fault == EITHER; i++) {
        list[i] = -list[i];
    }
    return KIT_OK;
}

/* Each number once, whatever its sign and place. */
static int accepts_list(struct kit_call *call, int output, const void *const *in, const void *logical,
                        int64_t *ret_wrong)
{
    const int32_t *list = logical;
    const int64_t length = call->shape->operand[0].shape[0];
    *ret_wrong = 0;
    for (int64_t number = 0; number < length; number++) {
        int times = 0;
        for (int64_t i = 0; i < length; i++) {
            times += abs(list[i]) == number;
        }
        *ret_wrong += times != 1;
    }
    return KIT_OK;
}

static const struct op sums = {.name = "sums",
                               .describe = describe,
                               .prepare = prepare,
                               .run = run_sums,
                               .reference = reference_of_sums};
static const struct op list = {
    .name = "list", .describe = describe_list, .run = run_list, .accepts = accepts_list};

int main(void)
{
    static const struct op *const ops[] = {&sums, &list, NULL};
    static const struct kit_program program = {.name = "plants", .backend = "cpu", .ops = ops};
    return kit_main(&program);
}

/* A probe of your own: sums of columns by OpenMP threads, added as they arrive and in one order.
 *
 * What to change is marked CHANGE, here and in @NAME@.json. `make` builds @NAME@.so, `detprobe validate
 * @NAME@.json` checks the catalogue file,
 *
 *     DETPROBE_PROBE_PATH=FOLDER detprobe run 'cpu/@NAME@/sum-*'
 *
 * runs its cases. The kit fills the inputs, calls `run` again and again, compares, and varies what can be
 * varied. What else an operation may say is in op.h.
 */
#include "op.h"

enum operand { X, Y };
enum order { ARRIVAL, FIXED };

static int read_order(const struct kit_params *params, int *ret)
{
    return kit_param_word(params, "order", "arrival|fixed", ret);
}

/* CHANGE the operands: what `run` reads and writes, their types and shapes, from the params of the case. */
static int describe(const struct kit_params *params, struct kit_shape *ret)
{
    int64_t rows, columns;
    int order;
    if (kit_param_int(params, "rows", &rows) || kit_param_int(params, "columns", &columns) ||
        read_order(params, &order)) {
        return KIT_FAILED;
    }
    ret->count = 2;
    ret->operand[X] = (struct kit_operand){
        .name = "x", .role = KIT_IN, .dtype = KIT_F32, .ndim = 2, .shape = {rows, columns}, .batch_dim = -1};
    ret->operand[Y] = (struct kit_operand){
        .name = "y", .role = KIT_OUT, .dtype = KIT_F32, .ndim = 1, .shape = {columns}, .batch_dim = -1};
    ret->flops = (double)rows * (double)columns;
    return KIT_OK;
}

static void add_on_arrival(const float *x, float *y, int64_t rows, int64_t columns, int threads)
{
    enum { TILE = 64 };
    for (int64_t j = 0; j < columns; j++) {
        y[j] = 0;
    }
    /* Tile by tile, each with a race of its own: threads that share a busy core would keep one order for
     * long. */
    for (int64_t tile = 0; tile < columns; tile += TILE) {
#pragma omp parallel for num_threads(threads)
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = tile; j < columns && j < tile + TILE; j++) {
#pragma omp atomic
                y[j] += x[i * columns + j];
            }
        }
    }
}

static void add_in_order(const float *x, float *y, int64_t rows, int64_t columns, int threads)
{
#pragma omp parallel for num_threads(threads)
    for (int64_t j = 0; j < columns; j++) {
        float sum = 0;
        for (int64_t i = 0; i < rows; i++) {
            sum += x[i * columns + j];
        }
        y[j] = sum;
    }
}

/* CHANGE the operation: once, from the inputs to the outputs. Every element of an output must be written. */
static int run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const int64_t *const shape = call->shape->operand[X].shape;
    int order;
    if (read_order(call->params, &order)) {
        return KIT_FAILED;
    }
    (order == FIXED ? add_in_order : add_on_arrival)(buffers->data[X], buffers->data[Y], shape[0], shape[1],
                                                     call->threads);
    return KIT_OK;
}

/* CHANGE the right results: `value` of each cell asked for, in higher precision, and the `scale` of its error
 * bound, for a sum of k products sum |a||b|. Without a reference leave it out: then nothing is ever `wrong`.
 */
static int reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                     size_t count, struct kit_cell *ret)
{
    const int64_t *const shape = call->shape->operand[X].shape;
    const float *const x = in[X];
    (void)output;
    for (size_t c = 0; c < count; c++) {
        ret[c] = (struct kit_cell){.k = shape[0]};
        for (int64_t i = 0; i < shape[0]; i++) {
            const float value = x[i * shape[1] + cells[c]];
            ret[c].value += value;
            ret[c].scale += value < 0 ? -value : value;
        }
    }
    return KIT_OK;
}

int main(void)
{
    static const struct op sum = {.name = "sum", .describe = describe, .run = run, .reference = reference};
    static const struct op *const ops[] = {&sum, NULL};
    /* CHANGE: a library that you measure is named by `.libraries`, and `.set_threads` sets its threads.
     * Eight threads unless another number is asked for; 0: as many as OpenMP starts with. */
    static const struct kit_program program = {
        .name = "@NAME@", .backend = "cpu", .ops = ops, .default_threads = 8};
    return kit_main(&program);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Training: steps of stochastic gradient descent with momentum and dropout, of a network of two layers on
 * CBLAS, on images that follow from a key. Loss, gradients and weights of every step are outputs, with the
 * step as first dimension, so that the first difference of two runs names step, tensor and element; equal
 * losses prove nothing of the weights. What loaders and generators add to it is varied by parameters, and
 * `resume` trains half, saves, and goes on in a new process.
 */
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probes/cpu/cblas.h"
#include "probes/cpu/splitmix.h"

#define IMAGE_SIDE 28
#define PIXELS (IMAGE_SIDE * IMAGE_SIDE)
#define CLASSES 10
#define RATE 0.1
#define MOMENTUM 0.9
/* Batches of an epoch: then the images come again, in another order where they are shuffled. */
#define EPOCH 3

/* A layer of `width` channels over windows of the images, one for the whole image or one for each place, then
 * a dense layer over the (averaged) features. */
struct net {
    int64_t n;               /* images of a batch */
    int64_t window, side;    /* windows are window x window, at side x side places */
    int64_t pool;            /* pool x pool places are averaged */
    int64_t width, features; /* of the hidden layer: channels, values of one image */
    int64_t rows, inputs;    /* of the first product: n * side^2, window^2 + 1 */
    int64_t layer[2];        /* count of weights */
};

/* What a step is made on. */
struct batch {
    float *images;          /* n x PIXELS */
    int *labels;            /* n */
    unsigned char *dropped; /* n x features */
};

static void product_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const float *a,
                        const float *b, float *c)
{
    cblas.sgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans, trans_b ? CblasTrans : CblasNoTrans,
                (int)m, (int)n, (int)k, 1, a, (int)(trans_a ? m : k), b, (int)(trans_b ? k : n), 0, c,
                (int)n);
}

/* For the reference: term after term. */
static void product_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const double *a,
                        const double *b, double *c)
{
    memset(c, 0, (size_t)(m * n) * sizeof(*c));
    for (int64_t i = 0; i < m; i++) {
        for (int64_t l = 0; l < k; l++) {
            const double left = trans_a ? a[l * m + i] : a[i * k + l];
            const double *const right = trans_b ? b + l : b + l * n;
            const int64_t stride = trans_b ? k : 1;
            for (int64_t j = 0; j < n; j++) {
                c[i * n + j] += left * right[j * stride];
            }
        }
    }
}

#define TYPE float
#define NAME(form) form##_f32
#define PRODUCT product_f32
#define EXP expf
#define LOG logf
#include "probes/cpu/train_net.h"
#define TYPE double
#define NAME(form) form##_f64
#define PRODUCT product_f64
#define EXP exp
#define LOG log
#include "probes/cpu/train_net.h"

/* ---- numbers ---- */

enum purpose { LABEL, PIXEL, WEIGHT, ORDER, NOISE };

/* Number `counter` of a stream that follows from key and purpose. */
static uint64_t number(uint64_t key, enum purpose purpose, uint64_t counter)
{
    return splitmix64(key + ((uint64_t)purpose << 56) + counter * SPLITMIX64_STEP);
}

/* In [-1, 1). */
static float uniform(uint64_t bits)
{
    return (float)(int32_t)(bits >> 32) * 0x1p-31f;
}

/* A generator with a state, as frameworks have for dropout: xorshift64*, Vigna, ACM TOMS 2016. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

/* ---- one training ---- */

#define NETS "mlp|conv"
#define ORDERS "fixed|shuffled|arrival"
#define NOISES "none|sample|worker|shared"
enum { FIXED, SHUFFLED, ARRIVAL };
enum { NO_NOISE, BY_SAMPLE, BY_WORKER, SHARED };

struct training {
    struct net net;
    int order, noise;
    int64_t steps;
    int threads;
    double *reference; /* histories, of the key below */
    uint64_t reference_key;
};

/* All that a training goes on from. The weights follow it in memory: layer 0 and 1, then their velocities. */
struct state {
    uint64_t key;
    int64_t position;   /* images that were seen */
    uint64_t generator; /* of dropout */
};

/* Histories, one value or tensor for each step. */
enum { LOSS, GRADIENT_1, GRADIENT_2, WEIGHTS_1, WEIGHTS_2, HISTORIES };

static int64_t history_count(const struct net *net, int history)
{
    return history == LOSS ? 1 : net->layer[(history - 1) % 2];
}

static int read_training(const struct kit_params *params, struct training *ret)
{
    struct net *const net = &ret->net;
    int kind;
    if (kit_param_word(params, "net", NETS, &kind) || kit_param_word(params, "order", ORDERS, &ret->order) ||
        kit_param_word(params, "noise", NOISES, &ret->noise) || kit_param_int(params, "n", &net->n) ||
        kit_param_int(params, "steps", &ret->steps)) {
        return KIT_FAILED;
    }
    if (net->n < 1 || net->n > 4096 || ret->steps < 2 || ret->steps > 4096) {
        return kit_fail("'n' must be from 1 to 4096, 'steps' from 2 to 4096");
    }
    net->window = kind == 0 ? IMAGE_SIDE : 3;
    net->pool = kind == 0 ? 1 : 2;
    net->width = kind == 0 ? 256 : 8;
    net->side = IMAGE_SIDE - net->window + 1;
    net->features = net->width * (net->side / net->pool) * (net->side / net->pool);
    net->rows = net->n * net->side * net->side;
    net->inputs = net->window * net->window + 1;
    net->layer[0] = net->inputs * net->width;
    net->layer[1] = (net->features + 1) * CLASSES;
    return KIT_OK;
}

/* Of both layers, with their velocities. */
static size_t weight_count(const struct net *net)
{
    return (size_t)(2 * (net->layer[0] + net->layer[1]));
}

static uint64_t splitmix_seed(uint64_t key)
{
    return number(key, NOISE, ~UINT64_C(0)) | 1;
}

static void start(const struct net *net, uint64_t key, struct state *state, float *weights)
{
    const int64_t fan_in[2] = {net->inputs, net->features + 1};
    *state = (struct state){.key = key, .generator = splitmix_seed(key)};
    memset(weights, 0, weight_count(net) * sizeof(*weights));
    for (int l = 0; l < 2; l++) {
        for (int64_t i = 0; i < net->layer[l]; i++) {
            const uint64_t counter = (uint64_t)(l * net->layer[0] + i);
            weights[counter] = uniform(number(key, WEIGHT, counter)) / sqrtf((float)fan_in[l]);
        }
    }
}

/* Which image of the epoch is the i-th. */
static void epoch_order(const struct training *t, uint64_t key, int64_t epoch, int *ret)
{
    const int count = (int)(EPOCH * t->net.n);
    for (int i = 0; i < count; i++) {
        ret[i] = i;
    }
    for (int i = count - 1; t->order == SHUFFLED && i > 0; i--) { /* Fisher and Yates */
        const int other = (int)(number(key, ORDER, (uint64_t)(epoch * count + i)) % (uint64_t)(i + 1));
        const int moved = ret[i];
        ret[i] = ret[other];
        ret[other] = moved;
    }
}

/* An image of its class and where its noise comes from. */
static void load_image(const struct training *t, uint64_t key, int image, int64_t seen, uint64_t *generator,
                       float *ret, int *ret_label)
{
    *ret_label = (int)(number(key, LABEL, (uint64_t)image) % CLASSES);
    for (int p = 0; p < PIXELS; p++) {
        ret[p] = uniform(number(key, PIXEL, (uint64_t)image * PIXELS + (uint64_t)p)) +
                 (p % CLASSES == *ret_label ? 0.5f : 0.0f);
        if (t->noise != NO_NOISE) {
            ret[p] += 0.1f * uniform(generator ? draw(generator)
                                               : number(key, NOISE, (uint64_t)(seen * PIXELS + p)));
        }
    }
}

/* Workers load the batch. Noise by worker: each has a generator of its own, seeded by its number, and the
 * images are dealt evenly; shared: they all draw from one. */
static void load_batch(const struct training *t, struct state *state, const int *order, struct batch *ret)
{
    const int64_t n = t->net.n, within = state->position % (EPOCH * n);
    uint64_t shared = splitmix_seed(state->key + (uint64_t)state->position);
    int64_t delivered = 0;
#pragma omp parallel num_threads(t->threads)
    {
        uint64_t own =
            splitmix_seed(state->key + (uint64_t)state->position + ((uint64_t)omp_get_thread_num() << 48));
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++) {
            float image[PIXELS];
            int label;
            if (t->order == ARRIVAL || t->noise == SHARED) { /* as for a disk */
                nanosleep(&(struct timespec){.tv_nsec = 10000 * (i % 4)}, NULL);
            }
            if (t->noise == SHARED) {
#pragma omp critical(generator)
                load_image(t, state->key, order[within + i], state->position + i, &shared, image, &label);
            } else {
                load_image(t, state->key, order[within + i], state->position + i,
                           t->noise == BY_WORKER ? &own : NULL, image, &label);
            }
            int64_t at = i;
            if (t->order == ARRIVAL) {
#pragma omp atomic capture
                at = delivered++;
            }
            memcpy(ret->images + at * PIXELS, image, sizeof(image));
            ret->labels[at] = label;
        }
    }
    for (int64_t i = 0; i < n * t->net.features; i++) {
        ret->dropped[i] = draw(&state->generator) >> 63;
    }
    state->position += n;
}

/* Everything a training needs but its histories, in one block. */
struct memory {
    struct state *state;
    float *weights; /* and velocities */
    struct scratch_f32 scratch;
    struct batch batch;
    int *order;
};

static size_t memory_bytes(const struct net *net)
{
    return sizeof(struct state) +
           sizeof(float) * (weight_count(net) + scratch_count_f32(net) + (size_t)net->n * PIXELS) +
           sizeof(int) * (size_t)(net->n + EPOCH * net->n) + (size_t)(net->n * net->features);
}

static struct memory memory_in(const struct net *net, void *block)
{
    struct memory ret = {.state = block};
    ret.weights = (float *)(ret.state + 1);
    float *const scratch = ret.weights + weight_count(net);
    ret.scratch = scratch_in_f32(net, scratch);
    ret.batch.images = scratch + scratch_count_f32(net);
    ret.order = (void *)(ret.batch.images + net->n * PIXELS);
    ret.batch.labels = ret.order + EPOCH * net->n;
    ret.batch.dropped = (void *)(ret.batch.labels + net->n);
    return ret;
}

/* `steps` steps from the state in `memory` on, into the histories from step `first` on. */
static void train(const struct training *t, struct memory *memory, int64_t first, int64_t steps,
                  float *const history[HISTORIES])
{
    const struct net *net = &t->net;
    struct state *state = memory->state;
    struct layers_f32 layers = {.weights = {memory->weights, memory->weights + net->layer[0]}};
    layers.velocity[0] = layers.weights[1] + net->layer[1];
    layers.velocity[1] = layers.velocity[0] + net->layer[0];
    for (int64_t step = first; step < first + steps; step++) {
        epoch_order(t, state->key, state->position / (EPOCH * net->n), memory->order);
        load_batch(t, state, memory->order, &memory->batch);
        for (int l = 0; l < 2; l++) {
            layers.gradient[l] = history[GRADIENT_1 + l] + step * net->layer[l];
        }
        history[LOSS][step] = step_f32(net, &memory->batch, &memory->scratch, &layers);
        for (int l = 0; l < 2; l++) {
            memcpy(history[WEIGHTS_1 + l] + step * net->layer[l], layers.weights[l],
                   (size_t)net->layer[l] * sizeof(float));
        }
    }
}

/* Of the ops that have one right result, or compare one training with another. */
static int check_repeats(const struct training *t)
{
    return t->order == ARRIVAL || t->noise == SHARED
               ? kit_fail("bad params: 'order' arrival and 'noise' shared race, use op 'train-racing'")
               : KIT_OK;
}

/* ---- op train ---- */

enum { KEY, FIRST_HISTORY };

static struct kit_operand key_operand(void)
{
    return (struct kit_operand){.name = "key",
                                .role = KIT_IN,
                                .dtype = KIT_S64,
                                .ndim = 1,
                                .shape = {1},
                                .batch_dim = -1,
                                .fill = KIT_INDICES,
                                .below = INT64_C(1) << 40};
}

static int describe_racing(const struct kit_params *params, struct kit_shape *ret)
{
    static const char *const names[HISTORIES] = {"loss", "gradient1", "gradient2", "weights1", "weights2"};
    struct training t;
    if (read_training(params, &t)) {
        return KIT_FAILED;
    }
    const struct net *net = &t.net;
    ret->operand[KEY] = key_operand();
    for (int h = 0; h < HISTORIES; h++) {
        struct kit_operand *const operand = &ret->operand[FIRST_HISTORY + h];
        *operand = (struct kit_operand){.name = names[h],
                                        .role = KIT_OUT,
                                        .dtype = KIT_F32,
                                        .ndim = h == LOSS ? 1 : 3,
                                        .shape = {t.steps},
                                        .batch_dim = -1};
        operand->shape[1] = (h - 1) % 2 == 0 ? net->inputs : net->features + 1;
        operand->shape[2] = (h - 1) % 2 == 0 ? net->width : CLASSES;
    }
    ret->count = FIRST_HISTORY + HISTORIES;
    ret->flops = (double)t.steps * (2.0 * (double)(net->rows * net->inputs * net->width) +
                                    3.0 * (double)(net->n * (net->features + 1) * CLASSES));
    return KIT_OK;
}

static int describe_train(const struct kit_params *params, struct kit_shape *ret)
{
    struct training t;
    return read_training(params, &t) || check_repeats(&t) ? KIT_FAILED : describe_racing(params, ret);
}

static int prepare_train(struct kit_call *call, struct kit_prepared *ret)
{
    struct training *t = calloc(1, sizeof(*t));
    call->state = t;
    if (!t) {
        return kit_fail("out of memory");
    }
    const int rc = read_training(call->params, t);
    t->threads = call->threads;
    ret->workspace_bytes = memory_bytes(&t->net);
    return rc;
}

static void release_train(struct kit_call *call)
{
    struct training *t = call->state;
    if (t) {
        free(t->reference);
    }
    kit_free_state(call);
}

static int run_train(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct training *t = call->state;
    struct memory memory = memory_in(&t->net, buffers->workspace);
    start(&t->net, (uint64_t)((const int64_t *)buffers->data[KEY])[0], memory.state, memory.weights);
    train(t, &memory, 0, t->steps, (float *const *)buffers->data + FIRST_HISTORY);
    return KIT_OK;
}

/* The histories in double precision, one after the other, into t->reference. */
static int make_reference(struct training *t, uint64_t key)
{
    const struct net *net = &t->net;
    const size_t count = (size_t)(net->layer[0] + net->layer[1]);
    double *const history = calloc((size_t)t->steps * (1 + 2 * count), sizeof(*history));
    double *const work = calloc(2 * count + scratch_count_f64(net), sizeof(*work));
    void *const block = calloc(1, memory_bytes(net));
    if (!history || !work || !block) {
        free(history), free(work), free(block);
        return kit_fail("out of memory");
    }
    struct memory memory = memory_in(net, block);
    start(net, key, memory.state, memory.weights);
    for (size_t i = 0; i < count; i++) {
        work[i] = memory.weights[i];
    }
    struct layers_f64 layers = {.weights = {work, work + net->layer[0]},
                                .velocity = {work + count, work + count + net->layer[0]}};
    const struct scratch_f64 scratch = scratch_in_f64(net, work + 2 * count);
    double *const gradients = history + t->steps, *const weights = gradients + (size_t)t->steps * count;
    for (int64_t step = 0; step < t->steps; step++) {
        epoch_order(t, key, memory.state->position / (EPOCH * net->n), memory.order);
        load_batch(t, memory.state, memory.order, &memory.batch);
        for (int l = 0; l < 2; l++) {
            layers.gradient[l] = gradients + l * t->steps * net->layer[0] + step * net->layer[l];
        }
        history[step] = step_f64(net, &memory.batch, &scratch, &layers);
        for (int l = 0; l < 2; l++) {
            memcpy(weights + l * t->steps * net->layer[0] + step * net->layer[l], layers.weights[l],
                   (size_t)net->layer[l] * sizeof(double));
        }
    }
    free(work);
    free(block);
    free(t->reference);
    t->reference = history;
    t->reference_key = key;
    return KIT_OK;
}

/* A step sums over the inputs, the features, the batch and the steps before; what it makes of their roundings
 * is the network's condition, which the catalogue's constant allows for. */
static int reference_train(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                           size_t count, struct kit_cell *ret)
{
    struct training *t = call->state;
    const struct net *net = &t->net;
    const uint64_t key = (uint64_t)((const int64_t *)in[KEY])[0];
    if ((!t->reference || t->reference_key != key) && make_reference(t, key)) {
        return KIT_FAILED;
    }
    const double *history = t->reference;
    for (int h = 0; h < output - FIRST_HISTORY; h++) {
        history += t->steps * history_count(net, h);
    }
    for (size_t c = 0; c < count; c++) {
        ret[c] = (struct kit_cell){.value = history[cells[c]],
                                   .scale = fabs(history[cells[c]]),
                                   .k = net->inputs + net->features + CLASSES + net->n + t->steps};
    }
    return KIT_OK;
}

static const struct op train_op = {.name = "train",
                                   .describe = describe_train,
                                   .prepare = prepare_train,
                                   .run = run_train,
                                   .reference = reference_train,
                                   .release = release_train},
                       racing_op = {.name = "train-racing", /* has no one right result */
                                    .describe = describe_racing,
                                    .prepare = prepare_train,
                                    .run = run_train,
                                    .release = release_train};

/* ---- op resume ---- */

#define LEFT_OUT "nothing|weights|optimiser|position|generator"
enum { NOTHING, WEIGHTS, OPTIMISER, POSITION, GENERATOR };

enum { DIFFERING = 1 };

/* What the process that saves and the one that goes on share; the state, weights with velocities, and the
 * histories follow. */
struct checkpoint {
    struct training training;
    int left_out;
    size_t bytes; /* of the whole */
};

static size_t history_floats(const struct training *t)
{
    return (size_t)(t->steps * (1 + 2 * (t->net.layer[0] + t->net.layer[1])));
}

/* In the workspace, behind what training needs. */
static size_t history_offset(const struct training *t)
{
    return (memory_bytes(&t->net) + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

static void histories_in(const struct training *t, float *floats, float *ret[HISTORIES])
{
    for (int h = 0; h < HISTORIES; h++) {
        ret[h] = floats;
        floats += t->steps * history_count(&t->net, h);
    }
}

struct saved {
    struct state *state;
    float *weights; /* and velocities */
    float *history[HISTORIES];
};

static struct saved saved_in(struct checkpoint *checkpoint)
{
    struct saved ret = {.state = (void *)(checkpoint + 1)};
    ret.weights = (void *)(ret.state + 1);
    histories_in(&checkpoint->training, ret.weights + weight_count(&checkpoint->training.net), ret.history);
    return ret;
}

static int describe_resume(const struct kit_params *params, struct kit_shape *ret)
{
    struct training t;
    int left_out;
    if (read_training(params, &t) || kit_param_word(params, "left_out", LEFT_OUT, &left_out) ||
        check_repeats(&t)) {
        return KIT_FAILED;
    }
    ret->operand[KEY] = key_operand();
    ret->operand[DIFFERING] = (struct kit_operand){.name = "differing",
                                                   .role = KIT_OUT,
                                                   .dtype = KIT_S64,
                                                   .ndim = 2,
                                                   .shape = {t.steps, HISTORIES},
                                                   .batch_dim = -1};
    ret->count = 2;
    ret->flops = (double)t.steps * HISTORIES;
    return KIT_OK;
}

static int prepare_resume(struct kit_call *call, struct kit_prepared *ret)
{
    const int rc = prepare_train(call, ret);
    const struct training *t = call->state;
    if (rc == KIT_OK) {
        ret->workspace_bytes = history_offset(t) + history_floats(t) * sizeof(float);
    }
    return rc;
}

/* The rest of main, in the process that goes on: what the checkpoint has, but for what was left out. */
static int go_on(struct checkpoint *checkpoint)
{
    const struct training *t = &checkpoint->training;
    void *const block = calloc(1, memory_bytes(&t->net));
    if (!block || cblas_open()) {
        free(block);
        return EXIT_FAILURE;
    }
    cblas_set_threads(t->threads);
    const struct saved saved = saved_in(checkpoint);
    struct memory memory = memory_in(&t->net, block);
    start(&t->net, saved.state->key, memory.state, memory.weights);
    const size_t half = weight_count(&t->net) / 2;
    if (checkpoint->left_out != WEIGHTS) {
        memcpy(memory.weights, saved.weights, half * sizeof(float));
    }
    if (checkpoint->left_out != OPTIMISER) {
        memcpy(memory.weights + half, saved.weights + half, half * sizeof(float));
    }
    if (checkpoint->left_out != POSITION) {
        memory.state->position = saved.state->position;
    }
    if (checkpoint->left_out != GENERATOR) {
        memory.state->generator = saved.state->generator;
    }
    train(t, &memory, t->steps / 2, t->steps - t->steps / 2, saved.history);
    free(block);
    return EXIT_SUCCESS;
}

static int main_resumed(const char *bytes, const char *descriptor)
{
    struct checkpoint *const checkpoint = mmap(NULL, strtoul(bytes, NULL, 10), PROT_READ | PROT_WRITE,
                                               MAP_SHARED, (int)strtol(descriptor, NULL, 10), 0);
    return checkpoint == MAP_FAILED ? EXIT_FAILURE : go_on(checkpoint);
}

static int in_new_process(const struct checkpoint *checkpoint, int descriptor)
{
    extern char **environ;
    char bytes[24], number[12];
    snprintf(bytes, sizeof(bytes), "%zu", checkpoint->bytes);
    snprintf(number, sizeof(number), "%d", descriptor);
    char *const arguments[] = {"train", "--resumed", bytes, number, NULL};
    pid_t child;
    int status = -1;
    const int error = posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ);
    if (error) {
        return kit_fail("cannot start the process that goes on: %s", strerror(error));
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS
               ? KIT_OK
               : kit_fail("the process that goes on ended with status %d", status);
}

/* How many elements of each step's history differ. */
static void count_differing(const struct training *t, float *const left[HISTORIES],
                            float *const right[HISTORIES], int64_t *ret)
{
    for (int64_t step = 0; step < t->steps; step++) {
        for (int h = 0; h < HISTORIES; h++) {
            const int64_t count = history_count(&t->net, h);
            const float *const a = left[h] + step * count, *const b = right[h] + step * count;
            int64_t differing = 0;
            for (int64_t i = 0; i < count; i++) {
                differing += memcmp(&a[i], &b[i], sizeof(*a)) != 0;
            }
            ret[step * HISTORIES + h] = differing;
        }
    }
}

static int resume_in(struct kit_call *call, const struct kit_buffers *buffers, struct checkpoint *checkpoint,
                     int descriptor)
{
    const struct training *t = call->state;
    const uint64_t key = (uint64_t)((const int64_t *)buffers->data[KEY])[0];
    struct memory memory = memory_in(&t->net, buffers->workspace);
    const struct saved saved = saved_in(checkpoint);
    float *straight[HISTORIES];
    histories_in(t, (void *)((char *)buffers->workspace + history_offset(t)), straight);

    start(&t->net, key, memory.state, memory.weights);
    train(t, &memory, 0, t->steps, straight);
    start(&t->net, key, memory.state, memory.weights);
    train(t, &memory, 0, t->steps / 2, saved.history);
    *saved.state = *memory.state;
    memcpy(saved.weights, memory.weights, weight_count(&t->net) * sizeof(float));
    const int rc = in_new_process(checkpoint, descriptor);
    if (rc == KIT_OK) {
        count_differing(t, straight, saved.history, buffers->data[DIFFERING]);
    }
    return rc;
}

static int run_resume(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct training *t = call->state;
    struct checkpoint head = {.training = *t};
    head.training.reference = NULL;
    head.bytes =
        sizeof(head) + sizeof(struct state) + (weight_count(&t->net) + history_floats(t)) * sizeof(float);
    if (kit_param_word(call->params, "left_out", LEFT_OUT, &head.left_out)) {
        return KIT_FAILED;
    }
    const int descriptor = memfd_create("checkpoint", 0);
    if (descriptor < 0 || ftruncate(descriptor, (off_t)head.bytes)) {
        return kit_fail("cannot make the checkpoint: %s", strerror(errno));
    }
    struct checkpoint *const checkpoint =
        mmap(NULL, head.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    int rc = checkpoint == MAP_FAILED ? kit_fail("cannot map the checkpoint: %s", strerror(errno)) : KIT_OK;
    if (rc == KIT_OK) {
        *checkpoint = head;
        rc = resume_in(call, buffers, checkpoint, descriptor);
        munmap(checkpoint, head.bytes);
    }
    close(descriptor);
    return rc;
}

/* A whole checkpoint goes on as if nothing had happened; what is left out must be seen in the weights.
 * Without the optimiser's state the loss of the next step is still the same. */
static int accepts_resume(struct kit_call *call, int output, const void *const *in, const void *logical,
                          int64_t *ret_wrong)
{
    const struct training *t = call->state;
    const int64_t *differing = logical, half = t->steps / 2;
    int left_out;
    if (kit_param_word(call->params, "left_out", LEFT_OUT, &left_out)) {
        return KIT_FAILED;
    }
    *ret_wrong = 0;
    for (int64_t i = 0; i < t->steps * HISTORIES; i++) {
        const int64_t step = i / HISTORIES;
        const bool weights = i % HISTORIES >= WEIGHTS_1;
        if (step < half || left_out == NOTHING) {
            *ret_wrong += differing[i] != 0;
        } else if (weights) {
            *ret_wrong += differing[i] == 0;
        } else if (left_out == OPTIMISER && step == half) {
            *ret_wrong += differing[i] != 0;
        }
    }
    return KIT_OK;
}

static const struct op resume_op = {.name = "resume",
                                    .describe = describe_resume,
                                    .prepare = prepare_resume,
                                    .run = run_resume,
                                    .accepts = accepts_resume,
                                    .release = release_train};

/* The library's threads and the workers that load. */
static int set_threads(int threads)
{
    if (threads) {
        omp_set_num_threads(threads);
    }
    const int of_library = cblas_set_threads(threads);
    return of_library ? of_library : omp_get_max_threads();
}

int main(int argc, char **argv)
{
    static const struct op *const ops[] = {&train_op, &racing_op, &resume_op, NULL};
    static const struct kit_program program = {.name = "train",
                                               .backend = "cpu",
                                               .ops = ops,
                                               .open = cblas_open,
                                               .libraries = cblas_libraries,
                                               .default_threads = 8,
                                               .set_threads = set_threads};
    if (argc == 4 && strcmp(argv[1], "--resumed") == 0) {
        return main_resumed(argv[2], argv[3]);
    }
    return kit_main(&program);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * One step of training for one element type; included once for each with TYPE, NAME, PRODUCT, EXP and LOG
 * set. No include guard on purpose. Matrices are row-major; the last row of a layer's weights is its bias, so
 * the last column of what goes into it is 1.
 */

/* What a step needs beside the weights. */
struct NAME(scratch) {
    TYPE *columns;  /* rows x inputs: windows of the images */
    TYPE *hidden;   /* rows x width */
    TYPE *features; /* n x (features + 1) */
    TYPE *scores;   /* n x CLASSES; then their gradient */
    TYPE *back;     /* n x (features + 1): the gradient of the features */
};

/* Weights, what momentum keeps of former gradients, and the gradients of the step, of both layers. */
struct NAME(layers) {
    TYPE *weights[2], *velocity[2], *gradient[2];
};

static size_t NAME(scratch_count)(const struct net *net)
{
    return (size_t)(net->rows * (net->inputs + net->width) + 2 * net->n * (net->features + 1) +
                    net->n * CLASSES);
}

static struct NAME(scratch) NAME(scratch_in)(const struct net *net, TYPE *memory)
{
    struct NAME(scratch) ret = {.columns = memory};
    ret.hidden = ret.columns + net->rows * net->inputs;
    ret.features = ret.hidden + net->rows * net->width;
    ret.back = ret.features + net->n * (net->features + 1);
    ret.scores = ret.back + net->n * (net->features + 1);
    return ret;
}

/* Each row a window of an image and 1. */
static void NAME(columns)(const struct net *net, const float *images, TYPE *ret)
{
    for (int64_t row = 0; row < net->rows; row++) {
        const int64_t image = row / (net->side * net->side), place = row % (net->side * net->side);
        const float *const corner =
            images + image * PIXELS + place / net->side * IMAGE_SIDE + place % net->side;
        for (int64_t i = 0; i < net->window * net->window; i++) {
            *ret++ = corner[i / net->window * IMAGE_SIDE + i % net->window];
        }
        *ret++ = 1;
    }
}

/* Which feature a hidden value is averaged into. */
static int64_t NAME(feature_of)(const struct net *net, int64_t row, int64_t channel)
{
    const int64_t place = row % (net->side * net->side), pooled = net->side / net->pool;
    return (place / net->side / net->pool * pooled + place % net->side / net->pool) * net->width + channel;
}

/* h / (1 + |h|), averages of pool x pool, dropout: smooth, so that nothing flips at a rounding. */
static void NAME(activate)(const struct net *net, const TYPE *hidden, const unsigned char *dropped, TYPE *ret)
{
    const TYPE share = (TYPE)2 / (TYPE)(net->pool * net->pool); /* one half is dropped */
    memset(ret, 0, (size_t)(net->n * (net->features + 1)) * sizeof(*ret));
    for (int64_t row = 0; row < net->rows; row++) {
        const int64_t image = row / (net->side * net->side);
        TYPE *const of_image = ret + image * (net->features + 1);
        of_image[net->features] = 1;
        for (int64_t c = 0; c < net->width; c++) {
            const int64_t feature = NAME(feature_of)(net, row, c);
            const TYPE h = hidden[row * net->width + c];
            if (!dropped[image * net->features + feature]) {
                of_image[feature] += share * (h / (1 + (h < 0 ? -h : h)));
            }
        }
    }
}

/* The gradient of the hidden values over them. */
static void NAME(activate_backward)(const struct net *net, const TYPE *back, const unsigned char *dropped,
                                    TYPE *hidden)
{
    const TYPE share = (TYPE)2 / (TYPE)(net->pool * net->pool);
    for (int64_t row = 0; row < net->rows; row++) {
        const int64_t image = row / (net->side * net->side);
        for (int64_t c = 0; c < net->width; c++) {
            const int64_t feature = NAME(feature_of)(net, row, c);
            TYPE *const h = &hidden[row * net->width + c];
            const TYPE width = 1 + (*h < 0 ? -*h : *h);
            *h = dropped[image * net->features + feature]
                     ? 0
                     : share * back[image * (net->features + 1) + feature] / (width * width);
        }
    }
}

/* The mean cross-entropy of softmax; the scores become its gradient. */
static TYPE NAME(cross_entropy)(const struct net *net, const int *labels, TYPE *scores)
{
    TYPE loss = 0;
    for (int64_t i = 0; i < net->n; i++) {
        TYPE *const of_image = scores + i * CLASSES;
        TYPE largest = of_image[0], sum = 0;
        for (int c = 1; c < CLASSES; c++) {
            largest = of_image[c] > largest ? of_image[c] : largest;
        }
        const TYPE right = of_image[labels[i]] - largest;
        for (int c = 0; c < CLASSES; c++) {
            sum += of_image[c] = EXP(of_image[c] - largest);
        }
        loss += LOG(sum) - right;
        for (int c = 0; c < CLASSES; c++) {
            of_image[c] = (of_image[c] / sum - (c == labels[i])) / (TYPE)net->n;
        }
    }
    return loss / (TYPE)net->n;
}

/* v = MOMENTUM v + g, w = w - RATE v. */
static void NAME(descend)(int64_t count, const TYPE *gradient, TYPE *velocity, TYPE *weights)
{
    for (int64_t i = 0; i < count; i++) {
        velocity[i] = (TYPE)MOMENTUM * velocity[i] + gradient[i];
        weights[i] -= (TYPE)RATE * velocity[i];
    }
}

/* Returns the loss before the step. */
static TYPE NAME(step)(const struct net *net, const struct batch *batch, const struct NAME(scratch) * s,
                       const struct NAME(layers) * layers)
{
    const int64_t inner = net->features + 1;
    NAME(columns)(net, batch->images, s->columns);
    PRODUCT(false, false, net->rows, net->width, net->inputs, s->columns, layers->weights[0], s->hidden);
    NAME(activate)(net, s->hidden, batch->dropped, s->features);
    PRODUCT(false, false, net->n, CLASSES, inner, s->features, layers->weights[1], s->scores);
    const TYPE loss = NAME(cross_entropy)(net, batch->labels, s->scores);
    PRODUCT(true, false, inner, CLASSES, net->n, s->features, s->scores, layers->gradient[1]);
    PRODUCT(false, true, net->n, inner, CLASSES, s->scores, layers->weights[1], s->back);
    NAME(activate_backward)(net, s->back, batch->dropped, s->hidden);
    PRODUCT(true, false, net->inputs, net->width, net->rows, s->columns, s->hidden, layers->gradient[0]);
    for (int l = 0; l < 2; l++) {
        NAME(descend)(net->layer[l], layers->gradient[l], layers->velocity[l], layers->weights[l]);
    }
    return loss;
}

#undef TYPE
#undef NAME
#undef PRODUCT
#undef EXP
#undef LOG

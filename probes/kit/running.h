/* SPDX-License-Identifier: Apache-2.0
 *
 * Running error analysis (Wilkinson; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
 * 3.3): every value goes with a bound on the error that a computation in single precision has at that place.
 * For references of long chains through nonlinear functions, where no closed form of the bound is tight.
 * Each operation takes the errors of its operands on, second order included, and adds its own rounding.
 */
#ifndef KIT_RUNNING_H
#define KIT_RUNNING_H

#include <math.h>
#include <stdint.h>

#define KIT_RUNNING_U 0x1p-24 /* unit roundoff of float, in which operations are done */
/* What a library's sigmoid or tanh may lose, in units of U at 1, the end of their range. */
#define KIT_RUNNING_FUNCTION 8

struct kit_running {
    double value, error;
};

/* Rounded to a format of unit roundoff u. */
static inline struct kit_running kit_running_rounded(struct kit_running a, double u)
{
    return (struct kit_running){a.value, a.error + u * (fabs(a.value) + a.error)};
}

static inline struct kit_running kit_running_add(struct kit_running a, struct kit_running b)
{
    return kit_running_rounded((struct kit_running){a.value + b.value, a.error + b.error}, KIT_RUNNING_U);
}

/* 1 - a */
static inline struct kit_running kit_running_rest(struct kit_running a)
{
    return kit_running_rounded((struct kit_running){1 - a.value, a.error}, KIT_RUNNING_U);
}

static inline double kit_running_product_error(struct kit_running a, struct kit_running b)
{
    return fabs(a.value) * b.error + fabs(b.value) * a.error + a.error * b.error;
}

static inline struct kit_running kit_running_multiply(struct kit_running a, struct kit_running b)
{
    return kit_running_rounded((struct kit_running){a.value * b.value, kit_running_product_error(a, b)},
                               KIT_RUNNING_U);
}

/* A function of range below 1: its value, its slope there, the largest magnitudes that its slope and the
 * slope of that have anywhere. By the mean value theorem. */
static inline struct kit_running kit_running_function(double value, double slope, double steepest,
                                                      double bend, double error)
{
    const double near = fmin(steepest, fabs(slope) + bend * error);
    return (struct kit_running){value, near * error + KIT_RUNNING_FUNCTION * KIT_RUNNING_U};
}

static inline struct kit_running kit_running_sigmoid(struct kit_running a)
{
    const double s = 1 / (1 + exp(-a.value));
    return kit_running_function(s, s * (1 - s), 0.25, 0.0963, a.error); /* 1 / (6 sqrt 3) */
}

static inline struct kit_running kit_running_tanh(struct kit_running a)
{
    const double t = tanh(a.value);
    return kit_running_function(t, 1 - t * t, 1, 0.77, a.error); /* 4 / (3 sqrt 3) */
}

/* A sum in any order, of terms and of products: |error| <= gamma_count * sum of magnitudes (section 3.1).
 * Where roundings are independent and of mean 0, lambda * sqrt(count) does instead of count, but for a share
 * of 2 exp(-lambda^2 / 2) of the terms (Higham and Mary, A New Approach to Probabilistic Rounding Error
 * Analysis, SIAM Journal on Scientific Computing 41, 2019, theorems 2.4 and 3.1). */
#define KIT_RUNNING_LAMBDA 6
struct kit_running_sum {
    double value, size, error;
    int64_t count;
};

static inline void kit_running_sum_term(struct kit_running_sum *sum, struct kit_running a)
{
    sum->value += a.value;
    sum->size += fabs(a.value) + a.error;
    sum->error += a.error;
    sum->count++;
}

static inline void kit_running_sum_product(struct kit_running_sum *sum, struct kit_running a,
                                           struct kit_running b)
{
    const double product = a.value * b.value, error = kit_running_product_error(a, b);
    sum->value += product;
    sum->size += fabs(product) + error;
    sum->error += error;
    sum->count++;
}

static inline struct kit_running kit_running_sum_end(const struct kit_running_sum *sum)
{
    const double count = (double)sum->count;
    const double nu = fmin(count, KIT_RUNNING_LAMBDA * sqrt(count)) * KIT_RUNNING_U;
    return (struct kit_running){sum->value, sum->error + nu / (1 - nu) * sum->size};
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Float sums whose order is known by construction, for tests of what reveals it.
 */
#ifndef KIT_TESTS_SUMS_H
#define KIT_TESTS_SUMS_H

#include <math.h>

static inline float forward(const float *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum;
}

static inline float backward(const float *x, int n)
{
    float sum = 0;
    for (int i = n; i-- > 0;) {
        sum += x[i];
    }
    return sum;
}

static inline float pairwise(const float *x, int n)
{
    return n == 1 ? *x : pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}

static inline float blocks(const float *x, int n, int size)
{
    float sum = 0;
    for (int i = 0; i < n; i += size) {
        sum += forward(x + i, n - i < size ? n - i : size);
    }
    return sum;
}

/* At most 8. */
static inline float lanes(const float *x, int n, int width)
{
    float lane[8] = {0};
    for (int i = 0; i < n; i++) {
        lane[i % width] += x[i];
    }
    return pairwise(lane, width);
}

/* As tensor cores do: the sum so far and a few more are aligned to the largest of them, of which so many bits
 * are kept, what is below is cut off, the rest is added at once: whole numbers, of which a few are exact. */
static inline float fused_step(float sum, const float *x, int count, int bits)
{
    float largest = fabsf(sum);
    for (int j = 0; j < count; j++) {
        largest = fmaxf(largest, fabsf(x[j]));
    }
    const float unit = largest > 0 ? ldexpf(1, ilogbf(largest) - bits + 1) : 1;
    float total = truncf(sum / unit);
    for (int j = 0; j < count; j++) {
        total += truncf(x[j] / unit);
    }
    return total * unit;
}

/* 20 bits. */
static inline float fused(const float *x, int n, int width)
{
    float sum = 0;
    for (int i = 0; i < n; i += width) {
        sum = fused_step(sum, x + i, n - i < width ? n - i : width, 20);
    }
    return sum;
}

/* Two terms, so that what is lost is kept. */
static inline float neumaier(const float *x, int n)
{
    volatile float sum = 0, rest = 0;
    for (int i = 0; i < n; i++) {
        const volatile float total = sum + x[i];
        rest += fabsf(sum) >= fabsf(x[i]) ? (sum - total) + x[i] : (x[i] - total) + sum;
        sum = total;
    }
    return sum + rest;
}

/* What is huge is put aside, as bins of a reproducible sum do: whole numbers remain, in any order. */
static inline float exact(const float *x, int n)
{
    double huge = 0, small = 0;
    for (int i = 0; i < n; i++) {
        *(fabsf(x[i]) > 0x1p60F ? &huge : &small) += x[i];
    }
    return (float)(huge + small);
}

/* Another order in each call. */
static inline float racing(const float *x, int n)
{
    static int calls;
    const int start = ++calls * 7 % n;
    return forward(x + start, n - start) + forward(x, start);
}

#endif

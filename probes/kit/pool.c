/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling but for the call of the library: what it takes, its operands, what its results may be.
 */
#include "probes/kit/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/dtype.h"
#include "probes/kit/window.h"

int kit_pool_read(const struct kit_params *params, enum kit_dtype dtype, struct kit_pool *g)
{
    const struct {
        const char *name;
        int64_t *target;
        int64_t low;
    } needed[] = {{"n", &g->n, 1},     {"c", &g->c, 1},           {"h", &g->h, 1},
                  {"w", &g->w, 1},     {"window", &g->window, 1}, {"stride", &g->stride, 1},
                  {"pad", &g->pad, 0}, {"levels", &g->levels, 0}};
    *g = (struct kit_pool){.dtype = dtype};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (kit_param_int(params, needed[i].name, needed[i].target) != KIT_OK) {
            return KIT_FAILED;
        }
        if (*needed[i].target < needed[i].low || *needed[i].target > INT32_MAX) {
            return kit_fail("parameter '%s' is out of range", needed[i].name);
        }
    }
    if (kit_param_word(params, "kind", "max|average-include|average-exclude", &g->kind) != KIT_OK) {
        return KIT_FAILED;
    }
    if (g->pad >= g->window) {
        return kit_fail("'pad' is not below 'window': a window would lie in the padding alone");
    }
    g->oh = window_count(g->h, g->window, g->stride, g->pad);
    g->ow = window_count(g->w, g->window, g->stride, g->pad);
    if (g->oh == 0 || g->ow == 0) {
        return kit_fail("'window' is larger than the padded input");
    }
    return KIT_OK;
}

static struct kit_operand tensor(const char *name, enum kit_role role, const struct kit_pool *g, bool output)
{
    const bool tied = g->levels > 0 && strcmp(name, "src") == 0;
    return (struct kit_operand){
        .name = name,
        .role = role,
        .dtype = g->dtype,
        .ndim = 4,
        .shape = {g->n, g->c, output ? g->oh : g->h, output ? g->ow : g->w},
        .batch_dim = 0,
        .fill = tied ? KIT_TIES : KIT_VALUES,
        .below = g->levels,
    };
}

static double window_sum_flops(const struct kit_pool *g)
{
    return (double)g->n * (double)g->c * (double)g->oh * (double)g->ow * (double)g->window *
           (double)g->window;
}

void kit_pool_shape_forward(const struct kit_pool *g, struct kit_shape *ret)
{
    ret->operand[KIT_POOL_SRC] = tensor("src", KIT_IN, g, false);
    ret->operand[KIT_POOL_DST] = tensor("dst", KIT_OUT, g, true);
    ret->count = 2;
    ret->flops = window_sum_flops(g);
}

void kit_pool_shape_backward(const struct kit_pool *g, bool needs_src, struct kit_shape *ret)
{
    ret->operand[KIT_POOL_DIFF_DST] = tensor("diff_dst", KIT_IN, g, true);
    ret->operand[KIT_POOL_DIFF_SRC] = tensor("diff_src", KIT_OUT, g, false);
    ret->operand[KIT_POOL_BACKWARD_SRC] = tensor("src", KIT_IN, g, false);
    ret->count = needs_src ? 3 : 2;
    ret->flops = window_sum_flops(g);
}

/* The part of a window that lies inside the input. */
struct span {
    int64_t y0, y1, x0, x1;
};

static struct span span_of(const struct kit_pool *g, int64_t oy, int64_t ox)
{
    const int64_t y = oy * g->stride - g->pad, x = ox * g->stride - g->pad;
    return (struct span){.y0 = y < 0 ? 0 : y,
                         .y1 = y + g->window > g->h ? g->h : y + g->window,
                         .x0 = x < 0 ? 0 : x,
                         .x1 = x + g->window > g->w ? g->w : x + g->window};
}

static long double divisor(const struct kit_pool *g, const struct span *span)
{
    return g->kind == KIT_POOL_AVERAGE_INCLUDE ? (long double)(g->window * g->window)
                                               : (long double)((span->y1 - span->y0) * (span->x1 - span->x0));
}

static const void *plane_of(const struct kit_pool *g, const void *tensor, int64_t plane, int64_t elements)
{
    return (const char *)tensor + (size_t)(plane * elements) * kit_dtype_size(g->dtype);
}

static long double maximum(const struct kit_pool *g, const void *plane, const struct span *span)
{
    long double best = -INFINITY;
    for (int64_t y = span->y0; y < span->y1; y++) {
        for (int64_t x = span->x0; x < span->x1; x++) {
            best = fmaxl(best, kit_value(g->dtype, plane, y * g->w + x));
        }
    }
    return best;
}

static struct kit_cell average(const struct kit_pool *g, const void *plane, const struct span *span)
{
    long double sum = 0, scale = 0;
    for (int64_t y = span->y0; y < span->y1; y++) {
        for (int64_t x = span->x0; x < span->x1; x++) {
            const long double value = kit_value(g->dtype, plane, y * g->w + x);
            sum += value;
            scale += fabsl(value);
        }
    }
    const long double by = divisor(g, span);
    return (struct kit_cell){.value = sum / by, .scale = scale / by, .k = g->window * g->window + 1};
}

int kit_pool_reference_forward(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                               size_t count, struct kit_cell *ret)
{
    const struct kit_pool *const g = call->state;
    for (size_t i = 0; i < count; i++) {
        const int64_t x = cells[i] % g->ow, y = cells[i] / g->ow % g->oh, plane = cells[i] / (g->ow * g->oh);
        const struct span span = span_of(g, y, x);
        const void *const values = plane_of(g, in[KIT_POOL_SRC], plane, g->h * g->w);
        if (g->kind == KIT_POOL_MAX) {
            ret[i] = (struct kit_cell){.value = maximum(g, values, &span)};
        } else {
            ret[i] = average(g, values, &span);
        }
    }
    return KIT_OK;
}

/* Every window that holds the element gives it an equal share. */
static struct kit_cell gathered_shares(const struct kit_pool *g, const void *diff_dst, int64_t y, int64_t x)
{
    struct kit_cell cell = {.k = 0};
    for (int64_t tap = 0; tap < g->window * g->window; tap++) {
        const int64_t oy = window_reading(y, tap / g->window, g->stride, g->pad, g->oh),
                      ox = window_reading(x, tap % g->window, g->stride, g->pad, g->ow);
        if (oy >= 0 && ox >= 0) {
            const struct span span = span_of(g, oy, ox);
            const long double share = kit_value(g->dtype, diff_dst, oy * g->ow + ox) / divisor(g, &span);
            cell.value += share;
            cell.scale += fabsl(share);
            cell.k += 2; /* a share may round twice: the reciprocal of the divisor, the product with it */
        }
    }
    return cell;
}

int kit_pool_reference_backward(struct kit_call *call, int output, const void *const *in,
                                const int64_t *cells, size_t count, struct kit_cell *ret)
{
    const struct kit_pool *const g = call->state;
    for (size_t i = 0; i < count; i++) {
        const int64_t x = cells[i] % g->w, y = cells[i] / g->w % g->h, plane = cells[i] / (g->w * g->h);
        ret[i] = gathered_shares(g, plane_of(g, in[KIT_POOL_DIFF_DST], plane, g->oh * g->ow), y, x);
    }
    return KIT_OK;
}

/* What an element may receive: the gradients of windows in which it alone is the maximum, and any part of
 * those in which it ties. */
struct range {
    long double low, high, scale;
};

static void add_window(struct range *range, long double gradient, bool tied)
{
    range->low += tied ? fminl(gradient, 0) : gradient;
    range->high += tied ? fmaxl(gradient, 0) : gradient;
    range->scale += fabsl(gradient);
}

/* One window's gradient into the ranges of its maxima and into that of the plane's sum. */
static void spread_window(const struct kit_pool *g, const void *src, long double gradient,
                          const struct span *span, struct range *ranges, struct range *sum)
{
    const long double best = maximum(g, src, span);
    int64_t winners = 0;
    for (int64_t y = span->y0; y < span->y1; y++) {
        for (int64_t x = span->x0; x < span->x1; x++) {
            winners += kit_value(g->dtype, src, y * g->w + x) == best;
        }
    }
    for (int64_t y = span->y0; y < span->y1; y++) {
        for (int64_t x = span->x0; x < span->x1; x++) {
            if (kit_value(g->dtype, src, y * g->w + x) == best) {
                add_window(&ranges[y * g->w + x], gradient, winners > 1);
            }
        }
    }
    add_window(sum, gradient, false);
    for (int64_t i = 1; i < winners && g->any_tied; i++) {
        add_window(sum, gradient, true);
    }
}

static bool outside(const struct range *range, long double value, long double unit)
{
    const long double slack = unit * range->scale;
    return !(value >= range->low - slack && value <= range->high + slack);
}

/* Cells of one plane that are outside their range, and one more if the plane's gradients do not add up. */
static int64_t wrong_in_plane(const struct kit_pool *g, const void *src, const void *diff_dst,
                              const void *diff_src, struct range *ranges)
{
    const long double unit = (long double)(4 * g->window * g->window) * kit_dtype_roundoff(g->dtype);
    struct range sum = {0};
    long double received = 0;
    int64_t wrong = 0;
    memset(ranges, 0, (size_t)(g->h * g->w) * sizeof(*ranges));
    for (int64_t i = 0; i < g->oh * g->ow; i++) {
        const struct span span = span_of(g, i / g->ow, i % g->ow);
        spread_window(g, src, kit_value(g->dtype, diff_dst, i), &span, ranges, &sum);
    }
    sum.scale = 0; /* every element's error may be in it */
    for (int64_t i = 0; i < g->h * g->w; i++) {
        const long double value = kit_value(g->dtype, diff_src, i);
        wrong += outside(&ranges[i], value, unit);
        received += value;
        sum.scale += ranges[i].scale;
    }
    return wrong + outside(&sum, received, unit);
}

int kit_pool_accepts_max_backward(struct kit_call *call, int output, const void *const *in,
                                  const void *logical, int64_t *ret_wrong)
{
    const struct kit_pool *const g = call->state;
    struct range *const ranges = malloc((size_t)(g->h * g->w) * sizeof(*ranges));
    if (!ranges) {
        return kit_fail("out of memory");
    }
    *ret_wrong = 0;
    for (int64_t plane = 0; plane < g->n * g->c; plane++) {
        *ret_wrong += wrong_in_plane(g, plane_of(g, in[KIT_POOL_BACKWARD_SRC], plane, g->h * g->w),
                                     plane_of(g, in[KIT_POOL_DIFF_DST], plane, g->oh * g->ow),
                                     plane_of(g, logical, plane, g->h * g->w), ranges);
    }
    free(ranges);
    return KIT_OK;
}

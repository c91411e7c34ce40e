/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients that go back through a change of place: resize, padding, adaptive average, regions of interest,
 * sampling at a grid of points, the maximum of windows. Several outputs of the forward pass reach one cell,
 * so their gradients meet there: by atomics in arrival order (`atomic`), or in one thread in the order of
 * outputs (`gather`).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes/cuda/resample.h"
#include "probes/kit/dtype.h"

extern const char resample_text[];

#define THREADS 256
#define MAX_EXTENT 4096
#define EXACT_FLOAT (1 << 24) /* integers up to here are floats */

enum { PLACES = RESAMPLE_DX + 1 };

int resample_read_extent(const struct kit_params *params, const char *name, int64_t least, int64_t *ret)
{
    if (kit_param_int(params, name, ret)) {
        return KIT_FAILED;
    }
    return *ret >= least && *ret <= MAX_EXTENT
               ? KIT_OK
               : kit_fail("bad params: '%s' is not within %lld and %d", name, (long long)least, MAX_EXTENT);
}

int resample_read_type(const struct kit_params *params, enum kit_dtype *ret)
{
    return kit_param_dtype(params, "dtype", "f32|f64|f16|bf16", ret);
}

/* Kernels count in 32 bits. */
int resample_check_count(double items)
{
    return items <= INT32_MAX ? KIT_OK : kit_fail("bad params: more than 2^31 items");
}

int resample_launch(CUfunction kernel, int64_t items, const void *args)
{
    return kit_cuda_launch(kernel, kit_cuda_blocks(items, THREADS), THREADS, args);
}

/* --- resize, padding, adaptive average, regions of interest --- */

struct plan {
    enum kit_dtype dtype;
    int form;
    CUfunction kernel;
    struct resample_args args; /* but for the buffers */
    int64_t box_below;         /* 0: no boxes */
};

static int64_t outputs_of(const struct resample_axis *axis)
{
    return axis->samples / axis->ratio;
}

/* Centres of cells on centres of cells, or corners on corners. */
static void linear_axis(struct resample_axis *axis, int64_t cells, int64_t outputs, bool corners)
{
    axis->kind = RESAMPLE_LINEAR;
    axis->cells = (i32)cells;
    axis->samples = (i32)outputs;
    axis->step = (i32)(corners ? cells - 1 : 2 * cells);
    axis->start = (i32)(corners ? 0 : cells - outputs);
    axis->of = (i32)(corners ? outputs - 1 : 2 * outputs);
}

static int read_upsample(const struct kit_params *params, int64_t h, int64_t w, struct plan *ret)
{
    int64_t oh, ow;
    bool corners;
    if (resample_read_extent(params, "oh", 2, &oh) || resample_read_extent(params, "ow", 2, &ow) ||
        kit_param_bool_or(params, "corners", false, &corners)) {
        return KIT_FAILED;
    }
    linear_axis(&ret->args.rows, h, oh, corners);
    linear_axis(&ret->args.columns, w, ow, corners);
    return KIT_OK;
}

static int read_pad(const struct kit_params *params, int64_t h, int64_t w, struct plan *ret)
{
    const int64_t shorter = h < w ? h : w;
    int64_t pad;
    int replicate;
    if (resample_read_extent(params, "pad", 1, &pad) ||
        kit_param_word(params, "mode", "reflect|replicate", &replicate)) {
        return KIT_FAILED;
    }
    if (!replicate && pad >= shorter) {
        return kit_fail("bad params: reflection needs 'pad' below the extents");
    }
    const i32 kind = replicate ? RESAMPLE_REPLICATE : RESAMPLE_REFLECT, before = (i32)pad;
    ret->args.rows = (struct resample_axis){
        .kind = kind, .cells = (i32)h, .samples = (i32)h + 2 * before, .of = 1, .pad = before};
    ret->args.columns = (struct resample_axis){
        .kind = kind, .cells = (i32)w, .samples = (i32)w + 2 * before, .of = 1, .pad = before};
    return KIT_OK;
}

static int read_adaptive(const struct kit_params *params, int64_t h, int64_t w, struct plan *ret)
{
    int64_t oh, ow;
    if (resample_read_extent(params, "oh", 1, &oh) || resample_read_extent(params, "ow", 1, &ow)) {
        return KIT_FAILED;
    }
    ret->args.rows =
        (struct resample_axis){.kind = RESAMPLE_WINDOW, .cells = (i32)h, .samples = (i32)oh, .of = 1};
    ret->args.columns =
        (struct resample_axis){.kind = RESAMPLE_WINDOW, .cells = (i32)w, .samples = (i32)ow, .of = 1};
    return KIT_OK;
}

/* Boxes in quarters of a cell. Their sides are between a third and two thirds of the image, so that all lie
 * within it and many overlap. */
static int read_regions(const struct kit_params *params, int64_t h, int64_t w, struct plan *ret)
{
    enum { UNIT = 4 };
    const int64_t shorter = h < w ? h : w;
    int64_t boxes, pooled, ratio;
    if (resample_read_extent(params, "boxes", 1, &boxes) ||
        resample_read_extent(params, "pooled", 1, &pooled) ||
        resample_read_extent(params, "ratio", 1, &ratio)) {
        return KIT_FAILED;
    }
    ret->box_below = (shorter - 1) * UNIT / 3;
    if (ret->box_below < 1) {
        return kit_fail("bad params: no room for boxes");
    }
    const struct resample_axis axis = {.kind = RESAMPLE_LINEAR,
                                       .samples = (i32)(pooled * ratio),
                                       .ratio = (i32)ratio,
                                       .of = (i32)(2 * pooled * ratio * UNIT)};
    ret->args.rows = ret->args.columns = axis;
    ret->args.rows.cells = (i32)h;
    ret->args.columns.cells = (i32)w;
    ret->args.box_unit = UNIT;
    ret->args.box_least = (i32)ret->box_below;
    ret->args.regions = ret->args.images * (i32)boxes;
    return KIT_OK;
}

static int finish_plan(struct plan *ret)
{
    struct resample_axis *const axes[] = {&ret->args.rows, &ret->args.columns};
    int64_t denominator = 1;
    for (int i = 0; i < 2; i++) {
        axes[i]->ratio = axes[i]->ratio ? axes[i]->ratio : 1;
        denominator *= (int64_t)axes[i]->of * axes[i]->ratio;
    }
    if (denominator > EXACT_FLOAT) {
        return kit_fail("bad params: the weights' denominator %lld is no float", (long long)denominator);
    }
    if (ret->form == RESAMPLE_PACKED &&
        (!ret->args.last || ret->args.channels % 2 || kit_dtype_size(ret->dtype) != 2)) {
        return kit_fail("bad params: pairs are of 16 bits each, and of channels: nhwc, 'c' even");
    }
    const struct resample_args *const a = &ret->args;
    const int rc = resample_check_count((double)a->images * a->channels * a->rows.cells * a->columns.cells);
    return rc ? rc
              : resample_check_count((double)a->regions * a->channels * a->rows.samples * a->columns.samples);
}

static int plan_read(const struct kit_params *params, struct plan *ret)
{
    static int (*const readers[])(const struct kit_params *, int64_t, int64_t,
                                  struct plan *) = {read_upsample, read_pad, read_adaptive, read_regions};
    int64_t n, c, h, w;
    int kind, last;
    *ret = (struct plan){.form = RESAMPLE_ATOMIC};
    if (resample_read_type(params, &ret->dtype) || resample_read_extent(params, "n", 1, &n) ||
        resample_read_extent(params, "c", 1, &c) || resample_read_extent(params, "h", 2, &h) ||
        resample_read_extent(params, "w", 2, &w) ||
        kit_param_word(params, "form", "atomic|gather|packed", &ret->form) ||
        kit_param_word(params, "layout", "nchw|nhwc", &last) ||
        kit_param_word(params, "through", "upsample|pad|adaptive|regions", &kind)) {
        return KIT_FAILED;
    }
    ret->args.type = kit_cuda_kernel_type(ret->dtype);
    ret->args.images = ret->args.regions = (i32)n;
    ret->args.channels = (i32)c;
    ret->args.last = last;
    return readers[kind](params, h, w, ret) ? KIT_FAILED : finish_plan(ret);
}

static struct kit_operand tensor(const struct plan *plan, const char *name, enum kit_role role, int64_t outer,
                                 int64_t rows, int64_t columns)
{
    const int64_t c = plan->args.channels;
    struct kit_operand operand = {.name = name,
                                  .role = role,
                                  .dtype = plan->dtype,
                                  .ndim = 4,
                                  .shape = {outer, c, rows, columns},
                                  .batch_dim = plan->box_below ? -1 : 0};
    const int64_t strides[] = {c * rows * columns, 1, columns * c, c};
    if (plan->args.last) {
        memcpy(operand.stride, strides, sizeof(strides));
    }
    return operand;
}

static int plan_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct plan p;
    if (plan_read(params, &p)) {
        return KIT_FAILED;
    }
    const struct resample_axis *const rows = &p.args.rows, *const columns = &p.args.columns;
    ret->count = p.box_below ? 3 : 2;
    ret->operand[RESAMPLE_DY] =
        tensor(&p, "dy", KIT_IN, p.args.regions, outputs_of(rows), outputs_of(columns));
    ret->operand[RESAMPLE_DX] = tensor(&p, "dx", KIT_OUT, p.args.images, rows->cells, columns->cells);
    ret->operand[PLACES] = (struct kit_operand){.name = "boxes",
                                                .role = KIT_IN,
                                                .dtype = KIT_S32,
                                                .ndim = 2,
                                                .shape = {p.args.regions, 4},
                                                .batch_dim = -1,
                                                .fill = KIT_INDICES,
                                                .below = p.box_below};
    ret->flops = 4.0 * p.args.regions * p.args.channels * rows->samples * columns->samples;
    return KIT_OK;
}

static int plan_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    struct plan *const p = calloc(1, sizeof(*p));
    call->state = p;
    const int rc = p ? plan_read(call->params, p) : kit_fail("out of memory");
    if (rc) {
        return rc;
    }
    return p->form == RESAMPLE_PACKED
               ? kit_cuda_kernel("resample_atomic_packed", &p->kernel)
               : kit_cuda_kernel_for(p->form == RESAMPLE_GATHER ? "resample_gather" : "resample_atomic",
                                     p->dtype, &p->kernel);
}

static int plan_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct plan *p = call->state;
    struct resample_args args = p->args;
    args.dy = buffers->data[RESAMPLE_DY];
    args.dx = buffers->data[RESAMPLE_DX];
    args.boxes = p->box_below ? buffers->data[PLACES] : NULL;
    const int64_t cells = (int64_t)args.images * args.channels * args.rows.cells * args.columns.cells;
    if (p->form == RESAMPLE_GATHER) {
        return resample_launch(p->kernel, cells, &args);
    }
    const int64_t items = (int64_t)args.regions * args.channels * args.rows.samples * args.columns.samples;
    const int rc = kit_cuda_zero(args.dx, (size_t)cells * kit_dtype_size(p->dtype));
    return rc ? rc : resample_launch(p->kernel, p->form == RESAMPLE_PACKED ? items / 2 : items, &args);
}

/* What share of a sample goes to a cell: 1 at its place, falling to 0 one cell beside it. */
static long double linear_share(const struct resample_axis *axis, int64_t sample, int64_t cell)
{
    const long double place = (long double)(axis->start + sample * axis->step) / axis->of;
    const long double held = fminl(fmaxl(place, 0), axis->cells - 1);
    const long double away = fabsl(held - (long double)cell);
    return away < 1 ? (1 - away) / axis->ratio : 0;
}

static long double share_of(const struct resample_axis *axis, int64_t sample, int64_t cell)
{
    const int64_t last = axis->cells - 1, at = sample - axis->pad;
    if (axis->kind == RESAMPLE_LINEAR) {
        return linear_share(axis, sample, cell);
    }
    if (axis->kind == RESAMPLE_WINDOW) {
        const int64_t from = sample * axis->cells / axis->samples;
        const int64_t to = ((sample + 1) * axis->cells + axis->samples - 1) / axis->samples;
        return cell >= from && cell < to ? 1 / (long double)(to - from) : 0;
    }
    if (axis->kind == RESAMPLE_REPLICATE) {
        return cell == (at < 0 ? 0 : at > last ? last : at);
    }
    return cell == at || cell == -at || cell == 2 * last - at;
}

/* Shares of one dimension: regions x cells x samples. Owned. */
static long double *shares(const struct plan *plan, const int32_t *boxes, bool is_row)
{
    const struct resample_args *const args = &plan->args;
    struct resample_axis axis = is_row ? args->rows : args->columns;
    const int64_t tables = boxes ? args->regions : 1;
    long double *const ret = malloc((size_t)(tables * axis.cells * axis.samples) * sizeof(*ret)), *at = ret;
    for (int64_t r = 0; r < tables && ret; r++) {
        if (boxes) { /* the side in as many parts as samples, half a cell from edge to centre */
            const int64_t from = boxes[4 * r + is_row], side = args->box_least + boxes[4 * r + 2 + is_row];
            axis.step = (i32)(2 * side);
            axis.start = (i32)(side + (2 * from - args->box_unit) * axis.samples);
        }
        for (int64_t cell = 0; cell < axis.cells; cell++) {
            for (int64_t sample = 0; sample < axis.samples; sample++) {
                *at++ = share_of(&axis, sample, cell);
            }
        }
    }
    return ret;
}

/* What a region gives to a cell; `dy` begins with the plane's outputs. */
static void add_region(const struct plan *plan, const void *dy, int64_t first, const long double *rows,
                       const long double *columns, struct kit_cell *cell)
{
    const struct resample_axis *const y = &plan->args.rows, *const x = &plan->args.columns;
    for (int64_t i = 0; i < y->samples; i++) {
        for (int64_t j = 0; j < x->samples && rows[i] != 0; j++) {
            if (columns[j] != 0) {
                const int64_t output = i / y->ratio * outputs_of(x) + j / x->ratio;
                const long double term = kit_value(plan->dtype, dy, first + output) * rows[i] * columns[j];
                cell->value += term;
                cell->scale += fabsl(term);
                cell->k++;
            }
        }
    }
}

/* A term rounds three times: weight, product, and to 16 bits. */
#define TERM_ROUNDINGS 3

static int plan_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                          size_t count, struct kit_cell *ret)
{
    const struct plan *const p = call->state;
    const struct resample_args *const a = &p->args;
    const int32_t *const boxes = p->box_below ? in[PLACES] : NULL;
    long double *const rows = shares(p, boxes, true), *const columns = shares(p, boxes, false);
    const int64_t outputs = outputs_of(&a->rows) * outputs_of(&a->columns), each = a->regions / a->images;
    const int rc = rows && columns ? KIT_OK : kit_fail("out of memory");
    for (size_t i = 0; i < count && !rc; i++) {
        const int64_t x = cells[i] % a->columns.cells, y = cells[i] / a->columns.cells % a->rows.cells;
        const int64_t plane = cells[i] / a->columns.cells / a->rows.cells;
        const int64_t channel = plane % a->channels, image = plane / a->channels;
        ret[i] = (struct kit_cell){.k = TERM_ROUNDINGS};
        for (int64_t r = image * each; r < (image + 1) * each; r++) {
            const int64_t table = boxes ? r : 0;
            add_region(p, in[RESAMPLE_DY], (r * a->channels + channel) * outputs,
                       rows + (table * a->rows.cells + y) * a->rows.samples,
                       columns + (table * a->columns.cells + x) * a->columns.samples, &ret[i]);
        }
    }
    free(rows);
    free(columns);
    return rc;
}

/* --- sampling at a grid of points: gradient of what is sampled, and of the grid --- */

enum { SAMPLE_X = 3 };

struct sampling {
    enum kit_dtype dtype;
    int form, of_grid;
    CUfunction kernel;
    struct sample_args args; /* but for the buffers */
};

static int sampling_read(const struct kit_params *params, struct sampling *ret)
{
    int64_t n, c, h, w, points, unit;
    *ret = (struct sampling){.form = RESAMPLE_ATOMIC};
    if (resample_read_type(params, &ret->dtype) ||
        kit_param_word(params, "form", "atomic|gather", &ret->form) ||
        kit_param_word(params, "of", "input|grid", &ret->of_grid) ||
        resample_read_extent(params, "n", 1, &n) || resample_read_extent(params, "c", 1, &c) ||
        resample_read_extent(params, "h", 2, &h) || resample_read_extent(params, "w", 2, &w) ||
        resample_read_extent(params, "points", 1, &points) ||
        resample_read_extent(params, "unit", 1, &unit)) {
        return KIT_FAILED;
    }
    if (unit * unit > EXACT_FLOAT) {
        return kit_fail("bad params: the weights' denominator is no float");
    }
    ret->args = (struct sample_args){.type = kit_cuda_kernel_type(ret->dtype),
                                     .images = (i32)n,
                                     .channels = (i32)c,
                                     .height = (i32)h,
                                     .width = (i32)w,
                                     .points = (i32)points,
                                     .unit = (i32)unit};
    const int rc = resample_check_count((double)(n * c) * (double)(h * w));
    return rc ? rc : resample_check_count(2 * (double)(n * c) * (double)points);
}

static int sampling_describe(const struct kit_params *params, struct kit_shape *ret)
{
    struct sampling s;
    if (sampling_read(params, &s)) {
        return KIT_FAILED;
    }
    const int64_t n = s.args.images, c = s.args.channels, h = s.args.height, w = s.args.width;
    const int64_t points = s.args.points;
    const struct kit_operand image = {.dtype = s.dtype, .ndim = 4, .shape = {n, c, h, w}, .batch_dim = 0};
    const struct kit_operand point = {.ndim = 3, .shape = {n, points, 2}, .batch_dim = 0};
    struct kit_operand *const operand = ret->operand;
    ret->count = s.of_grid ? 4 : 3;
    operand[RESAMPLE_DY] = (struct kit_operand){
        .name = "dy", .role = KIT_IN, .dtype = s.dtype, .ndim = 3, .shape = {n, c, points}, .batch_dim = 0};
    operand[RESAMPLE_DX] = s.of_grid ? point : image;
    operand[RESAMPLE_DX].name = s.of_grid ? "dgrid" : "dx";
    operand[RESAMPLE_DX].role = KIT_OUT;
    operand[RESAMPLE_DX].dtype = s.dtype;
    operand[PLACES] = point;
    operand[PLACES].name = "grid";
    operand[PLACES].role = KIT_IN;
    operand[PLACES].dtype = KIT_S32; /* parts of a cell, so that places and weights are exact */
    operand[PLACES].fill = KIT_INDICES;
    operand[PLACES].below = ((h < w ? h : w) - 1) * s.args.unit;
    operand[SAMPLE_X] = image;
    operand[SAMPLE_X].name = "x";
    operand[SAMPLE_X].role = KIT_IN;
    ret->flops = 8.0 * (double)(n * c * points) * (s.of_grid ? 1 : 16);
    return KIT_OK;
}

static int sampling_prepare(struct kit_call *call, struct kit_prepared *ret)
{
    static const char *const kernels[2][2] = {{"sample_atomic", "sample_gather"},
                                              {"sample_grid_atomic", "sample_grid_gather"}};
    struct sampling *const s = calloc(1, sizeof(*s));
    call->state = s;
    const int rc = s ? sampling_read(call->params, s) : kit_fail("out of memory");
    return rc ? rc : kit_cuda_kernel_for(kernels[s->of_grid][s->form], s->dtype, &s->kernel);
}

static int sampling_run(struct kit_call *call, const struct kit_buffers *buffers)
{
    const struct sampling *s = call->state;
    struct sample_args args = s->args;
    args.dy = buffers->data[RESAMPLE_DY];
    args.result = buffers->data[RESAMPLE_DX];
    args.grid = buffers->data[PLACES];
    args.x = s->of_grid ? buffers->data[SAMPLE_X] : NULL;
    const int64_t cells =
        s->of_grid ? args.images * args.points * 2 : args.images * args.channels * args.height * args.width;
    if (s->form == RESAMPLE_GATHER) {
        return resample_launch(s->kernel, cells, &args);
    }
    const int rc = kit_cuda_zero(args.result, (size_t)cells * kit_dtype_size(s->dtype));
    return rc ? rc
              : resample_launch(s->kernel,
                                (int64_t)args.images * args.channels * args.points * (s->of_grid ? 2 : 1),
                                &args);
}

static void add_term(struct kit_cell *cell, long double term, long double scale)
{
    cell->value += term;
    cell->scale += scale;
    cell->k++;
}

static struct kit_cell sampled_cell(const struct sampling *s, const void *dy, const int32_t *grid,
                                    int64_t cell)
{
    const struct sample_args *const a = &s->args;
    const int64_t plane = cell / a->width / a->height, y = cell / a->width % a->height, x = cell % a->width;
    struct kit_cell ret = {.k = TERM_ROUNDINGS};
    for (int64_t p = 0; p < a->points; p++) {
        const int32_t *const at = grid + 2 * (plane / a->channels * a->points + p);
        const int64_t right = llabs(at[0] - x * a->unit), down = llabs(at[1] - y * a->unit);
        if (right < a->unit && down < a->unit) {
            const long double weight =
                (long double)((a->unit - right) * (a->unit - down)) / ((long double)a->unit * a->unit);
            const long double term = weight * kit_value(s->dtype, dy, plane * a->points + p);
            add_term(&ret, term, fabsl(term));
        }
    }
    return ret;
}

/* Moving a point along one dimension: the two neighbours' difference, at each of the two lines beside it. */
static struct kit_cell moved_point(const struct sampling *s, const void *dy, const int32_t *grid,
                                   const void *x, int64_t cell)
{
    const struct sample_args *const a = &s->args;
    const int64_t down = cell % 2, point = cell / 2 % a->points, image = cell / 2 / a->points;
    const int32_t *const at = grid + 2 * (image * a->points + point);
    const int64_t along = down ? a->width : 1, across = down ? 1 : a->width;
    const long double far = (long double)(at[!down] % a->unit) / a->unit;
    struct kit_cell ret = {.k = TERM_ROUNDINGS + 2}; /* the differences, and their sum */
    for (int64_t c = 0; c < a->channels; c++) {
        const int64_t plane = image * a->channels + c;
        const long double gradient = kit_value(s->dtype, dy, plane * a->points + point);
        const int64_t corner = (plane * a->height + at[1] / a->unit) * a->width + at[0] / a->unit;
        const long double near_low = kit_value(s->dtype, x, corner);
        const long double near_high = kit_value(s->dtype, x, corner + along);
        const long double far_low = kit_value(s->dtype, x, corner + across);
        const long double far_high = kit_value(s->dtype, x, corner + across + along);
        const long double rise = (near_high - near_low) * (1 - far) + (far_high - far_low) * far;
        const long double size =
            (fabsl(near_high) + fabsl(near_low)) * (1 - far) + (fabsl(far_high) + fabsl(far_low)) * far;
        add_term(&ret, gradient * rise, fabsl(gradient) * size);
    }
    return ret;
}

static int sampling_reference(struct kit_call *call, int output, const void *const *in, const int64_t *cells,
                              size_t count, struct kit_cell *ret)
{
    const struct sampling *const s = call->state;
    for (size_t i = 0; i < count; i++) {
        ret[i] = s->of_grid ? moved_point(s, in[RESAMPLE_DY], in[PLACES], in[SAMPLE_X], cells[i])
                            : sampled_cell(s, in[RESAMPLE_DY], in[PLACES], cells[i]);
    }
    return KIT_OK;
}

static const struct op resample = {
    .name = "resample",
    .describe = plan_describe,
    .prepare = plan_prepare,
    .run = plan_run,
    .reference = plan_reference,
    .release = kit_free_state,
};
static const struct op sample = {
    .name = "sample",
    .describe = sampling_describe,
    .prepare = sampling_prepare,
    .run = sampling_run,
    .reference = sampling_reference,
    .release = kit_free_state,
};
static int open_stack(void)
{
    return kit_cuda_open(resample_text);
}

int main(void)
{
    static const struct op *const ops[] = {&resample, &sample, &resample_max_pool, &resample_three_addends,
                                           NULL};
    static const struct kit_program program = {.name = "resample",
                                               .backend = "cuda",
                                               .ops = ops,
                                               .memory = &kit_cuda,
                                               .open = open_stack,
                                               .libraries = kit_cuda_libraries,
                                               .set_threads = kit_cuda_set_threads};
    return kit_main(&program);
}

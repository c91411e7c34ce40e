/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of gradients that go back through a change of place: resize, padding, adaptive average, regions of
 * interest, sampling at a grid of points, the maximum of windows. `atomic` has a thread for each output of
 * the forward pass, which adds its shares by atomics, in the type of the result, as frameworks do. `gather`
 * has a thread for each cell of the result, which adds what reaches it in the order of the outputs. Places
 * are ratios of integers, so a weight rounds once and is the same in both.
 */
enum resample_kind { RESAMPLE_LINEAR, RESAMPLE_REFLECT, RESAMPLE_REPLICATE, RESAMPLE_WINDOW };

/* One dimension. LINEAR: sample s lies at (start + s * step) / of, held within the cells. */
struct resample_axis {
    i32 kind;
    i32 start, step;
    i32 cells;   /* of the result */
    i32 samples; /* `ratio` of them are averaged into one output */
    i32 ratio;
    i32 of;
    i32 pad; /* REFLECT, REPLICATE: samples before the first cell */
};

struct resample_args {
    const void *dy;   /* regions x channels x outputs */
    void *dx;         /* images x channels x cells, zero before atomic */
    const i32 *boxes; /* regions x 4: left, top, width and height above `box_least`; or NULL */
    i32 type;
    i32 images, regions, channels; /* without boxes, a region is an image */
    struct resample_axis rows, columns;
    i32 last;                /* channels are innermost (NHWC) */
    i32 box_unit, box_least; /* boxes are in parts of a cell: so many, and a side is so long at least */
};

struct sample_args {
    const void *dy;  /* images x channels x points */
    const void *x;   /* images x channels x cells; for the gradient of the grid */
    const i32 *grid; /* images x points x 2: column and row, in parts of a cell, below the last cell */
    void *result;    /* dx: images x channels x cells; dgrid: as grid; zero before atomic */
    i32 type;
    i32 images, channels, height, width, points;
    i32 unit; /* parts of a cell */
};

struct pool_args {
    const void *dy; /* planes x outputs */
    const void *x;  /* planes x cells */
    void *dx;       /* planes x cells, zero before atomic */
    i32 *winners;   /* planes x outputs: the cell whose value is largest, the first of equal ones */
    i32 type;
    i32 planes, height, width, out_height, out_width;
    i32 window, stride, pad;
};

/* Windows of 3 at stride 2 over 18 x 18: four windows share a cell, three of them have it as their winner. */
struct addends_args {
    const i32 *turns; /* planes x 16, below 4: which of the four goes elsewhere */
    float *dy;        /* planes x 8 x 8 */
    i32 *winners;
    i32 planes;
    float addend[3], other;
};

#ifdef KIT_KERNELS
/* --- places --- */

/* The cells that a sample reaches: `count` from `first` on. */
struct resample_reach {
    i32 first, count;
    i32 weight, further; /* of the first cell, of each other one; over `of` */
    i32 of;
};

HELPER struct resample_reach resample_reach(const struct resample_axis *axis, i32 sample)
{
    struct resample_reach reach = {0, 1, 1, 1, 1};
    const i32 last = axis->cells - 1, at = sample - axis->pad;
    if (axis->kind == RESAMPLE_REFLECT) {
        reach.first = at < 0 ? -at : at > last ? 2 * last - at : at;
    } else if (axis->kind == RESAMPLE_REPLICATE) {
        reach.first = at < 0 ? 0 : at > last ? last : at;
    } else if (axis->kind == RESAMPLE_WINDOW) {
        reach.first = sample * axis->cells / axis->samples;
        reach.count = ((sample + 1) * axis->cells + axis->samples - 1) / axis->samples - reach.first;
        reach.of = reach.count;
    } else {
        const i32 place = axis->start + sample * axis->step, most = last * axis->of;
        const i32 held = place < 0 ? 0 : place > most ? most : place;
        reach.first = held / axis->of;
        reach.further = held % axis->of;
        reach.count = reach.further ? 2 : 1;
        reach.weight = axis->of - reach.further;
        reach.of = axis->of * axis->ratio;
    }
    return reach;
}

/* The first sample that reaches `cell` or a later one; where the order of places is that of samples. */
HELPER i32 resample_first(const struct resample_axis *axis, i32 cell)
{
    i32 low = 0, high = axis->samples;
    while (low < high) {
        const i32 middle = (low + high) / 2;
        const struct resample_reach reach = resample_reach(axis, middle);
        if (reach.first + reach.count > cell) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The next sample, from `from` on, that reaches `cell`; the count of samples if there is none. */
HELPER i32 resample_next(const struct resample_axis *axis, i32 cell, i32 from)
{
    if (axis->kind == RESAMPLE_REFLECT) { /* itself, and images before the first and behind the last cell */
        const i32 at = axis->pad + cell, before = cell > 0 ? axis->pad - cell : -1;
        const i32 behind = cell < axis->cells - 1 ? axis->pad + 2 * (axis->cells - 1) - cell : axis->samples;
        const i32 next = before >= from ? before : at >= from ? at : behind;
        return next >= from && next < axis->samples ? next : axis->samples;
    }
    const i32 sample = from ? from : resample_first(axis, cell);
    if (sample >= axis->samples) {
        return axis->samples;
    }
    const struct resample_reach reach = resample_reach(axis, sample);
    return cell >= reach.first && cell < reach.first + reach.count ? sample : axis->samples;
}

/* Numerator of the weight of a cell that is reached. */
HELPER i32 resample_weight(const struct resample_reach *reach, i32 cell)
{
    return cell == reach->first ? reach->weight : reach->further;
}

/* A dimension of a region. A box's samples lie in the middles of equal parts of its side; half a cell lies
 * before the middle of the first cell. */
HELPER struct resample_axis resample_axis_of(const struct resample_args *args, i32 region, i32 is_row)
{
    struct resample_axis axis = is_row ? args->rows : args->columns;
    if (args->boxes) {
        const i32 from = args->boxes[4 * region + is_row];
        const i32 side = args->box_least + args->boxes[4 * region + 2 + is_row];
        axis.step = 2 * side;
        axis.start = side + axis.samples * (2 * from - args->box_unit);
    }
    return axis;
}

struct resample_place {
    i32 outer, channel;
    i32 row, column;
};

/* Item i of outer x channels x rows x columns, in the order of memory. */
HELPER struct resample_place resample_place(i32 i, i32 channels, i32 rows, i32 columns, i32 last)
{
    const i32 inner = last ? channels : 1, planes = last ? 1 : channels;
    const i32 pixel = i / inner, plane = pixel / (rows * columns);
    const struct resample_place place = {plane / planes, last ? i % inner : plane % planes,
                                         pixel / columns % rows, pixel % columns};
    return place;
}

HELPER i32 resample_offset(const struct resample_place *place, i32 channels, i32 rows, i32 columns, i32 last)
{
    const i32 pixels = rows * columns, pixel = place->row * columns + place->column;
    return place->outer * channels * pixels +
           (last ? pixel * channels + place->channel : place->channel * pixels + pixel);
}

/* Where the gradient of a sample stands. */
HELPER i32 resample_output(const struct resample_args *args, i32 region, i32 channel, i32 row, i32 column)
{
    const struct resample_place place = {region, channel, row / args->rows.ratio,
                                         column / args->columns.ratio};
    return resample_offset(&place, args->channels, args->rows.samples / args->rows.ratio,
                           args->columns.samples / args->columns.ratio, args->last);
}

HELPER i32 resample_cell(const struct resample_args *args, i32 image, i32 channel, i32 row, i32 column)
{
    const struct resample_place place = {image, channel, row, column};
    return resample_offset(&place, args->channels, args->rows.cells, args->columns.cells, args->last);
}

/* Items of a launch. The host sees to it that nothing is counted beyond 2^31: 32-bit divisions are cheap. */
#define RESAMPLE_EACH(i, n)                                                                                  \
    FOR_EACH(wide, n)                                                                                        \
    for (i32 i = (i32)wide, once = 1; once; once = 0)

/* --- types: `single` computes in float and keeps f32, f16 or bf16, `double` keeps doubles --- */

HELPER void resample_store_single(void *to, i32 offset, float value, i32 type)
{
    if (type == KERNEL_F32) {
        ((float *)to)[offset] = value;
    } else {
        ((u16 *)to)[offset] = type == KERNEL_F16 ? f16_of_float(value) : bf16_of_float(value);
    }
}

HELPER void resample_add_single(void *to, i32 offset, float value, i32 type)
{
    if (type == KERNEL_F32) {
        atomic_add_f32((float *)to + offset, value);
    } else if (type == KERNEL_F16) {
        atomic_add_f16((f16 *)to + offset, f16_of_float(value));
    } else {
        atomic_add_bf16((bf16 *)to + offset, bf16_of_float(value));
    }
}

/* Neighbours: `word` counts pairs. */
HELPER void resample_add_pair(void *to, i32 word, float low, float high, i32 type)
{
    if (type == KERNEL_F16) {
        atomic_add_f16x2((u32 *)to + word, (u32)f16_of_float(low) | (u32)f16_of_float(high) << 16);
    } else {
        atomic_add_bf16x2((u32 *)to + word, (u32)bf16_of_float(low) | (u32)bf16_of_float(high) << 16);
    }
}

HELPER void resample_store_double(void *to, i32 offset, double value, i32 type)
{
    ((double *)to)[offset] = value;
}

HELPER void resample_add_double(void *to, i32 offset, double value, i32 type)
{
    atomic_add_f64((double *)to + offset, value);
}

/* Makes a family of kernels: suffix and type of arithmetic. */
#define RESAMPLE_TYPES(KERNELS) KERNELS(single, float) KERNELS(double, double)

/* --- resize, padding, adaptive average, regions --- */

#define RESAMPLE_ATOMIC(name, real)                                                                          \
    KERNEL(resample_atomic_##name, struct resample_args)                                                     \
    {                                                                                                        \
        RESAMPLE_EACH(i, args.regions * args.channels * args.rows.samples * args.columns.samples)            \
        {                                                                                                    \
            const struct resample_place at =                                                                 \
                resample_place(i, args.channels, args.rows.samples, args.columns.samples, args.last);        \
            const struct resample_axis rows = resample_axis_of(&args, at.outer, 1);                          \
            const struct resample_axis columns = resample_axis_of(&args, at.outer, 0);                       \
            const struct resample_reach y = resample_reach(&rows, at.row);                                   \
            const struct resample_reach x = resample_reach(&columns, at.column);                             \
            const i32 output = resample_output(&args, at.outer, at.channel, at.row, at.column);              \
            const i32 image = at.outer / (args.regions / args.images);                                       \
            const real dy = load_##name(args.dy, output, args.type);                                         \
            for (i32 row = y.first; row < y.first + y.count; row++) {                                        \
                for (i32 column = x.first; column < x.first + x.count; column++) {                           \
                    const i32 weight = resample_weight(&y, row) * resample_weight(&x, column);               \
                    resample_add_##name(args.dx, resample_cell(&args, image, at.channel, row, column),       \
                                        dy * ((real)weight / (real)(y.of * x.of)), args.type);               \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
RESAMPLE_TYPES(RESAMPLE_ATOMIC)

/* Two neighbouring channels of 16 bits at once, as one word; channels are innermost and even in number. */
KERNEL(resample_atomic_packed, struct resample_args)
{
    RESAMPLE_EACH(i, args.regions * (args.channels / 2) * args.rows.samples * args.columns.samples)
    {
        const struct resample_place at =
            resample_place(i, args.channels / 2, args.rows.samples, args.columns.samples, 1);
        const struct resample_axis rows = resample_axis_of(&args, at.outer, 1);
        const struct resample_axis columns = resample_axis_of(&args, at.outer, 0);
        const struct resample_reach y = resample_reach(&rows, at.row);
        const struct resample_reach x = resample_reach(&columns, at.column);
        const i32 output = resample_output(&args, at.outer, 2 * at.channel, at.row, at.column);
        const i32 image = at.outer / (args.regions / args.images);
        const float low = load_single(args.dy, output, args.type);
        const float high = load_single(args.dy, output + 1, args.type);
        for (i32 row = y.first; row < y.first + y.count; row++) {
            for (i32 column = x.first; column < x.first + x.count; column++) {
                const i32 share = resample_weight(&y, row) * resample_weight(&x, column);
                const float weight = (float)share / (float)(y.of * x.of);
                const i32 cell = resample_cell(&args, image, 2 * at.channel, row, column);
                resample_add_pair(args.dx, cell / 2, low * weight, high * weight, args.type);
            }
        }
    }
}

#define RESAMPLE_GATHER(name, real)                                                                          \
    HELPER real resample_row_##name(const struct resample_args *args, const struct resample_place *at,       \
                                    i32 region, i32 sample, const struct resample_reach *y, real sum)        \
    {                                                                                                        \
        const struct resample_axis columns = resample_axis_of(args, region, 0);                              \
        for (i32 s = resample_next(&columns, at->column, 0); s < columns.samples;                            \
             s = resample_next(&columns, at->column, s + 1)) {                                               \
            const struct resample_reach x = resample_reach(&columns, s);                                     \
            const i32 weight = resample_weight(y, at->row) * resample_weight(&x, at->column);                \
            const i32 output = resample_output(args, region, at->channel, sample, s);                        \
            sum += load_##name(args->dy, output, args->type) *                                               \
                   ((real)weight / (real)(y->of * x.of));                                                    \
        }                                                                                                    \
        return sum;                                                                                          \
    }                                                                                                        \
    KERNEL(resample_gather_##name, struct resample_args)                                                     \
    {                                                                                                        \
        RESAMPLE_EACH(i, args.images * args.channels * args.rows.cells * args.columns.cells)                 \
        {                                                                                                    \
            const struct resample_place at =                                                                 \
                resample_place(i, args.channels, args.rows.cells, args.columns.cells, args.last);            \
            const i32 each = args.regions / args.images;                                                     \
            real sum = 0;                                                                                    \
            for (i32 region = at.outer * each; region < (at.outer + 1) * each; region++) {                   \
                const struct resample_axis rows = resample_axis_of(&args, region, 1);                        \
                for (i32 s = resample_next(&rows, at.row, 0); s < rows.samples;                              \
                     s = resample_next(&rows, at.row, s + 1)) {                                              \
                    const struct resample_reach y = resample_reach(&rows, s);                                \
                    sum = resample_row_##name(&args, &at, region, s, &y, sum);                               \
                }                                                                                            \
            }                                                                                                \
            resample_store_##name(args.dx, i, sum, args.type);                                               \
        }                                                                                                    \
    }
RESAMPLE_TYPES(RESAMPLE_GATHER)

/* --- sampling at points --- */

/* The cell left of and above a point, and how far it is from there in parts of a cell. */
struct sample_point {
    i32 column, row, right, down;
};

HELPER struct sample_point sample_point(const struct sample_args *args, i32 image, i32 point)
{
    const i32 *const grid = args->grid + 2 * (image * args->points + point);
    const struct sample_point at = {grid[0] / args->unit, grid[1] / args->unit, grid[0] % args->unit,
                                    grid[1] % args->unit};
    return at;
}

/* Numerator of the weight of the cell `down` rows and `right` columns (0 or 1) from the point's own; its
 * denominator is the unit's square. */
HELPER i32 sample_weight(const struct sample_args *args, const struct sample_point *at, i32 down, i32 right)
{
    return (down ? at->down : args->unit - at->down) * (right ? at->right : args->unit - at->right);
}

#define SAMPLE_INPUT(name, real)                                                                             \
    KERNEL(sample_atomic_##name, struct sample_args)                                                         \
    {                                                                                                        \
        RESAMPLE_EACH(i, args.images * args.channels * args.points)                                          \
        {                                                                                                    \
            const i32 plane = i / args.points;                                                               \
            const struct sample_point at = sample_point(&args, plane / args.channels, i % args.points);      \
            const i32 first = (plane * args.height + at.row) * args.width + at.column;                       \
            const real dy = load_##name(args.dy, i, args.type);                                              \
            for (i32 corner = 0; corner < 4; corner++) {                                                     \
                const i32 weight = sample_weight(&args, &at, corner / 2, corner % 2);                        \
                resample_add_##name(args.result, first + corner / 2 * args.width + corner % 2,               \
                                    dy * ((real)weight / (real)(args.unit * args.unit)), args.type);         \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    KERNEL(sample_gather_##name, struct sample_args)                                                         \
    {                                                                                                        \
        RESAMPLE_EACH(i, args.images * args.channels * args.height * args.width)                             \
        {                                                                                                    \
            const i32 plane = i / (args.height * args.width);                                                \
            const i32 row = i / args.width % args.height, column = i % args.width;                           \
            real sum = 0;                                                                                    \
            for (i32 point = 0; point < args.points; point++) {                                              \
                const struct sample_point at = sample_point(&args, plane / args.channels, point);            \
                const i32 down = row - at.row, right = column - at.column;                                   \
                if (down >= 0 && down <= 1 && right >= 0 && right <= 1) {                                    \
                    const i32 weight = sample_weight(&args, &at, down, right);                               \
                    sum += load_##name(args.dy, plane * args.points + point, args.type) *                    \
                           ((real)weight / (real)(args.unit * args.unit));                                   \
                }                                                                                            \
            }                                                                                                \
            resample_store_##name(args.result, i, sum, args.type);                                           \
        }                                                                                                    \
    }
RESAMPLE_TYPES(SAMPLE_INPUT)

/* Of one channel: what moving a point by a cell to the right (or down) does to dy times the value there. */
#define SAMPLE_GRID(name, real)                                                                              \
    HELPER real sample_slope_##name(const struct sample_args *args, const struct sample_point *at,           \
                                    i32 plane, i32 point, i32 is_down)                                       \
    {                                                                                                        \
        const i32 near = (plane * args->height + at->row) * args->width + at->column;                        \
        const i32 along = is_down ? args->width : 1, far = near + (is_down ? 1 : args->width);               \
        const i32 share = is_down ? at->right : at->down;                                                    \
        const real near_rise = load_##name(args->x, near + along, args->type) -                              \
                               load_##name(args->x, near, args->type);                                       \
        const real far_rise = load_##name(args->x, far + along, args->type) -                                \
                              load_##name(args->x, far, args->type);                                         \
        return load_##name(args->dy, plane * args->points + point, args->type) *                             \
               (near_rise * ((real)(args->unit - share) / (real)args->unit) +                                \
                far_rise * ((real)share / (real)args->unit));                                                \
    }                                                                                                        \
    KERNEL(sample_grid_atomic_##name, struct sample_args)                                                    \
    {                                                                                                        \
        RESAMPLE_EACH(i, args.images * args.channels * args.points * 2)                                      \
        {                                                                                                    \
            const i32 plane = i / 2 / args.points, image = plane / args.channels;                            \
            const i32 point = i / 2 % args.points;                                                           \
            const struct sample_point at = sample_point(&args, image, point);                                \
            resample_add_##name(args.result, 2 * (image * args.points + point) + i % 2,                      \
                                sample_slope_##name(&args, &at, plane, point, i % 2), args.type);            \
        }                                                                                                    \
    }                                                                                                        \
    KERNEL(sample_grid_gather_##name, struct sample_args)                                                    \
    {                                                                                                        \
        RESAMPLE_EACH(i, args.images * args.points * 2)                                                      \
        {                                                                                                    \
            const i32 image = i / 2 / args.points, point = i / 2 % args.points;                              \
            const struct sample_point at = sample_point(&args, image, point);                                \
            real sum = 0;                                                                                    \
            for (i32 channel = 0; channel < args.channels; channel++) {                                      \
                sum += sample_slope_##name(&args, &at, image * args.channels + channel, point, i % 2);       \
            }                                                                                                \
            resample_store_##name(args.result, i, sum, args.type);                                           \
        }                                                                                                    \
    }
RESAMPLE_TYPES(SAMPLE_GRID)

/* --- the maximum of windows --- */

#define POOL_BACKWARD(name, real)                                                                            \
    KERNEL(pool_winners_##name, struct pool_args)                                                            \
    {                                                                                                        \
        RESAMPLE_EACH(i, args.planes * args.out_height * args.out_width)                                     \
        {                                                                                                    \
            const i32 first = i / args.out_width / args.out_height * args.height * args.width;               \
            const i32 top = i / args.out_width % args.out_height * args.stride - args.pad;                   \
            const i32 left = i % args.out_width * args.stride - args.pad;                                    \
            i32 best = -1;                                                                                   \
            real most = 0;                                                                                   \
            for (i32 row = top < 0 ? 0 : top; row < top + args.window && row < args.height; row++) {         \
                for (i32 column = left < 0 ? 0 : left; column < left + args.window && column < args.width;   \
                     column++) {                                                                             \
                    const i32 cell = row * args.width + column;                                              \
                    const real value = load_##name(args.x, first + cell, args.type);                         \
                    if (best < 0 || value > most) {                                                          \
                        best = cell;                                                                         \
                        most = value;                                                                        \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
            args.winners[i] = best;                                                                          \
        }                                                                                                    \
    }                                                                                                        \
    KERNEL(pool_atomic_##name, struct pool_args)                                                             \
    {                                                                                                        \
        RESAMPLE_EACH(i, args.planes * args.out_height * args.out_width)                                     \
        {                                                                                                    \
            const i32 first = i / args.out_width / args.out_height * args.height * args.width;               \
            resample_add_##name(args.dx, first + args.winners[i],                                            \
                                load_##name(args.dy, i, args.type), args.type);                              \
        }                                                                                                    \
    }                                                                                                        \
    KERNEL(pool_gather_##name, struct pool_args)                                                             \
    {                                                                                                        \
        RESAMPLE_EACH(i, args.planes * args.height * args.width)                                             \
        {                                                                                                    \
            const i32 cell = i % (args.height * args.width), plane = i / (args.height * args.width);         \
            const i32 y = cell / args.width + args.pad, x = cell % args.width + args.pad;                    \
            const i32 top = y < args.window ? 0 : (y - args.window) / args.stride + 1;                       \
            const i32 left = x < args.window ? 0 : (x - args.window) / args.stride + 1;                      \
            real sum = 0;                                                                                    \
            for (i32 row = top; row <= y / args.stride && row < args.out_height; row++) {                    \
                for (i32 column = left; column <= x / args.stride && column < args.out_width; column++) {    \
                    const i32 output = (plane * args.out_height + row) * args.out_width + column;            \
                    if (args.winners[output] == cell) {                                                      \
                        sum += load_##name(args.dy, output, args.type);                                      \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
            resample_store_##name(args.dx, i, sum, args.type);                                               \
        }                                                                                                    \
    }
RESAMPLE_TYPES(POOL_BACKWARD)

KERNEL(pool_addends, struct addends_args)
{
    RESAMPLE_EACH(i, args.planes * 64)
    {
        const i32 row = i / 8 % 8, column = i % 8;
        const i32 group = i / 64 * 16 + row / 2 * 4 + column / 2;
        const i32 role = (row % 2 * 2 + column % 2 + args.turns[group]) % 4;
        args.dy[i] = role < 3 ? args.addend[role] : args.other;
        args.winners[i] =
            role < 3 ? (row / 2 * 4 + 2) * 18 + column / 2 * 4 + 2 : (2 * row + 1) * 18 + 2 * column + 1;
    }
}
#endif

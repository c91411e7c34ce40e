/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of column sums: each block adds up a part of the rows for a tile of columns, in an order of its own that
 * never changes. How parts meet is the form: by atomics as blocks come, in a second pass by the number of the
 * part, or so in the block that comes last.
 */
enum column_form { COLUMN_ATOMIC, COLUMN_TWO_PASS, COLUMN_LAST_BLOCK };

struct column_args {
    const void *dy;
    const void *x;           /* normalised rows' input, or NULL: sums of dy alone */
    const void *mean, *rstd; /* of each row, in the type of arithmetic, as are results */
    void *result[2];         /* sums of dy; of dy times normalised x. Zero before the atomic form */
    void *partial;           /* parts x sums x columns, of the other forms */
    u32 *tickets;            /* of the last block's form: one per tile, zero before */
    i32 type, form;
    i32 rows, columns;
    i32 inner; /* 0: columns are innermost; else rows are, so many of them in a plane (NCHW) */
    i32 parts; /* of the rows */
    i32 width; /* columns of a tile, a power of two up to the threads of a block */
};

#ifdef KIT_KERNELS
HELPER i64 column_offset(const struct column_args *args, i32 row, i32 column)
{
    const i32 inner = args->inner ? args->inner : 1;
    return args->inner ? ((i64)(row / inner) * args->columns + column) * inner + row % inner
                       : (i64)row * args->columns + column;
}

/* Where a part of a column's sum stands. */
HELPER i64 column_place(const struct column_args *args, i32 part, i32 sum, i32 column)
{
    return ((i64)part * (args->x ? 2 : 1) + sum) * args->columns + column;
}

/* Suffix, type of arithmetic, atomic addition. */
#define COLUMN_KERNELS(name, real, add)                                                                      \
    /* Sums over threads of a block that have the same column, as a tree; the first of them has it. */       \
    HELPER real column_tree_##name(real sum, real *shared, i32 width)                                        \
    {                                                                                                        \
        const i32 thread = thread_index();                                                                   \
        shared[thread] = sum;                                                                                \
        for (i32 half = thread_count() / 2; half >= width; half /= 2) {                                      \
            block_barrier();                                                                                 \
            if (thread < half) {                                                                             \
                shared[thread] += shared[thread + half];                                                     \
            }                                                                                                \
        }                                                                                                    \
        sum = shared[thread];                                                                                \
        block_barrier();                                                                                     \
        return sum;                                                                                          \
    }                                                                                                        \
    HELPER void column_total_##name(const struct column_args *args, i32 sum, i32 column)                     \
    {                                                                                                        \
        real total = 0;                                                                                      \
        for (i32 part = 0; part < args->parts; part++) {                                                     \
            total += ((const volatile real *)args->partial)[column_place(args, part, sum, column)];          \
        }                                                                                                    \
        ((real *)args->result[sum])[column] = total;                                                         \
    }                                                                                                        \
    KERNEL(column_sums_##name, struct column_args)                                                           \
    {                                                                                                        \
        SHARED real shared[256];                                                                             \
        SHARED i32 is_last;                                                                                  \
        const i32 tiles = (args.columns + args.width - 1) / args.width;                                      \
        const i32 tile = block_index() % tiles, part = block_index() / tiles;                                \
        const i32 lane = thread_index() / args.width, lanes = thread_count() / args.width;                   \
        const i32 column = tile * args.width + thread_index() % args.width;                                  \
        const i32 from = (i32)((i64)args.rows * part / args.parts);                                          \
        const i32 to = (i32)((i64)args.rows * (part + 1) / args.parts);                                      \
        const i32 sums = args.x ? 2 : 1, writes = lane == 0 && column < args.columns;                        \
        real sum[2] = {0, 0};                                                                                \
        for (i32 row = from + lane; row < to && column < args.columns; row += lanes) {                       \
            const i64 at = column_offset(&args, row, column);                                                \
            const real dy = load_##name(args.dy, at, args.type);                                             \
            sum[0] += dy;                                                                                    \
            if (args.x) {                                                                                    \
                const real centred = load_##name(args.x, at, args.type) - ((const real *)args.mean)[row];    \
                sum[1] += dy * (centred * ((const real *)args.rstd)[row]);                                   \
            }                                                                                                \
        }                                                                                                    \
        for (i32 i = 0; i < sums; i++) {                                                                     \
            sum[i] = column_tree_##name(sum[i], shared, args.width);                                         \
            if (writes && args.form == COLUMN_ATOMIC) {                                                      \
                add((real *)args.result[i] + column, sum[i]);                                                \
            } else if (writes) {                                                                             \
                ((volatile real *)args.partial)[column_place(&args, part, i, column)] = sum[i];              \
            }                                                                                                \
        }                                                                                                    \
        if (args.form == COLUMN_LAST_BLOCK) {                                                                \
            memory_fence();                                                                                  \
            block_barrier();                                                                                 \
            if (thread_index() == 0) {                                                                       \
                is_last = atomic_add_u32(&args.tickets[tile], 1) == (u32)args.parts - 1;                     \
            }                                                                                                \
            block_barrier();                                                                                 \
            memory_fence();                                                                                  \
            for (i32 i = 0; i < sums && is_last && writes; i++) {                                            \
                column_total_##name(&args, i, column);                                                       \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    KERNEL(column_combine_##name, struct column_args)                                                        \
    {                                                                                                        \
        FOR_EACH(i, (i64)args.columns * (args.x ? 2 : 1))                                                    \
        {                                                                                                    \
            column_total_##name(&args, (i32)(i / args.columns), (i32)(i % args.columns));                    \
        }                                                                                                    \
    }
COLUMN_KERNELS(single, float, atomic_add_f32)
COLUMN_KERNELS(double, double, atomic_add_f64)
#endif

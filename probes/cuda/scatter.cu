/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of scatter and index operations. An item is what has one index: a row of `width` elements, or one
 * element. In arrival order: threads update the destination as they come. In index order: counts per target
 * give each target its part of `order`, items take places there as they come and are then ranked by their
 * number, so that what is left of the arrival is nothing; one thread adds up each cell in that order.
 */
struct scatter_args {
    const i64 *indices; /* one per item */
    const void *src;    /* items x width */
    void *dst;          /* targets x width */
    u32 *starts;        /* targets + 1, zero before */
    u32 *used;          /* targets, zero before */
    u32 *slots, *order; /* items */
    i64 items, targets, width;
    i64 span;          /* items of a group */
    i64 rows, columns; /* targets of a group; columns is 1 unless each element is an item */
    i64 padding;       /* the index of items that are skipped, or -1 */
    i32 onto;          /* sums begin with what dst holds, else with zero */
};

#define PRIVATE_BINS 1024 /* at most, per group */

#ifdef KIT_KERNELS
/* Where an item goes, or -1. */
HELPER i64 scatter_target(const struct scatter_args *args, i64 item)
{
    const i64 index = args->indices[item];
    return index == args->padding ? -1 : (item / args->span * args->rows + index) * args->columns + item % args->columns;
}

/* --- in arrival order --- */

/* One update per word of `type`, of which a row has `width`. */
#define SCATTER_KERNEL(name, type, row_words, update)                                                        \
    KERNEL(name, struct scatter_args)                                                                        \
    {                                                                                                        \
        const i64 words = row_words;                                                                         \
        FOR_EACH(i, args.items * words)                                                                      \
        {                                                                                                    \
            const i64 target = scatter_target(&args, i / words);                                             \
            if (target >= 0) {                                                                               \
                update((type *)args.dst + target * words + i % words, ((const type *)args.src)[i]);          \
            }                                                                                                \
        }                                                                                                    \
    }
SCATTER_KERNEL(scatter_add_f32, float, args.width, atomic_add_f32)
SCATTER_KERNEL(scatter_add_f64, double, args.width, atomic_add_f64)
SCATTER_KERNEL(scatter_add_f16, f16, args.width, atomic_add_f16)
SCATTER_KERNEL(scatter_add_bf16, bf16, args.width, atomic_add_bf16)
SCATTER_KERNEL(scatter_add_s32, i32, args.width, atomic_add_i32)
SCATTER_KERNEL(scatter_add_s64, u64, args.width, atomic_add_u64)
/* Two neighbouring columns at once, as one word; width is even. */
SCATTER_KERNEL(scatter_pair_f16, u32, args.width / 2, atomic_add_f16x2)
SCATTER_KERNEL(scatter_pair_bf16, u32, args.width / 2, atomic_add_bf16x2)
/* The last writer wins, whoever that is; by the element's size. */
#define STORE(p, v) (*(p) = (v))
SCATTER_KERNEL(scatter_put_2, volatile u16, args.width, STORE)
SCATTER_KERNEL(scatter_put_4, volatile u32, args.width, STORE)
SCATTER_KERNEL(scatter_put_8, volatile u64, args.width, STORE)

#define COUNT_KERNEL(name, type, update)                                                                     \
    KERNEL(name, struct scatter_args)                                                                        \
    {                                                                                                        \
        FOR_EACH(item, args.items)                                                                           \
        {                                                                                                    \
            const i64 target = scatter_target(&args, item);                                                  \
            if (target >= 0) {                                                                               \
                update((type *)args.dst + target, 1);                                                        \
            }                                                                                                \
        }                                                                                                    \
    }
COUNT_KERNEL(scatter_count_f32, float, atomic_add_f32)
COUNT_KERNEL(scatter_count_s32, i32, atomic_add_i32)
COUNT_KERNEL(scatter_count_s64, u64, atomic_add_u64)

/* Each block first fills bins of its own, of one group, with those blocks that have the same group. */
#define PRIVATE_KERNEL(name, type, update, value)                                                            \
    KERNEL(name, struct scatter_args)                                                                        \
    {                                                                                                        \
        SHARED type bins[PRIVATE_BINS];                                                                      \
        const i64 groups = args.items / args.span, group = block_index() % groups;                           \
        const i64 part = block_index() / groups, parts = (block_count() - group + groups - 1) / groups;      \
        for (i64 row = thread_index(); row < args.rows; row += thread_count()) {                             \
            bins[row] = 0;                                                                                   \
        }                                                                                                    \
        block_barrier();                                                                                     \
        for (i64 i = part * thread_count() + thread_index(); i < args.span; i += parts * thread_count()) {   \
            const i64 item = group * args.span + i, target = scatter_target(&args, item);                    \
            if (target >= 0) {                                                                               \
                update(&bins[target - group * args.rows], value);                                            \
            }                                                                                                \
        }                                                                                                    \
        block_barrier();                                                                                     \
        for (i64 row = thread_index(); row < args.rows; row += thread_count()) {                             \
            update((type *)args.dst + group * args.rows + row, bins[row]);                                   \
        }                                                                                                    \
    }
PRIVATE_KERNEL(scatter_private_f32, float, atomic_add_f32, ((const float *)args.src)[item])
PRIVATE_KERNEL(scatter_tally_s32, i32, atomic_add_i32, 1)

/* --- in index order; first scatter_count_s32 into `starts` --- */

/* Counts to first places, by one block of 256 threads with a range of targets each. */
KERNEL(scatter_starts, struct scatter_args)
{
    SHARED u32 sums[256];
    const i32 thread = thread_index(), threads = thread_count();
    const i64 from = args.targets * thread / threads, to = args.targets * (thread + 1) / threads;
    u32 place = 0;
    for (i64 target = from; target < to; target++) {
        place += args.starts[target];
    }
    sums[thread] = place;
    block_barrier();
    place = 0;
    for (i32 i = 0; i < thread; i++) {
        place += sums[i];
    }
    for (i64 target = from; target < to; target++) {
        const u32 count = args.starts[target];
        args.starts[target] = place;
        place += count;
    }
    if (thread == threads - 1) {
        args.starts[args.targets] = place;
    }
}

/* Each target's items within its part, as they arrive. */
KERNEL(scatter_slots, struct scatter_args)
{
    FOR_EACH(item, args.items)
    {
        const i64 target = scatter_target(&args, item);
        if (target >= 0) {
            args.slots[args.starts[target] + atomic_add_u32(&args.used[target], 1)] = (u32)item;
        }
    }
}

/* An item's place is how many items of its target are before it in number. */
KERNEL(scatter_ranks, struct scatter_args)
{
    FOR_EACH(slot, args.starts[args.targets])
    {
        const u32 item = args.slots[slot];
        const i64 target = scatter_target(&args, item);
        const u32 from = args.starts[target], to = args.starts[target + 1];
        u32 place = from;
        for (u32 i = from; i < to; i++) {
            place += args.slots[i] < item;
        }
        args.order[place] = item;
    }
}

/* One thread for each cell. Types of 16 bits are summed in float and rounded once. */
#define SUM_KERNEL(name, type, sum_type, load, store)                                                        \
    KERNEL(name, struct scatter_args)                                                                        \
    {                                                                                                        \
        FOR_EACH(cell, args.targets * args.width)                                                            \
        {                                                                                                    \
            const i64 target = cell / args.width, column = cell % args.width;                                \
            type *const to = (type *)args.dst + cell;                                                        \
            sum_type sum = args.onto ? load(*to) : (sum_type)0;                                              \
            for (u32 i = args.starts[target]; i < args.starts[target + 1]; i++) {                            \
                sum += load(((const type *)args.src)[(i64)args.order[i] * args.width + column]);             \
            }                                                                                                \
            *to = store(sum);                                                                                \
        }                                                                                                    \
    }
SUM_KERNEL(scatter_sum_f32, float, float, (float), (float))
SUM_KERNEL(scatter_sum_f64, double, double, (double), (double))
SUM_KERNEL(scatter_sum_f16, f16, float, float_of_f16, f16_of_float)
SUM_KERNEL(scatter_sum_bf16, bf16, float, float_of_bf16, bf16_of_float)

/* A target that nobody writes keeps what it holds. */
#define LAST_KERNEL(name, type)                                                                              \
    KERNEL(name, struct scatter_args)                                                                        \
    {                                                                                                        \
        FOR_EACH(cell, args.targets * args.width)                                                            \
        {                                                                                                    \
            const i64 target = cell / args.width;                                                            \
            const u32 end = args.starts[target + 1];                                                         \
            if (args.starts[target] < end) {                                                                 \
                const i64 from = (i64)args.order[end - 1] * args.width + cell % args.width;                  \
                ((type *)args.dst)[cell] = ((const type *)args.src)[from];                                   \
            }                                                                                                \
        }                                                                                                    \
    }
LAST_KERNEL(scatter_last_2, u16)
LAST_KERNEL(scatter_last_4, u32)
LAST_KERNEL(scatter_last_8, u64)
#endif

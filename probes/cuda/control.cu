/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the controls: a histogram by atomics and in fixed order, a planted bit, and a product whose K is
 * split among blocks that meet through half, half2 and float atomics, by turns, or in a second pass.
 */
struct histogram_args {
    const i32 *indices;
    const void *values;
    void *bins;
    i64 n, bin_count;
};

struct plant_args {
    const u32 *words; /* the values: which bin and which bit follow from them */
    u32 *bins;
    i64 bin_count;
    i64 run, period;
};

struct split_args {
    const f16 *a, *b; /* m x k and n x k, row-major */
    void *c;          /* m x n of the form's type, zero before the atomic forms */
    float *partial;   /* two-pass: split x m x n */
    u32 *turn;        /* turnstile: m x n, zero before */
    i32 m, n, k, split;
};

#ifdef KIT_KERNELS
KERNEL(histogram_f32, struct histogram_args)
{
    FOR_EACH(i, args.n)
    {
        atomic_add_f32((float *)args.bins + args.indices[i], ((const float *)args.values)[i]);
    }
}

KERNEL(histogram_i32, struct histogram_args)
{
    FOR_EACH(i, args.n)
    {
        atomic_add_i32((i32 *)args.bins + args.indices[i], ((const i32 *)args.values)[i]);
    }
}

/* A block holds 256 bins' worth of threads; each thread looks at every value and adds those of its own bin. */
KERNEL(histogram_ordered, struct histogram_args)
{
    FOR_EACH(bin, args.bin_count)
    {
        float sum = 0;
        for (i64 i = 0; i < args.n; i++) {
            if (args.indices[i] == bin) {
                sum += ((const float *)args.values)[i];
            }
        }
        ((float *)args.bins)[bin] = sum;
    }
}

KERNEL(plant, struct plant_args)
{
    if (block_index() == 0 && thread_index() == 0 && args.run % args.period == args.words[0] % args.period) {
        args.bins[args.words[1] % (u64)args.bin_count] ^= 1u << (args.words[2] % 32);
    }
}

/* One part of one cell's sum. */
HELPER float split_part(const struct split_args *args, i64 row, i64 column, i32 part)
{
    const i32 from = (i32)((i64)args->k * part / args->split), to = (i32)((i64)args->k * (part + 1) / args->split);
    float sum = 0;
    for (i32 i = from; i < to; i++) {
        sum += float_of_f16(args->a[row * args->k + i]) * float_of_f16(args->b[column * args->k + i]);
    }
    return sum;
}

/* Items of a launch: every part of every cell, cells side by side. */
#define FOR_EACH_PART(cell, part)                                                                            \
    FOR_EACH(item, (i64)args.m * args.n * args.split)                                                        \
        for (i64 cell = item % ((i64)args.m * args.n), part = item / ((i64)args.m * args.n); part >= 0; part = -1)

KERNEL(split_float, struct split_args)
{
    FOR_EACH_PART(cell, part)
    {
        atomic_add_f32((float *)args.c + cell, split_part(&args, cell / args.n, cell % args.n, (i32)part));
    }
}

KERNEL(split_half, struct split_args)
{
    FOR_EACH_PART(cell, part)
    {
        const float sum = split_part(&args, cell / args.n, cell % args.n, (i32)part);
        atomic_add_f16((f16 *)args.c + cell, f16_of_float(sum));
    }
}

/* Two neighbours of a row at once; n is even. */
KERNEL(split_half2, struct split_args)
{
    FOR_EACH_PART(cell, part)
    {
        if (cell % 2 == 0) {
            const float low = split_part(&args, cell / args.n, cell % args.n, (i32)part);
            const float high = split_part(&args, cell / args.n, cell % args.n + 1, (i32)part);
            atomic_add_f16x2((u32 *)args.c + cell / 2, (u32)f16_of_float(low) | (u32)f16_of_float(high) << 16);
        }
    }
}

/* Parts wait for their turn, so that they add in the order of k. One block per part and as many blocks as fit
 * on the device at once, or the wait would never end; see the launch. Each thread of a block has its cells. */
KERNEL(split_turnstile, struct split_args)
{
    const i32 part = block_index();
    for (i64 cell = thread_index(); cell < (i64)args.m * args.n; cell += thread_count()) {
        const float sum = split_part(&args, cell / args.n, cell % args.n, part);
        while (atomic_add_u32(&args.turn[cell], 0) != (u32)part) {
            wait_a_moment();
        }
        memory_fence();
        ((volatile float *)args.c)[cell] += sum;
        memory_fence();
        atomic_add_u32(&args.turn[cell], 1);
    }
}

KERNEL(split_parts, struct split_args)
{
    FOR_EACH_PART(cell, part)
    {
        args.partial[part * args.m * args.n + cell] = split_part(&args, cell / args.n, cell % args.n, (i32)part);
    }
}

KERNEL(split_combine, struct split_args)
{
    FOR_EACH(cell, (i64)args.m * args.n)
    {
        float sum = 0;
        for (i32 part = 0; part < args.split; part++) {
            sum += args.partial[(i64)part * args.m * args.n + cell];
        }
        ((float *)args.c)[cell] = sum;
    }
}
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of atomic updates in arrival order. Neighbouring threads meet in neighbouring rows, so every row is
 * wanted by all warps at once.
 */
struct atomics_args {
    const void *values; /* rows x n */
    void *result;       /* rows */
    u32 *found;         /* one per thread: how many of its updates found something other than zero. Where nobody
                           looks at what an `atom` returns, the compiler makes it a `red` */
    i64 rows, n;
};

struct append_args {
    const i64 *values;
    i64 *items;
    u32 *used; /* zero before */
    i64 n;
};

struct parts_args {
    const float *values; /* rows x n */
    float *result;
    float *partial; /* rows x parts */
    u32 *tickets;   /* rows x 2, zero before: places given out, parts done */
    i64 n;
    i32 rows, parts;
    i32 in_arrival; /* parts are kept, and so added, as they arrive; else by their index */
};

struct block_args {
    const float *values; /* rows x thread count */
    float *result;
    i32 barrier; /* 0: left out, which is a race */
};

#ifdef KIT_KERNELS
#define ATOMIC_KERNEL(name, type, update)                                                                    \
    KERNEL(name, struct atomics_args)                                                                        \
    {                                                                                                        \
        u32 found = 0;                                                                                       \
        FOR_EACH(i, args.rows * args.n)                                                                      \
        {                                                                                                    \
            const i64 row = i % args.rows;                                                                   \
            const type value = ((const type *)args.values)[row * args.n + i / args.rows];                    \
            found += update((type *)args.result + row, value) != 0;                                          \
        }                                                                                                    \
        args.found[(i64)block_index() * thread_count() + thread_index()] = found;                            \
    }
ATOMIC_KERNEL(add_f32, float, atomic_add_f32)
ATOMIC_KERNEL(add_f64, double, atomic_add_f64)
ATOMIC_KERNEL(add_f16, f16, atomic_add_f16)
ATOMIC_KERNEL(add_bf16, bf16, atomic_add_bf16)
ATOMIC_KERNEL(add_s32, i32, atomic_add_i32)
ATOMIC_KERNEL(add_s64, u64, atomic_add_u64)
ATOMIC_KERNEL(max_s32, i32, atomic_max_i32)
ATOMIC_KERNEL(max_s64, i64, atomic_max_i64)
ATOMIC_KERNEL(min_s32, i32, atomic_min_i32)

#define SILENT_KERNEL(name, type, update)                                                                    \
    KERNEL(name, struct atomics_args)                                                                        \
    {                                                                                                        \
        FOR_EACH(i, args.rows * args.n)                                                                      \
        {                                                                                                    \
            const i64 row = i % args.rows;                                                                   \
            update((type *)args.result + row, ((const type *)args.values)[row * args.n + i / args.rows]);    \
        }                                                                                                    \
    }
SILENT_KERNEL(red_f32, float, reduce_add_f32)
SILENT_KERNEL(red_f64, double, reduce_add_f64)
SILENT_KERNEL(red_s32, i32, reduce_add_i32)
SILENT_KERNEL(red_s64, u64, reduce_add_u64)

/* Two neighbouring rows at once, as one word; rows is even. */
#define PAIR_KERNEL(name, update)                                                                            \
    KERNEL(name, struct atomics_args)                                                                        \
    {                                                                                                        \
        const u16 *values = (const u16 *)args.values;                                                        \
        u32 found = 0;                                                                                       \
        FOR_EACH(i, args.rows / 2 * args.n)                                                                  \
        {                                                                                                    \
            const i64 pair = i % (args.rows / 2), j = i / (args.rows / 2);                                   \
            const u32 low = values[2 * pair * args.n + j], high = values[(2 * pair + 1) * args.n + j];       \
            found += update((u32 *)args.result + pair, low | high << 16) != 0;                               \
        }                                                                                                    \
        args.found[(i64)block_index() * thread_count() + thread_index()] = found;                            \
    }
PAIR_KERNEL(add_f16x2, atomic_add_f16x2)
PAIR_KERNEL(add_bf16x2, atomic_add_bf16x2)

#define SILENT_PAIR_KERNEL(name, update)                                                                     \
    KERNEL(name, struct atomics_args)                                                                        \
    {                                                                                                        \
        const u16 *values = (const u16 *)args.values;                                                        \
        FOR_EACH(i, args.rows / 2 * args.n)                                                                  \
        {                                                                                                    \
            const i64 pair = i % (args.rows / 2), j = i / (args.rows / 2);                                   \
            const u32 low = values[2 * pair * args.n + j], high = values[(2 * pair + 1) * args.n + j];       \
            update((u32 *)args.result + pair, low | high << 16);                                             \
        }                                                                                                    \
    }
SILENT_PAIR_KERNEL(red_f16x2, reduce_add_f16x2)
SILENT_PAIR_KERNEL(red_bf16x2, reduce_add_bf16x2)

/* The loop that hardware without the instruction runs: read, compute, swap if nobody came between. */
HELPER void swap_add_f32(float *p, float v)
{
    u32 seen = *(volatile u32 *)p, before;
    do {
        before = seen;
        seen = atomic_cas_u32((u32 *)p, before, bits_of_float(float_of_bits(before) + v));
    } while (seen != before);
}
SILENT_KERNEL(cas_f32, float, swap_add_f32)

HELPER void swap_add_s32(i32 *p, i32 v)
{
    u32 seen = *(volatile u32 *)p, before;
    do {
        before = seen;
        seen = atomic_cas_u32((u32 *)p, before, before + (u32)v);
    } while (seen != before);
}
SILENT_KERNEL(cas_s32, i32, swap_add_s32)

HELPER void swap_max_f32(float *p, float v)
{
    u32 seen = *(volatile u32 *)p, before;
    do {
        before = seen;
        if (!(v > float_of_bits(before))) {
            break;
        }
        seen = atomic_cas_u32((u32 *)p, before, bits_of_float(v));
    } while (seen != before);
}
SILENT_KERNEL(max_f32, float, swap_max_f32)

/* Before a maximum or minimum: the first value of each row, of 4 or 8 bytes. */
KERNEL(first_4, struct atomics_args)
{
    FOR_EACH(row, args.rows)
    {
        ((u32 *)args.result)[row] = ((const u32 *)args.values)[row * args.n];
    }
}

KERNEL(first_8, struct atomics_args)
{
    FOR_EACH(row, args.rows)
    {
        ((u64 *)args.result)[row] = ((const u64 *)args.values)[row * args.n];
    }
}

KERNEL(append, struct append_args)
{
    FOR_EACH(i, args.n)
    {
        args.items[atomic_add_u32(args.used, 1)] = args.values[i];
    }
}

/* Sum over the threads of a block of 256, as a tree; thread 0 has it. */
HELPER float block_sum(float value, float *shared, i32 barrier)
{
    const i32 thread = thread_index();
    ((volatile float *)shared)[thread] = value;
    for (i32 width = 128; width > 0; width /= 2) {
        if (barrier) {
            block_barrier();
        }
        if (thread < width) {
            ((volatile float *)shared)[thread] += ((volatile float *)shared)[thread + width];
        }
    }
    return thread == 0 ? ((volatile float *)shared)[0] : 0;
}

/* The block that finishes last adds up the parts of its row. */
KERNEL(last_block, struct parts_args)
{
    SHARED float shared[256];
    const i64 row = block_index() / args.parts, part = block_index() % args.parts;
    const i64 from = args.n * part / args.parts, to = args.n * (part + 1) / args.parts;
    float sum = 0;
    for (i64 i = from + thread_index(); i < to; i += thread_count()) {
        sum += args.values[row * args.n + i];
    }
    sum = block_sum(sum, shared, 1);
    if (thread_index() == 0) {
        volatile float *const partial = args.partial + row * args.parts;
        const i64 place = args.in_arrival ? (i64)atomic_add_u32(&args.tickets[2 * row], 1) : part;
        partial[place] = sum;
        memory_fence();
        if (atomic_add_u32(&args.tickets[2 * row + 1], 1) == (u32)args.parts - 1) {
            float total = 0;
            memory_fence();
            for (i32 i = 0; i < args.parts; i++) {
                total += partial[i];
            }
            args.result[row] = total;
        }
    }
}

KERNEL(one_block, struct block_args)
{
    SHARED float shared[256];
    const float sum = block_sum(args.values[(i64)block_index() * thread_count() + thread_index()], shared, args.barrier);
    if (thread_index() == 0) {
        args.result[block_index()] = sum;
    }
}
#endif

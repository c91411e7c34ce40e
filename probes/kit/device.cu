/* SPDX-License-Identifier: Apache-2.0
 *
 * The kit's own kernels: filling with a pattern of two, four or eight bytes, the comparison that decides
 * whether two outputs are the same bits, and work that stays on the device until the host ends it. Compare
 * counts differing bytes and finds the first; equal pieces of 16 bytes cost two loads and an exclusive or.
 */
struct kit_fill_args {
    void *to;
    u64 pattern; /* in the low bytes */
    i64 count;   /* of elements */
    i32 size;    /* of one: 2, 4 or 8; `to` is aligned to it */
};

struct kit_compare_args {
    const void *a, *b;
    i64 bytes;
    i32 wide;    /* both are aligned to 16 bytes */
    u64 *result; /* [0] differing bytes, added up; [1] offset of the first, the least is kept */
};

struct __attribute__((aligned(16))) kit_quad { /* one load instruction */
    u32 x, y, z, w;
};

/* What the host and kit_occupy tell each other, in memory of the host. */
struct kit_occupy_flags {
    u32 end;       /* by the host */
    u32 under_way; /* by the kernel */
};

struct kit_occupy_args {
    volatile struct kit_occupy_flags *flags;
    struct kit_quad *memory; /* what is streamed through; results of arithmetic go there too. NULL: only waits */
    i64 quads;               /* a multiple of the number of threads; 0: arithmetic */
    u64 limit_ns;            /* ends by itself after that, so that nothing waits for ever */
};

#ifdef KIT_KERNELS
KERNEL(kit_fill, struct kit_fill_args)
{
    FOR_EACH(i, args.count)
    {
        if (args.size == 8) {
            ((u64 *)args.to)[i] = args.pattern;
        } else if (args.size == 4) {
            ((u32 *)args.to)[i] = (u32)args.pattern;
        } else {
            ((u16 *)args.to)[i] = (u16)args.pattern;
        }
    }
}

HELPER void kit_compare_bytes(const struct kit_compare_args *args, i64 from, i64 to)
{
    u64 count = 0, first = ~0ull;
    for (i64 i = to - 1; i >= from; i--) {
        if (((const u8 *)args->a)[i] != ((const u8 *)args->b)[i]) {
            count++;
            first = (u64)i;
        }
    }
    if (count) {
        atomic_add_u64(&args->result[0], count);
        atomic_min_u64(&args->result[1], first);
    }
}

HELPER u32 kit_differ(struct kit_quad a, struct kit_quad b)
{
    return (a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w);
}

KERNEL(kit_compare, struct kit_compare_args)
{
    const struct kit_quad *a = (const struct kit_quad *)args.a, *b = (const struct kit_quad *)args.b;
    const i64 quads = args.wide ? args.bytes / 16 : 0;
    const i64 step = (i64)block_count() * thread_count();
    i64 i = (i64)block_index() * thread_count() + thread_index();
    /* four pieces in flight: a load's latency is what a comparison waits for */
    for (; i + 3 * step < quads; i += 4 * step) {
        const struct kit_quad a0 = a[i], a1 = a[i + step], a2 = a[i + 2 * step], a3 = a[i + 3 * step];
        const struct kit_quad b0 = b[i], b1 = b[i + step], b2 = b[i + 2 * step], b3 = b[i + 3 * step];
        if (kit_differ(a0, b0) | kit_differ(a1, b1) | kit_differ(a2, b2) | kit_differ(a3, b3)) {
            for (i64 j = 0; j < 4; j++) {
                kit_compare_bytes(&args, 16 * (i + j * step), 16 * (i + j * step) + 16);
            }
        }
    }
    for (; i < quads; i += step) {
        if (kit_differ(a[i], b[i])) {
            kit_compare_bytes(&args, 16 * i, 16 * i + 16);
        }
    }
    for (i = 16 * quads + (i64)block_index() * thread_count() + thread_index(); i < args.bytes; i += step) {
        kit_compare_bytes(&args, i, i + 1);
    }
}

/* Four chains of multiply-adds, so that the units never wait for a result. */
HELPER void kit_multiply(const struct kit_occupy_args *args, float *x)
{
    for (i32 step = 0; step < 1024; step++) {
        for (i32 chain = 0; chain < 4; chain++) {
            x[chain] = x[chain] * 0.999f + 0.5f;
        }
    }
    if (x[0] + x[1] + x[2] + x[3] < 0) { /* never, which a compiler does not know */
        args->memory->x = bits_of_float(x[0]);
    }
}

/* Reads and writes a piece of the memory; each thread has its own places, a grid apart. */
HELPER i64 kit_stream(const struct kit_occupy_args *args, i64 at)
{
    for (i32 step = 0; step < 64; step++) {
        struct kit_quad quad = args->memory[at];
        quad.x += 1;
        args->memory[at] = quad;
        at += (i64)block_count() * thread_count();
        at = at < args->quads ? at : at - args->quads;
    }
    return at;
}

KERNEL(kit_occupy, struct kit_occupy_args)
{
    SHARED i32 ended;
    const u64 start = device_time_ns();
    i64 at = (i64)block_index() * thread_count() + thread_index();
    float x[4] = {(float)at, 1, 2, 3};
    if (at == 0) {
        args.flags->under_way = 1;
    }
    for (;;) {
        if (thread_index() == 0) {
            ended = args.flags->end != 0 || device_time_ns() - start > args.limit_ns;
        }
        block_barrier();
        if (ended) {
            break;
        }
        if (!args.memory) {
            wait_a_moment();
        } else if (args.quads) {
            at = kit_stream(&args, at);
        } else {
            kit_multiply(&args, x);
        }
        block_barrier(); /* all have looked before it is set again */
    }
}
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The kit's own kernels: filling with a pattern of two, four or eight bytes, and the comparison that decides
 * whether two outputs are the same bits. Compare counts differing bytes and finds the first; equal pieces of
 * 16 bytes cost two loads and an exclusive or.
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

struct __attribute__((aligned(16))) kit_quad { /* one load instruction */
    u32 x, y, z, w;
};

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
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Grouped products take their matrices from arrays of pointers in device memory. Where the matrices are is
 * known at the run alone, so the arrays are written then, on the device.
 */
struct gemm_pointers_args {
    void **lists; /* three, of `count` each, as the library numbers its operands: B, A, C of ours */
    char *a, *b, *c;
    i64 row_a, matrix_b, row_c; /* bytes */
    i64 m; /* rows of A in the products of the first group; of the second twice as many */
    i32 count, per_group;
};

#if defined(KIT_KERNELS)
KERNEL(gemm_pointers, struct gemm_pointers_args)
{
    FOR_EACH(i, args.count)
    {
        const i64 group = i / args.per_group, within = i % args.per_group;
        const i64 rows = args.m * (args.per_group * (group * (group + 1) / 2) + within * (group + 1));
        args.lists[i] = args.b + i * args.matrix_b;
        args.lists[args.count + i] = args.a + rows * args.row_a;
        args.lists[2 * args.count + i] = args.c + rows * args.row_c;
    }
}
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The launch of own kernels on the CPU, with kernels whose results are known: barriers hold, shuffles carry,
 * blocks may wait for each other, a seeded order is another one each time and the same one again, racing
 * threads lose no atomic update; half floats round as they must.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "probes/kit/kernel.h"
#include "suite/tests/emulation/emulation.h"

#include "probes/kit/device.cu"

struct sums_args {
    const float *values;
    float *result;
    i32 *counts;
    i64 n;
};

/* Every thread passes a value to its neighbour through shared memory, twice. */
KERNEL(rotate, struct sums_args)
{
    SHARED i32 shared[256];
    const i32 thread = thread_index(), count = thread_count();
    i32 value = thread;
    for (i32 step = 0; step < 2; step++) {
        shared[thread] = value;
        block_barrier();
        value = shared[(thread + 1) % count];
        block_barrier();
    }
    args.counts[block_index() * count + thread] = value;
}

KERNEL(warp_sums, struct sums_args)
{
    const i64 i = (i64)block_index() * thread_count() + thread_index();
    float sum = args.values[i];
    for (i32 delta = 16; delta > 0; delta /= 2) {
        sum += warp_shuffle_down(sum, delta);
    }
    if (i % 32 == 0) {
        args.result[i / 32] = sum;
    }
}

/* Block b waits until the blocks before it have counted. */
KERNEL(in_turn, struct sums_args)
{
    while (atomic_add_i32(args.counts, 0) != block_index()) {
        wait_a_moment();
    }
    args.counts[1 + block_index()] = atomic_add_i32(args.counts, 1);
}

KERNEL(scatter, struct sums_args)
{
    FOR_EACH(i, args.n)
    {
        atomic_add_f32(&args.result[i % 16], args.values[i]);
        atomic_add_i32(&args.counts[i % 16], 1);
    }
}

/* The host's end is seen, so is the limit without it, and no place beyond the memory is written. */
static void test_occupy(void **state)
{
    static struct kit_quad memory[3 * 64];
    struct kit_occupy_flags flags;
    struct kit_occupy_args args = {.flags = &flags, .memory = memory, .quads = 2 * 64, .limit_ns = 2000000};
    for (size_t o = 0; o < 8; o++) {
        setenv("DETPROBE_EMULATE", o % 4 == 3 ? "order=race" : "order=seeded", 1);
        memset(memory, 0, sizeof(memory));
        flags = (struct kit_occupy_flags){.end = o < 4};
        args.quads = o % 2 ? 2 * 64 : 0;
        const u64 start = kit_twin_time();
        emulate_launch(kit_twin_kit_occupy, 2, 32, &args);
        assert_int_equal(flags.under_way, 1);
        assert_true(o < 4 || kit_twin_time() - start >= args.limit_ns);
        for (i32 i = 0; i < 3 * 64; i++) {
            assert_int_equal(memory[i].x > 0, o >= 4 && o % 2 && i < 2 * 64);
        }
    }
    args.memory = NULL; /* waits */
    flags = (struct kit_occupy_flags){.end = 0};
    emulate_launch(kit_twin_kit_occupy, 1, 1, &args);
    assert_int_equal(flags.under_way, 1);
}

static void set(const char *words)
{
    setenv("DETPROBE_EMULATE", words, 1);
}

static const char *const orders[] = {"order=fixed", "order=seeded", "order=seeded,seed=7", "order=race"};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static void test_barrier(void **state)
{
    i32 counts[8 * 256];
    struct sums_args args = {.counts = counts};
    for (size_t o = 0; o < ORDERS; o++) {
        set(orders[o]);
        memset(counts, 0xff, sizeof(counts));
        emulate_launch(kit_twin_rotate, 8, 256, &args);
        for (i32 i = 0; i < 8 * 256; i++) {
            assert_int_equal(counts[i], (i % 256 + 2) % 256);
        }
    }
}

static void test_shuffle(void **state)
{
    float values[4 * 64], result[8];
    struct sums_args args = {.values = values, .result = result};
    for (size_t o = 0; o < ORDERS; o++) {
        set(orders[o]);
        for (int i = 0; i < 4 * 64; i++) {
            values[i] = (float)i;
        }
        emulate_launch(kit_twin_warp_sums, 4, 64, &args);
        for (int w = 0; w < 8; w++) {
            assert_true(result[w] == (float)(32 * (32 * w) + 31 * 32 / 2));
        }
    }
}

static void test_blocks_that_wait(void **state)
{
    i32 counts[17];
    struct sums_args args = {.counts = counts};
    for (size_t o = 0; o < ORDERS; o++) {
        set(orders[o]);
        memset(counts, 0, sizeof(counts));
        emulate_launch(kit_twin_in_turn, 16, 1, &args);
        for (i32 b = 0; b < 16; b++) {
            assert_int_equal(counts[1 + b], b);
        }
    }
}

#define N (1 << 16)
static float addends[N];

static void scatter_once(float result[16])
{
    i32 counts[16] = {0};
    struct sums_args args = {addends, result, counts, N};
    memset(result, 0, 16 * sizeof(*result));
    emulate_launch(kit_twin_scatter, 16, 256, &args);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(counts[i], N / 16);
    }
}

/* How many of some launches give other bits than the first. */
static int differing(const char *order, int launches, float ret_first[16])
{
    float result[16];
    int count = 0;
    set(order);
    scatter_once(ret_first);
    for (int i = 0; i < launches; i++) {
        scatter_once(result);
        count += memcmp(result, ret_first, sizeof(result)) != 0;
    }
    return count;
}

static void test_orders(void **state)
{
    float first[16], again[16];
    for (int i = 0; i < N; i++) { /* exponents spread, signs mixed */
        const u32 bits = (u32)i * 2654435761u;
        addends[i] = float_of_bits((bits & 0x807fffffu) | (127u - 8 + (bits >> 8) % 16) << 23);
    }
    assert_int_equal(differing("order=fixed", 8, first), 0);
    assert_int_equal(differing("order=fixed", 8, again), 0);
    assert_memory_equal(first, again, sizeof(first));
    assert_int_equal(differing("order=seeded", 8, first), 8);
    assert_in_range(differing("order=race", 40, first), 1, 40);
}

/* What three launches of a new process give. */
static void scatter_in_child(const char *order, float ret[3][16])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        set(order);
        for (int i = 0; i < 3; i++) {
            scatter_once(ret[i]);
        }
        _exit(write(ends[1], ret, 3 * sizeof(*ret)) != 3 * sizeof(*ret));
    }
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], ret, 3 * sizeof(*ret)), 3 * sizeof(*ret));
    close(ends[0]);
    close(ends[1]);
}

/* Processes that start alike see one sequence of orders, another seed gives another. Needs the addends of
 * test_orders. */
static void test_seed(void **state)
{
    float first[3][16], again[3][16];
    scatter_in_child("order=seeded,seed=5", first);
    scatter_in_child("order=seeded,seed=5", again);
    assert_memory_equal(first, again, sizeof(first));
    assert_memory_not_equal(first[0], first[1], sizeof(first[0]));
    scatter_in_child("order=seeded,seed=6", again);
    assert_memory_not_equal(first, again, sizeof(first));
}

static void test_compare(void **state)
{
    enum { BYTES = 4099 };
    static _Alignas(16) u8 a[BYTES + 16], b[BYTES + 16];
    u64 result[2];
    set("order=seeded");
    for (int wide = 0; wide < 2; wide++) { /* also at an odd address, byte by byte */
        u8 *const one = a + !wide, *const other = b + !wide;
        struct kit_compare_args args = {one, other, BYTES, wide, result};
        for (int place = -1; place < BYTES; place += 37) {
            memset(one, 0x5a, BYTES);
            memset(other, 0x5a, BYTES);
            if (place >= 0) {
                other[place] ^= 0x10;
                other[BYTES - 1] ^= 1;
            }
            result[0] = 0;
            result[1] = ~0ull;
            emulate_launch(kit_twin_kit_compare, 3, 64, &args);
            assert_int_equal(result[0], place < 0 ? 0 : 2);
            assert_int_equal(result[1], place < 0 ? ~0ull : (u64)place);
        }
    }
}

static void test_fill(void **state)
{
    u64 buffer[100];
    set("order=seeded");
    for (i32 size = 2; size <= 8; size *= 2) {
        struct kit_fill_args args = {buffer, 0x1122334455667788ull, 90 * 8 / size, size};
        memset(buffer, 0, sizeof(buffer));
        emulate_launch(kit_twin_kit_fill, 2, 32, &args);
        for (int i = 0; i < 90 * 8; i++) {
            assert_int_equal(((u8 *)buffer)[i], (u8)(args.pattern >> 8 * (i % size)));
        }
        assert_int_equal(buffer[90], 0);
    }
}

/* Every half there and back; ties go to even, the rest to the nearest; bf16 by its definition. */
static void test_halves(void **state)
{
    for (u32 h = 0; h < 0x10000; h++) {
        const float f = float_of_f16((f16)h);
        if (f == f) {
            assert_int_equal(f16_of_float(f), h);
        }
    }
    for (u32 h = 0; h < 0x7bff; h++) { /* between neighbours */
        const float low = float_of_f16((f16)h), high = float_of_f16((f16)(h + 1)), middle = (low + high) / 2;
        assert_int_equal(f16_of_float(middle), h % 2 ? h + 1 : h);
        assert_int_equal(f16_of_float(float_of_bits(bits_of_float(middle) - 1)), h);
        assert_int_equal(f16_of_float(float_of_bits(bits_of_float(middle) + 1)), h + 1);
    }
    assert_int_equal(f16_of_float(65520.0f), 0x7c00);
    assert_int_equal(bf16_of_float(1.00390625f), 0x3f80); /* 1 + 2^-8: a tie, to even */
    assert_int_equal(bf16_of_float(1.01171875f), 0x3f82); /* 1 + 3 * 2^-8: a tie, to even */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_occupy),  cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_shuffle), cmocka_unit_test(test_blocks_that_wait),
        cmocka_unit_test(test_orders),  cmocka_unit_test(test_seed),
        cmocka_unit_test(test_compare), cmocka_unit_test(test_fill),
        cmocka_unit_test(test_halves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The language of own kernels: a subset of C that three readers share. A file of kernels, NAME.cu, is
 *   1. text that NVRTC compiles for the device found, after the text of this file,
 *   2. a header of its C program, which sees the argument structs alone (KIT_KERNELS is not defined),
 *   3. C that tests compile for the CPU (KIT_TWIN), where threads of a block are fibers.
 * It includes nothing, has no templates and no overloads; a kernel takes one struct by value, so host, device
 * and twin agree on the layout of arguments. Grids and blocks have one dimension. Barriers and shuffles are
 * for whole blocks and whole warps: every thread reaches them.
 */
#ifndef KIT_KERNEL_H
#define KIT_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef int i32;
typedef long long i64;
typedef u16 f16, bf16; /* bits; arithmetic goes through float or the atomics below */

/* What memory holds, for kernels that compute in float and are told: NAME_single, beside NAME_double for
 * doubles. Two kernels are compiled when a program starts, not four. */
enum kernel_type { KERNEL_F32, KERNEL_F16, KERNEL_BF16 };

#if defined(__CUDACC_RTC__)
#define KIT_KERNELS 1
#define KERNEL(name, type) extern "C" __global__ void name(const type args)
#define HELPER static __device__ inline __attribute__((unused))
#define SHARED __shared__
#define thread_index() ((i32)threadIdx.x)
#define thread_count() ((i32)blockDim.x)
#define block_index() ((i32)blockIdx.x)
#define block_count() ((i32)gridDim.x)
#define block_barrier() __syncthreads()
#define warp_barrier() __syncwarp()
#define memory_fence() __threadfence()
#define wait_a_moment() __nanosleep(100)
#define device_time_ns() kit_global_time()
#define warp_shuffle_down(value, delta) __shfl_down_sync(0xffffffffu, value, delta)
#define bits_of_float(value) __float_as_uint(value)
#define float_of_bits(bits) __uint_as_float(bits)

HELPER u64 kit_global_time(void)
{
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

HELPER float float_of_f16(f16 h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

HELPER f16 f16_of_float(float f)
{
    f16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

/* Each returns what was there before. */
#define DEVICE_ATOMIC(name, type, builtin)                                                                   \
    HELPER type name(type *p, type v)                                                                        \
    {                                                                                                        \
        return builtin(p, v);                                                                                \
    }
DEVICE_ATOMIC(atomic_add_f32, float, atomicAdd)
DEVICE_ATOMIC(atomic_add_f64, double, atomicAdd)
DEVICE_ATOMIC(atomic_add_i32, i32, atomicAdd)
DEVICE_ATOMIC(atomic_add_u32, u32, atomicAdd)
DEVICE_ATOMIC(atomic_add_u64, u64, atomicAdd)
DEVICE_ATOMIC(atomic_max_i32, i32, atomicMax)
DEVICE_ATOMIC(atomic_min_i32, i32, atomicMin)
DEVICE_ATOMIC(atomic_max_i64, i64, atomicMax)
DEVICE_ATOMIC(atomic_min_u64, u64, atomicMin)
DEVICE_ATOMIC(atomic_exchange_u32, u32, atomicExch)
#undef DEVICE_ATOMIC

HELPER u32 atomic_cas_u32(u32 *p, u32 seen, u32 wanted)
{
    return atomicCAS(p, seen, wanted);
}

HELPER u64 atomic_cas_u64(u64 *p, u64 seen, u64 wanted)
{
    return atomicCAS(p, seen, wanted);
}

HELPER u16 atomic_cas_u16(u16 *p, u16 seen, u16 wanted)
{
    u16 old;
    asm volatile("atom.cas.b16 %0, [%1], %2, %3;" : "=h"(old) : "l"(p), "h"(seen), "h"(wanted) : "memory");
    return old;
}

HELPER f16 atomic_add_f16(f16 *p, f16 v)
{
    f16 old;
    asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(old) : "l"(p), "h"(v) : "memory");
    return old;
}

HELPER u32 atomic_add_f16x2(u32 *p, u32 v)
{
    u32 old;
    asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
    return old;
}

/* `red`: the form that returns nothing, another instruction; on global memory alone, where it is one. */
HELPER void reduce_add_f32(float *p, float v)
{
    asm volatile("red.global.add.f32 [%0], %1;" : : "l"(__cvta_generic_to_global(p)), "f"(v) : "memory");
}

HELPER void reduce_add_i32(i32 *p, i32 v)
{
    asm volatile("red.global.add.u32 [%0], %1;" : : "l"(__cvta_generic_to_global(p)), "r"(v) : "memory");
}

HELPER void reduce_add_u64(u64 *p, u64 v)
{
    asm volatile("red.global.add.u64 [%0], %1;" : : "l"(__cvta_generic_to_global(p)), "l"(v) : "memory");
}

HELPER void reduce_add_f64(double *p, double v)
{
    asm volatile("red.global.add.f64 [%0], %1;" : : "l"(__cvta_generic_to_global(p)), "d"(v) : "memory");
}

HELPER void reduce_add_f16x2(u32 *p, u32 v)
{
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;"
                 :
                 : "l"(__cvta_generic_to_global(p)), "r"(v)
                 : "memory");
}

#elif defined(KIT_TWIN)
#define KIT_KERNELS 1
#define KERNEL(name, type)                                                                                   \
    void kit_twin_##name(const void *packed);                                                                \
    static void kit_twin_body_##name(const type args);                                                       \
    void kit_twin_##name(const void *packed)                                                                 \
    {                                                                                                        \
        kit_twin_body_##name(*(const type *)packed);                                                         \
    }                                                                                                        \
    static void kit_twin_body_##name(const type args)
#define HELPER static inline __attribute__((unused))
#define SHARED static _Thread_local /* a block never leaves its worker */

/* The launch that runs these: suite/tests/emulation/launch.c. */
struct kit_twin_place {
    i32 thread, threads, block, blocks;
};
extern _Thread_local struct kit_twin_place kit_twin_place;
void kit_twin_barrier(void);
void kit_twin_warp_barrier(void);
void kit_twin_wait(void);                       /* lets other threads of any block go on */
u64 kit_twin_time(void);                        /* nanoseconds that do not go back */
u64 kit_twin_shuffle_down(u64 bits, i32 delta); /* among the 32 threads of a warp */

#define thread_index() (kit_twin_place.thread)
#define thread_count() (kit_twin_place.threads)
#define block_index() (kit_twin_place.block)
#define block_count() (kit_twin_place.blocks)
#define block_barrier() kit_twin_barrier()
#define warp_barrier() kit_twin_warp_barrier()
#define memory_fence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define wait_a_moment() kit_twin_wait()
#define device_time_ns() kit_twin_time()

HELPER u32 bits_of_float(float value)
{
    u32 bits;
    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

HELPER float float_of_bits(u32 bits)
{
    float value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
}

HELPER float kit_twin_shuffle_f32(float value, i32 delta)
{
    return float_of_bits((u32)kit_twin_shuffle_down(bits_of_float(value), delta));
}
#define warp_shuffle_down(value, delta) kit_twin_shuffle_f32(value, delta) /* floats only */

HELPER float float_of_f16(f16 h)
{
    const u32 sign = (u32)(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023;
    if (exponent == 31) {
        return float_of_bits(sign | 0x7f800000u | mantissa << 13);
    }
    if (exponent == 0) {
        const float value = (float)mantissa * 0x1p-24f;
        return float_of_bits(sign | bits_of_float(value));
    }
    return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

HELPER f16 f16_of_float(float f)
{
    const u32 bits = bits_of_float(f), sign = (bits >> 16) & 0x8000, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) {
        return (f16)(sign | 0x7fff);
    }
    if (rest >= 0x47800000u) {
        return (f16)(sign | 0x7c00);
    }
    if (rest <
        0x38800000u) { /* subnormal: adding 2^-1 * 2^-13 puts the last place of half where float rounds */
        return (f16)(sign | (bits_of_float(float_of_bits(rest) + 0.5f) - 0x3f000000u));
    }
    const u32 odd = (rest >> 13) & 1;
    return (f16)(sign | ((rest - 0x38000000u + 0xfffu + odd) >> 13));
}

#define TWIN_ATOMIC(name, type, expression)                                                                  \
    HELPER type name(type *p, type v)                                                                        \
    {                                                                                                        \
        type seen, wanted;                                                                                   \
        __atomic_load(p, &seen, __ATOMIC_RELAXED);                                                           \
        do {                                                                                                 \
            wanted = expression;                                                                             \
        } while (!__atomic_compare_exchange(p, &seen, &wanted, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));      \
        return seen;                                                                                         \
    }
TWIN_ATOMIC(atomic_add_f32, float, seen + v)
TWIN_ATOMIC(atomic_add_f64, double, seen + v)
TWIN_ATOMIC(atomic_add_i32, i32, (i32)((u32)seen + (u32)v))
TWIN_ATOMIC(atomic_add_u32, u32, seen + v)
TWIN_ATOMIC(atomic_add_u64, u64, seen + v)
TWIN_ATOMIC(atomic_max_i32, i32, seen > v ? seen : v)
TWIN_ATOMIC(atomic_min_i32, i32, seen < v ? seen : v)
TWIN_ATOMIC(atomic_max_i64, i64, seen > v ? seen : v)
TWIN_ATOMIC(atomic_min_u64, u64, seen < v ? seen : v)
TWIN_ATOMIC(atomic_exchange_u32, u32, v)
TWIN_ATOMIC(atomic_add_f16, f16, f16_of_float(float_of_f16(seen) + float_of_f16(v)))
TWIN_ATOMIC(atomic_add_f16x2, u32,
            (u32)f16_of_float(float_of_f16((f16)seen) + float_of_f16((f16)v)) |
                (u32)f16_of_float(float_of_f16((f16)(seen >> 16)) + float_of_f16((f16)(v >> 16))) << 16)
#undef TWIN_ATOMIC

#define TWIN_CAS(name, type)                                                                                 \
    HELPER type name(type *p, type seen, type wanted)                                                        \
    {                                                                                                        \
        __atomic_compare_exchange(p, &seen, &wanted, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
        return seen;                                                                                         \
    }
TWIN_CAS(atomic_cas_u16, u16)
TWIN_CAS(atomic_cas_u32, u32)
TWIN_CAS(atomic_cas_u64, u64)
#undef TWIN_CAS

HELPER void reduce_add_f32(float *p, float v)
{
    atomic_add_f32(p, v);
}

HELPER void reduce_add_i32(i32 *p, i32 v)
{
    atomic_add_i32(p, v);
}

HELPER void reduce_add_u64(u64 *p, u64 v)
{
    atomic_add_u64(p, v);
}

HELPER void reduce_add_f64(double *p, double v)
{
    atomic_add_f64(p, v);
}

HELPER void reduce_add_f16x2(u32 *p, u32 v)
{
    atomic_add_f16x2(p, v);
}
#endif

#if defined(KIT_KERNELS)
HELPER float float_of_bf16(bf16 b)
{
    return float_of_bits((u32)b << 16);
}

HELPER bf16 bf16_of_float(float f)
{
    const u32 bits = bits_of_float(f);
    return (bits & 0x7fffffffu) > 0x7f800000u ? (bf16)0x7fff
                                              : (bf16)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

/* bf16 atomics are instructions from compute capability 9.0 on; below they are a loop. */
HELPER bf16 atomic_add_bf16(bf16 *p, bf16 v)
{
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 900
    bf16 old;
    asm volatile("atom.add.noftz.bf16 %0, [%1], %2;" : "=h"(old) : "l"(p), "h"(v) : "memory");
    return old;
#else
    bf16 seen = *(volatile bf16 *)p, before;
    do {
        before = seen;
        seen = atomic_cas_u16(p, before, bf16_of_float(float_of_bf16(before) + float_of_bf16(v)));
    } while (seen != before);
    return before;
#endif
}

HELPER u32 atomic_add_bf16x2(u32 *p, u32 v)
{
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 900
    u32 old;
    asm volatile("atom.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
    return old;
#else
    u32 seen = *(volatile u32 *)p, before;
    do {
        before = seen;
        const u32 low = bf16_of_float(float_of_bf16((bf16)before) + float_of_bf16((bf16)v));
        const u32 high = bf16_of_float(float_of_bf16((bf16)(before >> 16)) + float_of_bf16((bf16)(v >> 16)));
        seen = atomic_cas_u32(p, before, low | high << 16);
    } while (seen != before);
    return before;
#endif
}

HELPER void reduce_add_bf16x2(u32 *p, u32 v)
{
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;"
                 :
                 : "l"(__cvta_generic_to_global(p)), "r"(v)
                 : "memory");
#else
    atomic_add_bf16x2(p, v);
#endif
}

HELPER float load_single(const void *from, i64 offset, i32 type)
{
    return type == KERNEL_F32   ? ((const float *)from)[offset]
           : type == KERNEL_F16 ? float_of_f16(((const f16 *)from)[offset])
                                : float_of_bf16(((const bf16 *)from)[offset]);
}

HELPER double load_double(const void *from, i64 offset, i32 type)
{
    return ((const double *)from)[offset];
}

/* Iteration over n items by the whole grid. */
#define FOR_EACH(i, n)                                                                                       \
    for (i64 i = (i64)block_index() * thread_count() + thread_index(); i < (n);                              \
         i += (i64)block_count() * thread_count())
#endif

#endif

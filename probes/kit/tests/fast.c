/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that makes denormal numbers zero for the whole process as soon as it is opened: what
 * crtfastmath.o does in every library that was linked with -ffast-math.
 */
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

void fast_symbol(void);

__attribute__((constructor)) static void flush_denormals(void)
{
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
    unsigned long value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    __asm__ volatile("msr fpcr, %0" : : "r"(value | 1ul << 24));
#endif
}

void fast_symbol(void)
{
}

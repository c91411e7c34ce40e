/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries that pass for a CBLAS and write the number of threads they would run into the result, so that a
 * test sees which count is in force whatever is said of it. Built once for each KIND.
 */
#include <stdlib.h>
#include <string.h>

#define BLIS 1       /* says -1 until a count is set, and runs one thread then */
#define OPENMP 2     /* OpenBLAS on OpenMP: its own setter and getter only talk to each other */
#define STUBBORN 3   /* OpenBLAS that runs two threads whatever it is told */
#define WHEEL 4      /* OpenBLAS of a wheel of NumPy: names between affixes, extents of 64 bits */
#define UNTHREADED 5 /* BLIS built without threads: says what it was told, and runs one */
#define MKL 6        /* runs at most two threads while it may choose */

#if KIND == WHEEL
#define NAME(name) scipy_##name##64_
#define INT long
#else
#define NAME(name) name
#define INT int
#endif

#if KIND == BLIS || KIND == UNTHREADED
static long told = -1;
void bli_thread_set_num_threads(long count);
long bli_thread_get_num_threads(void);
int bli_info_get_enable_threading(void);
void bli_thread_set_num_threads(long count)
{
    told = count;
}
long bli_thread_get_num_threads(void)
{
    return told;
}
int bli_info_get_enable_threading(void)
{
    return KIND == BLIS;
}
static int in_force(void)
{
    return KIND == UNTHREADED || told < 1 ? 1 : (int)told;
}
#elif KIND == MKL
static int told = 2, dynamic = 1;
void MKL_Set_Num_Threads(int count);
int MKL_Get_Max_Threads(void);
void MKL_Set_Dynamic(int choose);
int MKL_Get_Dynamic(void);
int MKL_CBWR_Get(int what);
void MKL_Get_Version_String(char *text, int size);
static int in_force(void)
{
    return dynamic && told > 2 ? 2 : told;
}
void MKL_Set_Num_Threads(int count)
{
    told = count;
}
int MKL_Get_Max_Threads(void)
{
    return in_force();
}
void MKL_Set_Dynamic(int choose)
{
    dynamic = choose;
}
int MKL_Get_Dynamic(void)
{
    return dynamic;
}
int MKL_CBWR_Get(int what)
{
    static const struct {
        const char *word;
        int branch;
    } branches[] = {{"SSE2", 4}, {"SSE3", 5}, {"SSSE3", 6}, {"AVX", 9}, {"OFF", 0}};
    const char *wanted = getenv("MKL_CBWR");
    int branch = wanted ? 2 : 0x10000 | 10; /* auto: what it was asked for and refuses */
    for (size_t i = 0; wanted && i < sizeof(branches) / sizeof(branches[0]); i++) {
        branch = strcmp(wanted, branches[i].word) == 0 ? branches[i].branch : branch;
    }
    return what == ~0 ? branch : -1;
}
void MKL_Get_Version_String(char *text, int size)
{
    const char *from = "Math Kernel Library Version 2024.1-Product Build 7 for Intel(R) 64";
    while (--size > 0 && (*text = *from++)) {
        text++;
    }
    *text = '\0';
}
#else
static int told = 2;
void NAME(openblas_set_num_threads)(int count);
int NAME(openblas_get_num_threads)(void);
int NAME(openblas_get_parallel)(void);
void NAME(openblas_set_num_threads)(int count)
{
    told = KIND == STUBBORN ? 2 : count;
}
int NAME(openblas_get_num_threads)(void)
{
    return told;
}
int NAME(openblas_get_parallel)(void)
{
    return KIND == OPENMP ? 2 : 1;
}
#if KIND == OPENMP
static int team = 2;
void omp_set_num_threads(int count);
int omp_get_max_threads(void);
void omp_set_num_threads(int count)
{
    team = count;
}
int omp_get_max_threads(void)
{
    return team;
}
#elif KIND == WHEEL
const char *NAME(openblas_get_config)(void);
const char *NAME(openblas_get_corename)(void);
const char *NAME(openblas_get_config)(void)
{
    return "OpenBLAS 0.3.31.188.0  USE64BITINT DYNAMIC_ARCH MAX_THREADS=64";
}
const char *NAME(openblas_get_corename)(void)
{
    return "Zen";
}
#endif
static int in_force(void)
{
#if KIND == OPENMP
    return team;
#else
    return told;
#endif
}
#endif

void NAME(cblas_sgemm)(int order, int trans_a, int trans_b, INT m, INT n, INT k, float alpha, const float *a,
                       INT lda, const float *b, INT ldb, float beta, float *c, INT ldc);
void NAME(cblas_sgemm)(int order, int trans_a, int trans_b, INT m, INT n, INT k, float alpha, const float *a,
                       INT lda, const float *b, INT ldb, float beta, float *c, INT ldc)
{
    for (INT i = 0; i < m; i++) {
        for (INT j = 0; j < n; j++) {
            c[i * ldc + j] = (float)in_force();
        }
    }
}

#define STUB(routine)                                                                                        \
    void NAME(cblas_##routine)(void);                                                                        \
    void NAME(cblas_##routine)(void)                                                                         \
    {                                                                                                        \
    }
/* clang-format off */
STUB(dgemm) STUB(sgemv) STUB(dgemv) STUB(sdot) STUB(ddot) STUB(snrm2) STUB(dnrm2) STUB(sasum) STUB(dasum)
STUB(saxpy) STUB(daxpy) STUB(sger) STUB(dger) STUB(ssyrk) STUB(dsyrk) STUB(ssymv) STUB(dsymv) STUB(strsm)
STUB(dtrsm)
    /* clang-format on */

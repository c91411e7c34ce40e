/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries that pass for a CBLAS and write the number of threads they would run into the result, so that a
 * test sees which count is in force whatever is said of it. Built once for each KIND.
 */
#define BLIS 1     /* says -1 until a count is set, and runs one thread then */
#define OPENMP 2   /* OpenBLAS on OpenMP: its own setter and getter only talk to each other */
#define STUBBORN 3 /* OpenBLAS that runs two threads whatever it is told */

#if KIND == BLIS
static long told = -1;
void bli_thread_set_num_threads(long count);
long bli_thread_get_num_threads(void);
void bli_thread_set_num_threads(long count)
{
    told = count;
}
long bli_thread_get_num_threads(void)
{
    return told;
}
static int in_force(void)
{
    return told < 1 ? 1 : (int)told;
}
#else
static int told = 2;
void openblas_set_num_threads(int count);
int openblas_get_num_threads(void);
int openblas_get_parallel(void);
void openblas_set_num_threads(int count)
{
    told = KIND == STUBBORN ? 2 : count;
}
int openblas_get_num_threads(void)
{
    return told;
}
int openblas_get_parallel(void)
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

void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            c[i * ldc + j] = (float)in_force();
        }
    }
}

#define STUB(routine)                                                                                        \
    void cblas_##routine(void);                                                                              \
    void cblas_##routine(void)                                                                               \
    {                                                                                                        \
    }
/* clang-format off */
STUB(dgemm) STUB(sgemv) STUB(dgemv) STUB(sdot) STUB(ddot) STUB(snrm2) STUB(dnrm2) STUB(sasum) STUB(dasum)
STUB(saxpy) STUB(daxpy) STUB(sger) STUB(dger) STUB(ssyrk) STUB(dsyrk) STUB(ssymv) STUB(dsymv) STUB(strsm)
STUB(dtrsm)
    /* clang-format on */

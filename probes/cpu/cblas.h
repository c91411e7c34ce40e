/* SPDX-License-Identifier: Apache-2.0
 *
 * CBLAS, opened at run time: whatever the system's alternatives, or DETPROBE_LIB_CBLAS, give. The list of
 * routines is the only place where one is named. The real header's prototypes are held against it; its own
 * differ in one thing: extents are passed in 64 bits, which serve libraries with 64-bit integers and, by the
 * calling conventions of 64-bit Linux, those that take the lower 32 of them.
 */
#ifndef PROBES_CPU_CBLAS_H
#define PROBES_CPU_CBLAS_H

#include <cblas.h>
#include <stdint.h>

#include "probes/kit/op.h"

/* clang-format off */
#define CBLAS_GEMM(INT, REAL) (CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, INT, INT, INT, REAL, \
                               const REAL *, INT, const REAL *, INT, REAL, REAL *, INT)
#define CBLAS_GEMV(INT, REAL) (CBLAS_ORDER, CBLAS_TRANSPOSE, INT, INT, REAL, const REAL *, INT, const REAL *, INT, \
                               REAL, REAL *, INT)
#define CBLAS_DOT(INT, REAL) (INT, const REAL *, INT, const REAL *, INT)
#define CBLAS_NORM(INT, REAL) (INT, const REAL *, INT)
#define CBLAS_AXPY(INT, REAL) (INT, REAL, const REAL *, INT, REAL *, INT)
#define CBLAS_GER(INT, REAL) (CBLAS_ORDER, INT, INT, REAL, const REAL *, INT, const REAL *, INT, REAL *, INT)
#define CBLAS_SYRK(INT, REAL) (CBLAS_ORDER, CBLAS_UPLO, CBLAS_TRANSPOSE, INT, INT, REAL, const REAL *, INT, REAL, \
                               REAL *, INT)
#define CBLAS_SYMV(INT, REAL) (CBLAS_ORDER, CBLAS_UPLO, INT, REAL, const REAL *, INT, const REAL *, INT, REAL, \
                               REAL *, INT)
#define CBLAS_TRSM(INT, REAL) (CBLAS_ORDER, CBLAS_SIDE, CBLAS_UPLO, CBLAS_TRANSPOSE, CBLAS_DIAG, INT, INT, REAL, \
                               const REAL *, INT, REAL *, INT)

/* Routine, what it returns, its arguments, the type of its elements. */
#define CBLAS_ROUTINES(X) \
    X(sgemm, void, CBLAS_GEMM, float)   X(dgemm, void, CBLAS_GEMM, double) \
    X(sgemv, void, CBLAS_GEMV, float)   X(dgemv, void, CBLAS_GEMV, double) \
    X(sdot, float, CBLAS_DOT, float)    X(ddot, double, CBLAS_DOT, double) \
    X(snrm2, float, CBLAS_NORM, float)  X(dnrm2, double, CBLAS_NORM, double) \
    X(sasum, float, CBLAS_NORM, float)  X(dasum, double, CBLAS_NORM, double) \
    X(saxpy, void, CBLAS_AXPY, float)   X(daxpy, void, CBLAS_AXPY, double) \
    X(sger, void, CBLAS_GER, float)     X(dger, void, CBLAS_GER, double) \
    X(ssyrk, void, CBLAS_SYRK, float)   X(dsyrk, void, CBLAS_SYRK, double) \
    X(ssymv, void, CBLAS_SYMV, float)   X(dsymv, void, CBLAS_SYMV, double) \
    X(strsm, void, CBLAS_TRSM, float)   X(dtrsm, void, CBLAS_TRSM, double)

#define CBLAS_POINTER(routine, returned, arguments, real) returned (*routine) arguments(int64_t, real);
/* clang-format on */
struct cblas {
    CBLAS_ROUTINES(CBLAS_POINTER)
};
#undef CBLAS_POINTER
extern struct cblas cblas;

/* The functions of struct kit_program. */
int cblas_open(void);
int cblas_libraries(struct kit_library *ret, int max);
int cblas_set_threads(int threads);

/* For a library that computes on the role cblas. Opens it as kit_open_role does, whatever stands around the
 * names of its functions. */
void *cblas_open_role(const char *role, const char *const *sonames, const char *name);
/* A function of it by the name that it has where nothing stands around it, or NULL: what stands around the
 * names of the two is the same. */
void *cblas_find(void *of, const char *name);
/* Whether the BLAS behind `other` is the one that was opened. */
bool cblas_is_behind(void *other);

#endif

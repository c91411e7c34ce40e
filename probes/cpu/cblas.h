/* SPDX-License-Identifier: Apache-2.0
 *
 * CBLAS, opened at run time: whatever the system's alternatives, or DETPROBE_LIB_CBLAS, give. The list of
 * routines is the only place where one is named; its pointer has the type that the real header declares.
 */
#ifndef PROBES_CPU_CBLAS_H
#define PROBES_CPU_CBLAS_H

#include <cblas.h>

#include "probes/kit/op.h"

/* clang-format off */
#define CBLAS_ROUTINES(X) \
    X(sgemm) X(dgemm) X(sgemv) X(dgemv) X(sdot) X(ddot) X(snrm2) X(dnrm2) X(sasum) X(dasum) X(saxpy) X(daxpy) \
    X(sger) X(dger) X(ssyrk) X(dsyrk) X(ssymv) X(dsymv) X(strsm) X(dtrsm)
/* clang-format on */

#define CBLAS_POINTER(name) __typeof__(cblas_##name) *name;
struct cblas {
    CBLAS_ROUTINES(CBLAS_POINTER)
};
#undef CBLAS_POINTER
extern struct cblas cblas;

/* The functions of struct kit_program. */
int cblas_open(void);
int cblas_libraries(struct kit_library *ret, int max);
int cblas_set_threads(int threads);

/* For a library that computes on the role cblas: a function of it by the name that it has there, or NULL. */
void *cblas_find(void *of, const char *name);
/* Whether the BLAS behind `other` is the one that was opened. */
bool cblas_is_behind(void *other);

#endif

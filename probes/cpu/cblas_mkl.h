/* SPDX-License-Identifier: Apache-2.0
 *
 * MKL's own functions beside CBLAS; all take the library's handle. Of another library they change and say
 * nothing.
 */
#ifndef PROBES_CPU_CBLAS_MKL_H
#define PROBES_CPU_CBLAS_MKL_H

#include "probes/kit/op.h"

/* After a count was set: makes it hold where MKL would cut it to the number of cores, and lets MKL decide as
 * it did where it need not. */
void mkl_hold_threads(void *library, int threads);
/* In `config`: its version, and what decides its bits, the branch that MKL_CBWR asked for and the layers that
 * it loaded. */
void mkl_describe(void *library, struct kit_library *ret);
/* The OpenMP runtime that its layer of threads loaded; false: none, or the library is not MKL. */
bool mkl_openmp(void *library, struct kit_library *ret);

#endif

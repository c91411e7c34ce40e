/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread count of the library under test, and the OpenMP runtime that the process carries.
 */
#ifndef KIT_THREADS_H
#define KIT_THREADS_H

#include "probes/kit/op.h"

/* Sets the count (0: changes nothing) and returns what is read back; 0: there is no count to set. */
int kit_threads(const struct kit_program *program, int threads);
/* Puts the count that was set last in force in this thread of the program's own, too: OpenMP keeps one for
 * each. KIT_SKIPPED where it does not take. Not at once with another. */
int kit_threads_here(void);
/* Whether an OpenMP runtime is in the process, and which. */
bool kit_openmp_library(struct kit_library *ret);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The MPIs that can be measured here: a rank program was built for them, their library loads, their mpirun is
 * in PATH.
 */
#ifndef MPI_LIBRARY_H
#define MPI_LIBRARY_H

#include <limits.h>

#include "probes/kit/op.h"

struct mpi_library {
    const char *name;          /* the parameter `library` */
    const char *title;         /* as people call it */
    const char *mpirun[3];     /* names in order of preference, NULL-terminated */
    const char *signs[5];      /* words by one of which mpirun --version is known, NULL-terminated */
    const char *launcher;      /* the one of `mpirun` that was found */
    const char *not_found[2];  /* why it cannot be measured: word and text for a skip; NULL: it can */
    char text[PATH_MAX + 200]; /* behind not_found */
    char rank[PATH_MAX], version[64], path[512];
};

/* The library of that name, "any": the first that can be measured. KIT_SKIPPED where it cannot. */
int mpi_library_find(const char *name, const struct mpi_library **ret);

/* The main function of a program with these ops, NULL-terminated. */
int mpi_main(const char *name, const struct op *const *ops);

#endif

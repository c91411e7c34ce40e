/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a probe program that is a shared object: it was compiled with op.h alone and finds the kit here, as a
 * script finds its interpreter. So a probe of a user's own links nothing of detprobe, whatever the kit needs.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "probes/kit/library.h"

enum { FAULT = 1, USAGE = 64, LIBRARY_MISSING = 127 };

int main(int argc, char **argv)
{
    int (*start)(void);
    if (argc != 2) {
        fputs("usage: load PROGRAM.so\n", stderr);
        return USAGE;
    }
    /* Global: the kit looks for an OpenMP runtime as in a program that links it. */
    void *const program = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!program) {
        fprintf(stderr, "%s\n", dlerror());
        return LIBRARY_MISSING;
    }
    kit_float_watch(argv[1]);
    *(void **)&start = dlsym(program, "main");
    if (!start) {
        fprintf(stderr, "'%s' has no function 'main'\n", argv[1]);
        return FAULT;
    }
    return start();
}

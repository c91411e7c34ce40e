/* SPDX-License-Identifier: Apache-2.0
 *
 * A scratch folder for one test program, removed at its end.
 */
#ifndef DP_TESTS_SCRATCH_H
#define DP_TESTS_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite/base/text.h"

static char scratch_folder[] = "/tmp/detprobe-test-XXXXXX";

__attribute__((unused)) static const char *scratch(void)
{
    return scratch_folder;
}

__attribute__((unused)) static int scratch_setup(void **state)
{
    return mkdtemp(scratch_folder) ? 0 : -1;
}

__attribute__((unused)) static int scratch_teardown(void **state)
{
    char *command = dp_printf("rm -rf '%s'", scratch_folder);
    const int rc = system(command);
    free(command);
    return rc;
}

/* Writes a file of the scratch folder with the folders above it; owned path. */
__attribute__((unused)) static char *scratch_write(const char *name, const char *text)
{
    char *path = dp_printf("%s/%s", scratch_folder, name);
    for (char *slash = path + strlen(scratch_folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "we");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
        fprintf(stderr, "cannot write '%s'\n", path);
        abort();
    }
    return path;
}

__attribute__((unused)) static void scratch_write_in(const char *name, const char *text)
{
    free(scratch_write(name, text));
}

#endif

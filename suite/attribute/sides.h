/* SPDX-License-Identifier: Apache-2.0
 *
 * The two sides of a change as settings of a process, for a file that shows it without detprobe.
 */
#ifndef DP_ATTRIBUTE_SIDES_H
#define DP_ATTRIBUTE_SIDES_H

#include <jansson.h>
#include <stdbool.h>

#include "suite/base/err.h"
#include "suite/base/text.h"

#define DP_THREADS_NAME "THREADS" /* of the variable by which a file tells itself the number of threads */

/* What sets the number of threads of a library. */
struct dp_threads {
    const char *library, *variable;
    const char *function, *type; /* in C, and of its argument; NULL: none */
};

/* Two command lines of env(1). */
struct dp_sides {
    struct dp_text from, to;
    const struct dp_threads
        *function; /* that the file calls with DP_THREADS_NAME's value; NULL: none. Static */
};

/* Both without a setting; dp_sides_free in the end. */
void dp_sides_open(struct dp_sides *sides);
/* Those of the first cause of an explanation that a process can be started with, into sides that were opened;
 * `linked`: of a file that can call the library's functions. Code 2 where there is none. */
int dp_sides_find(const json_t *document, bool linked, struct dp_sides *ret, struct dp_err *err);
void dp_sides_free(struct dp_sides *sides);

#endif

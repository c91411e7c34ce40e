/* SPDX-License-Identifier: Apache-2.0
 *
 * An auditor of the dynamic loader (rtld-audit) that makes the libraries whose path contains HIDDEN look as
 * if they were not installed, wherever they are.
 */
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

unsigned la_version(unsigned version);
char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag);

unsigned la_version(unsigned version)
{
    return version;
}

char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag)
{
    const char *const hidden = getenv("HIDDEN");
    char *result = NULL; /* the interface takes no const */
    if (!hidden || !strstr(name, hidden)) {
        memcpy(&result, &name, sizeof(result));
    }
    return result;
}

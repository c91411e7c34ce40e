/* SPDX-License-Identifier: Apache-2.0
 *
 * Caps of instruction sets: the levels that each library can be held to by variables of its process, and what
 * a processor needs to run them. Axis isa takes them one after the other.
 */
#ifndef DP_PLAN_CAPS_H
#define DP_PLAN_CAPS_H

#include <jansson.h>
#include <stdbool.h>

struct dp_cap {
    const char *setting; /* "openblas/Haswell": the library, and its own word for the level */
    const char *library; /* as hello names it */
    const char *flags;   /* of the processor, as Linux names them, with blanks between */
    const char *value;   /* of the library's variables; NULL: the level */
    const char *alias;   /* what another version of the library calls the level; NULL: nothing else */
    bool generation;     /* stands for a generation of processors: taken at every level that takes the axis */
};

/* All of them, by library from the oldest level on; ended by a row without setting. */
const struct dp_cap *dp_caps(void);
/* That of this setting, NULL: there is none. */
const struct dp_cap *dp_cap_find(const char *setting);
/* The level itself: what the library ought to say that it runs on. */
const char *dp_cap_level(const struct dp_cap *cap);
/* Is this what the library calls the level? */
bool dp_cap_is(const struct dp_cap *cap, const char *isa);
/* Does a library that says it runs on `isa` run on what the cap names, and not on another level or on what it
 * runs on without (`base`, NULL: it says nothing)? */
bool dp_cap_took(const struct dp_cap *cap, const char *isa, const char *base);

/* The first flag that the level needs and the processor has not, NULL: it has all. `host` is as dp_host_facts
 * has it. Owned. */
char *dp_cap_lacks(const struct dp_cap *cap, const json_t *host);
/* What the process is started with: the library's variables, over those of the user. Other tunables of the C
 * library stay as the user has them. Owned. */
json_t *dp_cap_variables(const struct dp_cap *cap);
/* The first of these that is among `set` (object; NULL: none). Static; NULL: none is. */
const char *dp_cap_own(const struct dp_cap *cap, const json_t *set);

/* What a hello says of the instruction set that a library runs on; NULL: nothing. */
const char *dp_hello_isa(const json_t *hello, const char *library);

#endif

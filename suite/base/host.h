/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about this machine that bear on bits and on planning. Linux only; what cannot be read is left out.
 */
#ifndef DP_BASE_HOST_H
#define DP_BASE_HOST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The object `environment.host` of a report: arch, cpu_model, cpu_flags[], cores_online, cores_allowed
 * (affinity), cgroup_cpu ("2.00" or "max"), cgroup_memory (bytes as string or "max"), memory (bytes as
 * string), kernel, libc. No host name and nothing that moves. Owned. */
json_t *dp_host_facts(void);
/* The object `environment.variables`: allow-listed variables that are set, by name, so that what is shown of
 * a report is the same before it is written and after it is read. Owned. */
json_t *dp_host_variables(void);
/* Whether it is one of those that are recorded: no other can have been. */
bool dp_host_records(const char *name);
/* An object of variables in words, by name: "A=1 B=2", and "C unset" where the value is null. Owned. */
char *dp_variables_text(const json_t *set);

int dp_host_cores_allowed(void);
/* Bytes a process of ours may still take: the least of MemAvailable and what every cgroup above us leaves. */
int64_t dp_host_memory_available(void);

#endif

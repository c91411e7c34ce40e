/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend: where operands live and how their bytes are moved and compared. Small on purpose: another kind
 * of device is one more table. Functions that return int give 0 or kit_fail.
 */
#ifndef KIT_BACKEND_H
#define KIT_BACKEND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A repeating pattern of 1, 2, 4 or 8 bytes. */
struct kit_pattern {
    uint8_t bytes[8];
    size_t size;
};

/* Other work on the same device or cores: what it takes away from the measured operation. */
enum kit_busy { KIT_IDLE, KIT_BUSY_COMPUTE, KIT_BUSY_MEMORY, KIT_BUSY_PROCESS };

#define KIT_MAX_LANES 16 /* runs at once, on axis concurrency */

struct kit_backend {
    const char *name;
    /* NULL when there is no memory. */
    void *(*alloc)(size_t bytes, size_t align);
    void (*release)(void *memory);
    int (*upload)(void *to, const void *host, size_t bytes);
    int (*download)(void *host, const void *from, size_t bytes);
    int (*copy)(void *to, const void *from, size_t bytes);
    int (*fill)(void *to, const struct kit_pattern *pattern, size_t bytes);
    /* 1 if any byte differs, 0 if none, negative on failure. */
    int (*differs)(const void *a, const void *b, size_t bytes);
    int (*sync)(void);
    int64_t (*available)(void); /* bytes that may still be allocated */
    /* The buffer as the host reads it in place, or NULL where it must be downloaded. */
    const void *(*peek)(const void *memory);
    /* The rest only where the comparison is not the host's own. How many bytes differ and the offset of the
     * first; proved by the kit before it is trusted. */
    int (*compare)(const void *a, const void *b, size_t bytes, uint64_t *ret_count, uint64_t *ret_first);
    /* Adds what hello says of the devices and of own kernels: device, devices, device_state, own_kernels. */
    void (*introduce)(json_t *hello);
    bool (*lost)(void); /* nothing more can run in this process */
    /* Names of what is launched between these two, where they can be seen (`trace` says so): an array for the
     * observation's member `kernels`, or NULL; owned. */
    bool (*trace)(void);
    json_t *(*traced)(void);
    /* Which device of the machine this process opened, for axis device; NULL: there is nothing to choose. */
    int (*ordinal)(void);
    /* Axis busy; NULL: not known to the backend's programs. Called before each run, so that the work surely
     * is under way during it; it ends by itself if it is not called again. KIT_IDLE ends it. */
    int (*busy)(enum kit_busy work);
    /* After a run: whether the work went on since `busy` was called, so that a run it was not beside can be
     * made again. NULL: that it was under way before the run is proof enough. */
    bool (*beside)(void);
    /* Axis concurrency; NULL: not known to the backend's programs. Calls `run` for each lane from 0 to lanes
     * - 1, so that what they do happens at once, each on a stream or in a thread of its own, and waits for
     * all of it. *ret_at_once: it did happen at once. */
    int (*at_once)(int lanes, int (*run)(void *context, int lane), void *context, bool *ret_at_once);
    /* Axis concurrency by host threads instead (kit/callers.h): an operation is prepared for each, with
     * inputs of its own. Only of programs that say they are `concurrent`. */
    bool callers;
};

extern const struct kit_backend kit_cpu;

#endif

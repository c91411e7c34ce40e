/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of the device: facts for hello, the driver's own version number, whether others use it.
 */
#ifndef KIT_CUDA_DEVICE_H
#define KIT_CUDA_DEVICE_H

#include <jansson.h>

#include "probes/kit/cuda_driver.h"

/* The value of an attribute, or -1. */
int kit_device_attribute(CUdevice device, CUdevice_attribute attribute);
/* "550.54.14", or "" where NVML is not there. */
const char *kit_device_driver_name(void);
/* How many the driver shows; 0 where it does not say. */
int kit_device_count(void);
/* The member `device` of hello: what two equal machines have in common, as strings, integers and booleans.
 * Owned. */
json_t *kit_device_json(int ordinal);
/* What they have not: identities, and switches that change no bits. Owned. */
json_t *kit_device_state_json(int ordinal);
/* KIT_SKIPPED device_busy where its compute mode keeps us out or other processes compute on it, unless
 * DETPROBE_FORCE is 1, which is what `--force` sets. */
int kit_device_idle(CUdevice device);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts of the device from the driver, and from NVML where it is there. No toolkit need have NVML's header,
 * so the few prototypes are here, after NVIDIA's NVML API reference; what NVML does not answer is left out.
 */
#include "probes/kit/cuda_device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/kit/op.h"

/* Until a report from hardware is kept in reports/measured/, every report says so. */
#define UNPROVEN "unproven on hardware"
#define EMULATED UNPROVEN ", emulated on a CPU"

#define MPS_ENABLED ((CUdevice_attribute)133) /* older headers do not name it */

typedef void *nvml_device;
struct nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

static struct {
    int (*init)(void);
    int (*driver_version)(char *ret, unsigned size);
    int (*device_by_bus)(const char *bus, nvml_device *ret);
    int (*ecc)(nvml_device device, int *ret_now, int *ret_pending);
    int (*mig)(nvml_device device, unsigned *ret_now, unsigned *ret_pending);
    int (*persistence)(nvml_device device, unsigned *ret);
    int (*processes)(nvml_device device, unsigned *count, struct nvml_process *ret);
    bool tried, ready;
} nvml;

static bool nvml_open(void)
{
    static const struct {
        void **function;
        const char *name;
    } functions[] = {
        {(void **)&nvml.init, "nvmlInit_v2"},
        {(void **)&nvml.driver_version, "nvmlSystemGetDriverVersion"},
        {(void **)&nvml.device_by_bus, "nvmlDeviceGetHandleByPciBusId_v2"},
        {(void **)&nvml.ecc, "nvmlDeviceGetEccMode"},
        {(void **)&nvml.mig, "nvmlDeviceGetMigMode"},
        {(void **)&nvml.persistence, "nvmlDeviceGetPersistenceMode"},
        {(void **)&nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3"},
    };
    if (nvml.tried || kit_driver.emulated) { /* NVML would speak of another device than the emulated one */
        return nvml.ready;
    }
    nvml.tried = true;
    void *const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof(functions) / sizeof(functions[0]); i++) {
        *functions[i].function = dlsym(library, functions[i].name);
    }
    nvml.ready = nvml.init && nvml.init() == 0;
    return nvml.ready;
}

const char *kit_device_driver_name(void)
{
    static char version[96];
    if (!version[0] && nvml_open() && nvml.driver_version) {
        if (nvml.driver_version(version, sizeof(version)) != 0) {
            version[0] = '\0';
        }
    }
    return version;
}

int kit_device_attribute(CUdevice device, CUdevice_attribute attribute)
{
    int value = -1;
    return kit_driver.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : -1;
}

static nvml_device find_nvml(CUdevice device)
{
    char bus[32];
    nvml_device handle = NULL;
    if (!nvml_open() || !nvml.device_by_bus ||
        kit_driver.cuDeviceGetPCIBusId(bus, (int)sizeof(bus), device) != CUDA_SUCCESS ||
        nvml.device_by_bus(bus, &handle) != 0) {
        return NULL;
    }
    return handle;
}

int kit_device_count(void)
{
    int count = 0;
    return kit_driver.cuDeviceGetCount(&count) == CUDA_SUCCESS ? count : 0;
}

/* How the device is shared: others on it, by MPS or by turns, change when blocks run, and MPS how many. */
static void add_sharing(CUdevice device, json_t *facts)
{
    static const char *const modes[] = {[CU_COMPUTEMODE_DEFAULT] = "default",
                                        [CU_COMPUTEMODE_PROHIBITED] = "prohibited",
                                        [CU_COMPUTEMODE_EXCLUSIVE_PROCESS] = "exclusive_process"};
    const int mode = kit_device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
    const int mps = kit_device_attribute(device, MPS_ENABLED);
    if (mode >= 0 && mode < (int)(sizeof(modes) / sizeof(modes[0])) && modes[mode]) {
        json_object_set_new(facts, "compute_mode", json_string(modes[mode]));
    }
    if (mps >= 0) {
        json_object_set_new(facts, "mps", json_boolean(mps));
    }
}

/* Whether MIG is on, or -1. */
static int mig_of(nvml_device handle)
{
    unsigned now, pending;
    return handle && nvml.mig && nvml.mig(handle, &now, &pending) == 0 ? (int)now : -1;
}

static void add_nvml(CUdevice device, json_t *facts)
{
    const nvml_device handle = find_nvml(device);
    const int mig = mig_of(handle);
    int ecc, ecc_pending;
    if (kit_device_driver_name()[0]) {
        json_object_set_new(facts, "driver", json_string(kit_device_driver_name()));
    }
    if (handle && nvml.ecc && nvml.ecc(handle, &ecc, &ecc_pending) == 0) {
        json_object_set_new(facts, "ecc", json_boolean(ecc));
    }
    if (mig >= 0) {
        json_object_set_new(facts, "mig", json_boolean(mig));
    }
}

json_t *kit_device_json(int ordinal)
{
    CUdevice device = 0;
    char name[192] = "", text[256], capability[32], cuda[32], memory[32];
    size_t bytes = 0;
    kit_driver.cuDeviceGet(&device, ordinal);
    kit_driver.cuDeviceGetName(name, (int)sizeof(name), device);
    kit_driver.cuDeviceTotalMem_v2(&bytes, device);
    /* whatever it calls itself: what is computed on a CPU must not be taken for a GPU's */
    const bool marked = !kit_driver.emulated || strncmp(name, "emulated", strlen("emulated")) == 0;
    snprintf(text, sizeof(text), "%s%s", marked ? "" : "emulated ", name);
    snprintf(capability, sizeof(capability), "%d.%d",
             kit_device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
             kit_device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    snprintf(cuda, sizeof(cuda), "%d.%d", kit_driver.version / 1000, kit_driver.version % 1000 / 10);
    snprintf(memory, sizeof(memory), "%zu", bytes);
    json_t *const facts = json_pack("{s:i, s:s, s:s, s:i, s:s, s:s}", "ordinal", ordinal, "name", text,
                                    "compute_capability", capability, "multiprocessors",
                                    kit_device_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
                                    "memory", memory, "driver_cuda", cuda);
    json_object_set_new(facts, "proof", json_string(kit_driver.emulated ? EMULATED : UNPROVEN));
    if (kit_driver.emulated) {
        json_object_set_new(facts, "emulated", json_true());
    }
    add_sharing(device, facts);
    add_nvml(device, facts);
    return facts;
}

/* "GPU-8-4-4-4-12" as nvidia-smi shows it. Where MIG is on, the driver's devices are instances. */
static void add_uuid(CUdevice device, bool mig, json_t *state)
{
    const char *const form =
        mig ? "MIG-xxxx-xx-xx-xx-xxxxxx" : "GPU-xxxx-xx-xx-xx-xxxxxx"; /* x: two digits */
    CUuuid id;
    char text[64] = "", *to = text;
    size_t byte = 0;
    if (kit_driver.cuDeviceGetUuid_v2(&id, device) != CUDA_SUCCESS) {
        return;
    }
    for (const char *c = form; *c; c++) {
        if (*c == 'x') {
            to += sprintf(to, "%02x", (unsigned)(unsigned char)id.bytes[byte++]);
        } else {
            *to++ = *c;
        }
    }
    json_object_set_new(state, "uuid", json_string(text));
}

json_t *kit_device_state_json(int ordinal)
{
    CUdevice device = 0;
    char bus[32];
    unsigned on;
    json_t *const state = json_pack("{s:i}", "ordinal", ordinal);
    kit_driver.cuDeviceGet(&device, ordinal);
    if (kit_driver.cuDeviceGetPCIBusId(bus, (int)sizeof(bus), device) == CUDA_SUCCESS) {
        json_object_set_new(state, "pci_bus_id", json_string(bus));
    }
    const nvml_device handle = find_nvml(device);
    add_uuid(device, mig_of(handle) > 0, state);
    if (handle && nvml.persistence && nvml.persistence(handle, &on) == 0) {
        json_object_set_new(state, "persistence_mode", json_boolean(on));
    }
    return state;
}

/* The parent of a process, 0 where it is not to be seen. */
static unsigned parent_of(unsigned pid)
{
    char path[64], state;
    unsigned parent = 0;
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    FILE *const file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*u (%*[^)]) %c %u", &state, &parent) != 2) {
            parent = 0;
        }
        fclose(file);
    }
    return parent;
}

/* Another's process: one to be seen here that does not descend from our suite. Of a process outside our
 * container nothing is known but a number, which may be our own under another name. */
static bool is_foreign(unsigned pid)
{
    const unsigned suite = (unsigned)getppid();
    if (parent_of(pid) == 0) {
        return false;
    }
    for (unsigned at = pid; at > 1; at = parent_of(at)) {
        if (at == suite || at == (unsigned)getpid()) {
            return false;
        }
    }
    return true;
}

static int foreign_processes(CUdevice device)
{
    struct nvml_process list[64];
    unsigned count = sizeof(list) / sizeof(list[0]);
    const nvml_device handle = find_nvml(device);
    int foreign = 0;
    if (!handle || !nvml.processes || nvml.processes(handle, &count, list) != 0) {
        return 0;
    }
    for (unsigned i = 0; i < count && i < sizeof(list) / sizeof(list[0]); i++) {
        foreign += is_foreign(list[i].pid);
    }
    return foreign;
}

int kit_device_idle(CUdevice device)
{
    const char *const force = getenv("DETPROBE_FORCE");
    const int mode = kit_device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
    if (mode == CU_COMPUTEMODE_PROHIBITED) {
        return kit_skip("device_busy",
                        "the GPU's compute mode is PROHIBITED: nvidia-smi -c DEFAULT allows it");
    }
    if (force && strcmp(force, "1") == 0) {
        return KIT_OK;
    }
    if (mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS) {
        return kit_skip("device_busy",
                        "the GPU's compute mode is EXCLUSIVE_PROCESS: --force measures all the same");
    }
    const int foreign = foreign_processes(device);
    return foreign
               ? kit_skip("device_busy",
                          "%d other process%s on the GPU: end %s, or --force measures all the same", foreign,
                          foreign == 1 ? " computes" : "es compute", foreign == 1 ? "it" : "them")
               : KIT_OK;
}

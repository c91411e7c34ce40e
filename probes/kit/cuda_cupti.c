/* SPDX-License-Identifier: Apache-2.0
 *
 * The role cupti: callbacks at the launching functions of driver and runtime. Callbacks are the oldest part
 * of CUPTI and need no buffers, no counters and no permission for them; they are called on the host, so a
 * kernel runs as it does without them.
 */
#include "probes/kit/cuda_cupti.h"

#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/cuda_driver.h"
#include "probes/kit/outcome.h"
#include "suite/base/digest.h"
#include "suite/base/text.h"

/* clang-format off */
#define CUPTI_FUNCTIONS(X) \
    X(cuptiSubscribe) X(cuptiUnsubscribe) X(cuptiEnableCallback) X(cuptiGetVersion) X(cuptiGetResultString)
/* clang-format on */

#define MAX_NAMES 32   /* distinct kernels of one run; the rest is counted together */
#define NAME_BYTES 256 /* a longer name is cut and told apart by its digest */
#define NAME_KEPT 200

struct launched {
    char name[NAME_BYTES];
    int launches;
};

#define CUPTI_POINTER(name) __typeof__(name) *name;
static struct {
    CUPTI_FUNCTIONS(CUPTI_POINTER)
    bool refused; /* said no once: asked no more in this process */
    CUpti_SubscriberHandle subscriber;
    struct launched seen[MAX_NAMES];
    int count, others;
} cupti;
#undef CUPTI_POINTER
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int depth; /* of launching functions that called each other */

/* Where a library of the toolkit may lie that the loader does not find: as wheels and toolkits have it. */
static void add_places(const char *soname, const char *beside, char **names, int *count)
{
    const char *const home = getenv("CUDA_HOME");
    const int folder = (int)(strrchr(beside, '/') ? strrchr(beside, '/') - beside : 0);
    names[(*count)++] = dp_strdup(soname);
    if (folder > 0) {
        names[(*count)++] = dp_printf("%.*s/%s", folder, beside, soname);
        names[(*count)++] = dp_printf("%.*s/../../cuda_cupti/lib/%s", folder, beside, soname);
        names[(*count)++] = dp_printf("%.*s/../extras/CUPTI/lib64/%s", folder, beside, soname);
    }
    if (home && *home) {
        names[(*count)++] = dp_printf("%s/extras/CUPTI/lib64/%s", home, soname);
    }
}

void kit_cupti_open(const char *beside)
{
    static const struct {
        const char *soname;
        int driver_major;
    } sonames[] = {{"libcupti.so.13", 13}, {"libcupti.so.12", 12}};
    char *names[16] = {NULL};
    int count = 0;
    for (size_t i = 0; i < sizeof(sonames) / sizeof(sonames[0]); i++) {
        if (sonames[i].driver_major <= kit_driver.version / 1000) {
            add_places(sonames[i].soname, beside, names, &count);
        }
    }
    /* a real one knows nothing of an emulated driver */
    void *const library = kit_open_role("cupti", (const char *const *)names,
                                        kit_driver.emulated ? "detprobe_emulation" : "cuptiSubscribe");
    for (int i = 0; i < count; i++) {
        free(names[i]);
    }
    if (!library) {
        kit_outcome_clear();
        cupti.refused = true;
        return;
    }
#define CUPTI_LOAD(name)                                                                                     \
    *(void **)&cupti.name = dlsym(library, #name);                                                           \
    cupti.refused = cupti.refused || !cupti.name;
    CUPTI_FUNCTIONS(CUPTI_LOAD)
#undef CUPTI_LOAD
}

int kit_cupti_library(struct kit_library *ret)
{
    uint32_t version = 0;
    if (!cupti.cuptiGetVersion || cupti.cuptiGetVersion(&version) != CUPTI_SUCCESS) {
        return 0;
    }
    *ret = (struct kit_library){.role = "cupti", .name = "CUPTI"};
    snprintf(ret->version, sizeof(ret->version), "%u", version);
    kit_path_of(*(void **)&cupti.cuptiGetVersion, ret->path, sizeof(ret->path));
    return 1;
}

static void cut_name(const char *name, char ret[NAME_BYTES])
{
    char digest[DP_SHA256_HEX];
    if (strlen(name) < NAME_BYTES) {
        strcpy(ret, name);
        return;
    }
    dp_sha256_hex(name, strlen(name), digest);
    snprintf(ret, NAME_BYTES, "%.*s...%.16s", NAME_KEPT, name, digest);
}

static void note(const char *symbol)
{
    char name[NAME_BYTES];
    int i = 0;
    cut_name(symbol, name);
    pthread_mutex_lock(&mutex);
    while (i < cupti.count && strcmp(cupti.seen[i].name, name) != 0) {
        i++;
    }
    if (i == MAX_NAMES) {
        cupti.others++;
    } else {
        cupti.count += i == cupti.count;
        strcpy(cupti.seen[i].name, name);
        cupti.seen[i].launches++;
    }
    pthread_mutex_unlock(&mutex);
}

/* A launch through the runtime may show at the driver's function too: the outermost one counts. A graph has
 * no symbol; then the function's own name says what was launched. */
static void CUPTIAPI on_launch(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                               const void *data)
{
    const CUpti_CallbackData *const call = data;
    if (call->callbackSite == CUPTI_API_ENTER) {
        if (depth++ == 0) {
            note(call->symbolName ? call->symbolName : call->functionName);
        }
    } else if (depth > 0) {
        depth--;
    }
}

/* Ids never change; one that this library does not know is refused and left out. */
static int enable(void)
{
    static const struct {
        CUpti_CallbackDomain domain;
        CUpti_CallbackId id;
    } launches[] = {
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch},
        {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060},
        {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060},
        {CUPTI_CB_DOMAIN_RUNTIME_API, 505}, /* __cudaLaunchKernel and _ptsz of 13.0, in no older header */
        {CUPTI_CB_DOMAIN_RUNTIME_API, 506},
    };
    int enabled = 0;
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++) {
        enabled += cupti.cuptiEnableCallback(1, cupti.subscriber, launches[i].domain, launches[i].id) ==
                   CUPTI_SUCCESS;
    }
    return enabled;
}

static void refuse(const char *what, CUptiResult result)
{
    const char *text = NULL;
    cupti.cuptiGetResultString(result, &text);
    fprintf(stderr, "no kernel names: %s: %s (%d)\n", what, text ? text : "unknown error", (int)result);
    cupti.refused = true;
}

bool kit_cupti_begin(void)
{
    if (cupti.refused) {
        return false;
    }
    cupti.count = cupti.others = depth = 0;
    memset(cupti.seen, 0, sizeof(cupti.seen));
    const CUptiResult result = cupti.cuptiSubscribe(&cupti.subscriber, on_launch, NULL);
    if (result != CUPTI_SUCCESS) {
        refuse("cuptiSubscribe", result);
        return false;
    }
    if (!enable()) {
        refuse("cuptiEnableCallback", CUPTI_ERROR_INVALID_PARAMETER);
        cupti.cuptiUnsubscribe(cupti.subscriber);
        return false;
    }
    return true;
}

json_t *kit_cupti_end(void)
{
    cupti.cuptiUnsubscribe(cupti.subscriber);
    if (!cupti.count) {
        return NULL;
    }
    json_t *const kernels = json_array();
    for (int i = 0; i < cupti.count; i++) {
        json_t *const row =
            json_pack("{s:s, s:i}", "name", cupti.seen[i].name, "launches", cupti.seen[i].launches);
        json_array_append_new(kernels, row);
    }
    if (cupti.others) {
        json_array_append_new(kernels,
                              json_pack("{s:s, s:i}", "name", "other kernels", "launches", cupti.others));
    }
    return kernels;
}

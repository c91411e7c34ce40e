/* SPDX-License-Identifier: Apache-2.0
 *
 * An emulated libcupti: one subscriber, callbacks by domain and id, called at launches of the emulated driver
 * and libraries as the real one does. A launch through the runtime shows at the driver's function too.
 */
#include <cupti.h>
#include <stdlib.h>

#include "suite/tests/emulation/emulation.h"

#define MAX_ID 1024

/* The kit takes no other one beside an emulated driver. */
const char detprobe_emulation[] = "emulated";

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc callback;
    void *context;
    bool enabled[2][MAX_ID]; /* driver, runtime */
};
static struct CUpti_Subscriber_st subscriber;

static void on_launch(bool runtime, bool enter, const char *symbol)
{
    const CUpti_CallbackId id =
        runtime ? CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 : CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
    const CUpti_CallbackData data = {.callbackSite = enter ? CUPTI_API_ENTER : CUPTI_API_EXIT,
                                     .functionName = runtime ? "cudaLaunchKernel" : "cuLaunchKernel",
                                     .symbolName = symbol};
    if (subscriber.callback && subscriber.enabled[runtime][id]) {
        subscriber.callback(subscriber.context,
                            runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
    }
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *context)
{
    const long status = emulate_number("cupti", CUPTI_SUCCESS);
    emulate_log("cuptiSubscribe %ld", status);
    if (status != CUPTI_SUCCESS || subscriber.callback) {
        return subscriber.callback ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : (CUptiResult)status;
    }
    subscriber = (struct CUpti_Subscriber_st){.callback = callback, .context = context};
    *handle = &subscriber;
    emulate_listener = on_launch;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    if (handle != &subscriber || !subscriber.callback) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    emulate_listener = NULL;
    subscriber.callback = NULL;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id)
{
    if (handle != &subscriber || !subscriber.callback || id >= MAX_ID ||
        (domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API)) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    subscriber.enabled[domain == CUPTI_CB_DOMAIN_RUNTIME_API][id] = enable;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
}

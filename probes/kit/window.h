/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic of sliding windows along one dimension, shared by convolution and pooling: an input of `extent`
 * elements, padded by `pad` on both sides, a window of `window` taps moved by `stride`.
 */
#ifndef KIT_WINDOW_H
#define KIT_WINDOW_H

#include <stdint.h>

/* Number of output positions; 0 when the window is larger than the padded input. */
static inline int64_t window_count(int64_t extent, int64_t window, int64_t stride, int64_t pad)
{
    return extent + 2 * pad < window ? 0 : (extent + 2 * pad - window) / stride + 1;
}

/* What the last window needs after the input; may be less than `pad`, also negative. */
static inline int64_t window_pad_after(int64_t extent, int64_t window, int64_t stride, int64_t pad)
{
    return (window_count(extent, window, stride, pad) - 1) * stride + window - extent - pad;
}

/* Output position (below `count`) whose tap `tap` reads input element `i`, or -1. */
static inline int64_t window_reading(int64_t i, int64_t tap, int64_t stride, int64_t pad, int64_t count)
{
    const int64_t shifted = i + pad - tap;
    return shifted >= 0 && shifted % stride == 0 && shifted / stride < count ? shifted / stride : -1;
}

#endif

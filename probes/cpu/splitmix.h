/* SPDX-License-Identifier: Apache-2.0
 *
 * splitmix64: numbers of a stream from places in it. Steele, Lea and Flood, Fast splittable pseudorandom
 * number generators, OOPSLA 2014; the constants are Stafford's variant 13.
 */
#ifndef PROBES_CPU_SPLITMIX_H
#define PROBES_CPU_SPLITMIX_H

#include <stdint.h>

#define SPLITMIX64_STEP UINT64_C(0x9e3779b97f4a7c15) /* from one place to the next */

static inline uint64_t splitmix64(uint64_t place)
{
    place = (place ^ place >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    place = (place ^ place >> 27) * UINT64_C(0x94d049bb133111eb);
    return place ^ place >> 31;
}

#endif

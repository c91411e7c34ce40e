/* SPDX-License-Identifier: Apache-2.0
 *
 * Axes that the kit varies inside a process: a table from axis to what its setting changes. A product of axes
 * is its factors one after the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/request.h"
#include "probes/kit/reveal.h"

static int nothing(const char *setting, struct kit_setting *ret)
{
    return KIT_OK;
}

/* A decimal number from `least` to `most` that ends at *end; -1: none. */
static int64_t number(const char *text, int64_t least, int64_t most, const char **end)
{
    int64_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && value <= most; c++) {
        value = value * 10 + (*c - '0');
    }
    *end = c;
    return c > text && value >= least && value <= most ? value : -1;
}

static int threads(const char *setting, struct kit_setting *ret)
{
    const char *end;
    const int64_t count = number(setting, 1, 4096, &end);
    if (count < 0 || *end) {
        return kit_skip("unsupported", "threads '%s' is no number of threads", setting);
    }
    ret->threads = (int)count;
    return KIT_OK;
}

static int batch(const char *setting, struct kit_setting *ret)
{
    const char *end = setting;
    const int64_t samples = number(setting, 1, 1 << 24, &end);
    const int64_t place = samples > 0 && *end == '/' ? number(end + 1, 0, samples - 1, &end) : -1;
    if (place < 0 || *end) {
        return kit_skip("unsupported", "batch '%s' is not N/PLACE", setting);
    }
    ret->batch = samples;
    ret->place = place;
    return KIT_OK;
}

static int algorithm(const char *setting, struct kit_setting *ret)
{
    const char *end;
    const int64_t index = number(setting, 0, 4095, &end);
    if (index < 0 || *end) {
        return kit_skip("unsupported", "algorithm '%s' is no number of a choice", setting);
    }
    ret->algorithm = (int)index + 1;
    return KIT_OK;
}

/* glibc fills new memory with the complement of M_PERTURB's value and freed memory with the value; 0 switches
 * it off, so NaN bytes (0xff) cannot be had: 0x7f, huge numbers, stands for them. */
static int poison(const char *setting, struct kit_setting *ret)
{
    static const struct {
        const char *name;
        struct kit_pattern pattern;
        int perturb;
    } patterns[] = {
        {"0xa5", {{0xa5}, 1}, 0x5a},
        {"0x5a", {{0x5a}, 1}, 0xa5},
        {"nan", {{0}, 0}, 0x80},
    };
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        if (strcmp(patterns[i].name, setting) == 0) {
            ret->pattern = patterns[i].pattern;
            ret->perturb = patterns[i].perturb;
            return KIT_OK;
        }
    }
    return kit_skip("unsupported", "poison '%s' is none of 0xa5, 0x5a, nan", setting);
}

static int busy(const char *setting, struct kit_setting *ret)
{
    static const char *const works[] = {
        [KIT_BUSY_COMPUTE] = "compute", [KIT_BUSY_MEMORY] = "memory", [KIT_BUSY_PROCESS] = "process"};
    for (int i = KIT_BUSY_COMPUTE; i <= KIT_BUSY_PROCESS; i++) {
        if (strcmp(works[i], setting) == 0) {
            ret->busy = (enum kit_busy)i;
            return KIT_OK;
        }
    }
    return kit_skip("unsupported", "busy '%s' is none of compute, memory, process", setting);
}

static int concurrency(const char *setting, struct kit_setting *ret)
{
    const char *end;
    const int64_t count = number(setting, 2, KIT_MAX_LANES, &end);
    if (count < 0 || *end) {
        return kit_skip("unsupported", "concurrency '%s' is not within 2 and %d", setting, KIT_MAX_LANES);
    }
    ret->lanes = (int)count;
    return KIT_OK;
}

/* "0,4": numbers of bytes of which one at least is not 0. */
static bool read_offsets(const char *setting, struct kit_align *ret)
{
    int64_t bytes, sum = 0;
    const char *end = setting;
    do {
        bytes = ret->offsets < KIT_MAX_OPERANDS ? number(setting, 0, KIT_MAX_OFFSET, &end) : -1;
        if (bytes >= 0) {
            ret->offset[ret->offsets++] = (int)bytes;
            sum += bytes;
        }
        setting = end + 1;
    } while (bytes >= 0 && *end == ',');
    return bytes >= 0 && sum > 0 && !*end;
}

static int align(const char *setting, struct kit_setting *ret)
{
    static const char wider[] = "ld+";
    struct kit_align *const to = &ret->align;
    const char *end = setting;
    bool known;
    if (strncmp(setting, wider, strlen(wider)) == 0) {
        to->widen = (int)number(setting + strlen(wider), 1, KIT_MAX_OFFSET, &end);
        known = to->widen > 0 && !*end;
    } else {
        to->heap = strcmp(setting, "heap") == 0;
        known = to->heap || read_offsets(setting, to);
    }
    snprintf(to->setting, sizeof(to->setting), "%s", setting);
    return known ? KIT_OK
                 : kit_skip("unsupported", "align '%s' is neither bytes up to %d, nor ld+ELEMENTS, nor heap",
                            setting, KIT_MAX_OFFSET);
}

/* Not varied but revealed: the setting says for how many summands. */
static int order(const char *setting, struct kit_setting *ret)
{
    const char *end;
    const int64_t count = number(setting, 3, KIT_REVEAL_MOST, &end);
    if (count < 0 || *end) {
        return kit_skip("unsupported", "order '%s' is not within 3 and %d", setting, KIT_REVEAL_MOST);
    }
    ret->order = (int)count;
    return KIT_OK;
}

/* The suite started this process for the device; that it is the one is checked. */
static int device(const char *setting, struct kit_setting *ret)
{
    const char *end;
    const int64_t ordinal = number(setting, 0, 4096, &end);
    if (ordinal < 0 || *end) {
        return kit_skip("unsupported", "device '%s' is no number of a device", setting);
    }
    ret->device = (int)ordinal + 1;
    return KIT_OK;
}

/* The suite started this process with the library's cap, which hello answers. All cells were checked in the
 * base process; another kernel that is wrong is so in corners, on edges or everywhere. */
static int isa(const char *setting, struct kit_setting *ret)
{
    ret->sampled = true;
    return KIT_OK;
}

/* Nothing is varied: the setting is a number that tells the rounds of a run apart. */
static int price(const char *setting, struct kit_setting *ret)
{
    ret->price = true;
    return KIT_OK;
}

static const struct {
    const char *name;
    int (*apply)(const char *setting, struct kit_setting *ret);
} axes[] = {
    {"repeat", nothing},
    {"fresh", nothing},
    {"poison", poison},
    {"busy", busy},
    {"concurrency", concurrency},
    {"threads", threads},
    {"batch", batch},
    {"align", align},
    {"algorithm", algorithm},
    {"isa", isa},
    {"device", device},
    {"order", order},
    {"price", price},
};

static int apply(const char *axis, size_t length, const char *setting, struct kit_setting *ret)
{
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
        if (strlen(axes[i].name) == length && memcmp(axes[i].name, axis, length) == 0) {
            return axes[i].apply(setting, ret);
        }
    }
    return kit_skip("unsupported", "axis '%.*s' is not known to this program", (int)length, axis);
}

int kit_setting_parse(const char *axis, const char *setting, struct kit_setting *ret)
{
    *ret = (struct kit_setting){.pattern = KIT_PATTERN_BYTE_BASE};
    char part[64];
    for (;;) {
        const size_t axis_length = strcspn(axis, "*");
        const size_t length = strcspn(setting, "*");
        if (length >= sizeof(part)) {
            return kit_skip("unsupported", "setting '%.40s...' is too long", setting);
        }
        memcpy(part, setting, length);
        part[length] = '\0';
        const int rc = apply(axis, axis_length, part, ret);
        if (rc) {
            return rc;
        }
        if (axis[axis_length] == '\0') {
            return setting[length]
                       ? kit_skip("unsupported", "setting '%s' has more parts than its axis", setting)
                       : KIT_OK;
        }
        axis += axis_length + 1;
        setting += length + (setting[length] == '*'); /* "threads*repeat" with "4": repeat has no setting */
    }
}

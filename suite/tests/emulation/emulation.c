/* SPDX-License-Identifier: Apache-2.0
 *
 * What the emulated libraries share: the words of DETPROBE_EMULATE, the call log, orders and faults.
 */
#include "suite/tests/emulation/emulation.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The place after "word=", or NULL. */
static const char *find_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    while (text && *text) {
        if (strncmp(text, word, length) == 0 && text[length] == '=') {
            return text + length + 1;
        }
        text = strchr(text, ',');
        text += text ? 1 : 0;
    }
    return NULL;
}

const char *emulate_word(const char *word, const char *fallback)
{
    static _Thread_local char value[128];
    const char *const found = find_word(getenv("DETPROBE_EMULATE"), word);
    if (!found) {
        return fallback;
    }
    snprintf(value, sizeof(value), "%.*s", (int)strcspn(found, ","), found);
    return value;
}

long emulate_number(const char *word, long fallback)
{
    const char *const text = emulate_word(word, NULL);
    return text ? strtol(text, NULL, 10) : fallback;
}

const char *(*emulate_beside)(void);
static int current_device;

void emulate_use_device(int ordinal)
{
    current_device = ordinal;
}

static bool names(const char *word, const char *name)
{
    const char *const prefix = emulate_word(word, NULL);
    return prefix && strncmp(prefix, name, strlen(prefix)) == 0;
}

bool emulate_for(const char *word, const char *name)
{
    char now[64], on_device[64];
    const char *const beside = emulate_beside ? emulate_beside() : NULL;
    snprintf(now, sizeof(now), "%s-%s", beside ? beside : "", word);
    snprintf(on_device, sizeof(on_device), "device%d-%s", current_device, word);
    return names(word, name) || names(on_device, name) || (beside && names(now, name));
}

void emulate_log(const char *format, ...)
{
    const char *const path = getenv("DETPROBE_EMULATE_LOG");
    FILE *const file = path ? fopen(path, "a") : NULL;
    if (file) {
        va_list args;
        va_start(args, format);
        vfprintf(file, format, args);
        va_end(args);
        fputc('\n', file);
        fclose(file);
    }
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void shuffle(int32_t *ret, int32_t count, uint64_t state)
{
    for (int32_t i = count - 1; i > 0; i--) {
        const int32_t j = (int32_t)(next_random(&state) % (uint64_t)(i + 1));
        const int32_t kept = ret[i];
        ret[i] = ret[j];
        ret[j] = kept;
    }
}

void emulate_order(int32_t *ret, int32_t count, bool shuffled)
{
    static uint64_t calls;
    for (int32_t i = 0; i < count; i++) {
        ret[i] = i;
    }
    if (!shuffled) {
        return;
    }
    shuffle(ret, count, (uint64_t)emulate_number("seed", 1) << 32 | ++calls);
}

unsigned emulate_variant(const char *name)
{
    return emulate_for("select", name) ? (unsigned)getpid() : 0;
}

void emulate_variant_order(int32_t *ret, int32_t count, unsigned variant)
{
    emulate_order(ret, count, false);
    if (variant) {
        shuffle(ret, count, variant);
    }
}

void (*emulate_listener)(bool runtime, bool enter, const char *symbol);

void emulate_launched(const char *symbol)
{
    if (emulate_listener) {
        emulate_listener(false, true, symbol);
        emulate_listener(false, false, symbol);
    }
}

void emulate_launched_by_library(const char *name)
{
    char symbol[160];
    const unsigned variant = emulate_variant(name);
    snprintf(symbol, sizeof(symbol), variant ? "emulated_%s_variant_%u" : "emulated_%s", name, variant);
    if (emulate_listener) {
        emulate_listener(true, true, symbol);
        emulate_launched(symbol);
        emulate_listener(true, false, symbol);
    }
}

void emulate_harm(const char *name, void *result, size_t elements, size_t size, const void *before_last)
{
    static unsigned calls;
    uint8_t *const bytes = result;
    if (emulate_for("bitflip", name) && ++calls % 2 == 0) {
        bytes[elements / 2 * size] ^= 1;
    }
    if (emulate_for("unwritten", name)) {
        memcpy(bytes + (elements - 1) * size, before_last, size);
    }
    if (emulate_for("wrong", name)) {
        bytes[size - 2] ^= 0x10; /* a high place of the first element's mantissa */
    }
}

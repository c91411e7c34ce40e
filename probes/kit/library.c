/* SPDX-License-Identifier: Apache-2.0
 *
 * Libraries under test are opened at run time by role: the one that DETPROBE_LIB_<ROLE> names, else, unless
 * DETPROBE_STACK says that the suite has looked for it already, the first of a list of names that loads and
 * exports what is needed.
 */
#include "probes/kit/library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/kit/op.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#define FLOAT_REGISTER /* MXCSR */
#define FLOAT_DEFAULT 0x1f80u
/* The low six bits are flags that any operation may raise. */
static unsigned float_control(void)
{
    return _mm_getcsr() & ~0x3fu;
}
#elif defined(__aarch64__)
#define FLOAT_REGISTER /* FPCR */
#define FLOAT_DEFAULT 0u
static unsigned float_control(void)
{
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return (unsigned)value;
}
#endif

#define MAX_CHANGES 16

static struct {
    char after[96];
    unsigned value;
} changes[MAX_CHANGES];
static size_t change_count;

size_t kit_float_changes(void)
{
    return change_count;
}

#ifdef FLOAT_REGISTER
void kit_float_watch(const char *after)
{
    const unsigned value = float_control();
    const unsigned last = change_count ? changes[change_count - 1].value : FLOAT_DEFAULT;
    if (value != last && change_count < MAX_CHANGES) {
        snprintf(changes[change_count].after, sizeof(changes[0].after), "%s", after);
        changes[change_count++].value = value;
    }
}

json_t *kit_float_change_since(size_t count)
{
    char value[16];
    if (count >= change_count) {
        return NULL;
    }
    snprintf(value, sizeof(value), "0x%x", changes[count].value);
    return json_pack("{s:s, s:s}", "after", changes[count].after, "control", value);
}

json_t *kit_float_json(void)
{
    char value[16];
    snprintf(value, sizeof(value), "0x%x", FLOAT_DEFAULT);
    json_t *const list = json_array();
    for (size_t i = 0; i < change_count; i++) {
        json_array_append_new(list, kit_float_change_since(i));
    }
    return json_pack("{s:s, s:o}", "default", value, "changes", list);
}
#else
void kit_float_watch(const char *after)
{
}

json_t *kit_float_change_since(size_t count)
{
    return NULL;
}

json_t *kit_float_json(void)
{
    return NULL;
}
#endif

void kit_path_of(const void *address, char *ret, size_t size)
{
    Dl_info info;
    char resolved[PATH_MAX];
    ret[0] = '\0';
    if (dladdr(address, &info) && info.dli_fname) {
        snprintf(ret, size, "%s", realpath(info.dli_fname, resolved) ? resolved : info.dli_fname);
    }
}

static const char *role_variable(const char *role)
{
    char name[64] = "DETPROBE_LIB_";
    size_t length = strlen(name);
    for (const char *c = role; *c && length + 1 < sizeof(name); c++) {
        name[length++] = (char)toupper((unsigned char)*c);
    }
    name[length] = '\0';
    return getenv(name);
}

/* One of the names, which bars part. */
static bool exports(void *handle, const char *symbols)
{
    char symbol[96];
    for (const char *at = symbols; *at; at += strspn(at, "|")) {
        const size_t length = strcspn(at, "|");
        snprintf(symbol, sizeof(symbol), "%.*s", (int)length, at);
        if (dlsym(handle, symbol)) {
            return true;
        }
        at += length;
    }
    return false;
}

/* Opens one file and checks that it is what the role needs; *ret_why is dlerror's text or the missing symbol.
 */
static void *open_one(const char *name, const char *probe_symbols, char *ret_why, size_t size)
{
    void *const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        snprintf(ret_why, size, "%s", dlerror());
        return NULL;
    }
    char after[96];
    const char *const slash = strrchr(name, '/');
    snprintf(after, sizeof(after), "%.80s open", slash ? slash + 1 : name);
    kit_float_watch(after); /* its constructors ran, also if it is not the one */
    if (!exports(handle, probe_symbols)) {
        snprintf(ret_why, size, "%s does not export %.*s", name, (int)strcspn(probe_symbols, "|"),
                 probe_symbols);
        dlclose(handle);
        return NULL;
    }
    return handle;
}

void *kit_open_role(const char *role, const char *const *sonames, const char *probe_symbols)
{
    char why[400] = "no name is known for it";
    const char *const named = role_variable(role);
    if (named && *named) {
        void *const handle = open_one(named, probe_symbols, why, sizeof(why));
        if (!handle) {
            kit_skip("library_missing", "cannot open library '%s' for role %s: %s", named, role, why);
        }
        return handle;
    }
    const char *const stack = getenv("DETPROBE_STACK");
    if (stack && *stack && strcmp(role, "cuda") != 0) { /* the driver is the machine's, whatever the stack */
        kit_skip("library_missing", "the stack '%s' has no library for role %s", stack, role);
        return NULL;
    }
    for (int i = 0; sonames[i]; i++) {
        char other[400];
        void *const handle = open_one(sonames[i], probe_symbols, i == 0 ? why : other, sizeof(why));
        if (handle) {
            return handle;
        }
    }
    kit_skip("library_missing", "no library for role %s: %s", role, why);
    return NULL;
}

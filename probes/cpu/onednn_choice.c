/* SPDX-License-Identifier: Apache-2.0
 *
 * Choices of an operation on oneDNN: what the library chooses under its deterministic attribute, and each of
 * its implementations, in the library's order and by the library's names.
 */
#include <stdio.h>
#include <string.h>

#include "probes/cpu/onednn.h"

static void read_name(dnnl_primitive_desc_t descriptor, char *ret, size_t size)
{
    const char *name = "";
    dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name);
    snprintf(ret, size, "%s", name);
}

#if DNNL_VERSION_MAJOR >= 3 /* a descriptor that becomes the one of the next implementation */

static bool go_on(onednn_walk walk)
{
    return dnnl_primitive_desc_next_impl(walk) == dnnl_success;
}

static void name_here(onednn_walk walk, char *ret, size_t size)
{
    read_name(walk, ret, size);
}

static dnnl_primitive_desc_t stop_here(onednn_walk walk)
{
    return walk;
}

static void give_up(onednn_walk walk)
{
    dnnl_primitive_desc_destroy(walk);
}

#else /* an iterator that makes a descriptor where it stands */

static bool go_on(onednn_walk walk)
{
    return dnnl_primitive_desc_iterator_next(walk) == dnnl_success;
}

static void name_here(onednn_walk walk, char *ret, size_t size)
{
    dnnl_primitive_desc_t here = dnnl_primitive_desc_iterator_fetch(walk);
    read_name(here, ret, size);
    dnnl_primitive_desc_destroy(here);
}

static dnnl_primitive_desc_t stop_here(onednn_walk walk)
{
    dnnl_primitive_desc_t here = dnnl_primitive_desc_iterator_fetch(walk);
    dnnl_primitive_desc_iterator_destroy(walk);
    return here;
}

static void give_up(onednn_walk walk)
{
    dnnl_primitive_desc_iterator_destroy(walk);
}

#endif

enum { MAX_CHOICES = 32, LISTED = 1 /* no kit_rc: prepare went as far as it was wanted to */ };

/* What onednn_choices has prepare look for; no implementation is called so. */
static const char every[] = "every implementation";

static char texts[MAX_CHOICES][64];
static const char *names[MAX_CHOICES] = {ONEDNN_DETERMINISTIC};
static int count;

/* Adds the name of the implementation where the walk stands: "jit:avx2", its second one "jit:avx2 (2)". */
static const char *add_name(onednn_walk walk)
{
    char name[48];
    int before = 0;
    name_here(walk, name, sizeof(name));
    for (int i = 1; i < count; i++) {
        before += strncmp(texts[i], name, strlen(name)) == 0 &&
                  (texts[i][strlen(name)] == '\0' || texts[i][strlen(name)] == ' ');
    }
    snprintf(texts[count], sizeof(texts[count]), before ? "%s (%d)" : "%s", name, before + 1);
    names[count] = texts[count];
    return names[count++];
}

int onednn_take(onednn_walk walk, const char *choice, dnnl_primitive_desc_t *ret)
{
    const bool any = !choice || strcmp(choice, ONEDNN_DETERMINISTIC) == 0;
    bool found = any, more = true;
    for (count = 1; !found && more && count < MAX_CHOICES; more = !found && go_on(walk)) {
        found = strcmp(add_name(walk), choice) == 0;
    }
    if (found) {
        *ret = stop_here(walk);
        return *ret ? KIT_OK : kit_fail("oneDNN made no descriptor of an implementation that it offers");
    }
    give_up(walk);
    return choice == every ? LISTED : kit_skip("unsupported", "oneDNN offers no implementation '%s'", choice);
}

int onednn_choices(int (*prepare)(struct kit_call *, struct kit_prepared *),
                   void (*release)(struct kit_call *), const struct kit_params *params,
                   const char *const **ret_names, int *ret_count)
{
    struct kit_call call = {.params = params, .choice = every, .lanes = 1};
    struct kit_prepared prepared = {0};
    const int rc = prepare(&call, &prepared);
    release(&call);
    *ret_names = names;
    *ret_count = count;
    return rc == LISTED ? KIT_OK : rc;
}

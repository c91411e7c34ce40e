/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread count: set by the program's own function, else by whatever OpenMP runtime the program carries,
 * found at run time so that the kit itself needs none.
 */
#include "probes/kit/threads.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static int openmp_threads(int threads)
{
    void (*set_count)(int);
    void (*set_dynamic)(int);
    int (*count)(void);
    int (*limit)(void);
    *(void **)&set_count = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    *(void **)&set_dynamic = dlsym(RTLD_DEFAULT, "omp_set_dynamic");
    *(void **)&count = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    *(void **)&limit = dlsym(RTLD_DEFAULT, "omp_get_thread_limit");
    if (!set_count || !set_dynamic || !count || !limit) {
        return 0;
    }
    set_dynamic(0); /* else the runtime may start fewer than it says */
    if (threads > 0) {
        set_count(threads);
    }
    return count() < limit() ? count() : limit();
}

static struct {
    const struct kit_program *program; /* NULL: none was set */
    int wanted, found;
} last;

int kit_threads(const struct kit_program *program, int threads)
{
    const int found = program->set_threads ? program->set_threads(threads) : openmp_threads(threads);
    if (threads > 0) {
        last.program = program;
        last.wanted = threads;
        last.found = found;
    }
    return found;
}

int kit_threads_here(void)
{
    if (!last.program) {
        return KIT_OK;
    }
    const int found = kit_threads(last.program, last.wanted);
    return found == last.found
               ? KIT_OK
               : kit_skip("unsupported", "in another host thread the library runs %d threads", found);
}

struct build_id {
    uintptr_t inside; /* an address of the wanted object */
    char text[64];
};

/* The GNU build id in one segment of notes, as hex digits. */
static void read_notes(const char *notes, size_t size, char *ret, size_t ret_size)
{
    size_t at = 0;
    while (at + sizeof(ElfW(Nhdr)) <= size) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof(note));
        const char *const name = notes + at + sizeof(note);
        const size_t name_size = (note.n_namesz + 3u) & ~(size_t)3;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < ret_size; i++) {
                snprintf(ret + 2 * i, 3, "%02x", (unsigned char)name[name_size + i]);
            }
            return;
        }
        at += sizeof(note) + name_size + ((note.n_descsz + 3u) & ~(size_t)3);
    }
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct build_id *const id = context;
    bool holds = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const segment = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        holds = holds ||
                (segment->p_type == PT_LOAD && id->inside >= start && id->inside - start < segment->p_memsz);
    }
    for (int i = 0; holds && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *const segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE && !id->text[0]) {
            read_notes((const char *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz, id->text,
                       sizeof(id->text));
        }
    }
    return holds;
}

void kit_openmp_at(const void *address, struct kit_library *ret)
{
    struct build_id id = {.inside = (uintptr_t)address};
    *ret = (struct kit_library){.role = "openmp"};
    kit_path_of(address, ret->path, sizeof(ret->path));
    const char *const slash = strrchr(ret->path, '/');
    const char *const file = slash ? slash + 1 : ret->path;
    const char *const suffix = strstr(file, ".so");
    snprintf(ret->name, sizeof(ret->name), "%.*s", suffix ? (int)(suffix - file) : 60, file);
    snprintf(ret->version, sizeof(ret->version), "%.60s", suffix && suffix[3] == '.' ? suffix + 4 : "");
    dl_iterate_phdr(look_at_object, &id);
    if (id.text[0]) { /* the file's version says little: libgomp has been 1.0.0 for ever */
        snprintf(ret->config, sizeof(ret->config), "build-id %s", id.text);
    }
}

bool kit_openmp_library(struct kit_library *ret)
{
    const void *const address = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
    if (address) {
        kit_openmp_at(address, ret);
    }
    return address != NULL;
}

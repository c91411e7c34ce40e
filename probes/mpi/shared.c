/* SPDX-License-Identifier: Apache-2.0
 *
 * One piece of memory without a name in any file system: it is gone with the last process that maps it,
 * however that ends. The kit frees all operands of a case before it makes those of the next, so memory is
 * given out from one end, and anew when nothing is left in use.
 */
#include "probes/mpi/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probes/kit/op.h"

#define BYTES ((size_t)1 << 30)       /* reserved, not used */
#define BOARD_BYTES ((size_t)1 << 14) /* of one board; the next is in pages of its own */
#define FIRST (SHARED_BOARDS * BOARD_BYTES)
_Static_assert(sizeof(struct board) <= BOARD_BYTES, "a board has room");

static struct {
    int file;
    char *memory;
    size_t used; /* from the beginning */
    int blocks;  /* in use */
} shared;

static void *shared_alloc(size_t bytes, size_t align)
{
    const size_t begin = (shared.used + align - 1) / align * align;
    if (bytes > BYTES || begin > BYTES - bytes) {
        return NULL;
    }
    shared.used = begin + (bytes ? bytes : 1);
    shared.blocks++;
    return shared.memory + begin;
}

static void shared_release(void *memory)
{
    if (memory && --shared.blocks == 0) {
        fallocate(shared.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FIRST, (off_t)(BYTES - FIRST));
        shared.used = FIRST;
    }
}

static int64_t shared_available(void)
{
    const int64_t left = (int64_t)(BYTES - shared.used), host = kit_cpu.available();
    return left < host ? left : host;
}

struct kit_backend shared_memory;

int shared_open(void)
{
    shared.file = memfd_create("detprobe", MFD_CLOEXEC);
    const bool made = shared.file >= 0 && ftruncate(shared.file, (off_t)BYTES) == 0;
    shared.memory =
        made ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, shared.file, 0)
             : MAP_FAILED;
    shared.used = FIRST;
    shared_memory = kit_cpu;
    shared_memory.alloc = shared_alloc;
    shared_memory.release = shared_release;
    shared_memory.available = shared_available;
    return shared.memory != MAP_FAILED
               ? KIT_OK
               : kit_skip("memory", "cannot share memory between processes: %s", strerror(errno));
}

int64_t shared_place(const void *memory)
{
    return (const char *)memory - shared.memory;
}

struct board *shared_board(int number)
{
    return (struct board *)(shared.memory + (size_t)number * BOARD_BYTES);
}

const char *shared_file(void)
{
    static char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), shared.file);
    return path;
}

const char *shared_board_place(int number)
{
    static char text[32];
    snprintf(text, sizeof(text), "%zu", (size_t)number * BOARD_BYTES);
    return text;
}

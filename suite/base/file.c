/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole-file writing: a reader sees the old file or the new one, never a half. Appending to a file that
 * several commands share: all of it or nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite/base/json.h"
#include "suite/base/text.h"

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t done = write(fd, bytes, length);
        if (done < 0) {
            if (errno == EINTR) {
                continue;
            }
            return -1;
        }
        bytes += done;
        length -= (size_t)done;
    }
    return 0;
}

static int fail(struct dp_err *err, const char *path)
{
    return dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot write '%.200s': %s", path, dp_reason(errno));
}

static int close_keeping_errno(int fd, int rc)
{
    const int saved = errno;
    if (close(fd) != 0 && rc == 0) {
        return -1;
    }
    errno = saved;
    return rc;
}

/* The name that `path` stands for when its last part is a chain of symbolic links, also a dangling one.
 * Owned; NULL with errno set when the chain does not end. */
static char *follow_links(const char *path)
{
    char *name = dp_strdup(path);
    for (int i = 0; i < 40; i++) {
        char target[PATH_MAX];
        const ssize_t length = readlink(name, target, sizeof(target) - 1);
        if (length < 0) {
            return name;
        }
        target[length] = '\0';
        char *slash = strrchr(name, '/');
        char *next = target[0] == '/' || !slash ? dp_strdup(target)
                                                : dp_printf("%.*s/%s", (int)(slash - name), name, target);
        free(name);
        name = next;
    }
    free(name);
    errno = ELOOP;
    return NULL;
}

static int write_in_place(const char *path, const char *bytes, size_t length)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return -1;
    }
    return close_keeping_errno(fd, write_all(fd, bytes, length));
}

/* Makes the new name durable; a file system that cannot do it for folders is no reason to fail. */
static void sync_folder(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

/* `old` is the file that is replaced, or NULL; its permissions are kept. */
static int write_renamed(const char *path, const struct stat *old, const char *bytes, size_t length)
{
    static unsigned counter;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? dp_printf("%.*s", slash == path ? 1 : (int)(slash - path), path) : dp_strdup(".");
    char *temporary = dp_printf("%s/.detprobe-%ld-%u.tmp", folder, (long)getpid(), counter++);
    int rc = -1;
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
        rc = write_all(fd, bytes, length);
        if (rc == 0 && old && fchmod(fd, old->st_mode & 07777) != 0) {
            rc = -1;
        }
        if (rc == 0 && fsync(fd) != 0) {
            rc = -1;
        }
        rc = close_keeping_errno(fd, rc);
        if (rc == 0) {
            rc = rename(temporary, path);
        }
        if (rc == 0) {
            sync_folder(folder);
        } else {
            const int saved = errno;
            unlink(temporary);
            errno = saved;
        }
    }
    free(temporary);
    free(folder);
    return rc;
}

/* The standard descriptor that is open on this very file, -1: none. Renaming over such a file would leave the
 * descriptor with one that has no name any more, and what was printed there would be lost. */
static int standard_descriptor(const struct stat *file)
{
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat own;
        if (fstat(fd, &own) == 0 && own.st_dev == file->st_dev && own.st_ino == file->st_ino) {
            return fd;
        }
    }
    return -1;
}

bool dp_file_is_stdout(const char *path)
{
    struct stat file;
    return strcmp(path, "-") == 0 || (stat(path, &file) == 0 && standard_descriptor(&file) == STDOUT_FILENO);
}

/* A regular file, or one that is not there yet. */
static int write_whole(const char *path, const char *bytes, size_t length)
{
    char *name = follow_links(path);
    struct stat old;
    int rc = -1;
    if (name && stat(name, &old) != 0) {
        rc = errno == ENOENT ? write_renamed(name, NULL, bytes, length) : -1;
    } else if (name) {
        /* A file that we may not write is not replaced either, though the folder would allow it. */
        rc = access(name, W_OK) == 0 ? write_renamed(name, &old, bytes, length) : -1;
    }
    const int saved = errno;
    free(name);
    errno = saved;
    return rc;
}

int dp_file_write(const char *path, const char *bytes, size_t length, struct dp_err *err)
{
    if (strcmp(path, "-") == 0) {
        return write_all(STDOUT_FILENO, bytes, length) == 0 ? 0 : fail(err, "standard output");
    }
    struct stat file;
    const bool there = stat(path, &file) == 0;
    const int standard = there ? standard_descriptor(&file) : -1;
    int rc;
    if (standard >= 0) {
        rc = write_all(standard, bytes, length);
    } else if (there && !S_ISREG(file.st_mode)) {
        /* By the name as it was given: what a link in /proc stands for has no other. */
        rc = write_in_place(path, bytes, length);
    } else {
        rc = write_whole(path, bytes, length);
    }
    return rc == 0 ? 0 : fail(err, path);
}

size_t dp_file_size(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) ? (size_t)file.st_size : 0;
}

int dp_file_append(const char *path, const char *bytes, size_t length, struct dp_err *err)
{
    struct stat before;
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0) {
        return fail(err, path);
    }
    int rc = fstat(fd, &before);
    if (rc == 0 && (rc = write_all(fd, bytes, length)) != 0 && S_ISREG(before.st_mode)) {
        const int saved = errno;
        rc = ftruncate(fd, before.st_size) == 0 ? rc : -2;
        errno = saved;
    }
    return close_keeping_errno(fd, rc) == 0 ? 0 : fail(err, path);
}

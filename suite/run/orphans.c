/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding and ending adopted children.
 */
#include "suite/run/orphans.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "suite/base/text.h"
#include "suite/run/process.h"

/* Rounds of looking again, a millisecond apart: a killed child takes a moment, and its own children come
 * after it. What survives all of them is stuck in the kernel. */
#define ROUNDS 200

static void pids_add(struct dp_pids *pids, pid_t pid)
{
    pids->items = dp_realloc(pids->items, pids->count + 1, sizeof(*pids->items));
    pids->items[pids->count++] = pid;
}

void dp_pids_free(struct dp_pids *pids)
{
    free(pids->items);
    *pids = (struct dp_pids){0};
}

static bool pids_has(const struct dp_pids *pids, pid_t pid)
{
    for (size_t i = 0; i < pids->count; i++) {
        if (pids->items[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Field 4 of /proc/PID/stat, after the name, which may hold anything. */
static pid_t parent_of(pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file) {
        return -1;
    }
    size_t got = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[got] = '\0';
    const char *end = strrchr(line, ')');
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : -1;
}

/* For kernels without CONFIG_PROC_CHILDREN. */
static struct dp_pids children_by_scan(void)
{
    struct dp_pids ret = {0};
    pid_t self = getpid();
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
            if (parent_of(pid) == self) {
                pids_add(&ret, pid);
            }
        }
    }
    if (proc) {
        closedir(proc);
    }
    return ret;
}

struct dp_pids dp_children(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (!file) {
        return children_by_scan();
    }
    struct dp_pids ret = {0};
    int pid;
    while (fscanf(file, "%d", &pid) == 1) {
        pids_add(&ret, pid);
    }
    fclose(file);
    return ret;
}

static bool has_token(pid_t pid, const char *token)
{
    char path[64], wanted[64];
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    snprintf(wanted, sizeof(wanted), DP_TOKEN_NAME "=%s", token);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    static char bytes[1 << 18]; /* the variable is the last one we add, but a shell may sort its own */
    size_t length = 0;
    for (ssize_t got; length < sizeof(bytes) && (got = read(fd, bytes + length, sizeof(bytes) - length)) > 0;
         length += (size_t)got) {
    }
    close(fd);
    return memmem(bytes, length, wanted, strlen(wanted) + 1) != NULL;
}

/* One look: kills what is to be killed, reaps what has ended. Returns how many are still there. */
static size_t end_round(const struct dp_pids *spared, const char *token)
{
    struct dp_pids children = dp_children();
    size_t left = 0;
    for (size_t i = 0; i < children.count; i++) {
        pid_t pid = children.items[i];
        if (pids_has(spared, pid)) {
            continue;
        }
        if (waitpid(pid, NULL, WNOHANG) == pid) {
            left++; /* its own children may have come to us only now */
        } else if (!token || has_token(pid, token)) {
            kill(pid, SIGKILL);
            left++;
        }
    }
    dp_pids_free(&children);
    return left;
}

void dp_orphans_end(const struct dp_pids *spared, const char *token)
{
    for (int round = 0; round < ROUNDS && end_round(spared, token) > 0; round++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * fork and exec rather than posix_spawn: between them the child asks for a signal at its parent's death and
 * closes the descriptors of the protocol.
 */
#include "probes/mpi/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_DESCRIPTORS = 1024 }; /* a program that the suite starts has a dozen */
enum { EXIT_NOT_STARTED = 127 };

/* In the child: only async-signal-safe calls. */
static void become(const char *const *argv, int output, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int null = open("/dev/null", O_RDONLY);
    if (getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) {
        _exit(EXIT_NOT_STARTED);
    }
    for (int descriptor = 3; descriptor < MOST_DESCRIPTORS; descriptor++) {
        close(descriptor);
    }
    signal(SIGPIPE, SIG_DFL); /* the kit ignores it, and what is ignored is inherited */
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(EXIT_NOT_STARTED);
}

pid_t child_start(const char *const *argv, int *ret_output)
{
    int output[2];
    const pid_t parent = getpid();
    if (pipe2(output, O_CLOEXEC)) {
        return -1;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        become(argv, output[1], parent);
    }
    close(output[1]);
    *ret_output = output[0];
    if (pid < 0) {
        close(output[0]);
    }
    return pid;
}

int child_ask(const char *const *argv, char *ret, size_t size)
{
    int output, status = -1;
    size_t length = 0;
    ssize_t got;
    char rest[512];
    const pid_t pid = child_start(argv, &output);
    if (pid < 0) {
        return -1;
    }
    while ((got = length + 1 < size ? read(output, ret + length, size - 1 - length)
                                    : read(output, rest, sizeof(rest))) > 0 ||
           (got < 0 && errno == EINTR)) {
        length += got > 0 && length + 1 < size ? (size_t)got : 0;
    }
    ret[length] = '\0';
    close(output);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *child_words(char *said)
{
    for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
        line += strspn(line, "-=*| \t");
        if (*line) {
            return line;
        }
    }
    return "it said nothing";
}

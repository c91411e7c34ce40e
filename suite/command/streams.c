/* SPDX-License-Identifier: Apache-2.0
 *
 * Standard descriptors: nothing of ours on 0 to 2, and no silent loss of what was printed.
 */
#include "suite/command/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "suite/base/err.h"

void dp_streams_open(void)
{
    signal(SIGXFSZ, SIG_IGN); /* a file that grows beyond `ulimit -f` is a failed write like any other */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            /* open() takes the lowest free number, which is this one. */
            const int wrong_way = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
            const int got = open("/dev/null", wrong_way);
            (void)got;
        }
    }
}

int dp_streams_close(int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return code;
    }
    const int reason = errno ? errno : EIO;
    /* Any other code has had its message, and says more. */
    if (code != DP_EXIT_OK && code != DP_EXIT_FINDINGS && code != DP_EXIT_NOTHING_RAN) {
        return code;
    }
    fprintf(stderr, "detprobe: cannot write 'standard output': %s\n", dp_reason(reason));
    return DP_EXIT_NO_VERDICT;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The run log: appending to it.
 */
#include "suite/run/runlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite/base/host.h"
#include "suite/base/text.h"
#include "suite/run/runlog_internal.h"
#include "suite/run/session.h"

struct dp_runlog *dp_runlog_open(const char *path, bool create, struct dp_err *err)
{
    int code = create ? DP_EXIT_NO_VERDICT : DP_EXIT_DATA;
    /* Non-blocking, so that a FIFO without a reader is an error and not a wait. */
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | (create ? O_CREAT : 0), 0666);
    if (fd < 0) {
        dp_err_set(err, code, "cannot open run log '%s': %s", path, dp_reason(errno));
        return NULL;
    }
    struct dp_runlog *log = dp_alloc(1, sizeof(*log));
    struct stat info;
    log->fd = fd;
    log->path = dp_strdup(path);
    log->regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    if (!create && !log->regular) {
        dp_err_set(err, code, "cannot resume '%s': not a regular file", path);
    } else if (log->regular && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot write run log '%s': another run writes it", path);
    } else if (create && log->regular && ftruncate(fd, 0)) {
        dp_err_set(err, code, "cannot write run log '%s': %s", path, dp_reason(errno));
    } else {
        return log;
    }
    dp_runlog_discard(log);
    return NULL;
}

void dp_runlog_discard(struct dp_runlog *log)
{
    close(log->fd);
    json_decref(log->kept);
    free(log->path);
    free(log);
}

/* One line with one write(). What a full disk cut off is taken back, so that the next line starts clean. */
static void append(struct dp_runlog *log, json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    size_t length = text ? strlen(text) : 0;
    if (!text || log->broken) {
        free(text);
        return;
    }
    text[length] = '\n'; /* in place of NUL: the length is known */
    ssize_t put;
    do {
        put = write(log->fd, text, length + 1);
    } while (put < 0 && errno == EINTR);
    free(text);
    if (put == (ssize_t)length + 1) {
        log->good += (off_t)put;
        return;
    }
    if (log->error == 0) {
        log->error = put < 0 ? errno : ENOSPC;
    }
    log->broken = put > 0 && (!log->regular || ftruncate(log->fd, log->good) != 0);
}

json_t *dp_runlog_environment(void)
{
    return json_pack("{s:o, s:o}", "host", dp_host_facts(), "variables", dp_host_variables());
}

struct dp_runlog *dp_runlog_create(const char *path, const struct dp_plan *plan, const json_t *ending,
                                   struct dp_err *err)
{
    struct dp_runlog *log = dp_runlog_open(path, /* create */ true, err);
    if (!log) {
        return NULL;
    }
    char sha256[65];
    dp_catalogue_sha256(plan->catalogue, sha256);
    append(log, json_pack("{s:{s:o, s:s, s:s, s:o, s:O*}}", "plan", "options",
                          dp_plan_options_to_json(&plan->options), "catalogue_sha256", sha256, "version",
                          DP_VERSION, "environment", dp_runlog_environment(), "ending", ending));
    if (log->error) {
        dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot write run log '%s': %s", path, dp_reason(log->error));
        dp_runlog_discard(log);
        return NULL;
    }
    return log;
}

void dp_runlog_answer(struct dp_runlog *log, const struct dp_plan *plan, size_t request, const json_t *answer)
{
    char *key = dp_request_key(plan, request);
    append(log, json_pack("{s:I, s:s, s:o}", "request", (json_int_t)request, "key", key, "answer",
                          json_deep_copy(answer)));
    free(key);
}

void dp_runlog_hello(struct dp_runlog *log, const char *program, const json_t *message)
{
    append(log, json_pack("{s:{s:s, s:o}}", "hello", "program", program, "message", json_deep_copy(message)));
}

int dp_runlog_close(struct dp_runlog *log, struct dp_err *err)
{
    if (!log) {
        return 0;
    }
    /* Not every file can be synced (a pipe cannot); a disk that fails here has lost the log. */
    if (log->regular && fsync(log->fd) && log->error == 0) {
        log->error = errno;
    }
    int error = log->error;
    int rc = error ? dp_err_set(err, DP_EXIT_NO_VERDICT, "cannot write run log '%s': %s", log->path,
                                dp_reason(error))
                   : 0;
    dp_runlog_discard(log);
    return rc;
}

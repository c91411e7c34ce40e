/* SPDX-License-Identifier: Apache-2.0
 *
 * An MPI whose allreduce fails: by the profiling interface (MPI-4.1, section 15.2) this one is called instead
 * of the library's. DETPROBE_TEST_FAULT says what the second rank does: its result has a flipped bit, its
 * values are lost, it is killed, it aborts, or it never comes.
 */
#include <mpi.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    const char *fault = getenv("DETPROBE_TEST_FAULT");
    int rank;
    PMPI_Comm_rank(comm, &rank);
    fault = fault && rank == 1 ? fault : "";
    if (strcmp(fault, "killed") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(fault, "abort") == 0) {
        MPI_Abort(comm, 3);
    }
    while (strcmp(fault, "absent") == 0) {
        pause();
    }
    void *const zeros = calloc((size_t)count, sizeof(double)); /* of the widest type */
    const int rc =
        PMPI_Allreduce(zeros && strcmp(fault, "lost") == 0 ? zeros : from, to, count, type, op, comm);
    free(zeros);
    if (strcmp(fault, "flip") == 0) {
        ((unsigned char *)to)[0] ^= 1;
    }
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder that lives as long as the run, for programs to keep what takes long to make and is the same in
 * each process, such as kernels compiled for the device found. They find it in DETPROBE_SCRATCH and must do
 * without.
 */
#ifndef DP_RUN_SCRATCH_H
#define DP_RUN_SCRATCH_H

/* Makes the folder, for this user alone, and sets the variable; where none can be made there is none. */
void dp_scratch_open(void);
/* Takes the folder away with the files in it. */
void dp_scratch_close(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * A part of the emulated cuDNN, which the emulated front does not need: that it is there is all that counts.
 */
extern const int emulated_cudnn_part;
const int emulated_cudnn_part = 9;

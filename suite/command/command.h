/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of the program. Each reads its own options, does its work through the parts below it, prints,
 * and returns the exit code. Only files in this folder and main.c print.
 */
#ifndef DP_COMMAND_COMMAND_H
#define DP_COMMAND_COMMAND_H

int cmd_diff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_validate(int argc, char **argv);

#endif

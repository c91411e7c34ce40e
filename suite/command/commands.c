/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands: a new one is a file beside this and a row here. And how each of them ends.
 */
#include "suite/command/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/base/json.h"
#include "suite/base/text.h"

const struct dp_command *const dp_commands[] = {
    &dp_command_audit,  &dp_command_baseline,  &dp_command_bisect,   &dp_command_diff,
    &dp_command_doctor, &dp_command_explain,   &dp_command_gate,     &dp_command_guarantees,
    &dp_command_list,   &dp_command_new_probe, &dp_command_order,    &dp_command_run,
    &dp_command_show,   &dp_command_sign,      &dp_command_validate, &dp_command_verify,
};
const size_t dp_command_count = sizeof(dp_commands) / sizeof(dp_commands[0]);

int dp_command_end(int code, const struct dp_err *err)
{
    if (code >= 0) {
        return code;
    }
    fprintf(stderr, "detprobe: %s\n", err->text);
    return err->code;
}

void dp_command_print(const json_t *document)
{
    char *text = dp_json_pretty(document);
    fputs(text, stdout);
    free(text);
}

void dp_command_print_libraries(const json_t *libraries)
{
    for (size_t i = 0; i < json_array_size(libraries); i++) {
        const json_t *library = json_array_get(libraries, i);
        char *line = dp_printf("%s %s %s", dp_json_string(library, "name", ""),
                               dp_json_string(library, "version", ""), dp_json_string(library, "path", ""));
        char *shown = dp_printable(line, strlen(line));
        printf("%-11s %s\n", i ? "" : "libraries", shown);
        free(shown);
        free(line);
    }
}

# SPDX-License-Identifier: Apache-2.0
#
# fish completion of detprobe: this frame, filled by the build from the option tables.

function __detprobe_cases # ids part by part, tags behind '@'
    set -l words (commandline -opc)
    $words[1] __complete (string replace -r -- '^(--[a-z-]+=)?[\'"]?' '' (commandline -ct)) 2>/dev/null
end

function __detprobe_list # WORDS: with commas between them
    set -l done (string match -r -- '^(?:--[a-z-]+=)?(.*,)' (commandline -ct))[2]
    printf '%s\n' $done(string split ' ' -- $argv)
end

function __detprobe_reports # FORMATS: FORMAT:FILE
    set -l token (string replace -r -- '^--[a-z-]+=' '' (commandline -ct))
    set -l format (string match -r -- '^[a-z]+:' $token)
    if test -n "$format"
        printf '%s\n' $format(__fish_complete_path (string replace -- $format '' $token) | string replace -r '\t.*' '')
    else
        printf '%s:\n' (string split ' ' -- $argv)
    end
end

function __detprobe_command # NAME: is it the first word behind the program
    set -l words (commandline -opc)
    test "$words[2]" = $argv[1]
end

function __detprobe_no_command
    test (count (commandline -opc)) -eq 1
end

complete -c detprobe -f
complete -c detprobe -n __detprobe_no_command -a help -d 'print the options of a command'
complete -c detprobe -n __detprobe_no_command -l help -d 'print this text'
complete -c detprobe -n __detprobe_no_command -l version -d 'print the version of the program'
@commands@
@operands@

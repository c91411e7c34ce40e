#compdef detprobe
# SPDX-License-Identifier: Apache-2.0
#
# zsh completion of detprobe: this frame, filled by the build from the option tables.

_detprobe_cases() { # ids part by part, tags behind '@'
    local -a ids
    ids=(${(f)"$($_detprobe_program __complete ${(Q)PREFIX} 2>/dev/null)"})
    compadd -S '' -- ${(M)ids:#*/}
    compadd -- ${ids:#*/}
}

_detprobe_reports() { # FORMATS: FORMAT:FILE
    if compset -P '*:'; then _files; else compadd -S : -- ${=1}; fi
}

_detprobe_list() { # WORDS: with commas between them
    compset -P '*,'
    compadd -S '' -- ${=1}
}

_detprobe() {
    local _detprobe_program=${~words[1]} curcontext=$curcontext state line
    local -a commands
    commands=(
@commands@
    )
    _arguments -C '(- *)--help[print this text]' '(- *)--version[print the version of the program]' \
        '1: :->command' '*:: :->rest' && return
    if [[ $state == command ]]; then
        commands+=('help:print the options of a command')
        _describe -t commands command commands
        return
    fi
    case $words[1] in
    help) _describe -t commands command commands ;;
@operands@
    esac
}

if [[ $funcstack[1] == _detprobe ]]; then
    _detprobe "$@"
else
    compdef _detprobe detprobe
fi

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# bash completion of detprobe: this frame, filled by the build from the option tables.

_detprobe_words() { # WORDS: those that begin with what is typed
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_detprobe_list() { # WORDS: the same behind a comma
    local done=
    [[ $cur != *,* ]] || done=${cur%,*},
    mapfile -t COMPREPLY < <(compgen -P "$done" -W "$1" -- "${cur##*,}")
}

_detprobe_files() {
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    compopt -o filenames 2>/dev/null
}

_detprobe_folders() {
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
    compopt -o filenames 2>/dev/null
}

_detprobe_reports() { # FORMATS: FORMAT:FILE, which readline splits at the colon
    if [[ $before == : ]]; then
        _detprobe_files
    elif [[ $cur == *:* ]]; then
        mapfile -t COMPREPLY < <(compgen -P "${cur%%:*}:" -f -- "${cur#*:}")
    else
        mapfile -t COMPREPLY < <(compgen -S : -W "$1" -- "$cur")
        compopt -o nospace 2>/dev/null
    fi
}

_detprobe_cases() { # ids part by part, tags behind '@'
    mapfile -t COMPREPLY < <("$program" __complete "${cur#[\'\"]}" 2>/dev/null)
}

# Sets `option` to the option whose argument is typed, and `before` to the word before it. '=', ':' and '@' are
# words of their own: "--level = qu", "--report html : fi", "--exclude @ cu". Of the last, $1 is the whole.
_detprobe_split() {
    local at=$COMP_CWORD
    if [[ $1 == @* && $cur != "$1" ]]; then
        [[ $cur == *@ ]] || at=$((at - 1))
        cur=$1
    fi
    if [[ ${COMP_WORDS[at]} == =@ ]]; then
        before='='
    elif [[ $cur == [=:] ]]; then
        before=$cur cur=''
    else
        at=$((at - 1)) before=${COMP_WORDS[at]}
    fi
    if [[ ${COMP_WORDS[at]} == : ]]; then at=$((at - 2)); fi
    if [[ ${COMP_WORDS[at]} == =* ]]; then at=$((at - 1)); fi
    option=${COMP_WORDS[at]}
}

_detprobe() {
    local program=${COMP_WORDS[0]/#\~/$HOME} cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]-} option before
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _detprobe_words '@commands@ help --help --version'
        return
    fi
    _detprobe_split "${2-}"
    case $command,$option in
    help,*) _detprobe_words '@commands@' ;;
@values@
@operands@
    esac
}

complete -F _detprobe detprobe

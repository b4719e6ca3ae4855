#!/bin/sh
# Installs files, and removes what it installed. It exists because `make uninstall` must leave nothing of ours and
# touch nothing else: share/plaingrad/manifest names every file, and every folder that was not there before. There is
# no recursive removal.
#
# usage: install.sh <prefix>             standard input: lines `<mode> <source> <path under prefix>`
#        install.sh --remove <prefix>
set -eu

remove() {  # <a list of what was installed>
    [ -e "$1" ] || return 0
    list=$(cat "$1")
    echo "$list" | while read -r kind path; do
        case $path in /* | .. | ../* | */.. | */../*) echo "install.sh: not under the prefix: $path" >&2 && exit 1 ;; esac
        [ "$kind" = d ] || rm -f "$to/$path"
    done
    # The deepest first; one with files of others in it stays.
    echo "$list" | sed -n 's/^d //p' | LC_ALL=C sort -r | while read -r path; do
        rmdir "$to/${path#.}" 2>/dev/null || true
    done
}

folder() {  # <path under prefix>: makes it, and notes it if it is new
    [ ! -d "$to/$1" ] || return 0
    case $1 in */*) folder "${1%/*}" ;; esac
    mkdir "$to/$1"
    echo "d $1" >>"$notes"
}

manifest=share/plaingrad/manifest
if [ "$1" = --remove ]; then
    to=$2
    [ -e "$to/$manifest" ] || { echo "nothing of plaingrad is installed in $to"; exit 0; }
    remove "$to/$manifest"
    echo "removed from $to"
    exit 0
fi

to=$1
notes=$(mktemp "${TMPDIR:-/tmp}/plaingrad_manifest.XXXXXX")
installed=
trap '[ -n "$installed" ] || remove "$notes"; rm -f "$notes"' EXIT # what fails half-way leaves nothing behind
trap 'exit 130' INT TERM HUP
remove "$to/$manifest" # an older version may have had other files
if [ ! -d "$to" ]; then
    mkdir -p "$to" 2>/dev/null || { echo "install: $to: this folder cannot be made; give another PREFIX" >&2; exit 1; }
    echo 'd .' >>"$notes"
fi
while read -r mode source path; do
    folder "${path%/*}"
    echo "f $path" >>"$notes"
    install -m "$mode" "$source" "$to/$path"
done
folder "${manifest%/*}"
echo "f $manifest" >>"$notes"
install -m 644 "$notes" "$to/$manifest"
installed=yes
echo "installed to $to"

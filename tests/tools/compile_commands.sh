#!/bin/sh
# Prints how files are compiled, for clangd and other tools: `make compile_commands.json`.
#
# usage: compile_commands.sh <command> <file...>
command=$(printf '%s' "$1" | sed 's/[\\"]/\\&/g')
shift
comma='['
for file; do
    printf '%s\n{"directory": "%s", "file": "%s", "command": "%s -c %s"}' "$comma" "$PWD" "$file" "$command" "$file"
    comma=,
done
printf '\n]\n'

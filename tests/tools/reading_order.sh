#!/bin/sh
# Proves that the reading order of apps/README.md follows from the includes: no listed file of the library includes one
# that is listed later. Then it counts lines, comments included. The core begins after the two pages that stand alone, and ends
# before the first whole program.
#
# usage: reading_order.sh      exit status: 1 if a file comes too early
cd "$(dirname "$0")/../.." || exit 2
# "number file" of each link in the list.
awk '/^## The code, in reading order/ { on = 1 } on && /^## / && !/reading order/ { exit }
     on && /^[0-9]+\. / { n = $1 + 0 }
     on && n { for (rest = $0; match(rest, /\]\([^)#]*\.(cpp|h)\)/); rest = substr(rest, RSTART + RLENGTH))
                   print n, substr(rest, RSTART + 2, RLENGTH - 3) }
     on && /^Each item/ { exit }' apps/README.md |
    sed 's| \.\./| |; t
         s| | apps/|' |
    awk '
    function includes(file,   line, list) {
        while ((getline line < file) > 0)
            if (match(line, /^#include "[^"]*"/)) list = list " " substr(line, 11, RLENGTH - 11)
        close(file)
        return list
    }
    function length_of(file,   line, n) { while ((getline line < file) > 0) ++n; close(file); return n }
    # All headers that a file reaches, once each.
    function reach(file,   parts, i, n) {
        n = split(includes(file), parts, " ")
        for (i = 1; i <= n; ++i)
            if (!(parts[i] in reached)) { reached[parts[i]] = 1; reach(parts[i]) }
    }
    { order[$2] = $1; files[++count] = $2 }
    END {
        for (i = 1; i <= count; ++i) {
            file = files[i]
            n = split(includes(file), parts, " ")
            for (k = 1; file !~ /^apps/ && k <= n; ++k)
                if (parts[k] in order && order[parts[k]] > order[file]) {
                    printf "%s:1: number %d in the reading order includes %s, which comes later, as number %d\n", file, order[file], parts[k], order[parts[k]]
                    wrong = 1
                }
            lines = length_of(file)
            listed += lines
            if (file == "apps/reverse_task.cpp") after = 1
            if (!after && file !~ /^apps/) { core += lines; reached[file] = 1; reach(file) }
        }
        for (file in reached) with += length_of(file)
        printf "the list: %d lines; the core: %d, with every header that it reaches %d\n", listed, core, with
        exit wrong
    }'

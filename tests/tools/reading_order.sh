#!/bin/sh
# Proves that the reading order of apps/README.md follows from the includes: no listed file includes one that is listed
# later, and no file of the core lies in a room that it does not need. Then it counts lines, comments included.
#
# usage: reading_order.sh      exit status: 1 if a file comes too early
cd "$(dirname "$0")/../.." || exit 2
# "number file" of each link in the list.
awk '/^## The code, in reading order/ { on = 1 } on && /^## / && !/reading order/ { exit }
     on && /^[0-9]+\. / { n = $1 + 0 }
     on && n { while (match($0, /\]\([^)#]*\.(cpp|h)\)/)) { print n, substr($0, RSTART + 2, RLENGTH - 3); $0 = substr($0, RSTART + RLENGTH) } }
     on && n && /^$/ { exit }' apps/README.md |
    while read -r n file; do echo "$n $(realpath --relative-to=. "apps/$file")"; done |
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
            for (k = 1; k <= n; ++k)
                if (parts[k] in order && order[parts[k]] > order[file]) {
                    printf "%s (%d) includes %s, which comes later (%d)\n", file, order[file], parts[k], order[parts[k]]
                    wrong = 1
                }
            lines = length_of(file)
            listed += lines
            if (order[file] <= 12) { core += lines; reached[file] = 1; reach(file) }
        }
        for (file in reached) with += length_of(file)
        printf "the list %d lines, to number 12 %d, with every header that it reaches %d\n", listed, core, with
        exit wrong
    }'

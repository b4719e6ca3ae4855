#!/bin/sh
# Counts lines of code (no comments, no blank lines) by room, and fails where one is above its limit. It exists because
# "minimal" is a promise of this project. What needs more lines first looks for others to take out, in the same room.
#
# usage: size.sh     (in the repository's root)
# Pages to read (one_page, examples), generated tables and texts count in no room.
table='room                    limit
autograd                 3193
autograd/kernels         3143
nn                       1156
nn/checkpoint            1224
nn/parallel               419
models                   2946
models/hugging_face       991
models/text              3299
apps                     6129
product                 22500
files                     231
tests                   40600'
find autograd nn models apps tests \( -name '*.h' -o -name '*.cpp' \) 2>/dev/null | LC_ALL=C sort |
    xargs awk -f tests/tools/code.awk /dev/null | awk -v table="$table" '
    function room(file) {
        if (file ~ /^(apps\/(one_page\.cpp|examples\/)|models\/text\/unicode_table\.h|tests\/exercises\/)/) return ""
        if (match(file, /^(autograd\/kernels|nn\/checkpoint|nn\/parallel|models\/hugging_face|models\/text)[\/.]/))
            return substr(file, 1, RLENGTH - 1)
        return substr(file, 1, index(file, "/") - 1)
    }
    {
        split($0, part, ":")
        r = room(part[1])
        if (r == "") next
        if (r != "tests" && !seen[part[1]]++) ++sum["files"]
        sub(/^[^:]*:[^:]*:/, "")
        if ($0 !~ /[^ \t]/) next
        ++sum[r]
        if (r != "tests") ++sum["product"]
    }
    END {
        n = split(table, row, "\n")
        printf "%-22s %6s %6s\n", "room", "lines", "limit"
        for (i = 2; i <= n; ++i) {
            split(row[i], column, / +/)
            over = sum[column[1]] > column[2]
            printf "%-22s %6d %6d%s\n", column[1], sum[column[1]], column[2], over ? "  over the limit" : ""
            if (over) failed = failed (failed ? ", " : "") column[1]
        }
        if (failed) { print "make size: over the limit: " failed; exit 1 }
    }'

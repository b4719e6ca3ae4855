#!/bin/sh
# Counts lines of code (no comments, no blank lines) by folder and fails above the budgets. It
# exists because "minimal" is a promise of this project, and a promise is checked.
#
# The library's 7,000 were an estimate; what speed and checkpoints needed beyond it was a hundred.
# models/text has a budget of its own: how text becomes ids and back, from sub-words to BLEU, is as much again as any
# model needs of it, and says nothing about tensors. A reader of the library need not read it.
#
# usage: size.sh     (in the repository's root)
find autograd nn models apps tests \( -name '*.h' -o -name '*.cpp' \) 2>/dev/null | LC_ALL=C sort |
    xargs awk -f tests/tools/code.awk /dev/null | awk '
    {
        file = $0
        sub(/:.*/, "", file)
        folder = file
        sub(/\/[^\/]*$/, "", folder)
        if (!(folder in files)) order[++folders] = folder
        if (!(file in seen)) { seen[file] = 1; ++files[folder] }
        text = $0
        sub(/^[^:]*:[^:]*:/, "", text)
        if (text !~ /^[ \t]*$/) {
            ++lines[folder]
            if (folder == "models/text") ++text_tools
            else if (folder ~ /^(autograd|nn|models)(\/|$)/) ++library
            if (folder ~ /^apps\/kit(\/|$)/) ++kit
        }
    }
    END {
        printf "%-24s %6s %6s\n", "folder", "files", "lines"
        for (i = 1; i <= folders; ++i) printf "%-24s %6d %6d\n", order[i], files[order[i]], lines[order[i]]
        printf "%-24s %6s %6d  of < 7100\n", "autograd + nn + models", "", library
        printf "%-24s %6s %6d  of < 1800\n", "models/text", "", text_tools
        printf "%-24s %6s %6d  of < 1500\n", "apps/kit", "", kit
        if (library >= 7100 || text_tools >= 1800 || kit >= 1500) { print "make size: over the budget"; exit 1 }
    }'

#!/bin/sh
# Counts lines of code (no comments, no blank lines) by folder and by room, and fails above a room's budget. It exists
# because "minimal" is a promise of this project, and a promise is checked. What needs more lines first looks for others
# to take out, in the same room; the reason for a larger limit is in its commit.
#
# usage: size.sh     (in the repository's root)
# Generated tables and texts (*.txt) are not code to read: they count in no room. Of the page about a run, all lines do.
page=$(grep -cv '^ *$' apps/kit/run_page.html 2>/dev/null)
find autograd nn models apps tests \( -name '*.h' -o -name '*.cpp' \) 2>/dev/null | LC_ALL=C sort |
    xargs awk -f tests/tools/code.awk /dev/null | awk -v page="${page:-0}" '
    function room(file) {
        if (file == "models/text/unicode_table.h") return "generated tables"
        if (file ~ /^autograd\/kernels\//) return "kernels"
        if (file ~ /^autograd\//) return "autograd with base"
        if (file ~ /^nn\/parallel\//) return "data-parallel"
        if (file ~ /^nn\//) return "nn"
        if (file ~ /^models\/text\//) return "models/text"
        if (file ~ /^models\/hugging_face/) return "models/hugging_face"
        if (file ~ /^models\//) return "models"
        if (file ~ /^apps\/(one_page\.cpp|examples\/)/) return "one page and examples"
        if (file ~ /^apps\/kit\//) return "kit"
        if (file ~ /^apps\//) return "programs"
        if (file ~ /^tests\/exercises\//) return "exercises"
        return "tests"
    }
    function limit(name, most) { order[++rooms] = name; budget[name] = most }
    BEGIN {
        limit("autograd with base", 3531)
        limit("kernels", 3176)
        limit("nn", 2890)
        limit("data-parallel", 473)
        limit("models", 3584)
        limit("models/hugging_face", 1511)
        limit("models/text", 4362)
        limit("programs", 0)
        limit("kit", 0)
        limit("programs and kit", 8117)
        limit("the page, style and script", 700)
        sum["the page, style and script"] = page
        limit("one page and examples", 0)
        limit("exercises", 0)
        limit("generated tables", 0)
        limit("tests", 0)
    }
    {
        file = $0
        sub(/:.*/, "", file)
        folder = file
        sub(/\/[^\/]*$/, "", folder)
        if (!(folder in files)) name[++folders] = folder
        if (!(file in seen)) { seen[file] = 1; ++files[folder] }
        text = $0
        sub(/^[^:]*:[^:]*:/, "", text)
        if (text !~ /^[ \t]*$/) {
            ++lines[folder]
            ++sum[room(file)]
            if (room(file) ~ /^(programs|kit)$/) ++sum["programs and kit"]
        }
    }
    END {
        printf "%-24s %6s %6s\n", "folder", "files", "lines"
        for (i = 1; i <= folders; ++i) printf "%-24s %6d %6d\n", name[i], files[name[i]], lines[name[i]]
        printf "\n%-24s %6s %6s %6s\n", "room", "lines", "budget", "left"
        for (i = 1; i <= rooms; ++i) {
            r = order[i]
            if (!budget[r]) { printf "%-24s %6d\n", r, sum[r]; continue }
            over = sum[r] > budget[r]
            printf "%-27s %6d %6d %6d%s\n", r, sum[r], budget[r], budget[r] - sum[r], over ? "  over the budget" : ""
            if (over) failed = failed (failed ? ", " : "") r
        }
        if (failed) { print "make size: over the budget: " failed; exit 1 }
    }'

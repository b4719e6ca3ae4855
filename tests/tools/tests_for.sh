#!/bin/sh
# Lists the test files with a test that a Catch2 filter chooses, so that `make test TESTS='[matmul]'` compiles a few
# files and not all.
#
# usage: tests_for.sh <filter> <file...>
# Reads the text between TEST_CASE and its brace. `[a][b]~[c],[d]` chooses a test that has the tags [a] and [b] and not
# [c], or [d]. A filter (or one of its alternatives) that also contains words of a test's name chooses all files.
filter=$1
shift
awk -v filter="$filter" '
    function chosen(tags,   i, rest, tag, wanted) {
        for (i = 1; i <= alternatives; ++i) {
            rest = alternative[i]
            wanted = 1
            while (match(rest, /~?\[[^]]*\]/)) {
                tag = substr(rest, RSTART, RLENGTH)
                rest = substr(rest, 1, RSTART - 1) substr(rest, RSTART + RLENGTH)
                if (tag ~ /^~/ ? index(tags, substr(tag, 2)) : !index(tags, tag)) wanted = 0
            }
            if (wanted || rest ~ /[^ ]/) return 1
        }
        return 0
    }
    BEGIN { alternatives = split(tolower(filter), alternative, ",") }
    /TEST_CASE/ { tags = ""; in_head = 1 }
    in_head { tags = tags tolower($0) }
    in_head && /\) *{/ { in_head = 0; if (chosen(tags) && !seen[FILENAME]++) print FILENAME }
' "$@" | LC_ALL=C sort

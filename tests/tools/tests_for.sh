#!/bin/sh
# Which test files hold the tests that a Catch2 filter chooses. It exists so that `make test TESTS='[matmul]'`
# compiles a few files and not all.
#
# usage: tests_for.sh <filter> <file...>
# Of `[a][b]~[c],[d]` the files with [a] or [d]: at least what is needed. All, where the filter (or one of its
# alternatives) has no tag that a test must bear, as a name or `~[c]`.
filter=$1
shift
printf '%s\n' "$filter" | tr ',' '\n' | while IFS= read -r part; do
    tag=$(printf '%s\n' "$part" | sed 's/~\[[^]]*]//g; s/^[^[]*\(\[[^]]*]\).*/\1/; /^\[/!d')
    if [ -n "$tag" ]; then
        grep -liF -e "$tag" "$@"
    else
        printf '%s\n' "$@"
    fi
done | LC_ALL=C sort -u

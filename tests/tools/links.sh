#!/bin/sh
# Follows the links of all pages: each leads to a file that exists, and to a heading that its page has; and every page is
# at most two links away from README.md, where readers begin.
#
# usage: links.sh     (in the repository's root)
# Prints what is wrong as `page:line: what`, and fails if there is anything. A page is a file *.md.
work=$(mktemp -d "${TMPDIR:-/tmp}/plaingrad_links.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
find . -name '*.md' ! -path './.git/*' ! -path './build*' | sed 's|^\./||' | LC_ALL=C sort >"$work/pages"
# Lines `heading PAGE ANCHOR` and `link PAGE LINE FILE ANCHOR`, without what stands in code.
LC_ALL=C awk '
    # nn/../apps/README.md is apps/README.md.
    function resolved(path,   part, n, i, out, depth) {
        n = split(path, part, "/")
        for (i = 1; i <= n; ++i)
            if (part[i] == "..") --depth
            else if (part[i] != "." && part[i] != "") out[++depth] = part[i]
        path = out[1]
        for (i = 2; i <= depth; ++i) path = path "/" out[i]
        return path == "" ? "." : path
    }
    FNR == 1 { code = 0; folder = FILENAME; if (!sub(/\/[^\/]*$/, "", folder)) folder = "." }
    /^```/ { code = !code }
    code { next }
    /^#+ / {  # as GitHub makes anchors: lower case, letters and digits, hyphens for spaces
        anchor = tolower($0)
        sub(/^#+ +/, "", anchor)
        gsub(/[^a-z0-9 _-]/, "", anchor)
        gsub(/ /, "-", anchor)
        print "heading", FILENAME, anchor
    }
    {
        rest = $0
        gsub(/`[^`]*`/, "", rest)
        while (match(rest, /\]\([^) ]+/)) {
            target = substr(rest, RSTART + 2, RLENGTH - 2)
            rest = substr(rest, RSTART + RLENGTH)
            if (target ~ /^[a-z]+:/) continue
            anchor = target
            if (!sub(/^[^#]*#/, "", anchor) || anchor ~ /^L[0-9]+$/) anchor = "-"
            sub(/#.*/, "", target)
            print "link", FILENAME, FNR, target == "" ? FILENAME : resolved(folder "/" target), anchor
        }
    }' $(cat "$work/pages") /dev/null >"$work/found"
awk '$1 == "link" { print $4 }' "$work/found" | sort -u | while read -r file; do
    [ -e "$file" ] || echo "$file"
done >"$work/missing"
awk '
    FILENAME ~ /pages$/ { page[++pages] = $1; next }
    FILENAME ~ /missing$/ { missing[$1] = 1; next }
    $1 == "heading" { heading[$2, $3] = 1; next }
    { from[++links] = $2; line[links] = $3; to[links] = $4; anchor[links] = $5 }
    END {
        for (i = 1; i <= links; ++i) {
            if (to[i] in missing) print from[i] ":" line[i] ": there is no file " to[i]
            else if (anchor[i] != "-" && !((to[i], anchor[i]) in heading))
                print from[i] ":" line[i] ": " to[i] " has no heading #" anchor[i]
        }
        reached["README.md"] = 0
        for (step = 1; step <= 2; ++step)
            for (i = 1; i <= links; ++i)
                if ((from[i] in reached) && reached[from[i]] < step && !(to[i] in reached)) reached[to[i]] = step
        for (i = 1; i <= pages; ++i)
            if (!(page[i] in reached)) print page[i] ":1: more than two links away from README.md"
    }' "$work/pages" "$work/missing" "$work/found" | tee "$work/wrong"
[ ! -s "$work/wrong" ]

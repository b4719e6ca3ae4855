# Sums up what `llvm-cov show -show-branches=count` prints. It exists because llvm-cov's own totals count a function anew
# for each of its instantiations, and the kernels, which are compiled for each instruction set, for each of these: here a
# line of the sources counts once, and is covered if any build of it ran. So does each side of a condition, known by its
# line and column. What the compiler decides (`if constexpr`) has no sides, nor has an assertion, which must not fail;
# and what only the compiler computes (consteval) never runs.
#
# usage: awk -v missing=FILE -f coverage.awk READER_LIST OUTPUT
# Reads: paths of readers; llvm-cov's output.
# Writes the figures, and to `missing` one line for each line and side that never ran.
BEGIN { FS = "|" }
function trimmed(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }

FILENAME ~ /readers\.txt$/ { is_reader[$0] = 1; next }

/^\/.*:$/ { file = substr($0, length(root) + 2); sub(/:$/, "", file); files[++n_files] = file; next }
/^ *[0-9]+\|/ {
    line = $1 + 0
    text[file, line] = trimmed(substr($0, length($1) + length($2) + 3))
    if (text[file, line] ~ /^(static )?consteval /) by_compiler = file
    count = by_compiler == file ? "" : trimmed($2)
    if (substr($0, length($1) + length($2) + 3) == "}" || text[file, line] ~ /^(static )?consteval .*}$/) by_compiler = ""
    if (count != "") { runs[file, line] += count != "0"; has_line[file, line] = 1; if (line > last[file]) last[file] = line }
    next
}
/^  \|  Branch \(/ && !/Folded/ {
    split($0, at, /[(:)]/)
    key = file SUBSEP (at[2] + 0) SUBSEP (at[3] + 0)
    if (!(key in branch)) { branch[key] = 1; keys[++n_keys] = key }
    if ($0 !~ /True: 0,/) is_true[key] = 1
    if ($0 !~ /False: 0\]/) is_false[key] = 1
}

# The totals that a file counts in.
function tally(file, kind, is_covered,   room) {
    room = file ~ /^apps\// ? "apps" : "library"
    all[room, kind]++; covered[room, kind] += is_covered
    if (file in is_reader) { all["readers", kind]++; covered["readers", kind] += is_covered }
    all[file, kind]++; covered[file, kind] += is_covered
}
function miss(file, line, what) { print file ":" line ": " what ": " text[file, line] > missing }
function percent(room, kind) { return all[room, kind] ? sprintf("%.2f", 100 * covered[room, kind] / all[room, kind]) : "nan" }
function side(key, file, line, is_covered, what) {
    tally(file, "branches", is_covered)
    if (!is_covered) miss(file, line, what)
}
END {
    printf "" > missing
    for (i = 1; i <= n_files; ++i) {
        file = files[i]
        for (line = 1; line <= last[file]; ++line) {
            if (!((file, line) in has_line)) continue
            tally(file, "lines", runs[file, line] > 0)
            if (!runs[file, line]) miss(file, line, "never run")
        }
    }
    for (i = 1; i <= n_keys; ++i) {
        split(keys[i], at, SUBSEP)
        side(keys[i], at[1], at[2], keys[i] in is_true, "column " at[3] " never true")
        side(keys[i], at[1], at[2], keys[i] in is_false, "column " at[3] " never false")
    }
    for (i = 1; i <= n_files; ++i)
        printf "%6s %% of %4d lines, %6s %% of %4d branches  %s\n", percent(files[i], "lines"), all[files[i], "lines"],
            percent(files[i], "branches"), all[files[i], "branches"], files[i]
    printf "apps/kit: %s %% of %d lines, %s %% of %d branches (for information)\n", percent("apps", "lines"),
        all["apps", "lines"], percent("apps", "branches"), all["apps", "branches"]
    printf "figure coverage.lines %s of %d\n", percent("library", "lines"), all["library", "lines"]
    printf "figure coverage.branches %s of %d\n", percent("library", "branches"), all["library", "branches"]
    printf "figure coverage.reader_lines %s of %d\n", percent("readers", "lines"), all["readers", "lines"]
    printf "figure coverage.reader_branches %s of %d\n", percent("readers", "branches"), all["readers", "branches"]
}

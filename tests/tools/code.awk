# Prints C++ files without their comments, line by line as `file:number:text`. It exists because two
# tools need it: `make size` counts code, not teaching, and `make lint` lets prose speak of anything.
# A string may hold `//`; raw strings are not known (a `"` inside one is taken for its end).
FNR == 1 { inside = 0 }
{
    out = ""
    line = $0
    while (line != "") {
        if (inside) {  # /* ... */
            end = index(line, "*/")
            if (!end) break
            line = substr(line, end + 2)
            inside = 0
        } else if (match(line, /\/\/|\/\*|"|'/)) {
            mark = substr(line, RSTART, RLENGTH)
            out = out substr(line, 1, RSTART - 1)
            line = substr(line, RSTART)
            if (mark == "//") break
            if (mark == "/*") {
                line = substr(line, 3)
                inside = 1
            } else if (mark == "\"" && match(line, /^"([^"\\]|\\.)*"/) ||
                       mark == "'" && match(line, /^'([^'\\]|\\.[0-9a-fA-F]*)'/)) {
                out = out substr(line, 1, RLENGTH)
                line = substr(line, RLENGTH + 1)
            } else {  # a digit separator, or half of a raw string
                out = out mark
                line = substr(line, 2)
            }
        } else {
            out = out line
            line = ""
        }
    }
    sub(/[ \t\r]+$/, "", out)
    print FILENAME ":" FNR ":" out
}

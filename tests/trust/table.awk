# The table of `make trust`: what each figure was asked to be, and what peers have (figures.txt), beside what the
# instruments have measured.
#
# usage: awk -v scale=quick|sample|long -v form=names -f table.awk figures.txt
#            the instruments that measure something at this scale
#        awk -v scale=... -v form=text|markdown [-v chosen='NAME...'] -f table.awk figures.txt RESULTS
#            the table of these instruments or parts of instruments, or of all
# exit status: 0 if these have ended, and every printed figure is as asked; 1 if not; 2 if a file is not as it must be
#
# RESULTS has blocks that begin with a line `instrument NAME`, then `date ...`, `figure NAME VALUE [detail]`, `skipped
# BEGIN why` for figures whose names begin so, `ended SECONDS`, `sources COMMIT`. NAME may be a part, INSTRUMENT.PART:
# the figures of all parts of an instrument are one result. What several of them count is added up; of an error, which
# is asked to be at most so large, and of percents the worst is that of all.
BEGIN { FS = "|"; column = scale == "quick" ? 1 : scale == "sample" ? 2 : 3; n_wanted = split(chosen, wanted, " ") }
function fail(why) { print FILENAME ":" FNR ": " why | "cat >&2"; failed = 1; exit 2 }
function trimmed(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }
function is_number(text) { return text ~ /^-?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?$/ }
function instrument_of(name) { sub(/[.].*/, "", name); return name }

# `name | what | relation[%] value [/ value / value] | peers`; one value is for all scales; `-`: not at this scale.
FILENAME ~ /figures\.txt$/ {
    if (/^#/ || /^[ \t]*$/) next
    name = trimmed($1)
    asked = trimmed($3)
    relation[name] = substr(asked, 1, 1)
    percent[name] = asked ~ /^.%/ ? " %" : ""
    what[name] = trimmed($2)
    peers[name] = trimmed($4)
    n = split(substr(asked, percent[name] ? 3 : 2), value, "/")
    value[n] = trimmed(value[n == 1 ? 1 : column])
    if (NF != 4 || asked !~ /^[><=]/ || (n != 1 && n != 3) || (value[n] != "-" && !is_number(value[n])) || seen[name]++)
        fail("expected 'name | what | relation value | peers', and each name once, got '" $0 "'")
    if (value[n] == "-") next
    limit[name] = value[n]
    names[++n_names] = name
    if (!asks[instrument_of(name)]++ && form == "names") print instrument_of(name)
    next
}
{
    kind = rest = $0
    sub(/ .*/, "", kind)
    sub(/^[^ ]* */, "", rest)
    first = after = rest
    sub(/ .*/, "", first)
    sub(/^[^ ]* */, "", after)
}
kind == "instrument" { block = rest; blocks[++n_blocks] = block }
kind ~ /^(date|compiler|processor|seed|sources)$/ { said[block, kind] = rest }
kind == "ended" { ended[block] = rest }
kind == "skipped" { skipped_by[++n_skipped] = instrument_of(block); begin[n_skipped] = first; because[n_skipped] = after }
kind == "figure" {
    number = detail = after
    sub(/ .*/, "", number)
    sub(/^[^ ]* */, "", detail)
    if (!is_number(number) && number !~ /^-?(nan|inf)$/) fail("expected a number, got '" number "'")
    measured[block, first] = number
    details[block, first] = detail
}

# 100000 as 100,000; 0.0000012 as 1.2e-06.
function shown(x, name,   tail) {
    if (is_number(x) && x + 0 != int(x)) x = sprintf("%.3g", x)
    else if (is_number(x))
        for (x = sprintf("%.0f", x); x ~ /^-?[0-9][0-9][0-9][0-9]/; x = substr(x, 1, length(x) - 3))
            tail = "," substr(x, length(x) - 2) tail
    return x tail percent[name]
}
function asked_of(name) {
    return (relation[name] == ">" ? "at least " : relation[name] == "<" ? "at most " : "") shown(limit[name], name)
}
# What is no number, NaN or infinite, is as nobody asked, and the worst.
function holds(x, name) {
    if (!is_number(x)) return 0
    return relation[name] == ">" ? x + 0 >= limit[name] + 0 : relation[name] == "<" ? x + 0 <= limit[name] + 0 : x + 0 == limit[name] + 0
}
function worse(x, y, name) { return !is_number(x) || is_number(y) && (relation[name] == "<" ? x + 0 > y + 0 : x + 0 < y + 0) }
function is_count(name) { return relation[name] == ">" && !percent[name] }

# Of a figure whether all blocks that have it are there: the part whose own it is, as its name says, or as no other part
# has it; or all shares of it, as NAME.1of8 to NAME.8of8.
function is_whole(name, n_having, having, n_own,   shares, i) {
    shares = having[1]
    if (sub(/.*[.][0-9]+of/, "", shares)) return n_having == shares + 0
    for (i = 1; i <= n_having; ++i)
        if (index(name, having[i]) == 1) return 1
    return n_having == 1 && n_own > 1
}

# good, skip, part (as asked so far, but other parts of the instrument, which count it, too, were not run), none (not
# measured), or NOT.
function judge(name,   i, block, own, n_own, n_having, having, first, all_ended, sum) {
    own = instrument_of(name)
    all_ended = 1
    for (i = 1; i <= n_blocks; ++i) {
        block = blocks[i]
        if (instrument_of(block) != own) continue
        if (!n_own++) first = block
        if (!(block in ended)) all_ended = 0
        if (!((block, name) in measured)) continue
        having[++n_having] = block
        if (n_having == 1) sum = measured[block, name]
        else if (relation[name] != "<" && !percent[name] && is_number(sum) && is_number(measured[block, name])) sum += measured[block, name]
        else if (worse(measured[block, name], sum, name)) sum = measured[block, name]
        why[name] = why[name] (why[name] && details[block, name] ? "; " : "") details[block, name]
    }
    result[name] = n_having ? shown(sum, name) : "-"
    whole[name] = n_having && is_whole(name, n_having, having, n_own)
    if (!n_own || (first != own && !n_having)) { why[name] = "not measured"; return "none" }
    if (!n_having) {
        why[name] = all_ended ? "not printed" : "the instrument did not end"
        for (i = 1; i <= n_skipped && all_ended; ++i)
            if (skipped_by[i] == own && index(name, begin[i]) == 1) { why[name] = because[i]; return "skip" }
        return "NOT"
    }
    if (is_count(name) && all_ended && sum > 0 && sum + 0 < limit[name] + 0 && first != own && !whole[name]) return "part"
    return holds(sum, name) && all_ended ? "good" : "NOT"
}

function is_chosen(name,   i) {
    for (i = 1; i <= n_wanted; ++i)
        if (wanted[i] == instrument_of(name) || (wanted[i], name) in measured) return 1
    return !n_wanted
}
function circumstances(block) {
    return said[block, "date"] ", " said[block, "compiler"] ", " said[block, "processor"] ", seed " said[block, "seed"]
}
function sum_of() {
    return count["good"] + 0 " of " n_rows + 0 " figures are as asked" (count["NOT"] ? ", " count["NOT"] " not" : "") \
        (count["skip"] ? ", " count["skip"] " skipped" : "") (count["part"] ? ", " count["part"] " measured in part" : "") \
        (count["none"] ? ", " count["none"] " not measured" : "")
}

END {
    if (failed || form == "names") exit failed ? 2 : 0
    for (i = 1; i <= n_names; ++i) {
        state[names[i]] = judge(names[i])
        if (is_count(names[i]) && state[names[i]] ~ /none|part/) partly[instrument_of(names[i])] = 1
    }
    for (i = 1; i <= n_names; ++i) {
        name = names[i]
        own = instrument_of(name)
        if (state[name] == "good" && !is_count(name) && !whole[name] && own in partly) state[name] = "part"
        if (state[name] == "part") result[name] = result[name] " so far"
        if (!is_chosen(name)) continue
        rows[++n_rows] = name
        ++count[state[name]]
    }
    form == "text" ? print_text() : print_markdown()
    for (i = 1; i <= n_wanted; ++i)
        if (instrument_of(wanted[i]) in asks && !(wanted[i] in ended)) {
            print wanted[i] " has not come to its end"
            ++unfinished
        }
    exit count["NOT"] + count["none"] + unfinished > 0
}

function print_text(   i, k, name, group) {
    for (i = 1; i <= n_rows; ++i) {
        name = rows[i]
        if (instrument_of(name) != group) {
            group = instrument_of(name)
            print "\n" group
            for (k = 1; k <= n_blocks; ++k)
                if (instrument_of(blocks[k]) == group)
                    print "  (" blocks[k] ": " circumstances(blocks[k]) ", " shown(blocks[k] in ended ? ended[blocks[k]] : 0) " s)"
        }
        printf "  %-5s %s: %s (asked: %s%s)%s\n", state[name] == "good" ? "ok" : state[name] == "none" ? "NOT" : state[name], what[name],
            result[name], asked_of(name), peers[name] ? "; peers: " peers[name] : "",
            state[name] == "good" || !why[name] ? "" : "  " why[name]
    }
    print "\n" sum_of()
}

# Of what was not measured the instruments are named, and there are no rows.
function print_markdown(   i, k, name, group, missing, n_when, when, list, rest) {
    print "**" sum_of() "**\n\n| figure | asked | measured | peers |\n|---|---:|---:|---|"
    for (i = 1; i <= n_rows; ++i) {
        name = rows[i]
        if (state[name] == "none") {
            if (!listed[instrument_of(name)]++) missing = missing (missing ? ", " : "") instrument_of(name)
            continue
        }
        if (instrument_of(name) != group) print "| **" (group = instrument_of(name)) "** | | | |"
        print "| " what[name] " | " asked_of(name) " | " result[name] (state[name] == "skip" ? " (skipped)" : state[name] == "NOT" ? " ✗" : "") \
            " | " peers[name] " |"
    }
    print "\nWhen and with what each was measured; in parentheses the commit, where it was recorded:\n"
    for (i = 1; i <= n_blocks; ++i) {
        name = circumstances(blocks[i])
        if (!(name in list)) for (k = n_when++; k > 0 && when[k] > name; --k) when[k + 1] = when[k]
        if (!(name in list)) when[k + 1] = name
        list[name] = list[name] (list[name] ? ", " : "") blocks[i] ((blocks[i], "sources") in said ? " (" substr(said[blocks[i], "sources"], 1, 7) ")" : "")
    }
    for (i = 1; i <= n_when; ++i) print "- " when[i] ": " list[when[i]]
    if (missing) print "\nNot measured at this length yet, or not all of it: " missing "."
}

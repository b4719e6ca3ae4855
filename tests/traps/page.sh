# What run.sh found, as a page: the tables of README.md, and curves.csv. Part of run.sh, whose variable `results` names
# the folder of the results.

# field <name> <trap>: what the head of its patch says; a value may go on in indented lines.
field() {
    awk -v name="$1: " '
        /^--- / { exit }
        index($0, name) == 1 { printf "%s", substr($0, length(name) + 1); on = 1; next }
        on && /^  / { sub(/^ +/, " "); printf "%s", $0; next }
        { on = 0 }' "tests/traps/$2.patch"
}

# The file that holds a test case.
file_of() { find tests -name 'test_*.cpp' -exec grep -lF "\"$1\"," {} +; }

# The name of the run without a mistake, with these options.
reference() { echo "healthy${1:+ $1}" | sed 's/[^A-Za-z0-9]/_/g'; }

# What came of a training: "1998/2000", or how it ended before.
score() {
    count=$(sed -n 's/.*reversed without an error: //p' "$results/$1.out")
    echo "${count:-$(tail -n 1 "$results/$1.err" | sed 's/^reverse_task: /stops: /')}"
}

# The loss after 100, 400 and 1200 steps, each the mean of twenty.
losses() {
    awk -F , 'function at(i) { return $i == "" ? "–" : sprintf("%.2f", $i) }
              { print at(6) ", " at(21) ", " at(61) }' "$results/$1.curve"
}

# row <trap>
row() {
    options=$(field Options "$1") test=$(field Caught-by "$1")
    curve=$(losses "$1")
    ! same_bits "$1" || curve='the same bits'
    printf '| **[%s](%s.patch).** %s | %s%s | %s | %s | [`%s`](%s) |\n' \
        "$(field Title "$1")" "$1" "$(field Mistake "$1")" \
        "$(score "$1")" "${options:+, \`$options\`}" "$curve" "$(field Symptom "$1")" "$test" \
        "$(file_of "$test" | sed 's,^tests,..,')"
}

# The parts of a Transformer, in the order of its life.
parts="masks
attention
embeddings and positions
layers
loss and data
gradients
training
decoding"

# Whether a run has the losses of the one without a mistake, bit for bit.
same_bits() { cmp -s "$results/$1.log" "$results/$(reference "$(field Options "$1")").log"; }

# summary <traps>: one sentence.
summary() {
    total=0 whole=0 same=0
    for name in $1; do
        total=$((total + 1))
        [ "$(score "$name")" != 2000/2000 ] || whole=$((whole + 1))
        ! same_bits "$name" || same=$((same + 1))
    done
    echo "Of these $total mistakes, $whole leave \`reverse_task\` with 2000 of 2000 sequences right;" \
        "$same do not change a bit of its training."
}

# page <traps>: a table for each part.
page() {
    summary "$1"
    echo
    echo '| without a mistake | `reverse_task` | loss after 100, 400, 1200 steps |'
    echo '|---|---|---|'
    while read -r options; do
        name=$(reference "$options")
        echo "| ${options:+\`}${options:-as it is}${options:+\`} | $(score "$name") | $(losses "$name") |"
    done <"$results/options"
    echo "$parts" | while read -r part; do
        printf '\n### %s\n\n' "$(echo "$part" | awk '{ print toupper(substr($0, 1, 1)) substr($0, 2) }')"
        echo '| mistake | `reverse_task` | loss after 100, 400, 1200 steps | what one sees | caught by |'
        echo '|---|---|---|---|---|'
        for name in $1; do
            [ "$(field Part "$name")" != "$part" ] || row "$name"
        done
    done
}

# curves <traps>: how each run ended, and its losses, means of 20 steps. For figure.h.
curves() {
    awk 'BEGIN { printf "run,score"; for (i = 20; i <= 1200; i += 20) printf ",%d", i; print "" }'
    while read -r options; do
        name=$(reference "$options")
        echo "$name,$(score "$name")$(cat "$results/$name.curve")"
    done <"$results/options"
    echo "$parts" | while read -r part; do
        for name in $1; do
            [ "$(field Part "$name")" != "$part" ] ||
                echo "$name,$(score "$name" | sed 's/:.*//')$(cat "$results/$name.curve")"
        done
    done
}

# put <file> <name> <page>: replaces what stands in the page between the comments of this name.
put() {
    awk -v file="$1" -v name="$2" '
        $0 == "<!-- end -->" { inside = 0 }
        !inside { print }
        $0 == "<!-- computed: " name " -->" {
            inside = 1
            while ((getline line <file) > 0) print line
        }' "$3" >"$3.new" && mv "$3.new" "$3"
}

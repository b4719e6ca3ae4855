"""Tests of the program that tests the tests: which places it finds, and that what it writes compiles and switches.

    python3 tests/mutate/test_mutate.py
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

try:
    import points
except ImportError:
    sys.exit("skipped: this Python has no clang.cindex (Debian: python3-clang)")
import runs
import tree

FLAGS = ["-x", "c++", "-std=c++20"]
PROGRAM = """#include <cstdio>
#include <optional>
constexpr int kRows = 3;
int total = 5;
static void check(bool good) { total += good ? 0 : 100; }
int sum(int n) {
    int s = 0;
    for (int i = 0; i < n; ++i)
        s += i;
    return s;
}
int minus(int a, int b) { return a - b; }
int main() {
    const std::optional<bool> none, no = false;
    check(total == 5);
    if (!no)
        total = 7;
    total = minus(total, kRows);
    std::printf("%d %d %d\\n", total, sum(4), static_cast<int>(!none));
}
"""


class Sources:
    """One file of C++ and its points."""

    def __init__(self, text, more=()):
        self.folder = tempfile.TemporaryDirectory()
        self.path = f"{self.folder.name}/a.cpp"
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        self.source = points.Source(self.path)
        unit = ("unit.cpp", f'#include "{self.path}"\n', FLAGS, True)
        self.points = points.find([unit, *((*unit[:2], FLAGS + [m], False) for m in more)], {self.path: self.source})
        self.points.sort(key=lambda p: (p.begin, p.end, p.text))

    def __del__(self):
        self.folder.cleanup()

    def changes(self):
        return [(p.line, p.kind, p.key.split(" | ")[-1]) for p in self.points]

    def find(self, change):
        return next(p for p in self.points if change in p.key)

    def output(self, mutants, alive):
        """What the program prints with these mutants compiled in, of which one is alive."""
        with open(f"{self.folder.name}/b.cpp", "wb") as file:
            body = tree.changed(self.source, list(enumerate(mutants))).split(b"\n", 1)[1]
            file.write(b'#include "mutant.h"\n' + body)
        program = f"{self.folder.name}/b"
        subprocess.run(["g++", "-std=c++20", "-O2", "-w", f"-I{tree.HERE}/runtime", f"{self.folder.name}/b.cpp",
                        f"{self.folder.name}/mutant.cpp", "-o", program], check=True)
        env = dict(os.environ, PLAINGRAD_MUTANT=str(alive))
        return subprocess.run([program], env=env, capture_output=True, text=True, check=True).stdout


class FindsPlaces(unittest.TestCase):
    def test_each_kind(self):
        found = Sources(PROGRAM).changes()
        for change in [(3, "constexpr", "3 -> 3 + 1"), (8, "comparison", "i < n -> i <= n"),
                       (9, "assignment", "s += i -> s = i"), (9, "statement", "s += i -> nothing"),
                       (12, "arithmetic", "a - b -> a + b"), (15, "guard", "check(total == 5) -> nothing"),
                       (16, "condition", "!no -> !(!no)"), (16, "sign", "!no -> !!no"),
                       (18, "arguments", "minus(total, kRows) -> minus(kRows, total)")]:
            self.assertIn(change, [(line, kind, key) for line, kind, key in found])

    def test_all_variables_of_one_declaration_are_constants(self):
        found = Sources("int f() {\n    constexpr int a = 2, b = 10 * a;\n    return a + b;\n}\n").changes()
        self.assertEqual({kind for line, kind, key in found if line == 2}, {"constexpr"})
        self.assertIn((2, "constexpr", "10 * a -> 10 / a"), found)

    def test_branches_of_if_constexpr(self):
        found = Sources("template <int N>\nint f(int a) {\n    if constexpr (N > 2)\n        return a + 7;\n    else if (a > 1)\n"
                        "        return a - 7;\n    return 0;\n}\n").changes()
        self.assertIn((4, "arithmetic", "a + 7 -> a - 7"), found)
        self.assertIn((5, "comparison", "a > 1 -> a >= 1"), found)
        self.assertIn((6, "arithmetic", "a - 7 -> a + 7"), found)
        self.assertEqual([change for change in found if change[0] == 3], [])

    def test_statements_without_braces_and_jumps(self):
        found = Sources("void g(int& a);\nint f(int a) {\n    for (int i = 0; i < 9; ++i) {\n        if (i == a)\n"
                        "            continue;\n        while (a < i)\n            ++a;\n    }\n    if (a > 1)\n        g(a);\n"
                        "    else\n        a = 3;\n    return a;\n}\nvoid h(int a) {\n    if (a > 1)\n        return;\n    g(a);\n}\n").changes()
        for change in [(5, "jump", "continue -> break;"), (7, "statement", "++a -> nothing"), (10, "statement", "g(a) -> nothing"),
                       (12, "statement", "a = 3 -> nothing"), (17, "statement", "return -> nothing")]:
            self.assertIn(change, found)

    def test_what_would_not_compile_is_left_out(self):
        found = Sources("#include <cassert>\n#include <string>\n#include <vector>\n"
                        "void f(std::vector<int>& a, const std::vector<int>& b) {\n    assert(a.size() < 9);\n"
                        "    a.insert(a.end(), b.begin(), b.end());\n    std::string two(a.size(), b.size());\n"
                        "    const std::vector<int> three(b.begin(), b.end());\n}\n").changes()
        self.assertEqual([change for line, _, change in found if line == 5], [])
        self.assertEqual([change for line, kind, change in found if line == 6 and kind == "arguments"],
                         ["a.insert(a.end(), b.begin(), b.end()) -> a.insert(a.end(), b.end(), b.begin())"])
        self.assertEqual([change for line, _, change in found if line in (7, 8)], [])

    def test_all_of_the_list_is_possible_today(self):
        """A change whose line was changed must be looked at again."""
        said = subprocess.run([sys.executable, tree.HERE, "--list", "--these", f"{tree.HERE}/equivalent.txt"],
                              capture_output=True, text=True, check=True).stdout
        self.assertIn("autograd/kernels/", said)
        self.assertEqual([line for line in said.splitlines() if line.startswith("no longer there")], [])

    def test_every_source_is_read(self):
        sources = Sources("int a = 1 + 2;\n")
        with self.assertRaisesRegex(SystemExit, "in no unit: other.cpp"):
            points.find([], {"other.cpp": sources.source})

    def test_names_outlive_changes_elsewhere(self):
        names = {p.key.split(" | ", 1)[1] for p in Sources(PROGRAM).points}
        moved = {p.key.split(" | ", 1)[1] for p in Sources(PROGRAM.replace("int total", "\n\nint total")).points}
        self.assertEqual(names, moved)
        self.assertEqual(len(names), len(Sources(PROGRAM).points))

    def test_of_units_that_this_processor_cannot_run_only_what_they_share(self):
        sources = Sources("int both(int a) { return a + 1; }\n#ifdef MORE\nint more(int a) { return a - 2; }\n#endif\n",
                          more=["-DMORE"])
        self.assertEqual({(p.line, p.runs_here) for p in sources.points}, {(1, True), (3, False)})

    def test_shares_are_all_of_the_first_ones_and_apart(self):
        for count, shares in ((10, 1), (10, 2), (11, 3), (2, 3)):
            chosen = []
            for number in range(1, shares + 1):
                mine, most = points.share_of(list(range(20)), count, number, shares)
                chosen += mine[:most]
            self.assertEqual(sorted(chosen), list(range(count)))

    def test_keys_below_their_reasons(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "keys.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("# Changes.\n\nUndefined: a reason\nin two lines.\n\n    a | b\n    c | d\n\nAnother one.\n\n    e | f\n"
                           "survived: g.cpp:1\n    g | h\n")
            self.assertEqual(points.keys_in(path), {"a | b", "c | d", "e | f", "g | h"})
            self.assertEqual(points.keys_in(path, "Undefined:"), {"a | b", "c | d"})
            self.assertEqual(points.keys_in(path, "survived"), {"g | h"})

    def test_the_order_depends_on_the_seed(self):
        found = Sources(PROGRAM).points
        self.assertEqual(points.order(found, 1), points.order(list(reversed(found)), 1))
        self.assertNotEqual(points.order(found, 1), points.order(found, 2))


class Switches(unittest.TestCase):
    def put_switch(self, sources):
        with open(f"{tree.HERE}/runtime/mutant.cpp", encoding="utf-8") as file:
            text = file.read().replace("autograd/base/", "")
        with open(f"{sources.folder.name}/mutant.cpp", "w", encoding="utf-8") as file:
            file.write(text)

    def test_one_mutant_at_a_time(self):
        sources = Sources(PROGRAM)
        self.put_switch(sources)
        chosen = [sources.find(change) for change in
                  ("i < n -> i <= n", "s += i -> nothing", "!no -> !!no", "minus(total, kRows) -> minus(kRows, total)",
                   "check(total == 5) -> nothing", "total == 5 -> total != 5", "a - b -> a + b")]
        printed = [sources.output(chosen, alive) for alive in range(-1, len(chosen))]
        self.assertEqual(printed, ["2 6 1\n", "2 10 1\n", "2 0 1\n", "4 6 1\n", "-2 6 1\n", "2 6 1\n", "102 6 1\n",
                                   "8 6 1\n"])

    def test_a_jump_may_stand_before_an_else(self):
        sources = Sources("#include <cstdio>\nint main() {\n    for (int i = 0; i < 4; ++i)\n        if (i == 1)\n"
                          "            continue;\n        else\n            std::printf(\"%d\", i);\n}\n")
        self.put_switch(sources)
        self.assertEqual([sources.output([sources.find("continue -> break")], alive) for alive in (-1, 0)], ["023", "0"])

    def test_a_condition_may_be_a_pointer(self):
        sources = Sources("#include <cstdio>\n#include <memory>\nint main() {\n"
                          "    const auto some = std::make_unique<int>(1);\n    const char* none = nullptr;\n"
                          "    if (some)\n        std::puts(none ? none : \"none\");\n}\n")
        self.put_switch(sources)
        chosen = [sources.find("some -> !(some)"), sources.find("none -> !(none)")]
        self.assertEqual([sources.output(chosen, -1), sources.output(chosen, 0)], ["none\n", ""])


class TriesCases(unittest.TestCase):
    def test_the_quickest_first_and_all_in_the_end(self):
        cases = [runs.Case("tests", str(n), n, frozenset()) for n in (30, 1, 9, 3)]
        first, others = runs.quickest(cases, 5)
        self.assertEqual([c.name for c in first], ["1", "3"])
        self.assertEqual([c.name for c in others], ["9", "30"])
        self.assertEqual([c.name for lot in runs.in_turn(cases) for c in lot], ["1", "3", "9", "30"])
        self.assertEqual(runs.quickest(cases[:1], 5), (cases[:1], []))  # at least one

    def test_what_each_case_reaches(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/tests", "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\ncase $* in *--list-*) echo one; echo 'two, \"2\"'; echo three; echo slow; exit ;; esac\n"
                           "grep -q three $2 && exit 1\n"
                           "grep -q slow $2 && sleep 2 && printf '\\000\\001\\000' >$PLAINGRAD_REACHED\n"
                           "grep -q one $2 && printf '\\001\\000\\001' >$PLAINGRAD_REACHED\n"
                           "grep -qx '\"two.*' $2 && grep -qFx '\"two\\, \\\"2\\\"\"' $2 || grep -q 'one\\|slow' $2\n")
            with open(f"{folder}/double", "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\ncase $* in *--list-*) echo four ;; esac\n")
            for binary in ("tests", "double"):
                os.chmod(f"{folder}/{binary}", 0o755)
            suites, gradchecks = runs.SUITES, runs.GRADCHECKS
            runs.SUITES, runs.GRADCHECKS = (("./tests", "all"),), (("./double", "all"),)
            try:
                cases, slow = runs.record(folder, 3, False)
                self.assertEqual(runs.record(folder, 3, True), (cases, slow))  # noted
                slower = runs.record_slower(folder, 3, slow, False)
            finally:
                runs.SUITES, runs.GRADCHECKS = suites, gradchecks
            self.assertEqual([(c.name, c.reached) for c in cases], [("one", {0, 2}), ('two, "2"', frozenset())])
            self.assertEqual(slow, [("./tests", "slow")])
            self.assertEqual([(c.binary, c.name, c.reached) for c in slower],
                             [("./tests", "slow", {1}), ("./double", "four", frozenset())])

    def test_what_is_reached_by_no_case(self):
        self.assertEqual(runs.try_one(runs.Judge("build"), 0, []), "not reached")

    def outcome(self, body, number=1, names=("a", "b")):
        """Of a lot of two cases, tried with a program that is this shell script."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/tmp")
            binary = f"{folder}/tests"
            with open(binary, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{body}\n")
            os.chmod(binary, 0o755)
            return runs.Judge(folder, patience=1).outcome(number, [runs.Case(binary, n, 0, frozenset()) for n in names])

    def test_a_case_that_fails_crashes_or_never_ends_notices_a_mutant(self):
        alive = "[ $PLAINGRAD_MUTANT = 1 ] || exit 0\n"
        for body, outcome in (("exit 0", "survived"), ("exit 1", "killed"), ("kill -SEGV $$", "killed"),
                              ("sleep 100", "timed out")):
            self.assertEqual(self.outcome(alive + body), outcome, body)

    def test_a_case_that_fails_only_now_and_then_notices_nothing(self):
        self.assertEqual(self.outcome("[ -e $0.again ] && exit 0\n: >$0.again\nexit 1"), "survived")

    def test_a_case_that_fails_without_the_mutant_notices_nothing(self):
        self.assertEqual(self.outcome("exit 1"), "survived")
        self.assertEqual(self.outcome("sleep 100"), "survived")
        # Tried without it are those that have ended: b fails after a, and by itself it passes.
        both = "grep -q '\"a\"' $5 && grep -q '\"b\"' $5"
        ended = "echo '0.001 s: b'\n[ $PLAINGRAD_MUTANT = 1 ] && exit 1\n"
        self.assertEqual(self.outcome(f"{ended}{both} && exit 1\nexit 0"), "killed")
        ended = "echo '0.001 s: a'\necho '0.002 s: b'\n"
        self.assertEqual(self.outcome(f"{ended}{both} && exit 1\nexit 0"), "survived")
        # Each of them is tried alone, then.
        alone = "[ $PLAINGRAD_MUTANT = 1 ] && grep -q '\"b\"' $5 && exit 1"
        self.assertEqual(self.outcome(f"{ended}{both} && exit 1\n{alone}\nexit 0"), "killed")
        self.assertEqual(self.outcome("exit 1", number=runs.ALL), "killed")  # a constant: no build without it

    def test_a_run_ends_when_cases_no_longer_pass_without_a_mutant(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/tmp")
            binary = f"{folder}/tests"
            with open(binary, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n[ $PLAINGRAD_MUTANT != 1 ] && [ ! -e $0.full ]\n")
            os.chmod(binary, 0o755)
            judge, cases = runs.Judge(folder, patience=1), [runs.Case(binary, "a", 0, frozenset())]
            self.assertEqual(judge.outcome(1, cases), "killed")
            judge.check_still_sound()
            runs.try_all(judge, [], None, None)
            with open(f"{binary}.full", "w", encoding="utf-8"):
                pass
            self.assertEqual(judge.outcome(2, cases), "killed")  # wrongly
            with self.assertRaises(SystemExit):
                runs.try_all(judge, [], None, None)

    def test_a_run_ends_when_a_case_fails_that_did_not_notice_the_last_mutant(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/tmp")
            binary = f"{folder}/tests"
            with open(binary, "w", encoding="utf-8") as file:  # b passes on a full disk, too
                file.write("#!/bin/sh\n[ $PLAINGRAD_MUTANT != 1 ] && { grep -q '\"b\"' $5 || [ ! -e $0.full ]; }\n")
            os.chmod(binary, 0o755)
            judge = runs.Judge(folder, patience=1)
            for name in "ab":
                self.assertEqual(judge.outcome(1, [runs.Case(binary, name, 0, frozenset())]), "killed")
            judge.check_still_sound()
            with open(f"{binary}.full", "w", encoding="utf-8"):
                pass
            with self.assertRaises(SystemExit):
                judge.check_still_sound()

    def test_a_run_asks_after_every_fifty_mutants_whether_cases_still_pass(self):
        asked = []
        judge = runs.Judge("", patience=1)
        judge.check_still_sound = lambda: asked.append(len(told))
        told = []
        point = types.SimpleNamespace(file="a", line=1, key="k")
        runs.try_all(judge, [(n, point) for n in range(120)], lambda n: [], lambda p, outcome: told.append(p))
        self.assertEqual(len(asked), 3)  # 50, 100, and at the end

    def test_nothing_stays_after_a_signal(self):
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            with tempfile.TemporaryDirectory() as folder:
                os.mkdir(f"{folder}/tmp")
                program = (f"import os, runs\nruns.end_all_at_signals()\nwith runs.own_folder({folder!r}) as own:\n"
                           "    runs.run('.', ['sh', '-c', 'echo $$; exec sleep 100'], dict(os.environ, TMPDIR=own), 100, None)\n")
                with subprocess.Popen([sys.executable, "-c", program], cwd=os.path.dirname(runs.__file__),
                                      stdout=subprocess.PIPE, text=True) as process:
                    sleeps = int(process.stdout.readline())
                    process.send_signal(number)
                    self.assertEqual(process.wait(20), 128 + number)
                self.assertEqual(os.listdir(f"{folder}/tmp"), [])
                for _ in range(100):
                    if not os.path.exists(f"/proc/{sleeps}"):
                        break
                    time.sleep(0.02)
                else:
                    self.fail("it still runs")

    def test_what_a_case_leaves_behind_ends_and_is_deleted(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/tmp")
            with runs.own_folder(folder) as own:
                env = dict(os.environ, TMPDIR=own)
                script = ("python3 -c 'import os, time; os.setsid(); time.sleep(100)' & "
                          "echo $! >$TMPDIR/pid; sleep 0.5; echo $TMPDIR")
                self.assertEqual(runs.run(folder, ["sh", "-c", script], env, 10), "passed")
                with open(f"{own}/pid", encoding="utf-8") as file:
                    pid = int(file.read())
                for _ in range(100):  # until its new parent has noticed
                    try:
                        os.kill(pid, 0)
                    except ProcessLookupError:
                        break
                    time.sleep(0.02)
                else:
                    self.fail("it still runs")
            self.assertEqual(os.listdir(f"{folder}/tmp"), [])

    def test_a_disk_that_a_case_leaves_mounted_is_deleted(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/tmp")
            with runs.own_folder(folder) as own:
                os.mkdir(f"{own}/disk")
                if subprocess.run(["mount", "-t", "tmpfs", "none", f"{own}/disk"], stderr=subprocess.DEVNULL).returncode != 0:
                    self.skipTest("only root mounts a disk")
            self.assertEqual(os.listdir(f"{folder}/tmp"), [])


unittest.main()

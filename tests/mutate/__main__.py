"""Changes the sources in small ways, one at a time, and checks whether a test fails: can the tests fail?

    python3 tests/mutate [--count N] [--constants N] [--seed N] [--share 1of2] [--folder build/mutate] [--file PATH]
                          [--these FILE] [--list] [--go-on] [--seconds S] [--make M] [--compiler C]

A changed program is a mutant. One that no test notices (a survivor) gets a test, unless its change has no visible
effect, or cannot be tried: then it has a line in equivalent.txt, with the reason. The chosen changes are compiled into
a copy of the tree, each behind a switch of its own; an environment variable chooses one. So a single build serves all but
constants (--constants), which take a build each. Each test case then runs once, to see which changes it reaches; each
change is tried with the cases that reach it, the most promising first, until one fails. Slow cases, and the gradient checks of
the double build, run only for what the others do not notice.
"""
import argparse
import os
import sys
import time

try:
    import points
except ImportError:
    points = None
import runs
import tree

FOLDERS = ("autograd", "nn", "models", "apps/kit")
FLAGS = ["-x", "c++", "-std=c++20", "-I.", "-pthread"]
AVX512 = ["avx512f", "avx512dq", "avx512vl", "avx512bw"]
KERNELS = {"plain": [], "avx2": ["avx2", "fma"], "avx512": AVX512, "avx512bf16": AVX512 + ["avx512bf16"]}


def parse():
    parser = argparse.ArgumentParser(prog="tests/mutate", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=150, help="how many changes")
    parser.add_argument("--constants", type=int, default=0, help="how many that the compiler must know; a build for each")
    parser.add_argument("--seed", type=int, default=1, help="chooses other changes")
    parser.add_argument("--share", type=share, default=(1, 1), help="1of2 to 2of2: a half of them, which can be tried on another day")
    parser.add_argument("--folder", default="build/mutate", help="where the copy of the tree is built")
    parser.add_argument("--file", action="append", default=[], help="only changes in this file or folder")
    parser.add_argument("--these", help="only, and all, changes whose lines, as printed, are in this file: survivors, once more")
    parser.add_argument("--make", default=os.environ.get("MAKE", "make"))
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--list", action="store_true", help="only lists the changes")
    parser.add_argument("--seconds", type=float, default=8, help="each is tried first with the most promising test cases, which take so long together")
    parser.add_argument("--go-on", action="store_true", help="what an earlier run of the folder has answered is not tried again: killed, not compiling, or known to survive")
    return parser.parse_args()


def share(text):
    """(1, 2) of "1of2"."""
    number, _, shares = text.partition("of")
    if not (number.isdigit() and shares.isdigit() and 1 <= int(number) <= int(shares)):
        raise argparse.ArgumentTypeError(f"expected 1of2 or the like, got '{text}'")
    return int(number), int(shares)


def sources():
    """path -> Source; and the units that clang reads: a folder is one, as in the Makefile."""
    found, units = {}, []
    for top in FOLDERS:
        for folder, _, files in sorted(os.walk(top)):
            paths = [f"{folder}/{name}" for name in sorted(files) if name.endswith((".cpp", ".h"))]
            paths = [p for p in paths if p != "nn/parallel/team_mpi.cpp"]
            found.update((path, points.Source(path)) for path in paths)
            if folder != "autograd/kernels":
                text = "".join(f'#include "{path}"\n' for path in paths)
                units.append((folder.replace("/", "_") + ".cpp", text, FLAGS, True))
    units.append(("kernels.cpp", "".join(f'#include "autograd/kernels/{name}.cpp"\n' for name in ("dispatch", "scratch")),
                  FLAGS, True))
    for name, instructions in KERNELS.items():
        flags = [f"-m{i}" for i in instructions] or ["-DPLAINGRAD_SIMD_PLAIN"]
        units.append((f"kernels_{name}.cpp", '#include "autograd/kernels/unit.cpp"\n',
                      FLAGS + flags + [f"-DPLAINGRAD_KERNELS=kernels_{name}"], has(instructions)))
    return found, units


def has(instructions):
    """Whether this processor has them all, as Linux says: other systems say nothing, and all is tried."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((line.split(":")[1].replace("_", "").split() for line in file if line.startswith("flags")), None)
    except OSError:
        flags = None
    return flags is None or set(instructions) <= set(flags)


def choose(args, all_points):
    """In a random order; of a thousand or more, first every comparison in the kernels, where errors by one hide."""
    chosen = [p for p in points.order(all_points, args.seed) if not args.file or p.file.startswith(tuple(args.file))]
    if args.these:
        wanted = points.keys_in(args.these)
        chosen = [p for p in chosen if p.key in wanted]
    constants = [p for p in chosen if p.is_constant]
    chosen = [p for p in chosen if not p.is_constant]
    if args.these:
        args.count, args.constants = len(chosen), len(constants)
    edges = [p for p in chosen if p.file.startswith("autograd/kernels/") and p.kind == "comparison"]
    if args.count >= 1000 and not args.file and not args.these:
        keys = {p.key for p in edges}
        chosen = edges + [p for p in chosen if p.key not in keys]
    chosen, args.count = points.share_of(chosen, args.count, *args.share)
    constants, args.constants = points.share_of(constants, args.constants, *args.share)
    return chosen, constants


def try_constants(args, found, mutants, constants, cases, outcomes):
    """Each in a build of its own. Those that do not compile give way to the next ones."""
    left = args.constants
    for point in constants:
        if left == 0:
            break
        if point.key in outcomes.not_compiling:
            continue
        left -= 1
        if point.key in outcomes.answered:
            outcomes.of[point] = outcomes.answered[point.key]
            continue
        tree.place(args.folder, found, mutants, point)
        begin = time.time()
        if tree.build(args.folder, args.make, args.compiler, ["tests", "build/double/gradchecks", "apps"]):
            print(f"does not compile: {point.key}", flush=True)
            outcomes.note("does not compile", point)
            left += 1
            continue
        here = {n for n, p in enumerate(mutants) if p is not None and p.file == point.file}
        reaching = [c for c in cases if here & c.reached] if here else cases
        outcomes.add(point, runs.try_one(runs.Judge(args.folder), runs.ALL, reaching))
        print(f"{outcomes.of[point]}, {time.time() - begin:.0f} s: {point.key}", flush=True)


def compile_mutants(args, found, numbers, waiting, outcomes, targets):
    """Builds the copy with these mutants, by their numbers; those that do not compile give way to the next ones."""
    while True:
        tree.place(args.folder, found, numbers)
        begin = time.time()
        errors = tree.build(args.folder, args.make, args.compiler, targets)
        print(f"built {sum(p is not None for p in numbers)} mutants in {time.time() - begin:.0f} s", flush=True)
        if not errors:
            return
        wrong = tree.at_fault(args.folder, errors)
        print(f"{len(wrong)} do not compile, or are in the line of one that does not", flush=True)
        for n in sorted(wrong):
            outcomes.note("does not compile", numbers[n])
            outcomes.of.pop(numbers[n], None)
            numbers[n] = waiting.pop(0) if waiting else None


class Outcomes:
    """Of each mutant the last one, kept in the folder, so that a run can be taken up again (--go-on), as long as nothing
    has changed that is built or that tests read. known: the keys of mutants that change nothing."""

    def __init__(self, folder, go_on, known):
        self.path, self.go_on, self.known, self.of = f"{folder}/outcomes.txt", go_on, known, {}
        self.not_compiling, self.answered = set(), {}
        os.makedirs(folder, exist_ok=True)

    def of_tree(self, digest):
        """Reads what is known of these sources, or begins anew."""
        lines = []
        if self.go_on and os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                if file.readline().rstrip("\n") == digest:
                    lines = [line.rstrip("\n").split("\t", 1) for line in file]
                else:
                    print("a source, a test or what it reads has changed: all mutants are tried anew", flush=True)
        if not lines:
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(digest + "\n")
        last = {key: outcome for outcome, key in lines}
        self.not_compiling = {key for key, outcome in last.items() if outcome == "does not compile"}
        self.answered = {key: outcome for key, outcome in last.items() if outcome in runs.NOTICED or key in self.known}

    def add(self, point, outcome):
        self.of[point] = outcome
        self.note(outcome, point)

    def note(self, outcome, point):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(f"{outcome}\t{point.key}\n")


def try_mutants(judge, args, found, mutants, outcomes, known):
    """With the most promising of the cases that reach it, in a first round; in a second one, what survived it, and is not known
    to change nothing, with the others: slow cases, and gradient checks, which are built only then. Returns all cases."""
    cases, slow = runs.record(args.folder, len(mutants), args.go_on)
    parts = {n: runs.most_promising([c for c in cases if n in c.reached], args.seconds) for n in range(len(mutants))}
    outcomes.of.update({p: outcomes.answered[p.key] for p in mutants if p and p.key in outcomes.answered})
    waiting = [(n, p) for n, p in enumerate(mutants) if p and p not in outcomes.of]
    runs.try_all(judge, waiting, lambda n: parts[n][0], outcomes.add)

    def is_left(point):
        return point and outcomes.of[point] not in runs.NOTICED and point.key not in known

    if not args.constants and not any(map(is_left, mutants)):
        return cases
    print("with the slower test cases:", flush=True)
    compile_mutants(args, found, mutants, [], outcomes, ["build/double/gradchecks"])
    slower = runs.record_slower(args.folder, len(mutants), slow, args.go_on)
    rest = {n: parts[n][1] + [c for c in slower if n in c.reached] for n in range(len(mutants))}
    waiting = [(n, p) for n, p in enumerate(mutants) if is_left(p) and rest[n]]
    runs.try_all(judge, waiting, rest.get, outcomes.add)
    return cases + slower


def main():
    args = parse()
    if points is None:
        sys.exit("mutate: clang.cindex is needed, which this Python lacks (Debian: python3-clang, with /usr/bin/python3)")
    found, units = sources()
    all_points = points.find(units, found)
    if args.these:
        for key in sorted(points.keys_in(args.these) - {p.key for p in all_points}):
            print(f"no longer there: {key}")
    here = [p for p in all_points if p.runs_here]
    candidates, constants = choose(args, here)
    if args.list:
        for p in candidates[:args.count] + constants[:args.constants]:
            print(f"{p.file}:{p.line}: {p.kind}: {p.key}")
        return
    print(f"{len(candidates)} places can be changed, and {len(constants)} constants; {len(all_points) - len(here)} more run "
          "with instructions that this processor lacks", flush=True)
    equivalent = os.path.join(tree.HERE, "equivalent.txt")
    known = points.keys_in(equivalent)
    outcomes = Outcomes(args.folder, args.go_on, known)
    runs.limit_all()
    runs.end_all_at_signals()
    outcomes.of_tree(tree.copy(args.folder, found))
    candidates = [p for p in candidates if p.key not in outcomes.not_compiling]
    mutants = candidates[:args.count]
    compile_mutants(args, found, mutants, candidates[args.count:], outcomes, ["tests", "apps", "GRADCHECKS=no"])
    judge = runs.Judge(args.folder)
    cases = try_mutants(judge, args, found, mutants, outcomes, known)
    if args.constants:
        try_constants(args, found, mutants, constants, cases, outcomes)
        compile_mutants(args, found, mutants, [], outcomes, ["tests", "apps", "build/double/gradchecks"])
        judge.check_still_sound()
    report(outcomes.of, known, points.keys_in(equivalent, "Undefined:"), {p.key for p in all_points})


def report(tried, known, undefined, possible):
    """What is known to change nothing is no mutant that a test could kill. If a test kills one, the list is wrong, unless
    its behaviour is undefined: the compiler may translate it differently each time. And of one that is not possible any
    more nothing has to be known. possible: the keys of all."""
    alive = [p for p, outcome in tried.items() if outcome not in runs.NOTICED]
    unanswered = [p for p in alive if p.key not in known]
    wrong = [p for p, outcome in tried.items() if outcome in runs.NOTICED and p.key in known - undefined]
    by_time = sum(outcome == "timed out" for outcome in tried.values())
    for p in unanswered:
        print(f"{tried[p]}: {p.file}:{p.line}\n    {p.key}")
    for p in wrong:
        print(f"killed, though equivalent.txt has it: {p.file}:{p.line}\n    {p.key}")
    for key in sorted(known - possible):
        print(f"not possible, though equivalent.txt has it:\n    {key}")
    could_die = len(tried) - len(alive) + len(unanswered)
    print(f"figure mutants.tried {len(tried)}")
    print(f"figure mutants.equivalent {100 * (len(tried) - could_die) / max(1, len(tried)):.3f}")
    print(f"figure mutants.killed {100 * (len(tried) - len(alive)) / max(1, could_die):.3f} {by_time} of them as a test did not end")
    print(f"figure mutants.unanswered {len(unanswered)}")
    print(f"figure mutants.listed_wrongly {len(wrong)}")
    print(f"figure mutants.stale {len(known - possible)}")


main()

"""Runs test cases against mutants: first all without one, to see what each case reaches; then each mutant."""
import os
import resource
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

# Each test binary, with the tests of it that `make test` runs; those of programs are a suite of their own.
SUITES = (("build/tests", "~[.]~[slow]~[gradcheck]~[apps]"), ("build/tests", "~[.]~[slow]~[gradcheck][apps]"),
          ("build/double/gradchecks", "~[.]~[slow][gradcheck]"))
MEMORY = 8 << 30


@dataclass
class Case:
    binary: str
    name: str
    seconds: float
    reached: frozenset


def environment(folder, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "PLAINGRAD_"))}
    root = os.path.abspath(folder)
    env.update(PLAINGRAD_APPS="apps", PLAINGRAD_BENCH="build/bench", PLAINGRAD_CHAPTERS="build/chapters",
               PLAINGRAD_LIB="build/libplaingrad.a", PLAINGRAD_RUN="", TMPDIR=f"{root}/tmp",
               PLAINGRAD_COMPILE="g++ -std=c++20 -pthread -I. ")
    env.update(more)
    return env


def limit():
    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(folder, command, env, seconds):
    """Returns whether it ended with status 0, in time. Whatever it has started ends with it."""
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, preexec_fn=limit)
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def record(folder, size, go_on):
    """Runs each test case without a mutant, in a process of its own: what is set up once, before main or at the first
    call, is reached by all that use it. Those that fail even so are left out. go_on: what an earlier run of the same
    binaries has noted is read again."""
    os.makedirs(f"{folder}/tmp", exist_ok=True)
    begin, log = time.time(), f"{folder}/cases.txt"
    built = max(os.path.getmtime(f"{folder}/{binary}") for binary, _ in SUITES)
    if not (go_on and os.path.exists(log) and os.path.getmtime(log) > built):
        names = [(binary, name) for binary, choice in SUITES for name in names_of(folder, binary, choice)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            lines = list(pool.map(lambda case: run_case(folder, *case, size), names))
        with open(log + ".new", "w", encoding="utf-8") as file:
            file.writelines(lines)
        os.rename(log + ".new", log)
    cases = read_cases(log)
    print(f"{len(cases)} test cases ran once, in {time.time() - begin:.0f} s", flush=True)
    if not cases:
        raise SystemExit("mutate: no test case ran")
    return cases


def names_of(folder, binary, choice):
    """Of Catch2's two versions, each has another way to list nothing but the names."""
    for how in (["--list-test-names-only"], ["--list-tests", "--verbosity", "quiet"]):
        said = subprocess.run([binary, choice, *how], cwd=folder, env=environment(folder), capture_output=True, text=True)
        if not said.stderr:
            return [line for line in said.stdout.splitlines() if line.strip()]
    raise SystemExit(f"mutate: {binary} lists no test cases: {said.stderr}")


def run_case(folder, binary, name, size):
    """A line: the binary, whether it passed, seconds, what it reached, and its name, between tabs."""
    with tempfile.TemporaryDirectory(dir=os.path.abspath(f"{folder}/tmp")) as own:
        reached = f"{own}/reached"
        with open(reached, "wb") as file:
            file.write(bytes(size))
        begin = time.time()
        passed = run(folder, [binary, "--input-file", listed([name], own)], environment(folder, PLAINGRAD_REACHED=reached), 600)
        seconds = time.time() - begin
        with open(reached, "rb") as file:
            numbers = ",".join(str(n) for n, byte in enumerate(file.read()) if byte)
    return f"{binary}\t{'passed' if passed else 'failed'}\t{seconds:.3f}\t{numbers}\t{name}\n"


def listed(names, folder):
    """The path of a file with these names, as Catch2 reads them."""
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".txt", encoding="utf-8", delete=False) as file:
        for name in names:
            file.write('"' + name.replace("\\", "\\\\").replace(",", "\\,").replace('"', '\\"') + '"\n')
    return os.path.abspath(file.name)


def read_cases(log):
    cases = []
    with open(log, encoding="utf-8") as file:
        for line in file:
            binary, passed, seconds, numbers, name = line.rstrip("\n").split("\t", 4)
            if passed == "passed":
                cases.append(Case(binary, name, float(seconds), frozenset(map(int, filter(None, numbers.split(","))))))
            else:
                print(f"left out, as it fails without a mutant: {name}", flush=True)
    return cases


def in_turn(cases):
    """The quickest first, as most mutants die at once. In lots, as a process for each case would take too long; later ones
    are larger, as few mutants live so long."""
    lots, lot, total = [], [], 0.0
    for case in sorted(cases, key=lambda c: (c.seconds, c.name)):
        if lot and (case.binary != lot[0].binary or total > 1 and total + case.seconds > 4 * len(lots) + 2):
            lots.append(lot)
            lot, total = [], 0.0
        lot.append(case)
        total += case.seconds
    return lots + ([lot] if lot else [])


def kills(folder, number, lot, patience=20):
    """Whether a test case of this lot fails, crashes or never ends."""
    names = listed([case.name for case in lot], f"{folder}/tmp")
    expected = sum(case.seconds for case in lot)
    try:
        return not run(folder, [lot[0].binary, "--abort", "--input-file", names],
                       environment(folder, PLAINGRAD_MUTANT=str(-1 if number is None else number)), patience + 6 * expected)
    finally:
        os.remove(names)


def quickest(cases, seconds):
    """Those that take at most so long, together; and the others."""
    total, first, others = 0.0, [], []
    for case in sorted(cases, key=lambda c: c.seconds):
        total += case.seconds
        (first if total <= seconds or not first else others).append(case)
    return first, others


def try_one(folder, number, cases):
    """"killed", "survived" or "not reached"."""
    if not cases:
        return "not reached"
    by_binary = sorted({case.binary for case in cases}, reverse=True)  # build/tests first
    for binary in by_binary:
        for lot in in_turn([case for case in cases if case.binary == binary]):
            if kills(folder, number, lot):
                return "killed"
    return "survived"


def try_all(folder, waiting, choose_cases, note):
    """waiting: (number, Point). choose_cases(number): the test cases to try. note(point, outcome) is told of each."""
    begin, done = time.time(), []

    def one(job):
        number, point = job
        outcome = try_one(folder, number, choose_cases(number))
        note(point, outcome)
        done.append(point)
        if outcome != "killed":
            print(f"{outcome}: {point.file}:{point.line}: {point.key}", flush=True)
        if len(done) % 50 == 0:
            print(f"{len(done)} of {len(waiting)}, {time.time() - begin:.0f} s", flush=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, waiting))

"""Runs test cases against mutants: first all without one, to see what each case reaches; then each mutant."""
import os
import resource
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

# The binaries and what of them runs, as `make test` does; programs run beside the rest.
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
    """Runs all test cases without a mutant. Those that fail even so are left out. go_on: what an earlier run of the same
    binaries has noted is read again."""
    os.makedirs(f"{folder}/tmp", exist_ok=True)
    begin = time.time()
    with ThreadPoolExecutor(len(SUITES)) as pool:
        logs = list(pool.map(lambda number: run_suite(folder, number, size, go_on), range(len(SUITES))))
    all_cases = [case for (binary, _), log in zip(SUITES, logs) for case in read_cases(binary, log)]
    print(f"{len(all_cases)} test cases ran once, in {time.time() - begin:.0f} s", flush=True)
    if not all_cases:
        raise SystemExit("mutate: no test case ran")
    return all_cases


def run_suite(folder, number, size, go_on):
    """Returns the path of its log."""
    binary, choice = SUITES[number]
    reached, log = f"{os.path.abspath(folder)}/reached-{number}", f"{os.path.abspath(folder)}/log-{number}"
    built = max(os.path.getmtime(f"{folder}/{other}") for other, _ in SUITES)
    if go_on and os.path.exists(log + ".whole") and os.path.getmtime(log + ".whole") > built:
        return log
    with open(reached, "wb") as file:
        file.write(bytes(size))
    open(log, "w", encoding="utf-8").close()
    run(folder, [binary, choice], environment(folder, PLAINGRAD_REACHED=reached, PLAINGRAD_REACHED_LOG=log), 3600)
    open(log + ".whole", "w", encoding="utf-8").close()
    return log


def read_cases(binary, log):
    cases = []
    with open(log, encoding="utf-8") as file:
        for line in file:
            passed, seconds, numbers, name = line.rstrip("\n").split("\t", 3)
            if passed == "passed":
                cases.append(Case(binary, name, float(seconds), frozenset(map(int, numbers.split(",")[:-1]))))
            else:
                print(f"left out, as it fails without a mutant: {name}", flush=True)
    return cases


def in_turn(cases):
    """The quickest first: most mutants die at once. In lots, as a process has to start for each."""
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
    with tempfile.NamedTemporaryFile("w", dir=f"{folder}/tmp", suffix=".txt", encoding="utf-8") as names:
        for case in lot:
            names.write('"' + case.name.replace("\\", "\\\\").replace(",", "\\,").replace('"', '\\"') + '"\n')
        names.flush()
        expected = sum(case.seconds for case in lot)
        return not run(folder, [lot[0].binary, "--abort", "--input-file", os.path.abspath(names.name)],
                       environment(folder, PLAINGRAD_MUTANT=str(-1 if number is None else number)),
                       patience + 6 * expected)


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

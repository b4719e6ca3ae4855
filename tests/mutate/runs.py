"""Runs test cases against mutants: first without one, to see what each case reaches; then each mutant."""
import contextlib
import itertools
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

# Each test binary, with the tests of it that `make test` runs; those of programs are a suite of their own.
SUITES = (("build/tests", "~[.]~[slow]~[gradcheck]~[apps]"), ("build/tests", "~[.]~[slow]~[gradcheck][apps]"))
# Only for what no other test notices: the double build takes minutes.
GRADCHECKS = (("build/double/gradchecks", "~[.]~[slow][gradcheck]"),)
QUICK = 1.5  # seconds of a test case; few take longer, but together more than all others, and they are rarely needed
MEMORY, LEAST_MEMORY = 8 << 30, 3 << 30  # what a run may use; the compiler needs the smaller one
NOTICED = ("killed", "timed out")
NONE, ALL = -1, -2  # in place of a mutant's number: none is alive; the whole build has one, a constant
running = set()  # the TMPDIR of each command that runs now
ending = False   # no more may begin


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


def limit_all():
    """For this process and all that it starts: a mutant may ask for memory without end."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    most = max(LEAST_MEMORY, min(MEMORY, memory // (os.cpu_count() + 1)))
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(folder, command, env, seconds, said=subprocess.DEVNULL):
    """"passed", if it ended with status 0; "failed", or "timed out". Whatever it has started ends with it."""
    running.add(env["TMPDIR"])  # before there is a process, which a signal's handler would not find
    if ending:
        raise SystemExit
    process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=said,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        return "passed" if process.wait(seconds) == 0 else "failed"
    except subprocess.TimeoutExpired:
        return "timed out"
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        end_others(env["TMPDIR"])
        running.discard(env["TMPDIR"])


def end_all_at_signals():
    """What runs is in sessions of its own: a mutant in an endless loop would stay when this process ends."""
    def handle(number, _):
        global ending
        ending = True
        for _ in range(2):  # again, as one may just have begun
            for folder in list(running):
                end_others(folder)
                unmount(folder)
                shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.1)
        os._exit(128 + number)

    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


def end_others(mark):
    """Ends processes that have this folder in their environment: some tests start programs in sessions of their own."""
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if b"TMPDIR=" + mark.encode() + b"\0" in file.read():
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass  # it has ended, or is another user's


@contextlib.contextmanager
def own_folder(folder):
    """For the temporary files of one run, which a test that dies leaves behind; and so may one with a small disk."""
    with tempfile.TemporaryDirectory(dir=os.path.abspath(f"{folder}/tmp"), ignore_cleanup_errors=True) as own:
        try:
            yield own
        finally:
            unmount(own)


def unmount(folder):
    """What is mounted below it, by root's tests of full disks."""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            paths = [line.split()[1] for line in file]
    except FileNotFoundError:  # not Linux, where no test mounts anything
        return
    for path in (path for path in paths if path.startswith(f"{folder}/")):
        subprocess.run(["umount", path], stderr=subprocess.DEVNULL)


def record(folder, size, go_on):
    """Runs each test case without a mutant, in a process of its own: what is set up once, before main or at the first
    call, is reached by all that use it. Those that fail even so are left out. Returns the others; and, as (binary, name),
    those that are not quick. go_on: what an earlier run of the same binaries has noted is read again."""
    lines = run_each(folder, "cases.txt", SUITES, [], size, QUICK, go_on)
    slow = [(binary, name) for binary, outcome, _, _, name in lines if outcome == "timed out"]
    return passed(lines, slow), slow


def record_slower(folder, size, slow, go_on):
    """The same for these and the gradient checks, however long they take."""
    return passed(run_each(folder, "slower.txt", GRADCHECKS, slow, size, 600, go_on), [])


def run_each(folder, log, suites, more, size, seconds, go_on):
    """For each case of the suites, and more of them: binary, outcome, seconds, what it reached, name."""
    os.makedirs(f"{folder}/tmp", exist_ok=True)
    begin, log = time.time(), f"{folder}/{log}"
    built = max(os.path.getmtime(f"{folder}/{binary}") for binary, _ in [*suites, *more])
    if not (go_on and os.path.exists(log) and os.path.getmtime(log) > built):
        names = more + [(binary, name) for binary, choice in suites for name in names_of(folder, binary, choice)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            lines = list(pool.map(lambda case: run_case(folder, *case, size, seconds), names))
        with open(log + ".new", "w", encoding="utf-8") as file:
            file.writelines(lines)
        os.rename(log + ".new", log)
    with open(log, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t", 4) for line in file]
    print(f"{len(lines)} test cases ran once, in {time.time() - begin:.0f} s", flush=True)
    return lines


def passed(lines, slow):
    """The cases that passed. Of the others, those that are not just slow are told."""
    cases = []
    for binary, outcome, seconds, numbers, name in lines:
        if outcome == "passed":
            cases.append(Case(binary, name, float(seconds), frozenset(map(int, filter(None, numbers.split(","))))))
        elif (binary, name) not in slow:
            print(f"left out, as it fails without a mutant: {name}", flush=True)
    if not cases:
        raise SystemExit("mutate: no test case passes")
    return cases


def names_of(folder, binary, choice):
    """Of Catch2's two versions, each has another way to list nothing but the names."""
    for how in (["--list-test-names-only"], ["--list-tests", "--verbosity", "quiet"]):
        said = subprocess.run([binary, choice, *how], cwd=folder, env=environment(folder), capture_output=True, text=True)
        if not said.stderr:
            return [line for line in said.stdout.splitlines() if line.strip()]
    raise SystemExit(f"mutate: {binary} lists no test cases: {said.stderr}")


def run_case(folder, binary, name, size, most):
    """A line: the binary, whether it passed, seconds, what it reached, and its name, between tabs."""
    with own_folder(folder) as own:
        reached = f"{own}/reached"
        with open(reached, "wb") as file:
            file.write(bytes(size))
        begin = time.time()
        env = environment(folder, PLAINGRAD_REACHED=reached, TMPDIR=own)
        outcome = run(folder, [binary, "--input-file", listed([name], own)], env, most)
        seconds = time.time() - begin
        with open(reached, "rb") as file:
            numbers = ",".join(str(n) for n, byte in enumerate(file.read()) if byte)
    return f"{binary}\t{outcome}\t{seconds:.3f}\t{numbers}\t{name}\n"


def listed(names, folder):
    """The path of a file with these names, as Catch2 reads them."""
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".txt", encoding="utf-8", delete=False) as file:
        for name in names:
            file.write('"' + name.replace("\\", "\\\\").replace(",", "\\,").replace('"', '\\"') + '"\n')
    return os.path.abspath(file.name)


def promise(case):
    """Small for what is quick and reaches few mutants: it was written for these."""
    return case.seconds * len(case.reached), case.name


def in_turn(cases):
    """The most promising first, as most mutants die at once. In lots, as a process for each case would take too long; later ones
    are larger, as few mutants live so long."""
    lots, lot, total = [], [], 0.0
    for case in sorted(cases, key=promise):
        if lot and (case.binary != lot[0].binary or total > 1 and total + case.seconds > 4 * len(lots) + 2):
            lots.append(lot)
            lot, total = [], 0.0
        lot.append(case)
        total += case.seconds
    return lots + ([lot] if lot else [])


def try_lot(folder, number, lot, patience):
    """Returns "passed", "failed" or "timed out", and the names of the test cases that have ended, good or bad."""
    with own_folder(folder) as own, open(f"{own}/said", "w+", encoding="utf-8", errors="replace") as said:
        command = [lot[0].binary, "--abort", "--durations", "yes", "--input-file", listed([case.name for case in lot], own)]
        env = environment(folder, PLAINGRAD_MUTANT=str(number), TMPDIR=own)
        outcome = run(folder, command, env, patience + 6 * sum(case.seconds for case in lot), said)
        said.seek(0)
        return outcome, re.findall(r"^[0-9.]+ s: (.*)$", said.read(), re.M)


class Judge:
    """Whether a lot of test cases notices a mutant: it fails, crashes or never ends; a second time, too; and the test cases
    that have ended pass without the mutant. (Each passes alone. This is asked once for each case that has failed.)"""

    def __init__(self, folder, patience=8):
        self.folder, self.patience, self.sound = folder, patience, set()
        self.recent = []  # the last cases that noticed a mutant, and passed without one

    def outcome(self, number, lot):
        """"killed", "timed out" or "survived"."""
        outcome, ended = try_lot(self.folder, number, lot, self.patience)
        if outcome == "passed":
            return "survived"
        if try_lot(self.folder, number, lot, self.patience)[0] == "passed":
            print(f"fails and passes with mutant {number}: {ended[-1:]}", flush=True)
            return "survived"
        if number != ALL and not self.is_sound(lot, None if outcome == "timed out" else ended):
            print(f"fails without a mutant, too, after others: {ended[-1:]}", flush=True)
            # Alone each passes without one.
            outcomes = (self.outcome(number, [case]) for case in lot if len(lot) > 1)
            return next((found for found in outcomes if found != "survived"), "survived")
        return "killed" if outcome == "failed" else outcome

    def is_sound(self, lot, ended):
        """ended: the names of the cases that were tried; None: all of them, as the one that did not end has no name."""
        same = [case for case in lot if ended is None or case.name in ended] or lot
        key = ended[-1] if ended else tuple(case.name for case in same)
        if key not in self.sound:
            if try_lot(self.folder, NONE, same, self.patience)[0] != "passed":
                return False
            self.sound.add(key)
        last = next((case for case in same if ended and case.name == ended[-1]), same[-1])
        self.recent = [case for case in self.recent if case is not last][-19:] + [last]
        return True

    def check_still_sound(self):
        """Ends the program if cases that passed without a mutant no longer do, as on a disk that has become full: from then
        on, every mutant that they reach would count as killed."""
        for case in self.recent:
            if all(try_lot(self.folder, NONE, [case], self.patience)[0] != "passed" for _ in range(2)):
                sys.exit(f"without a mutant, too, this fails now: {case.name}")


def most_promising(cases, seconds):
    """Those that take at most so long, together; and the others."""
    total, first, others = 0.0, [], []
    for case in sorted(cases, key=promise):
        total += case.seconds
        (first if total <= seconds or not first else others).append(case)
    return first, others


def try_one(judge, number, cases):
    """"killed", "timed out", "survived" or "not reached"."""
    if not cases:
        return "not reached"
    by_binary = sorted({case.binary for case in cases}, reverse=True)  # build/tests first
    for binary in by_binary:
        for lot in in_turn([case for case in cases if case.binary == binary]):
            outcome = judge.outcome(number, lot)
            if outcome != "survived":
                return outcome
    return "survived"


def try_all(judge, waiting, choose_cases, note):
    """waiting: (number, Point). choose_cases(number): the test cases to try. note(point, outcome) is told of each."""
    begin, numbers = time.time(), itertools.count(1)

    def one(job):
        number, point = job
        outcome = try_one(judge, number, choose_cases(number))
        note(point, outcome)
        if outcome not in NOTICED:
            print(f"{outcome}: {point.file}:{point.line}: {point.key}", flush=True)
        if (done := next(numbers)) % 50 == 0:
            judge.check_still_sound()
            print(f"{done} of {len(waiting)}, {time.time() - begin:.0f} s", flush=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(one, job) for job in waiting]
        try:
            for job in jobs:
                job.result()
        finally:
            pool.shutdown(cancel_futures=True)
    judge.check_still_sound()

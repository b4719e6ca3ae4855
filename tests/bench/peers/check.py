"""Checks what is computed of the turns; tests/bench/test_bench.cpp runs it. Prints nothing if all is well.

    python3 tests/bench/peers/check.py
"""
import argparse
import contextlib
import io
import sys

from comparing import compare
from contenders import Contender, described
from process import Process
from table import COLUMNS, Row, csv_head
from workloads import ALL, USUAL


def wants(what, wanted, got):
    if wanted != got:
        raise SystemExit(f"{what}: wanted {wanted}, got {got}")


# Five rounds. PyTorch's bf16 is the fastest peer of all, CTranslate2 the fastest at float32; one round was disturbed.
row = Row(ALL["greedy_1"], {
    "plaingrad float32": [10.0, 10.0, 10.0, 10.0, 10.0],
    "plaingrad bf16": [5.0, 5.0, 5.0, 5.0, 5.0],
    "PyTorch float32": [30.0, 30.0, 30.0, 30.0, 30.0],
    "PyTorch bf16": [6.0, 6.0, 6.0, 6.0, 6.0],
    "CTranslate2 float32": [20.0, 20.0, 12.0, 99.0, 20.0],
})
wants("the ratio at float32", (2.0, 2.0, 2.0), row.ratio("float32"))
wants("the ratio at bf16", (1.2, 1.2, 1.2), row.ratio("bf16"))
wants("the ratio of the fastest", (1.2, 1.2, 1.2), row.ratio())
wants("the fastest of ours", "plaingrad bf16", row.fastest(True))

alone = Row(ALL["toy"], {"plaingrad float32": [4.0], "PyTorch bf16": [2.0]})
wants("a ratio without a peer at this precision", None, alone.ratio("float32"))
wants("a ratio without us at this precision", None, alone.ratio("bf16"))
wants("the ratio over precisions", (0.5, 0.5, 0.5), alone.ratio())
for r in (row, alone):
    r.text()
    wants("values separated by commas", csv_head().count(","), r.csv(dict.fromkeys(r.times, "a"), {}).count(","))

wants("settings", "1 thread, keep memory, adam fused", described({"threads": 1, "keep memory": True, "adam": "fused",
                                                                    "wait": False}))
wants("workloads with a name of their own", len(ALL), len({w.name for w in ALL.values()}))
wants("the rows of a usual run that can be asked for by name", set(), {w.name for w in USUAL} - set(ALL))
wants("a column for each peer of a workload", set(),
      {name for w in ALL.values() for name in w.peers} - {label.split()[0] for label in COLUMNS})


class Ending(Contender):
    """A program that answers so many requests, prints `said`, and ends. Finding its settings takes four requests, starting
    it for the rounds one, and each round one."""

    def __init__(self, name, answers, said=""):
        super().__init__("float32")
        self.name = "PyTorch"  # whose workloads it does
        self.label, self.answers, self.said = name, answers, said

    def first(self, workload):
        return {"threads": 1}

    def choices(self, workload):
        return []

    def start(self, workload, settings):
        program = ("import sys\n"
                   "print('ready 1.0', flush=True)\n"
                   f"for i, line in zip(range({self.answers}), sys.stdin): print('500.0 2.0', flush=True)\n"
                   f"print({self.said!r}, end='')")
        return Process([sys.executable, "-c", program], {})


# Of four rounds, two programs do all. One ends before the last, one within its last answer, one before the first.
notes = io.StringIO()
with contextlib.redirect_stderr(notes):
    row, settings, memory = compare(
        ALL["toy"], [Ending("a", 9), Ending("b", 4), Ending("c", 4, "50"), Ending("d", 0), Ending("e", 9)],
        argparse.Namespace(rounds=4, thorough=False, verbose=False))
wants("the rounds of those that go on", {"a": [500.0] * 4, "e": [500.0] * 4}, row.times)
wants("their settings and memory", ({"a": "1 thread", "e": "1 thread"}, {"a": 2.0, "e": 2.0}), (settings, memory))
wants("notes about the others", 3, notes.getvalue().count("left out: "))

"""One workload: the settings of each contender, and then their turns, round by round."""
import sys

import table
from contenders import described
from process import Ended


def note(text):
    print(f"peers: {text}", file=sys.stderr, flush=True)


def compare(workload, contenders, args):
    """The row, and for each contender its settings and its memory. One that fails is left out, with a note."""
    processes, settings = {}, {}
    for c in contenders:
        if not c.does(workload):
            continue
        tell = lambda s, ms: args.verbose and note(f"{workload.name} {c.label}: {ms:9.2f} ms with {described(s)}")
        try:
            best = c.best_settings(workload, args.thorough, tell)
            processes[c.label], settings[c.label] = c.start(workload, best), described(best)
        except Ended as ended:
            note(f"{workload.name}: left out: {ended}")
    rounds = args.rounds if all(p.seconds < 1 for p in processes.values()) else min(args.rounds, 3)
    times = {label: [] for label in processes}
    for _ in range(rounds):
        for label, process in list(processes.items()):
            try:
                times[label].append(process.turn())
            except Ended as ended:
                note(f"{workload.name}: {label} is left out: {ended}")
                del processes[label], settings[label], times[label]
    for process in processes.values():
        process.end()
    return table.Row(workload, times), settings, {label: p.memory for label, p in processes.items()}

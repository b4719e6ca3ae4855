"""What all parts of the comparison share: where models lie, what counts as equal, and the table of what was compared."""
import random
import tempfile

import folders
import reference


class Table:
    """By kind of model and part."""

    def __init__(self):
        self.rows, self.failed = {}, 0

    def add(self, kind, part, ratio=0.0, note=None):
        row = self.rows.setdefault((kind, part), dict(count=0, worst=0.0, notes={}))
        row['count'] += 1
        row['worst'] = max(row['worst'], ratio)
        if note:
            row['notes'][note] = row['notes'].get(note, 0) + 1

    def fail(self, kind, part, settings, problem):
        self.failed += 1
        print(f'{kind}, {part}: {problem}\n    {settings}', flush=True)

    def judge(self, kind, part, settings, ratio, what='logits', note=None):
        """ratio: a difference, as a fraction of what is allowed."""
        self.add(kind, part, ratio, note)
        if not ratio <= 1:
            self.fail(kind, part, settings, f'{what}: {ratio:.3g} times as far away as allowed')

    def show(self):
        print(f'\n{"":16} {"":10} {"compared":>8}  worst, of what is allowed')
        for (kind, part), row in self.rows.items():
            notes = ', '.join(f'{count} {note}' for note, count in row['notes'].items())
            worst = f'{row["worst"]:.2f}' if row['worst'] else ''
            print(f'{kind:16} {part:10} {row["count"]:8}  {worst:5} {notes}'.rstrip())
        compared = sum(row['count'] for row in self.rows.values())
        print(f'{max(0, compared - self.failed)} passed, {self.failed} failed, 0 skipped')


class Comparison:
    """run: tests/hugging_face/run_model.cpp. quick: few configurations, none of real shape. cases: how many configurations
    of each kind, if not as many as each part has. only: the number of one."""

    def __init__(self, program, scratch, seed, quick, cases=None, only=None):
        self.run = folders.Program(program, scratch)
        self.scratch, self.seed, self.quick = scratch, seed, quick
        self.cases, self.only = cases, only
        self.table = Table()

    def numbered(self, part, kind, many, few):
        """The numbers of a part's configurations, each with choices of its own: any of them can be made again."""
        numbers = range(self.cases or (few if self.quick else many)) if self.only is None else [self.only]
        return ((i, random.Random(f'{self.seed} {part} {kind} {i}')) for i in numbers)

    def folder(self):
        return tempfile.TemporaryDirectory(dir=self.scratch)


def distance(a, b, largest):
    """The largest difference, as a fraction of this number."""
    found = ((a.double() - b.double()).abs().max() / largest).item()
    return found if found == found else float('inf')


def logits_ratio(ours, single, exact, inputs):
    """Allowed are 2e-6 of the largest, or 1.5 times the distance of transformers in float32 from itself in float64.
    Positions of padding are not compared."""
    worst = 0.0
    for name, wanted in single.items():
        a, b, c = (x[reference.real(inputs)] if x.ndim == 3 else x for x in (ours[name], wanted, exact[name]))
        if a.shape != b.shape:
            return float('inf')
        largest = c.abs().max().item()
        worst = max(worst, distance(a, b, largest) / max(2e-6, 1.5 * distance(b, c, largest)))
    return worst

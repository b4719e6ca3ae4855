"""What all comparisons with PyTorch share: how far a result may be away, and what is printed."""
import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../golden'))

# A result may be this far from PyTorch's in float64, as a fraction of the largest number that it is made of: sixteen units in
# the last place, as sums have another order, and functions other roundings.
FLOOR = 2e-6
# And 1.5 times as far as PyTorch's own results are from that: in float32, and in float64 from inputs that are moved by up to
# four units in their last place, as each layer rounds several times. Both say how much rounding matters in a case; one of them
# alone is sometimes lucky.
PEER = 1.5
MOVE = 2.0 ** -21
# But rounding excuses no more than this. Otherwise a mistake on PyTorch's side would excuse everything.
MOST = 1e-2


def moved(x, generator):
    """A copy, with each number up to MOVE of itself larger or smaller."""
    import torch
    return x * (1 + MOVE * (2 * torch.rand(x.shape, generator=generator, dtype=torch.float64) - 1))


def distance(a, b):
    """The largest difference; infinite for a NaN, or another shape."""
    if a.shape != b.shape:
        return float('inf')
    difference = (a.double() - b.double()).abs()
    difference[a.double() == b.double()] = 0  # infinities too
    found = difference.max().item() if difference.numel() else 0.0
    return found if found == found else float('inf')


def largest(x):
    return x.double().abs().max().item() if x.numel() else 0.0


def allowed(exact, others, size, floor=FLOOR):
    """others: PyTorch's results with rounding."""
    return floor * size + min(PEER * max(distance(x, exact) for x in others), MOST * size)


def ratio(ours, exact, others, terms=0.0, floor=FLOOR):
    """The error, as a fraction of what is allowed: above 1 is too large. terms: the largest number of this case. A tenth of
    it counts as the size of a result that is smaller, which may be a sum of such numbers that cancel."""
    error, bound = distance(ours, exact), allowed(exact, others, max(largest(exact), 0.1 * terms), floor)
    if not error < float('inf'):
        return float('inf')
    return error / bound if error and bound else float('inf') if error else 0.0


def ratio_of_each(ours, exact, others):
    """The same of functions of one number, where no sum hides a tail: each is judged by its own size."""
    if ours.shape != exact.shape:
        return float('inf')
    ours = ours.double()
    bound = FLOOR * exact.abs()
    for x in others:
        bound = bound.maximum(FLOOR * exact.abs() + PEER * (x.double() - exact).abs())
    found = (ours - exact).abs() / bound
    found[(ours == exact) | (ours.isnan() & exact.isnan())] = 0  # infinities and zeros too
    most = found.max().item() if found.numel() else 0.0
    return most if most == most else float('inf')


class Worst:
    """How many cases were compared, and the largest error of all, over its bound."""

    def __init__(self, what):
        self.what, self.cases, self.failed, self.ratio, self.where = what, 0, 0, 0.0, ''

    def add(self, case, found):
        """found: the error over its bound, and where it is."""
        self.cases += 1
        value, where = max(found, default=(0.0, ''))
        if value > self.ratio:
            self.ratio, self.where = value, f'{where}, case {case}'
        if value <= 1:
            return
        self.failed += 1
        print(f'{self.what}, case {case}: {where}: {value:.3g} times as far away as allowed', flush=True)

    def fail(self, case, problem):
        self.cases, self.failed = self.cases + 1, self.failed + 1
        print(f'{self.what}, case {case}: {problem}', flush=True)

    def show(self, cases='cases'):
        where = f' ({self.where})' if self.where else ''
        print(f'{self.what}: {self.cases} {cases}, worst error {self.ratio:.2f} of the bound{where}, '
              f'{self.failed} differ', flush=True)


def arguments(cases):
    parser = argparse.ArgumentParser()
    parser.add_argument('program', help='tests/trust/peers/tensors.cpp, compiled')
    parser.add_argument('--cases', type=int, default=cases)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', type=int, help='the number of one case')
    parser.add_argument('--each', action='store_true', help='a line for each kind of case')
    return parser.parse_args()


def torch_or_none():
    """PyTorch, computing in float64 unless it is told otherwise."""
    try:
        import torch
    except ImportError:
        return None
    if int(torch.__version__.split('.')[0]) < 2:
        return None
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)  # all is small
    return torch


def tensors_of(program, *words):
    """What the program computes: tensors by name, and the metadata."""
    from pytorch_models import read_file
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'tensors')
        done = subprocess.run([program, *map(str, words), path], stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(f'the program ended with {done.returncode}: {done.stderr.strip()}')
        return read_file(path)

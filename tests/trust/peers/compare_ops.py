"""Compares each op of autograd/ops.h with PyTorch: what it returns, and its gradients, with random shapes and options.

    python3 tests/trust/peers/compare_ops.py TENSORS [--cases N] [--seed N] [--only N] [--each]

TENSORS is tests/trust/peers/tensors.cpp, compiled. Case n is of a row of the table of ops (tests/ops.h), which has PyTorch's
expression, too; --only N runs one again. PyTorch repeats it in float64, and with rounding to see how far we may be away
(peers.py). --each: a line for each op.
"""
import sys

import peers

torch = peers.torch_or_none()
AT_A_TIME = 500  # cases in a file
SAMPLES = 6  # of moved inputs: one alone is often lucky


def part(case, kind):
    """The tensors of case['kind/...'], by the rest of their names."""
    return {name.split('/', 1)[1]: x for name, x in case.items() if name.startswith(kind + '/')}


def computed(words, case, dtype):
    """What PyTorch makes of a case, by the names that we gave; and the call."""
    from torch_ops import Call
    leaves = {name: x.to(dtype, copy=True).requires_grad_() for name, x in part(case, 'leaf').items()}
    others = {name: x.to(dtype) for name, x in part(case, 'constant').items()}
    weights = case.get('output/1')
    starts = part(case, 'upstream')
    call = Call(words, leaves | others, None if weights is None else (weights > 0).to(dtype), starts.get('0'))
    outputs = call.result()
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    results = {f'output/{i}': y.detach() for i, y in enumerate(outputs)}
    wanted = {str(i) for i, y in enumerate(outputs) if y.requires_grad}
    if wanted != set(starts):
        raise RuntimeError(f'we have gradients of outputs {sorted(starts)}, PyTorch of {sorted(wanted)}')
    if starts:
        torch.autograd.backward([outputs[int(i)] for i in starts], [x.to(dtype) for x in starts.values()])
        results |= {f'gradient/{name}': torch.zeros_like(x) if x.grad is None else x.grad for name, x in leaves.items()}
    return results, call


def compare(words, case, number):
    """(error over its bound, where) of each result."""
    generator = torch.Generator().manual_seed(number)
    move = lambda name, x: peers.moved(x, generator) if name.startswith(('leaf/', 'upstream/')) else x
    samples = [{name: move(name, x) for name, x in case.items()} for _ in range(SAMPLES)]
    (exact, call), *others = (computed(words, *given) for given in
                      [(case, torch.float64), (case, torch.float32), *((sample, torch.float64) for sample in samples)])
    ours = {name: x for name, x in case.items() if name.startswith(('output/', 'gradient/'))}
    if set(ours) != set(exact):
        raise RuntimeError(f'we have {sorted(ours)}, PyTorch {sorted(exact)}')
    # What sums of these numbers are made of. (Ours are no part of that: a mistake must not excuse itself; nor are ids and
    # counts.)
    largest = {kind: max([stretch * peers.largest(x) for x in part(case, given).values()] +
                         [peers.largest(x) for x in part(exact, kind).values()], default=0.0)
               for kind, given, stretch in (('output', 'leaf', 1.0), ('gradient', 'upstream', call.stretch))}

    def ratio(name):
        kind, theirs = name.split('/')[0], [x[name] for x, _ in others]
        # Number by number, where each depends on one number of each input: not gradients that are sums.
        if call['elementwise'] and (kind == 'output' or sum(name.startswith('leaf/') for name in case) == 1):
            return peers.ratio_of_each(ours[name], exact[name], theirs)
        return peers.ratio(ours[name], exact[name], theirs, largest[kind])
    return [(ratio(name), f'{name} of {words}') for name in ours]


def by_case(tensors):
    cases = {}
    for name, x in tensors.items():
        number, rest = name.split('/', 1)
        cases.setdefault(int(number), {})[rest] = x
    return cases


def main():
    args = peers.arguments(1000)
    if torch is None:
        print('ops: left out, as this Python has no PyTorch 2')
        return 0
    total, each = peers.Worst('ops against PyTorch ' + torch.__version__), {}
    first, end = (0, args.cases) if args.only is None else (args.only, args.only + 1)
    for begin in range(first, end, AT_A_TIME):
        tensors, words = peers.tensors_of(args.program, 'ops', args.seed, begin, min(end, begin + AT_A_TIME))
        cases = by_case(tensors)
        for number in map(int, words):
            try:
                found = compare(words[str(number)], cases[number], number)
                total.add(number, found)
                each.setdefault(words[str(number)].split('\t')[0], []).append(max(found)[0])
            except RuntimeError as error:
                total.fail(number, f'{words[str(number)]}: {error}')
    for op in sorted(each) if args.each else []:
        print(f'    {op:20} {len(each[op]):5} {max(each[op]):.2f}')
    total.show(f'cases of {len(each)} ops')
    return 1 if total.failed else 0


if __name__ == '__main__':
    sys.exit(main())

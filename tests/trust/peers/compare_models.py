"""Compares random models with PyTorch: logits, losses, gradients of all weights, and four steps of Adam or AdamW.

    python3 tests/trust/peers/compare_models.py TENSORS [--cases N] [--seed N] [--only N] [--each]

TENSORS is tests/trust/peers/tensors.cpp, compiled. Case n is a translator, a language model, a masked language model or a
classifier, by n % 4. Half of them have the layers of torch.nn: nn.Transformer, nn.TransformerEncoder. The others have any
option of models/config.h, by the formulas of tests/golden/pytorch_models.py. PyTorch computes in float64, and in float32 to
see how far that may be away (peers.py). Positions of padding are not compared. --each: a line for each kind.
"""
import json
import sys

import peers

torch = peers.torch_or_none()
STEPS = 4
# Of what comes after the first step of Adam, in the place of peers.FLOOR: a step divides by the root of the square, and so
# makes noise in small gradients as large as what large ones say.
TRAINED = 1e-4
# A gradient is up to this share of the largest in its tensor away from the true one. Adam divides it by its own size, so
# the weights of small gradients may be further away, by some steps' lengths.
GRADIENT_NOISE = 1e-5


def configuration(metadata):
    c = {name.removeprefix('config.'): json.loads(text) for name, text in metadata.items()}
    return c | dict(tgt_vocabulary=c['vocabulary'])


def part(tensors, kind):
    return {name[len(kind) + 1:]: x for name, x in tensors.items() if name.startswith(kind + '/')}


def built(c, weights, dtype):
    from pytorch_models import Stack, Translator
    module = (Translator if c['kind'] == 'translator' else Stack)(c)
    module.load_state_dict(weights, strict=True)
    return module.to(dtype)


def loss_of(c, module, inputs):
    from pytorch_models import PAD
    given = [inputs['src'], inputs['ids']] if 'src' in inputs else [inputs['ids']]
    if c['kind'] == 'classifier':
        given.append(inputs.get('types'))
    logits = module(*given)
    return torch.nn.functional.cross_entropy(
        logits.flatten(0, -2), inputs['targets'].flatten(), label_smoothing=c['label_smoothing'],
        ignore_index=-100 if c['kind'] == 'classifier' else PAD)


def adam(c, module):
    kind = torch.optim.AdamW if c['decoupled'] else torch.optim.Adam
    return kind(module.parameters(), lr=c['lr'], betas=(c['beta1'], c['beta2']), eps=c['eps'],
                weight_decay=c['weight_decay'])


def gradient(p):
    """A weight that no gradient has reached has none, and does not move."""
    return torch.zeros_like(p) if p.grad is None else p.grad


def effective_gradients(c, state):
    """What Adam divides: with weight decay that is not decoupled, the sum of both."""
    decay = 0 if c['decoupled'] else c['weight_decay']
    return {name: (gradient(p) + decay * p.detach()).abs() for name, p in state.items()}


def computed(c, tensors, dtype, move=None):
    """Results by the names that we gave; and, of each weight, the smallest gradient of all steps over the largest.
    move: draws by how much each weight is moved at first."""
    inputs = {name: x.long() for name, x in part(tensors, 'input').items()}
    module = built(c, part(tensors, 'weight'), dtype)
    with torch.no_grad():
        for p in module.parameters() if move else []:
            p.copy_(peers.moved(p, move))
        results = {'logits': module(*(inputs[name] for name in ('src', 'ids', 'types') if name in inputs))}
    optimizer, clear = adam(c, module), {}
    state = module.state_dict(keep_vars=True)  # tied weights under each of their names
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(c, module, inputs)
        loss.backward()
        results[f'loss/{step}'] = loss.detach()
        if step == 0:
            results |= {'gradient/' + name: gradient(p).clone() for name, p in state.items()}
        for name, g in effective_gradients(c, state).items():
            share = g / max(peers.largest(g), 1e-300)
            clear[name] = torch.minimum(clear.get(name, share), share)
        optimizer.step()
    results |= {'final/' + name: p.detach() for name, p in state.items()}
    return results, clear


def trained_ratio(c, ours, exact, others, clear):
    """Element by element, as each has its own gradient, and its own noise: a bias of keys, whose true gradient is 0, stands
    in one tensor with those of queries and values."""
    if ours.shape != exact.shape:
        return float('inf')
    blurred = (GRADIENT_NOISE / clear.double()).clamp(max=2)
    noise = torch.stack([(x.double() - exact).abs() for x in others]).amax(0)
    allowed = peers.FLOOR * peers.largest(exact) + c['lr'] * STEPS * (TRAINED + blurred) + peers.PEER * noise
    found = ((ours - exact).abs() / allowed).max().item() if ours.numel() else 0.0
    return found if found == found else float('inf')


def real_rows(x, tensors):
    return x[tensors['input/ids'] != 0] if x.ndim == 3 else x


def compare(c, tensors, number):
    """(error over its bound, where) of each result."""
    exact, clear = computed(c, tensors, torch.float64)
    others = [computed(c, tensors, torch.float32)[0],
              computed(c, tensors, torch.float64, torch.Generator().manual_seed(number))[0]]
    ours = {name: x for name, x in tensors.items() if not name.startswith(('input/', 'weight/'))}
    if set(ours) != set(exact):
        raise RuntimeError(f'only one of both has {sorted(set(ours) ^ set(exact))}')
    terms = max(peers.largest(x) for name, x in exact.items() if name.startswith('gradient/'))
    found = []
    for name, x in ours.items():
        theirs = exact[name], [other[name] for other in others]
        if name.startswith('final/'):
            ratio = trained_ratio(c, x, *theirs, clear[name.removeprefix('final/')])
        elif name == 'logits':
            x, *theirs = (real_rows(y, tensors) for y in (x, theirs[0], *theirs[1]))
            ratio = peers.ratio(x, theirs[0], theirs[1:])
        else:
            # A loss near 0 is a difference of logits.
            ratio = peers.ratio(x, *theirs, terms if name.startswith('gradient/') else peers.largest(exact['logits']),
                                TRAINED if name.startswith('loss/') and name != 'loss/0' else peers.FLOOR)
        found.append((ratio, f'{name} of a {c["kind"]}'))
    return found


def main():
    args = peers.arguments(300)
    if torch is None:
        print('models: left out, as this Python has no PyTorch 2')
        return 0
    from pytorch_models import in_torch
    total, each = peers.Worst('models against PyTorch ' + torch.__version__), {}
    for number in range(args.cases) if args.only is None else [args.only]:
        try:
            tensors, metadata = peers.tensors_of(args.program, 'model', args.seed, number)
            c = configuration(metadata)
            found = compare(c, tensors, number)
        except RuntimeError as error:
            total.fail(number, str(error))
            continue
        total.add(number, found)
        layers = 'torch.nn' if in_torch(dict(c, n_layers=1)) else 'formulas'
        for ratio, where in found:
            key = (c['kind'], layers, where.split('/')[0].split(' ')[0])
            each.setdefault(key, []).append(ratio)
    for key in sorted(each) if args.each else []:
        print('    %-12s %-9s %-9s' % key, f'{len(each[key]):6} {max(each[key]):.2f}')
    total.show('cases')
    return 1 if total.failed else 0


if __name__ == '__main__':
    sys.exit(main())

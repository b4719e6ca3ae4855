"""Logits of random configurations, from files of every form, padded, and token by token; and those of real shapes."""
import os
import random

import torch

import compare_search
import configurations
import folders
import reference
from comparison import logits_ratio
from configurations import build, family


def logits(c, kind):
    for i, rng in c.numbered('logits', kind, 24, 3):
        settings = configurations.random_settings(kind, rng)
        model = build(kind, settings, i)
        form = folders.FORMS[i % len(folders.FORMS)]
        with c.folder() as folder:
            folders.write(model, form, folder)
            one(c, kind, 'logits', dict(form=form, seed=i, **settings), model, folder, reference.random_inputs(model, rng))


def one(c, kind, part, settings, model, folder, inputs):
    generates = family(kind) != 'bert'
    ours = c.run(folder, inputs, 'logits', *(['steps'] if generates else []))
    single, exact = reference.in_both(model, inputs)
    c.table.judge(kind, part, settings, logits_ratio(ours, single, exact, inputs))
    if generates:
        full = reference.real(inputs).all(1)
        steps = torch.cat([ours[f'steps/{i}'] for i in range(sum(name.startswith('steps/') for name in ours))], 1)
        c.table.add(kind, 'cache')
        if not torch.equal(steps, ours['logits'][full]):
            c.table.fail(kind, 'cache', settings, 'token by token, logits have other bits')


def real(c, kind):
    settings = configurations.REAL.get(kind)
    if settings is None or c.quick:
        return
    rng = random.Random(f'{c.seed} real {kind}')
    torch.set_num_threads(os.cpu_count())
    model = build(kind, settings, 1, configurations.SPREAD)
    with c.folder() as folder:
        folders.write(model, 'float32', folder)
        one(c, kind, 'real', settings, model, folder, reference.random_inputs(model, rng, batch=2, length=100))
        if family(kind) != 'bert':
            prompt = torch.tensor([[rng.randrange(1000) for _ in range(8)]])
            compare_search.one(c, kind, settings, model, folder, prompt, searches=[('greedy', 1)])
    torch.set_num_threads(1)

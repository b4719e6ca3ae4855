"""Each key of config.json, changed: the same logits as transformers', or an error that names the key."""
import json
import random
import re

import torch

import changed_keys
import folders
import reference
from comparison import logits_ratio
from configurations import CLASSES, build

# These do not shape a model; with some of them, transformers would write or read something else.
BESIDE = ('model_type', 'dtype', 'architectures', 'transformers_version', '_name_or_path')


def keys(c, kind):
    if kind.endswith('bare'):
        return
    base = changed_keys.BASES[kind]
    rng = random.Random(f'{c.seed} keys {kind}')
    model = build(kind, base, 7)
    inputs = reference.random_inputs(model, rng, batch=2, length=20)
    usual, _ = reference.in_both(model, inputs)
    changes, unknown = changed_keys.changes(kind, CLASSES[kind].config_class().to_dict())
    for key in unknown:
        c.table.fail(kind, 'keys', key, 'no value is known to change this key to')
    for change in changes:
        with c.folder() as folder:
            write(kind, base, change, folder)
            same_or_refused(c, kind, change, folder, inputs, usual)


def write(kind, base, change, folder):
    try:
        build(kind, base | {key: value for key, value in change.items() if key not in BESIDE}, 7).save_pretrained(folder)
    except Exception:  # transformers refuses the change, in any of many ways; plaingrad should, too
        build(kind, base, 7).save_pretrained(folder)
    with open(folder + '/config.json', encoding='utf-8') as file:
        config = json.load(file)
    if 'rope_scaling' in change:
        config.pop('rope_parameters')
    with open(folder + '/config.json', 'w', encoding='utf-8') as file:
        json.dump(config | change, file)


def same_or_refused(c, kind, change, folder, inputs, usual):
    try:
        ours = c.run(folder, inputs, 'logits')
    except folders.Refused as refused:
        if 'sliding_window' in change and 'maximum length' in str(refused):
            c.table.add(kind, 'keys', note='refused beyond its window')
            shorter = {name: x[:, :change['sliding_window']] if x.ndim == 2 else x for name, x in inputs.items()}
            same_or_refused(c, kind, change, folder, shorter, usual)
            return
        c.table.add(kind, 'keys', note='refused')
        named = [key for key in changed_keys.names(change) if re.search(rf'\b{key}\b', str(refused))]
        if not named or '\n' in str(refused):
            c.table.fail(kind, 'keys', change, f'the error should name the key: {refused}')
        return
    try:
        model = CLASSES[kind].from_pretrained(folder, dtype=torch.float32).eval()
        single, exact = reference.in_both(model, inputs)
    except Exception:  # it has no logits that ours could differ from
        c.table.add(kind, 'keys', note='refused only by transformers')
        return
    other = any(single[name].shape != x.shape or not torch.equal(single[name], x) for name, x in usual.items())
    c.table.judge(kind, 'keys', change, logits_ratio(ours, single, exact, inputs),
                  note='honoured' if other else 'without effect')

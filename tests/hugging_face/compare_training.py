"""Losses, gradients, weights after five steps of AdamW; then saved, and loaded by transformers."""

import torch

import configurations
import folders
import reference
from comparison import distance, logits_ratio
from configurations import CLASSES, build

DROPOUTS = ('embd_pdrop', 'resid_pdrop', 'attn_pdrop', 'hidden_dropout_prob', 'attention_probs_dropout_prob',
            'attention_dropout')


def training(c, kind):
    if kind.endswith('bare'):
        return
    dropout = {key: 0.0 for key in DROPOUTS if hasattr(CLASSES[kind].config_class(), key)}
    for i, rng in c.numbered('training', kind, 10, 2):
        settings = configurations.random_settings(kind, rng) | dropout
        model = build(kind, settings, i)
        inputs = reference.with_targets(kind, model, reference.random_inputs(model, rng, length=8), rng)
        with c.folder() as folder, c.folder() as saved:
            folders.write(model, 'float32', folder)
            ours = c.run(folder, inputs, 'train', saved)
            trained(c, kind, dict(seed=i, **settings), model, inputs, ours, saved)


def trained(c, kind, settings, model, inputs, ours, saved):
    with reference.double(model) as exact:
        exact_losses, exact_gradients = reference.train(exact, inputs)
    losses, gradients = reference.train(model, inputs)
    for i, (a, b) in enumerate(zip(losses, exact_losses)):
        size = b.abs().item()
        allowed = max(2e-6 if i == 0 else 1e-4, 1.5 * distance(a, b, size))
        c.table.judge(kind, 'loss', settings, distance(ours[f'loss/{i}'], b, size) / allowed, f'loss {i}')
    for name in used(model):
        ratio = weight_ratio(name, ours['gradient/' + name], gradients[name], exact_gradients[name])
        c.table.judge(kind, 'gradient', settings, ratio, f'gradients of {name}')

    again, info = CLASSES[kind].from_pretrained(saved, output_loading_info=True, dtype=torch.float32)
    c.table.add(kind, 'saved')
    for what, names in info.items():
        if names:
            c.table.fail(kind, 'saved', settings, f'{what}: {names}')
    found, single = dict(again.named_parameters()), dict(model.named_parameters())
    trained_exact = dict(exact.named_parameters())
    for name in used(model):
        clear = is_clear(name, exact_gradients[name])
        ratio = weight_ratio(name, *(x[name].detach()[clear] for x in (found, single, trained_exact)))
        c.table.judge(kind, 'weights', settings, ratio, name)
    logits, exact_logits = reference.in_both(again.eval(), inputs)
    c.table.judge(kind, 'saved', settings, logits_ratio(dict(logits=ours['trained']), logits, exact_logits, inputs))
    before, after = (configurations.meaning(kind, m.config) for m in (model, again))
    for key in before | after:
        if before.get(key) != after.get(key):
            c.table.fail(kind, 'saved', settings, f'config.json: {key} was {before.get(key)}, is {after.get(key)}')


def is_clear(name, gradient):
    """Where a gradient is so small that its sign is up to rounding, AdamW makes of it a step of either direction. Those of
    the biases of keys are all so in GPT-2 and BERT, as they add the same to all scores of a query; and most of them are
    where slow rotary positions add nearly the same."""
    clear = (gradient == 0) | (gradient.abs() > (1e-2 if name.endswith('k_proj.bias') else 1e-5) * gradient.abs().max())
    if name.endswith('attn.c_attn.bias'):
        clear.view(3, -1)[1] = False
    return clear & (not name.endswith('attention.self.key.bias'))


def used(model):
    """The names of parameters that change what it computes. Of an untied BERT's two output biases only the decoder's does."""
    untied = getattr(model, 'cls', None) is not None and not model.config.tie_word_embeddings
    return [name for name, _ in model.named_parameters() if not (untied and name == 'cls.predictions.bias')]


def weight_ratio(name, ours, single, exact):
    """Allowed are 1e-4 of the tensor's largest number, or 1.5 times the distance of torch in float32 from float64."""
    if ours.numel() == 0 or name.endswith('attention.self.key.bias'):
        return 0.0
    largest = exact.abs().max().item()
    if largest == 0:
        return 0.0 if ours.abs().max() == 0 else float('inf')
    return distance(ours, exact, largest) / max(1e-4, 1.5 * distance(single, exact, largest))

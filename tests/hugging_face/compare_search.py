"""Greedy search and beams: the same tokens, up to ties, and up to one thing: of the texts of a beam, plaingrad prefers one
that has ended to a better one that was cut."""

import torch

import configurations
import folders
import reference
from configurations import build, family

TIE = 1e-5
LENGTH = 64  # tokens to generate


def search(c, kind):
    if family(kind) == 'bert' or kind.endswith('bare'):
        return
    for i, rng in c.numbered('search', kind, 12, 2):
        settings = configurations.random_settings(kind, rng)
        size = settings['vocab_size']
        settings['n_positions' if kind == 'gpt2' else 'max_position_embeddings'] = LENGTH + 16
        settings |= dict(eos_token_id=rng.choice([None, rng.randrange(size)]))
        settings |= dict(sliding_window=None) if kind in ('mistral', 'qwen2') else {}
        model = build(kind, settings, i)
        prompt = torch.tensor([[rng.randrange(size - 1) for _ in range(rng.randint(1, 9))]])
        with c.folder() as folder:
            folders.write(model, 'float32', folder)
            one(c, kind, dict(seed=i, **settings), model, folder, torch.cat([prompt, (prompt + 1) % (size - 1)]))


def one(c, kind, settings, model, folder, prompts, searches=(('greedy', 1), ('beam', 4))):
    inputs = dict(pad=torch.tensor([model.config.vocab_size - 1]), ids=prompts)
    ours = c.run(folder, inputs, *(word for name, _ in searches for word in (name, LENGTH)))
    for name, beams in searches:
        for b, wanted in enumerate(reference.generate(model, prompts, LENGTH, beams)):
            found = [int(id) for id in ours[f'{name}/{b}'].tolist()[:-1]]
            why = None if found == wanted else excuse(model, prompts[b].tolist(), found, wanted, beams)
            c.table.add(kind, name, note=why)
            if found != wanted and why is None:
                c.table.fail(kind, name, settings, f'{prompts[b].tolist()} goes on\n    {found}, wanted\n    {wanted}')


def excuse(model, prompt, found, wanted, beams):
    if beams > 1 and len(found) < LENGTH == len(wanted):
        return 'ended, not cut'
    return 'ties' if (is_tie if beams == 1 else are_equally_good)(model, prompt, found, wanted) else None


def ended(model, text):
    end = model.config.eos_token_id
    return text if end is None or len(text) == LENGTH else text + [end]


def is_tie(model, prompt, found, wanted):
    """Whether the tokens where the two part are equally probable, up to rounding."""
    found, wanted = ended(model, found), ended(model, wanted)
    i = next((i for i, (a, b) in enumerate(zip(found, wanted)) if a != b), None)
    if i is None:
        return False
    with torch.no_grad(), reference.double(model) as exact:
        logits = exact(torch.tensor([prompt + wanted[:i]])).logits[0, -1]
    return (logits[found[i]] - logits[wanted[i]]).abs() < TIE


def are_equally_good(model, prompt, *texts):
    scores = []
    with torch.no_grad(), reference.double(model) as exact:
        for text in texts:
            ids = torch.tensor([prompt + ended(model, text)])
            p = exact(ids).logits[0, :-1].log_softmax(-1).gather(-1, ids[0, 1:, None])
            scores.append(p[len(prompt) - 1:].sum())
    return (scores[0] - scores[1]).abs() < TIE

"""What transformers computes, in float32 and in float64."""
import contextlib
import copy
import sys

import torch


def random_inputs(model, rng, batch=None, length=None):
    """ids (B, T), padded on the right with an id that is not in the texts; at least one text is not padded."""
    c = model.config
    longest = min(c.max_position_embeddings, getattr(c, 'sliding_window', None) or 10**9)
    batch, length = batch or rng.randint(1, 4), min(longest, length or rng.randint(2, 64))
    generator = torch.Generator().manual_seed(rng.getrandbits(32))
    pad = rng.randrange(c.vocab_size) if c.pad_token_id is None else c.pad_token_id
    ids = torch.randint(c.vocab_size - 1, (batch, length), generator=generator)
    ids += (ids >= pad).long()
    for row in range(1, batch):
        ids[row, rng.randint(1, length):] = pad
    inputs = dict(pad=torch.tensor([pad]), ids=ids)
    if c.model_type == 'bert' and rng.random() < 0.8:
        inputs['types'] = torch.randint(c.type_vocab_size, (batch, length), generator=generator)
    return inputs


def real(inputs):
    """(B, T): not padding."""
    return inputs['ids'] != inputs['pad']


def arguments(inputs):
    given = dict(input_ids=inputs['ids'], attention_mask=real(inputs).long())
    return given | ({'token_type_ids': inputs['types']} if 'types' in inputs else {})


class _Torch:
    """torch, whose float32 is float64."""

    float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@contextlib.contextmanager
def double(model):
    """A copy that computes in float64 throughout: RMSNorm and softmax ask for float32 by name. (Only rotary angles stay
    float32, here as in plaingrad: published models were trained with these.)"""
    module = sys.modules[type(model).__module__]
    module.torch = _Torch()
    try:
        yield copy.deepcopy(model).double()
    finally:
        module.torch = torch


def outputs(model, inputs):
    """logits; of a bare model of BERT the last layer's vectors, by that name, and pooled."""
    model.config.return_dict = True  # transformers itself needs it
    out = model(**arguments(inputs))
    if hasattr(out, 'logits'):
        return dict(logits=out.logits)
    if model.config.model_type == 'bert':
        return dict(logits=out.last_hidden_state, pooled=out.pooler_output)
    return dict(logits=out.last_hidden_state @ model.get_input_embeddings().weight.T)


def in_both(model, inputs, compute=outputs):
    """In float32 and in float64."""
    with torch.no_grad():
        single = compute(model, inputs)
        with double(model) as exact:
            return single, compute(exact, inputs)


# ---- Training

def with_targets(kind, model, inputs, rng):
    """What to predict: the next tokens, which are in the inputs, some tokens, or a class."""
    ids = inputs['ids']
    if kind == 'bert':
        chosen = torch.tensor([[rng.random() < 0.3 for _ in row] for row in ids]) & real(inputs)
        chosen[0, 0] = True
        return inputs | dict(targets=torch.where(chosen, (ids + 1) % model.config.vocab_size, inputs['pad']))
    if kind == 'bert classifier':
        return inputs | dict(targets=torch.tensor([rng.randrange(model.config.num_labels) for _ in ids]))
    return inputs


def train(model, inputs, steps=5):
    """Five steps of AdamW: the losses, the first step's gradients; the model has the new weights."""
    labels = inputs.get('targets', inputs['ids'])
    if labels.ndim == 2:
        labels = torch.where(labels == inputs['pad'], -100, labels)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(**arguments(inputs), labels=labels).loss
        loss.backward()
        losses.append(loss.detach())
        if step == 0:
            gradients = {name: torch.zeros_like(p) if p.grad is None else p.grad.clone()
                         for name, p in model.named_parameters()}
        optimizer.step()
    model.eval()
    return losses, gradients


# ---- Generation

@torch.no_grad()
def generate(model, rows, n, beams=1):
    """Up to n tokens after each of these texts, by greedy search or with beams, without the end."""
    ends = model.config.eos_token_id
    out = model.generate(rows, attention_mask=torch.ones_like(rows), do_sample=False, max_new_tokens=n, num_beams=beams,
                         length_penalty=0.0, early_stopping=False, pad_token_id=model.config.vocab_size - 1,
                         **(dict(eos_token_id=ends) if ends is not None else {}))
    found = []
    for row in out[:, rows.shape[1]:].tolist():
        found.append(row[:row.index(ends)] if ends in row else row)
    return found

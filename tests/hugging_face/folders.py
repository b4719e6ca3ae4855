"""Folders of models in the forms in which people have them, and what plaingrad computes from one."""
import copy
import json
import os
import subprocess

import torch
from safetensors.torch import load_file, save_file

FORMS = ['float32', 'float32', 'float16', 'bfloat16', 'sharded', 'older']


def write(model, form, folder):
    """Rounds the model's weights to what the folder holds."""
    if form in ('float16', 'bfloat16'):
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(p.to(getattr(torch, form)))
        copy.deepcopy(model).to(getattr(torch, form)).save_pretrained(folder)
    elif form == 'sharded':
        model.save_pretrained(folder, max_shard_size='10KB')
        assert sum(p.numel() for p in model.parameters()) < 3000 or os.path.exists(folder + '/model.safetensors.index.json')
    else:
        model.save_pretrained(folder)
    if form == 'older':
        make_older(folder, model.config)


def make_older(folder, config):
    """Names and keys as years ago: LayerNorm.gamma, no prefix or another one, buffers among the weights, rope_scaling."""
    path = folder + '/model.safetensors'
    with open(folder + '/config.json', encoding='utf-8') as file:
        keys = json.load(file)
    older = dict(bert=older_bert, gpt2=older_gpt2).get(config.model_type, older_llama)
    save_file(older(load_file(path), keys), path, metadata={'format': 'pt'})
    keys['torch_dtype'] = keys.pop('dtype', 'float32')
    with open(folder + '/config.json', 'w', encoding='utf-8') as file:
        json.dump(keys, file)


def prefix_of(tensors, prefix):
    """The prefix, if any name has it."""
    return prefix if any(name.startswith(prefix) for name in tensors) else ''


def older_bert(tensors, keys):
    keys['position_embedding_type'] = 'absolute'
    older = {name.replace('LayerNorm.weight', 'LayerNorm.gamma').replace('LayerNorm.bias', 'LayerNorm.beta'): x
             for name, x in tensors.items()}
    return older | {prefix_of(tensors, 'bert.') + 'embeddings.position_ids': torch.arange(9)[None]}


def older_gpt2(tensors, keys):
    """The prefix is taken away where it is, and added where it is not."""
    keys['n_ctx'] = keys['n_positions']
    before = prefix_of(tensors, 'transformer.')
    after = '' if before else 'transformer.'
    older = {name if name.startswith('lm_head') else after + name.removeprefix(before): x for name, x in tensors.items()}
    for i in range(keys['n_layer']):
        older[f'{after}h.{i}.attn.bias'] = torch.ones(1, 1, 8, 8).tril()
        older[f'{after}h.{i}.attn.masked_bias'] = torch.tensor(-1e4)
    return older


def older_llama(tensors, keys):
    rope = keys.pop('rope_parameters')
    keys['rope_theta'] = rope.pop('rope_theta')
    keys['rope_scaling'] = None if rope['rope_type'] == 'default' else rope
    if rope['rope_type'] == 'linear':
        rope['type'] = rope.pop('rope_type')
    prefix = prefix_of(tensors, 'model.')
    return tensors | {f'{prefix}layers.{i}.self_attn.rotary_emb.inv_freq': torch.ones(3)
                      for i in range(keys['num_hidden_layers'])}


class Refused(Exception):
    """plaingrad ended with 1: its message."""


class Program:
    """tests/hugging_face/run_model.cpp, compiled."""

    def __init__(self, path, scratch):
        self.path, self.scratch = path, scratch

    def __call__(self, folder, inputs, *tasks):
        files = self.scratch + '/inputs.safetensors', self.scratch + '/outputs.safetensors'
        save_file({name: x.to(torch.float32) for name, x in inputs.items()}, files[0])
        done = subprocess.run([self.path, folder, *files, *map(str, tasks)], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == 1:
            raise Refused(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        return load_file(files[1])

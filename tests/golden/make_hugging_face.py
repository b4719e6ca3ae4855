"""Makes tests/golden/hugging_face: small folders as transformers writes them, a few kB each, with random weights; and
hugging_face.safetensors beside them: what transformers computes from each, in float64.

    python3 tests/golden/make_hugging_face.py

Needs `transformers` and `torch` (made with 5.23 and 2.15). The tests need no Python.
"""
import os
import shutil
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, 'hugging_face'), HERE]

import configurations  # noqa: E402
import folders  # noqa: E402
import make_golden  # noqa: E402
import reference  # noqa: E402

GPT2 = dict(vocab_size=11, n_positions=9, n_embd=12, n_head=3, n_layer=2, n_inner=20, bos_token_id=1, eos_token_id=2,
            pad_token_id=0)
BERT = dict(vocab_size=11, max_position_embeddings=9, hidden_size=12, num_attention_heads=3, num_hidden_layers=2,
            intermediate_size=20)
LLAMA = dict(vocab_size=11, max_position_embeddings=40, hidden_size=16, num_attention_heads=4, num_key_value_heads=2,
             num_hidden_layers=2, intermediate_size=20, pad_token_id=0)
LLAMA3 = dict(rope_type='llama3', rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16)
LINEAR = dict(rope_type='linear', rope_theta=500.0, factor=2.0)

# Folder: the kind of model, the form of its files, its settings.
MODELS = {
    'gpt2': ('gpt2', 'float32', GPT2),
    'gpt2_untied': ('gpt2', 'sharded', GPT2 | dict(tie_word_embeddings=False, activation_function='relu')),
    'gpt2_bare': ('gpt2 bare', 'older', GPT2 | dict(n_inner=None, n_layer=1)),
    'bert': ('bert', 'older', BERT),
    'bert_untied': ('bert', 'float16', BERT | dict(tie_word_embeddings=False, num_hidden_layers=1)),
    'bert_bare': ('bert bare', 'float32', BERT | dict(hidden_act='gelu_new', layer_norm_eps=1e-3)),
    'bert_classifier': ('bert classifier', 'float32',
                        BERT | dict(num_hidden_layers=1, id2label={0: 'bad', 1: 'good', 2: 'so-so'}, type_vocab_size=3)),
    'llama': ('llama', 'float32', LLAMA | dict(rope_parameters=LLAMA3, attention_bias=True, mlp_bias=True, head_dim=6)),
    'llama_tied': ('llama', 'bfloat16', LLAMA | dict(rope_parameters=LINEAR, tie_word_embeddings=True)),
    'llama_bare': ('llama bare', 'older', LLAMA | dict(num_hidden_layers=1, tie_word_embeddings=True, head_dim=4)),
    'mistral': ('mistral', 'float16', LLAMA | dict(head_dim=4, sliding_window=30, rms_norm_eps=1e-3)),
    'qwen2': ('qwen2', 'float32', LLAMA | dict(hidden_size=8)),
}
IDS = torch.tensor([[7, 3, 1, 4, 1, 5, 9, 2], [10, 6, 5, 3, 5, 0, 0, 0], [8, 0, 0, 0, 0, 0, 0, 0]])


def main():
    target = os.path.join(HERE, 'hugging_face')
    shutil.rmtree(target, ignore_errors=True)
    tensors = {}
    for seed, (name, (kind, form, settings)) in enumerate(MODELS.items()):
        model = configurations.build(kind, settings, seed)
        folders.write(model, form, os.path.join(target, name))
        inputs = dict(ids=IDS, pad=torch.tensor([0]))
        if model.config.model_type == 'bert':
            inputs['types'] = (torch.arange(24).view(3, 8) * 7) % model.config.type_vocab_size
            tensors[name + '/input/types'] = inputs['types']
        tensors[name + '/input/ids'] = IDS
        with torch.no_grad(), reference.double(model) as exact:
            for output, x in reference.outputs(exact, inputs).items():
                # Padded positions are not compared.
                tensors[f'{name}/output/{output}'] = x * (reference.real(inputs)[..., None] if x.ndim == 3 else 1)
    make_golden.write_file(os.path.join(HERE, 'hugging_face.safetensors'), tensors)


if __name__ == '__main__':
    main()

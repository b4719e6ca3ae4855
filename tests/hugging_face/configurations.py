"""Models of the families that plaingrad reads: random configurations, real ones, and random weights."""
import torch
import transformers
from torch import nn

# The kinds of models: a family and what stands on its stack.
CLASSES = {
    'gpt2': transformers.GPT2LMHeadModel,
    'gpt2 bare': transformers.GPT2Model,
    'bert': transformers.BertForMaskedLM,
    'bert bare': transformers.BertModel,
    'bert classifier': transformers.BertForSequenceClassification,
    'llama': transformers.LlamaForCausalLM,
    'llama bare': transformers.LlamaModel,
    'mistral': transformers.MistralForCausalLM,
    'qwen2': transformers.Qwen2ForCausalLM,
}


def heads_and_size(rng):
    """With fewer numbers than 16 a norm may divide by almost nothing, and what then comes out is mostly rounding."""
    heads, size = rng.randint(1, 6), rng.randint(2, 18)
    return (heads, size) if heads * size >= 16 else heads_and_size(rng)


def gpt2(rng):
    heads, size = heads_and_size(rng)
    return dict(vocab_size=rng.randint(20, 300), n_positions=rng.randint(8, 80), n_embd=heads * size, n_head=heads,
                n_layer=rng.randint(1, 4), n_inner=rng.choice([None, None, rng.randint(5, 90)]),
                activation_function=rng.choice(['gelu_new', 'gelu_new', 'gelu', 'relu', 'silu', 'gelu_pytorch_tanh']),
                layer_norm_epsilon=rng.choice([1e-5, 1e-6, 1e-2]), tie_word_embeddings=rng.random() < 0.8,
                bos_token_id=None, eos_token_id=None, pad_token_id=rng.choice([None, 3]))


def bert(rng):
    heads, size = heads_and_size(rng)
    return dict(vocab_size=rng.randint(20, 300), max_position_embeddings=rng.randint(8, 80), hidden_size=heads * size,
                num_attention_heads=heads, num_hidden_layers=rng.randint(1, 4), intermediate_size=rng.randint(5, 90),
                hidden_act=rng.choice(['gelu', 'gelu', 'gelu_new', 'relu', 'silu']),
                layer_norm_eps=rng.choice([1e-12, 1e-12, 1e-5]), type_vocab_size=rng.choice([1, 2, 2, 2, 3]),
                tie_word_embeddings=rng.random() < 0.8, num_labels=rng.randint(2, 6), pad_token_id=rng.choice([0, 0, 5]))


def rope(rng):
    rope_theta = rng.choice([10000.0, 500000.0, 100.0])
    return rng.choice([
        dict(rope_type='default', rope_theta=rope_theta),
        dict(rope_type='linear', rope_theta=rope_theta, factor=rng.choice([2.0, 3.5])),
        dict(rope_type='llama3', rope_theta=rope_theta, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
             original_max_position_embeddings=rng.choice([16, 64]))])


def rotary(rng):
    heads, size = heads_and_size(rng)
    size += size % 2
    return dict(vocab_size=rng.randint(20, 300), max_position_embeddings=rng.randint(8, 80), hidden_size=heads * size,
                num_attention_heads=heads, num_key_value_heads=rng.choice([n for n in range(1, heads + 1) if heads % n == 0]),
                num_hidden_layers=rng.randint(1, 4), intermediate_size=rng.randint(5, 90),
                hidden_act=rng.choice(['silu', 'silu', 'gelu', 'gelu_new']), rms_norm_eps=rng.choice([1e-6, 1e-5, 1e-2]),
                tie_word_embeddings=rng.random() < 0.5, rope_parameters=rope(rng), bos_token_id=None, eos_token_id=None)


def head_size(rng, c):
    """A size that is not hidden_size / num_attention_heads, or that one."""
    return rng.choice([c['hidden_size'] // c['num_attention_heads'], 2 * rng.randint(1, 12)])


def llama(rng):
    c = rotary(rng)
    return c | dict(head_dim=head_size(rng, c), attention_bias=rng.random() < 0.4, mlp_bias=rng.random() < 0.4)


def mistral(rng):
    c = rotary(rng)
    return c | dict(head_dim=head_size(rng, c), sliding_window=rng.choice([None, 4096, c['max_position_embeddings'] // 2]))


def qwen2(rng):
    c = rotary(rng)
    return c | dict(sliding_window=c['max_position_embeddings'] // 2, max_window_layers=rng.randint(0, 3))


MAKERS = dict(gpt2=gpt2, bert=bert, llama=llama, mistral=mistral, qwen2=qwen2)


def family(kind):
    return kind.split()[0]


def random_settings(kind, rng):
    settings = MAKERS[family(kind)](rng)
    # The library computes logits, so of a bare model of GPT-2 or Llama those by its embedding.
    return settings | dict(tie_word_embeddings=True) if kind in ('gpt2 bare', 'llama bare') else settings


# The shapes of models that are in use: GPT-2 124M, BERT base, SmolLM 135M. Their matrices have the spread that transformers
# gives them. (With twice that, SmolLM's 30 layers are 1.2 times as far away as allowed: our products sum up to 512 numbers
# in one chain, which rounds 1.5 times as much as PyTorch's shorter ones.)
SPREAD = 0.02
REAL = {
    'gpt2': dict(bos_token_id=None, eos_token_id=None),
    'bert': dict(),
    'bert classifier': dict(),
    'llama': dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
                  num_key_value_heads=3, max_position_embeddings=2048, rms_norm_eps=1e-5, tie_word_embeddings=True,
                  bos_token_id=None, eos_token_id=None),
}


def build(kind, settings, seed, spread=None):
    config = CLASSES[kind].config_class(**settings)
    return with_random_weights(CLASSES[kind](config), seed, spread).eval()


@torch.no_grad()
def with_random_weights(model, seed, spread=None):
    """With the weights of transformers, all biases are zero and attention is even everywhere: much would go unnoticed.
    Here scores and logits are of the size of a few units, and biases and gains differ. spread: the standard deviation of
    matrices, if it should be another."""
    generator = torch.Generator().manual_seed(seed)
    norms = {id(p) for m in model.modules() if 'Norm' in type(m).__name__ for p in m.parameters()}
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    conv1d = {id(m.weight) for m in model.modules() if type(m).__name__ == 'Conv1D'}
    for p in model.parameters():
        noise = torch.randn(p.shape, generator=generator)
        if p.ndim == 1:
            p.copy_((0.2 if id(p) in norms else 0.1) * noise)
        else:
            inputs = p.shape[0] if id(p) in conv1d else p.shape[1]
            p.copy_((spread or (2 if id(p) in tables else 1) / inputs ** 0.5) * noise)
    for m in model.modules():
        if 'Norm' in type(m).__name__:
            m.weight.add_(1)
    return model


def meaning(kind, config):
    """What a configuration says, in one form."""
    c = {key: value for key, value in config.to_dict().items()
         if key not in ('transformers_version', 'architectures', '_name_or_path', 'dtype')}
    if kind == 'bert classifier':
        c['classifier_dropout'] = c['hidden_dropout_prob'] if c['classifier_dropout'] is None else c['classifier_dropout']
    else:
        c = {key: value for key, value in c.items() if key not in ('id2label', 'label2id')}
    same = dict(gelu_pytorch_tanh='gelu_new', swish='silu')
    c |= {key: same.get(c[key], c[key]) for key in ('activation_function', 'hidden_act') if key in c}
    if kind.startswith('gpt2'):
        c['n_inner'] = c['n_inner'] or 4 * c['n_embd']
    if kind == 'qwen2':
        c['head_dim'] = c.get('head_dim') or c['hidden_size'] // c['num_attention_heads']
    c.pop('max_window_layers', None)  # layer_types say the same
    window = c.get('sliding_window') or config.max_position_embeddings
    slides = 'sliding_attention' in (c.get('layer_types') or ['sliding_attention'])
    if window >= config.max_position_embeddings or not slides:
        c = {key: value for key, value in c.items() if key not in ('sliding_window', 'use_sliding_window', 'layer_types')}
    return c

"""Every key of every family's default configuration, changed: plaingrad must follow, or refuse it by name."""
from configurations import family

ROTARY = dict(vocab_size=50, hidden_size=24, intermediate_size=30, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=40)
# Small models, otherwise as the default configuration is.
BASES = {
    'gpt2': dict(vocab_size=50, n_positions=40, n_embd=24, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2),
    'bert': dict(vocab_size=50, max_position_embeddings=40, hidden_size=24, intermediate_size=30, num_hidden_layers=2,
                 num_attention_heads=4),
    'llama': ROTARY | dict(head_dim=6),
    'mistral': ROTARY | dict(head_dim=6),
    'qwen2': ROTARY,
}
BASES['bert classifier'] = BASES['bert bare'] = BASES['bert']

ACTIVATIONS = ['relu', 'gelu', 'gelu_new', 'gelu_pytorch_tanh', 'gelu_python_tanh', 'gelu_fast', 'quick_gelu', 'silu',
               'swish', 'tanh', 'mish', 'relu2', 'gelu_10']
THETA = dict(rope_theta=10000.0)
LLAMA3 = dict(rope_type='llama3', factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0)
ROPES = [
    dict(rope_type='default', rope_theta=50.0),
    dict(rope_type='linear', factor=2.0, **THETA),
    dict(rope_type='linear', factor=3.5, rope_theta=77.0),
    dict(LLAMA3, original_max_position_embeddings=20, **THETA),
    dict(LLAMA3, original_max_position_embeddings=8, rope_theta=100.0),
    dict(rope_type='dynamic', factor=2.0, **THETA),
    dict(rope_type='yarn', factor=2.0, original_max_position_embeddings=20, **THETA),
    dict(rope_type='longrope', factor=2.0, short_factor=[1.0] * 3, long_factor=[2.0] * 3,
         original_max_position_embeddings=20, **THETA),
    dict(rope_type='proportional', partial_rotary_factor=0.5, **THETA),
    dict(rope_type='default', partial_rotary_factor=0.5, **THETA),
]
LABELS = {'0': 'a', '1': 'b', '2': 'c'}

# By key, or by family and key: the values to try. {} stands for several keys at once.
CHANGES = {
    'transformers_version': ['4.1.0'],
    'architectures': [['T5ForConditionalGeneration']],
    ('gpt2', 'architectures'): [['GPT2Model'], ['GPT2DoubleHeadsModel'], ['GPT2ForSequenceClassification']],
    ('bert classifier', 'architectures'): [['BertForMultipleChoice'], ['BertForTokenClassification']],
    ('llama', 'architectures'): [['LlamaForSequenceClassification'], None],
    ('bert', 'architectures'): [['BertForPreTraining'], ['BertForNextSentencePrediction'], ['BertLMHeadModel']],
    'model_type': ['t5', 'gpt_neo'],
    'dtype': ['float16', 'bfloat16', 'float32', None],
    'chunk_size_feed_forward': [4],
    'is_encoder_decoder': [True],
    'add_cross_attention': [True],
    'is_decoder': [True],
    'problem_type': ['single_label_classification', None],
    ('bert classifier', 'problem_type'): ['regression', 'multi_label_classification', 'single_label_classification'],
    'id2label': [LABELS],
    'label2id': [{'a': 0, 'b': 1}],
    'vocab_size': [70],
    'n_positions': [25], 'max_position_embeddings': [25],
    'n_embd': [16], 'hidden_size': [16, 48],
    'n_layer': [1, 3], 'num_hidden_layers': [1, 3],
    'n_head': [2, 1], 'num_attention_heads': [2],
    'num_key_value_heads': [1, 4, None], ('mistral', 'num_key_value_heads'): [1, 4],
    'head_dim': [8, 2, None],
    'n_inner': [17, None], 'intermediate_size': [17],
    'activation_function': ACTIVATIONS, 'hidden_act': ACTIVATIONS,
    'layer_norm_epsilon': [0.1, 1e-12], 'layer_norm_eps': [0.1, 1e-5], 'rms_norm_eps': [0.1, 1e-12],
    'attention_bias': [True], 'mlp_bias': [True],
    'tie_word_embeddings': [True, False],
    'rope_parameters': ROPES,
    'scale_attn_weights': [False], 'scale_attn_by_inverse_layer_idx': [True], 'reorder_and_upcast_attn': [True],
    'sliding_window': [10, 64, None], 'use_sliding_window': [True], 'max_window_layers': [0, 1],
    'layer_types': [['full_attention', 'full_attention'], ['sliding_attention', 'full_attention'],
                    ['chunked_attention', 'full_attention']],
    'type_vocab_size': [3, 4],
    'bos_token_id': [7, None], 'eos_token_id': [8, None, [8, 9]], 'pad_token_id': [9, None],
    'embd_pdrop': [0.3], 'resid_pdrop': [0.3], 'attn_pdrop': [0.3], 'hidden_dropout_prob': [0.3],
    'attention_probs_dropout_prob': [0.3], 'attention_dropout': [0.3], 'classifier_dropout': [0.3],
    'initializer_range': [0.5], 'pretraining_tp': [2],
    'use_cache': [False], 'return_dict': [False], 'output_attentions': [True], 'output_hidden_states': [True],
    'summary_type': ['mean'], 'summary_use_proj': [False], 'summary_activation': ['tanh'],
    'summary_proj_to_labels': [False], 'summary_first_dropout': [0.3],
    '_name_or_path': ['elsewhere'],
}
# Keys that are not in the default configuration, or act together.
MORE = {
    'gpt2': [dict(n_ctx=20), dict(scale_attn_weights=False, scale_attn_by_inverse_layer_idx=True)],
    'bert': [dict(position_embedding_type='relative_key'), dict(position_embedding_type='absolute')],
    'llama': [dict(partial_rotary_factor=0.5), dict(rope_theta=50.0), dict(rope_scaling=dict(type='linear', factor=2.0)),
              dict(rope_scaling=dict(type='dynamic', factor=2.0)), dict(num_attention_heads=6, num_key_value_heads=3, head_dim=10),
              dict(rope_scaling=dict(LLAMA3, original_max_position_embeddings=8), rope_theta=99.0),
              dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True)],
    'qwen2': [dict(use_sliding_window=True, sliding_window=10, max_window_layers=1),
              dict(use_sliding_window=False, sliding_window=10, max_window_layers=0)],
}


def names(change):
    """Keys, those of objects too: an error may name one of these."""
    return [*change, *(key for value in change.values() if isinstance(value, dict) for key in value)]


def changes(kind, keys):
    """All changes to try, each a dictionary; and the keys for which none is known."""
    found, unknown = [], []
    for key in keys:
        values = CHANGES.get((kind, key), CHANGES.get((family(kind), key), CHANGES.get(key)))
        if values is None:
            unknown.append(key)
        else:
            found += [{key: value} for value in values]
    return found + MORE.get(kind, []), unknown

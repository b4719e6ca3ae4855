"""Tokenizers in the configurations that are published with models, trained here, since no published one can be part of
this repository: GPT-2, RoBERTa, Llama 3, Qwen2, SmolLM, Llama 2 (its two forms), BERT (uncased, cased)."""
import json
import os

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace('{1,3}', '')
BYTES = ['<0x%02X>' % byte for byte in range(256)]


def special(*contents, **options):
    return [AddedToken(content, special=True, normalized=False, **options) for content in contents]


def byte_level(texts, size, pre_tokenizer, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), 'isolated'),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2(texts, size):
    tokenizer = byte_level(texts, size, pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(special('<|endoftext|>'))
    return tokenizer


def roberta(texts, size):
    tokenizer = byte_level(texts, size, pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_special_tokens(special('<s>', '<pad>', '</s>', '<unk>') + special('<mask>', lstrip=True))
    tokenizer.post_processor = processors.RobertaProcessing(
        ('</s>', tokenizer.token_to_id('</s>')), ('<s>', tokenizer.token_to_id('<s>')))
    return tokenizer


def llama3(texts, size):
    tokenizer = byte_level(texts, size, split(LLAMA3), ignore_merges=True)
    tokenizer.add_special_tokens(special('<|begin_of_text|>', '<|end_of_text|>', '<|eot_id|>'))
    begin = tokenizer.token_to_id('<|begin_of_text|>')
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single='<|begin_of_text|> $A', pair='<|begin_of_text|> $A <|begin_of_text|>:1 $B:1',
                                      special_tokens=[('<|begin_of_text|>', begin)])])
    return tokenizer


def qwen2(texts, size):
    tokenizer = byte_level(texts, size, split(QWEN2))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(special('<|endoftext|>', '<|im_start|>', '<|im_end|>'))
    tokenizer.add_tokens([AddedToken('<tool_call>', normalized=False), AddedToken('</tool_call>', normalized=True)])
    return tokenizer


def smollm(texts, size):
    return byte_level(texts, size, pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]))


def of_characters(texts, size, byte_fallback=True, fuse_unk=True):
    """Llama 2's: trained in words, so that no merge crosses a space, but used on whole texts."""
    tokenizer = Tokenizer(models.BPE(unk_token='<unk>', byte_fallback=byte_fallback, fuse_unk=fuse_unk))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    first = ['<unk>', '<s>', '</s>'] + (BYTES if byte_fallback else [])
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, special_tokens=first, limit_alphabet=300, show_progress=False))
    parts = json.loads(tokenizer.to_str())
    parts['added_tokens'] = [t for t in parts['added_tokens'] if t['content'] not in BYTES]
    tokenizer = Tokenizer.from_str(json.dumps(parts))
    tokenizer.decoder = decoders.Sequence([decoders.Replace('▁', ' '), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(' ', 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(single='<s> $A', pair='<s> $A <s>:1 $B:1',
                                                             special_tokens=[('<s>', 1)])
    return tokenizer


def llama2(texts, size, **options):
    tokenizer = of_characters(texts, size, **options)
    tokenizer.pre_tokenizer = None
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend('▁'), normalizers.Replace(' ', '▁')])
    return tokenizer


def llama2_unknown(texts, size):
    return llama2(texts, size, byte_fallback=False)


def llama2_each_unknown(texts, size):
    return llama2(texts, size, byte_fallback=False, fuse_unk=False)


def mistral(texts, size):
    tokenizer = of_characters(texts, size)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme='first', split=False)
    tokenizer.add_special_tokens(special('[INST]', '[/INST]'))
    return tokenizer


def metaspace(texts, size):
    tokenizer = of_characters(texts, size)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme='always', split=True)
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def bert(texts, size, lowercase=True, strip_accents=None):
    tokenizer = Tokenizer(models.WordPiece(unk_token='[UNK]'))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'], limit_alphabet=2500,
        show_progress=False))
    cls, sep = tokenizer.token_to_id('[CLS]'), tokenizer.token_to_id('[SEP]')
    tokenizer.post_processor = processors.TemplateProcessing(
        single='[CLS] $A [SEP]', pair='[CLS] $A [SEP] $B:1 [SEP]:1', special_tokens=[('[CLS]', cls), ('[SEP]', sep)])
    return tokenizer


def bert_uncased(texts, size):
    return bert(texts, size)


def bert_cased(texts, size):
    return bert(texts, size, lowercase=False)


def bert_accents(texts, size):
    return bert(texts, size, lowercase=True, strip_accents=False)


def added_tokens(texts, size):
    """Every option of an added token."""
    tokenizer = llama2(texts, size)
    tokenizer.add_tokens([
        AddedToken('cat', single_word=True, normalized=False), AddedToken('the dog', lstrip=True, normalized=False),
        AddedToken('<right>', rstrip=True, normalized=False), AddedToken('<both>', lstrip=True, rstrip=True),
        AddedToken('<word>', single_word=True, normalized=True), AddedToken('   ', normalized=False),
        AddedToken('cats', normalized=False), AddedToken('Straße', normalized=True)])
    tokenizer.add_special_tokens([AddedToken('<special>', normalized=True, special=True)])
    return tokenizer


KINDS = [gpt2, roberta, llama3, qwen2, smollm, llama2, llama2_unknown, llama2_each_unknown, mistral, metaspace,
         bert_uncased, bert_cased, bert_accents, added_tokens]


def save(tokenizer, folder):
    os.makedirs(folder, exist_ok=True)
    tokenizer.save(os.path.join(folder, 'tokenizer.json'))

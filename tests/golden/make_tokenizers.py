"""Makes tests/golden/tokenizers/: small tokenizers of each kind that Hugging Face's models come with, trained on the
lines below, and what the library `tokenizers` makes of these and other texts.

    python3 tests/golden/make_tokenizers.py

Needs `pip install tokenizers==0.23.3`. The lines are Article 1 of the Universal Declaration of Human Rights.
"""
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'hugging_face'))
import tokenizers_of_each_kind as kinds  # noqa: E402

FOLDER = os.path.join(HERE, 'tokenizers')

ARTICLE = [
    'All human beings are born free and equal in dignity and rights.',
    'They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.',
    'Alle Menschen sind frei und gleich an Würde und Rechten geboren.',
    'Tous les êtres humains naissent libres et égaux en dignité et en droits.',
    'Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.',
    'Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi.',
    'Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.',
    'Все люди рождаются свободными и равными в своем достоинстве и правах.',
    'כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.',
    'يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.',
    'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।',
    'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ',
    '人人生而自由，在尊严和权利上一律平等。',
    'すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。',
    '모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.',
]
OTHER = [
    '', ' ', '\n', '   two  spaces ', "It's we'll I'VE 'S 'ſ don't!", 'a\tb\r\n\r\n  c\n \n', 'for (int i = 0; i < 10; ++i) {\n\tx[i] += 3.14e-5;\n}',
    '12345 ½ Ⅷ ٣٤٥ 1,000.00', '👍🏽 👨‍👩‍👧 🇩🇪 ❤️', 'ÀÉÎõü İstanbul ΑΣ ΌΣΟΣ Ǆ ﬁ', 'e\u0301 a\u0323\u0302 \u1112\u1161\u11ab \u212b \u0958',
    '\u00a0x\u3000y\u200bz\ufeff', '\x00\x07\x7f\u0085\ufffd', '▁a ▁▁b <0x0A> <unk>', '##ing [MASK] [SEP]x <mask> </s>',
    '<|endoftext|> a<|im_end|>\n<|begin_of_text|><tool_call>', 'cat cats  the dog  <right>  x <both> <word>y <word> <special> Straße',
    'do not . do n\'t ? \' x', '\U0001fae8 \U000e0041 \ue000 \U00020000 \u0378', 'http://a.b/c?d=e&f=%20#g_h-i',
]
LONG = [['x', 3000], ['ab', 2000], [' ', 999], ['0', 700], ['▁', 300], ['é', 500], ['漢', 600], ['ा', 100], ['a', 100], ['a', 101]]
KINDS = ['gpt2', 'roberta', 'llama3', 'qwen2', 'smollm', 'llama2', 'llama2_unknown', 'llama2_each_unknown', 'mistral',
         'metaspace', 'bert_uncased', 'bert_cased', 'bert_accents', 'added_tokens']


def digest(ids, h=0):
    for i in ids:
        h = (h * 0x100000001b3 + i + 1) & 0xffffffffffffffff
    return h


def code_points():
    """256 texts of each plane in use, which have each character between letters, after a space and before a digit."""
    for begin in [*range(0, 0x32400, 256), *range(0xe0000, 0xe0200, 256), 0xf0000, 0x10ff00]:
        block = [chr(c) for c in range(begin, begin + 256) if not 0xd800 <= c < 0xe000]
        yield ''.join('a%sb %s1' % (c, c) for c in block)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    golden = {'texts': ARTICLE + OTHER, 'long': LONG}
    for name in KINDS:
        size = 1500 if name.startswith('bert') else 900 if name[:3] in ('lla', 'mis', 'met', 'add') and name != 'llama3' else 500
        tokenizer = getattr(kinds, name)(ARTICLE * 3, size)
        os.makedirs(os.path.join(FOLDER, name))
        tokenizer.save(os.path.join(FOLDER, name, 'tokenizer.json'), pretty=False)
        all_of_unicode = 0
        for text in code_points():
            all_of_unicode = digest(tokenizer.encode(text).ids, all_of_unicode)
        encoded = [tokenizer.encode(text).ids for text in golden['texts']]
        pair = tokenizer.encode('All human', 'beings?')
        golden[name] = {
            'ids': encoded,
            'decoded': [tokenizer.decode(ids, skip_special_tokens=False) for ids in encoded],
            'skipped': [tokenizer.decode(ids) for ids in encoded],
            'pair': [pair.ids, pair.type_ids],
            'long': ['%016x' % digest(tokenizer.encode(piece * n).ids) for piece, n in LONG],
            'unicode': '%016x' % all_of_unicode,
        }
    with open(os.path.join(FOLDER, 'golden.json'), 'w', encoding='utf-8') as file:
        json.dump(golden, file, ensure_ascii=False, separators=(',', ':'))
        file.write('\n')


if __name__ == '__main__':
    main()

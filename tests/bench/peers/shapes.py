"""The models and sizes of workloads.cpp, and of bench_decoding and bench_attention."""
from collections import namedtuple

Shape = namedtuple("Shape", "family batch length vocabulary d heads d_ff layers dropout smoothing tied classes tanh",
                   defaults=(0.0, 0.0, False, 0, False))
TRAINING = {
    "reverse": Shape("encoder_decoder", 64, 10, 20, 64, 4, 128, 2, dropout=0.1),
    "toy": Shape("encoder_decoder", 5, 4, 20, 128, 4, 256, 2, dropout=0.1),
    "multi30k": Shape("encoder_decoder", 256, 16, 10000, 128, 4, 256, 4, dropout=0.3, smoothing=0.1, tied=True),
    "char_small": Shape("decoder", 12, 64, 65, 128, 4, 512, 4),
    "char": Shape("decoder", 8, 256, 65, 384, 6, 1536, 6),
    "classifier": Shape("classifier", 32, 128, 8000, 256, 4, 1024, 4, dropout=0.1, classes=6),
    "paper_base": Shape("encoder_decoder", 64, 100, 5000, 512, 8, 2048, 6, dropout=0.1),
    "gpt2_64": Shape("decoder", 4, 64, 50257, 768, 12, 3072, 12, tanh=True),
    "gpt2_512": Shape("decoder", 4, 512, 50257, 768, 12, 3072, 12, tanh=True),
    "char_4096": Shape("decoder", 1, 4096, 65, 384, 6, 1536, 6),
}

DECODING = TRAINING["multi30k"]
TOKENS, BEAM, TOP_K = 32, 5, 40

ATTENTION_HEADS, ATTENTION_HEAD_SIZE = 12, 64

# bench_generation's models: a prompt of FIRST tokens is read, then so many are written.
Model = namedtuple("Model", "llama layers d heads kv_heads d_ff vocabulary")
GENERATION = {"gpt2": Model(False, 12, 768, 12, 12, 3072, 50257),
              "smollm": Model(True, 30, 576, 9, 3, 1536, 49152)}
GENERATION_FIRST, GENERATION_TOKENS = 16, 32

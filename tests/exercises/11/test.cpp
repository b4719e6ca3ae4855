#include EXERCISE  // the learner's page, or ours
#include "tests/catch.h"
#include "tests/exercises/marking.h"

using namespace plaingrad::exercises;  // NOLINT

static const Marking exercise(11);
static constexpr int64_t B = 2, T = 6, D = 4;

static Layer layer() {
    return {.w_q = random_tensor({D, D}, 1),
            .w_k = random_tensor({D, D}, 2),
            .w_v = random_tensor({D, D}, 3),
            .positions = random_tensor({16, D}, 4)};
}

static Tensor from(const Tensor& x, int64_t begin, int64_t end) { return slice(x, 1, begin, end); }

// Position t by a step that goes wrong in some way: keys of positions first_key ... last_key, its own
// position off.
static Row spoilt(const Tensor& x, int64_t t, int64_t first_key, int64_t last_key,
                  int64_t (*place)(int64_t)) {
    const Layer l = layer();
    std::vector<Tensor> keys, values;
    for (int64_t s = first_key; s <= last_key; ++s) {
        const Tensor y = l.add_positions(from(x, s, s + 1), place(s));
        keys.push_back(l.key(y));
        values.push_back(l.value(y));
    }
    const Tensor q = l.query(l.add_positions(from(x, t, t + 1), place(t)));
    return row_of(plaingrad::autograd::attention(q, concat(keys, 1), concat(values, 1)));
}

TEST_CASE("token by token: the same as the whole text at once") {
    const Layer l = layer();
    const Tensor x = random_tensor({B, T, D}, 5);
    const Tensor whole = attend_whole(layer(), x);
    Cache cache;
    for (int64_t t = 0; t < T; ++t) {
        std::vector<Mistake> mistakes = {
            {"positions are off by one: the first token has position 0, and the next the number of tokens so "
             "far",
             spoilt(x, t, 0, t, [](int64_t s) { return s + 1; })}};
        if (t > 0) {
            mistakes.push_back(
                {"every token is put at position 0: the next one's position is the number of tokens so far",
                 spoilt(x, t, 0, t, [](int64_t) { return int64_t{0}; })});
            mistakes.push_back({"a token sees only itself: keep the keys and values of the earlier ones",
                                spoilt(x, t, t, t, [](int64_t s) { return s; })});
            mistakes.push_back({"a token does not see itself: append its key and value before attending",
                                spoilt(x, t, 0, t - 1, [](int64_t s) { return s; })});
        }
        exercise.expect_values("token " + std::to_string(t), cache.step(l, from(x, t, t + 1)), {B, 1, D},
                               row_of(from(whole, t, t + 1)), mistakes);
    }
}

TEST_CASE("each token is projected once") {
    const Layer l = layer();
    const Tensor x = random_tensor({B, T, D}, 6);
    Cache cache;
    for (int64_t t = 0; t < T; ++t)
        cache.step(l, from(x, t, t + 1));
    const int64_t counts[] = {l.queries, l.keys, l.values};
    const char* names[] = {"query", "key", "value"};
    for (int i = 0; i < 3; ++i)
        exercise.expect(counts[i] == T, names[i], "() was given ", counts[i], " tokens in ", T,
                        " steps; expected ", T,
                        ": what is kept are projected keys and values, not tokens to be projected again");
}

TEST_CASE("a prompt at once, then token by token") {
    const Layer l = layer();
    const Tensor x = random_tensor({B, T, D}, 7);
    const Tensor whole = attend_whole(layer(), x);
    const Tensor y = l.add_positions(from(x, 0, 3), 0);
    const Tensor unmasked =
        plaingrad::autograd::attention(layer().query(y), layer().key(y), layer().value(y));
    Cache cache;
    exercise.expect_values(
        "the prompt", cache.step(l, from(x, 0, 3)), {B, 3, D}, row_of(from(whole, 0, 3)),
        {{"in the prompt, tokens see later ones: several tokens at once need Mask::causal()",
          row_of(unmasked)}});
    exercise.expect_values("the token after the prompt", cache.step(l, from(x, 3, 4)), {B, 1, D},
                           row_of(from(whole, 3, 4)));
    exercise.expect_values("the last two, at once", cache.step(l, from(x, 4, 6)), {B, 2, D},
                           row_of(from(whole, 4, 6)));
}

TEST_CASE("select: text i becomes what text rows[i] was") {
    const Layer l = layer();
    const Tensor x = random_tensor({B, T, D}, 8);
    const auto text = [&](int64_t b) { return slice(x, 0, b, b + 1); };  // (1, T, D)
    for (const std::vector<int64_t>& rows : {std::vector<int64_t>{1, 0, 1}, std::vector<int64_t>{1}}) {
        std::vector<Tensor> chosen;
        for (const int64_t row : rows)
            chosen.push_back(text(row));
        const Tensor texts = concat(chosen, 0);
        const auto n = static_cast<int64_t>(rows.size());
        Cache cache;
        cache.step(l, from(x, 0, 4));
        cache.select(rows);
        exercise.expect(cache.keys.defined() && cache.keys.size(0) == n, "after select of ", n,
                        " rows, keys are ", cache.keys.shape(), "; expected ", Shape({n, 4, D}));
        exercise.expect(cache.values.shape() == cache.keys.shape(), "after select keys are ",
                        cache.keys.shape(), ", but values are ", cache.values.shape(), "; select both");
        exercise.expect_values("the next token after select", cache.step(l, from(texts, 4, 5)), {n, 1, D},
                               row_of(from(attend_whole(layer(), texts), 4, 5)));
    }
}

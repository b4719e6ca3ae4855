// Decoding: the one way from any model to greedy search, beam search and sampling.
//
//     const auto stepper = model.start(src);        // a Transformer: from the source, <sos> first
//     const auto stepper = model.start(prompts);    // a LanguageModel: from the beginning of a text
//     greedy(*stepper, 50);                         // or beam_search, or generate
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "models/config.h"

namespace plaingrad::models {

// Which logits a step computes: each position's, or the last one's, which are all that a search reads.
enum class Logits { all, last };

// A model that is decoding: a batch of sentences that are being generated. The model must outlive it and must
// not change meanwhile. From the first step of its first stepper on, a model also holds a copy of each weight
// that was multiplied, in the order in which products read it, until the weight changes (autograd/weight.h):
// as much memory as these weights in float32, half as much in bf16. A model that only generates needs no
// second form of its weights: OpenOptions::packed.
class Stepper {
public:
    virtual ~Stepper() = default;

    // The next tokens (B, T), T >= 1, without padding -> logits (B, T, V): row t predicts what follows token
    // t, with the same bits as if computed from the whole text. Or only the last row, (B, 1, V): for a prompt
    // of 1,000 tokens and a vocabulary of 50,000, all of them are 200 MB and the largest product by far.
    // Throws Error for another B, for an id outside the vocabulary, or beyond max_length positions; then
    // nothing has changed.
    virtual Tensor step(const Tokens& tokens, Logits which = Logits::all) = 0;
    // Sentence i of the batch becomes what sentence rows[i] was: reorders, repeats, drops. Throws Error for a
    // row that does not exist.
    virtual void select(const std::vector<int32_t>& rows) = 0;
    // Forgets all tokens that were read but the first `length` of each sentence. The source of a translation
    // stays. Throws Error if fewer were read.
    virtual void rewind(int64_t length) = 0;

    const Tokens prompts;  // (B, T), T >= 1: how the sentences begin; the search reads them first
    // How many tokens of each prompt are still in the cache. A search sets it, so that the next one with this
    // stepper does not read them again. That works if the search kept all rows in their order, as greedy
    // search and sampling of one sentence do. After any other search, start another stepper.
    int64_t known = 0;
    Specials specials;       // the model's; may be changed before a search
    int64_t max_length = 0;  // positions that the model has

protected:
    Stepper(Tokens prompts_, Specials specials_, int64_t max_length_)
        : prompts(std::move(prompts_)), specials(std::move(specials_)), max_length(max_length_) {}
};

// ---- search

// What every search does with a stepper: in each step some rows of the batch are kept, each with one more
// token, and the others are dropped.
//
//     Rows rows(stepper);
//     while (!rows.empty()) {
//         const Tensor logits = rows.step();  // (rows, V)
//         for (int32_t r = 0; r < logits.size(0); ++r)
//             if (the sentence in row r has not ended)
//                 rows.keep(r, its next token);
//     }
class Rows {
public:
    // All sentences, with their prompts. Throws Error for empty prompts.
    explicit Rows(Stepper& stepper);

    bool empty() const { return kept_.empty(); }
    // Reads the tokens of the rows that were kept -> logits (rows, V) of what follows. Then no row is kept.
    // The first step reads the prompts; what the stepper had read beyond them is forgotten.
    Tensor step();
    // For texts that have reached max_length: each row reads the last `count` tokens of its sentence's text,
    // as if nothing had been read before. texts: one a sentence, of `count` tokens or more, at least one.
    Tensor step_anew(const std::vector<std::vector<int32_t>>& texts, int64_t count);
    // Keeps row `row` of the last logits, continued with this token. Returns the row that it will be. A row
    // may be kept several times with different tokens, or not at all. The next step throws Error for a row
    // that there is not.
    int32_t keep(int32_t row, int32_t token);
    // Which sentence of the batch a row of the last logits belongs to.
    std::size_t sentence(int32_t row) const { return sentences_.at(static_cast<std::size_t>(row)); }

private:
    void select();
    Tensor read(const Tokens& tokens);

    Stepper& stepper_;
    std::vector<std::size_t> sentences_;  // of the rows
    // The rows that were kept, and their tokens; at first all rows without a token, as the prompts are next.
    std::vector<int32_t> kept_, tokens_;
};

// How many tokens a search can write: the last one need not be read, so it takes no position.
int64_t room_for(const Stepper& stepper, int64_t max_tokens);

// The `count` >= 1 ids of the largest of V scores (logits, or log probabilities), best first, ties going to
// the smaller id. Ids of `never` and those with a score below `least` are left out, so there may be fewer.
// With no bound (-inf, NaN), only scores of -inf are left out. Throws Error for a score that is not a number.
std::vector<int32_t> best_ids(const Real* scores, int64_t vocabulary, int64_t count,
                              const std::vector<int32_t>& never,
                              Real least = -std::numeric_limits<Real>::infinity());

struct Hypothesis {
    std::vector<int32_t> ids;  // the generated tokens after the prompt, without the end
    double log_probability = 0;
    double score = 0;       // log probability / length penalty
    bool finished = false;  // false: it was cut at the maximum length, and is not a whole sentence
};

// Appends the most probable next token, ties going to the smaller id, until it is one of the stepper's
// `ends`, or max_tokens were generated, or the model has no position left. Tokens of the stepper's `never`
// are skipped. Returns one hypothesis for each sentence of the batch. Throws Error for a probability that is
// not a number.
std::vector<Hypothesis> greedy(Stepper& stepper, int64_t max_tokens);

struct BeamOptions {
    int64_t beam = 4;
    int64_t n_best = 1;  // how many hypotheses to return, at most `beam`
    // score = log p / ((k + length) / (k + 1))^alpha, the end counted in the length. An alpha of 0 compares
    // plain log probabilities, which favours short sentences. k = 5: Wu et al. 2016, equation 14. k = 0: log
    // p / length^alpha, as in fairseq; with alpha 1 it is the mean log probability of a token.
    double alpha = 0.6;
    double k = 5;
    int64_t max_tokens = 100;  // the end counted
    // A limit for each sentence, at least 1; max_tokens holds as well. Empty: max_tokens alone.
    std::vector<int64_t> max_tokens_of = {};
    // Gets each beginning that is kept, for pictures: the ended and the others, best first in each step. For
    // a batch of one sentence: several are searched at the same time.
    std::vector<Hypothesis>* kept = nullptr;
};

// For each sentence of the batch its n_best hypotheses, best first, finished before unfinished ones.
//
// Greedy search cannot take a token back: the most probable one may lead to a worse sentence. Beam search
// keeps the `beam` most probable beginnings instead of one. At every step each is continued by every token,
// and the best of all these continuations are kept. A continuation that ends is set aside if it is among the
// best `beam` of its step.
//
// A sentence is done when `beam` hypotheses have ended and the best continuation of some step was among them.
// (fairseq stops at the first condition alone. But when a model is nearly certain of one long sentence, the
// other places of the beam hold improbable ones, which soon end; the search would then stop before the
// certain one does.) It is also done when no open hypothesis can still reach the n_best. Beam 1 is greedy
// search. Throws Error unless 1 <= n_best <= beam.
std::vector<std::vector<Hypothesis>> beam_search(Stepper& stepper, const BeamOptions& options = {});

struct SamplingOptions {
    // The logits are divided by it. Below 1, probable tokens become more probable; above 1, less. 0 is greedy
    // decoding; infinity makes all tokens equally probable.
    double temperature = 1;
    int64_t top_k = 0;  // only the k most probable tokens; 0: all
    double top_p = 1;   // of these only the most probable that together have this probability, the
                        // one that reaches it included (nucleus sampling, Holtzman et al. 2020)
    std::vector<int32_t> never = {};  // ids that are not drawn; `generate` adds those of the stepper
    // Before all that, the logits of tokens that the text already has, its prompt included, are divided by it
    // if they are positive, and multiplied by it if they are negative. Above 1, such tokens become less
    // probable (Keskar et al. 2019, §4.1).
    double repetition_penalty = 1;
};

// One token from the logits of what comes next; uniform: a random number in [0, 1); text: what comes before,
// for repetition_penalty. Of equally probable tokens the smaller id comes first, so temperature 0 and top_k 1
// give the smallest of the most probable. At least one token always survives. Throws Error for options out of
// range, for a logit that is not a number, and if `never` and logits of -inf leave nothing.
int32_t sample(const Real* logits, int64_t vocabulary, double uniform, const SamplingOptions& options = {},
               const std::vector<int32_t>& text = {});

struct GenerationOptions {
    SamplingOptions sampling = {};
    int64_t max_tokens = 100;  // new ones, the end not counted
    // When the text has reached the model's max_length: continue with its newer half as context (true), or
    // end all sentences (false).
    bool slide = true;
};

// Returns the continuation of each of the stepper's prompts, up to one of the stepper's `ends`, which is left
// out. Token i of sentence b is drawn with number i of rng.fork(b), so a sentence does not depend on the
// others in its batch. on_token, if given, is called with each token as it is drawn, and returns whether the
// sentence goes on. Of a prompt longer than max_length, only the end is read if `slide` is true; otherwise
// throws Error.
std::vector<std::vector<int32_t>> generate(
    Stepper& stepper, const Rng& rng, const GenerationOptions& options = {},
    const std::function<bool(int64_t b, int32_t token)>& on_token = {});

}  // namespace plaingrad::models

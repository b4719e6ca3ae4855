// Writing with a model, and measuring it, to standard output.
#pragma once

#include <set>
#include <string>

#include "apps/kit/text_training.h"
#include "models/writer.h"

namespace plaingrad::generate {

// Loads a model for a command, and says on standard error what it is, and what was ignored in its folder.
// precision: as of the option; "": the model's own. packed: for a command that only computes with it.
models::Writer open_model(const std::string& path, const std::string& precision = "", bool packed = false);

struct WriteSettings {
    std::string prompt = {};
    models::WritingOptions writing = {};
    int64_t n = 1, seed = 1;
};

// Continues the prompt n times, each with numbers of its own, as it is drawn; between texts, which may have
// several lines, is a line "---". If there are known lines, says how many of the n are not among them. At the
// end, the speed to standard error.
void write(const models::Writer& w, const WriteSettings& s, const std::set<std::string>& known = {});

// Continues what is typed (kit::converse), each text with a seed of its own.
void talk(const models::Writer& w, WriteSettings s);

// "temperature 0.8, top-p 0.95", or "the most probable token".
std::string described(const models::SamplingOptions& o);

struct Score {
    double nats = 0;  // the sum over all tokens
    int64_t tokens = 0;
};

// Each token of a text but the first is predicted from those before it, as many as fit: the model reads
// windows of `context` tokens, each `stride` tokens behind the one before, and of each but the first only the
// last `stride` predictions count. So a prediction has at least context - stride tokens before it, or all
// that there are. A smaller stride takes longer, and is nearer to what the model would say with all of its
// context.
Score score(const models::LanguageModel& model, const kit::Sequence& text, int64_t context, int64_t stride);

// Scores each file, behind the token that begins a text, and prints perplexity, nats and bits per token and
// per byte; of several files, also of all together. Each line of a model of lines is a text, and its end is
// predicted, too. Characters that the model does not know are counted, and left out.
void print_scores(const models::Writer& w, const std::vector<kit::File>& files, int64_t stride);

}  // namespace plaingrad::generate

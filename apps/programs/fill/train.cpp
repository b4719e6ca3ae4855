#include "apps/programs/fill/train.h"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "apps/kit/pieces.h"
#include "apps/kit/pretrained.h"
#include "apps/kit/run.h"
#include "autograd/base/mapped.h"
#include "models/text/lines.h"
#include "models/text/mask_tokens.h"

namespace plaingrad::fill {

using autograd::check;
using autograd::join;
using autograd::Rng;
using autograd::Tokens;
using kit::Sequence;
using models::Filler;
using models::text::MaskedTokens;

void add_train_options(kit::Options& options, TrainSettings& s) {
    options.rest("MODEL FILE...", "a folder from Hugging Face; texts to learn from, line by line", s.words,
                 {}, kit::Options::Rest::files);
    kit::add_run_options(options, s.run);
    options.add("--bytes", "read the files as they are, with CR, BOM and NUL", s.bytes);
    options.add("--context", "N", "tokens of a line at most, longer ones are cut; 0: what the model takes",
                s.context, {.max = 1 << 20});
    kit::add_text_training(options, s, "lines");
    options.add_common(s.seed, "random seed of batches, masks and dropout");
}

Filler open_model(const std::string& path, const std::string& precision) {
    Filler f = Filler::load(path, kit::opening(path));
    kit::set_precision(f.model.config.block.precision, precision);
    kit::say_opened(path, nn::parameter_count(f.model), f.model.config.block.precision, f.notes);
    return f;
}

namespace {

// What may be masked: all ids behind the special ones, which are the first.
models::text::MaskingOptions masking_of(const Filler& f, const std::string& path) {
    const int32_t pad = f.model.config.specials.pad;
    Sequence special = f.tokenizer.encode("");
    check(special.size() == 2 && pad != Tokens::kNoPadding, path,
          ": training needs a tokenizer that puts one token before a text and one behind it, and a "
          "pad_token_id");
    special.insert(special.end(), {f.mask_id, pad});
    const auto size = static_cast<int32_t>(f.tokenizer.size());
    const int32_t first = *std::max_element(special.begin(), special.end()) + 1;
    check(first < size, path, ": training needs special tokens that come before all others");
    return {.mask = f.mask_id, .first_id = first, .end_id = size};
}

// The lines of all files, each between [CLS] and [SEP], in rows of at most `context` tokens.
// Rows without anything to mask are left out.
std::vector<Sequence> rows_of(const Filler& f, const std::vector<kit::File>& files, int64_t context,
                              const models::text::MaskingOptions& masking) {
    const Sequence around = f.tokenizer.encode("");
    std::vector<Sequence> rows;
    for (const kit::File& file : files) {
        std::istringstream lines(file.text);
        for (std::string line; std::getline(lines, line);) {
            const Sequence ids = f.tokenizer.encode(line, {.add_special_tokens = false});
            const int64_t most = context - std::ssize(around);
            for (auto first = ids.begin(); first != ids.end();) {
                const auto last = first + std::min<int64_t>(most, ids.end() - first);
                if (*std::max_element(first, last) >= masking.first_id) {
                    rows.push_back({around.front()});
                    rows.back().insert(rows.back().end(), first, last);
                    rows.back().push_back(around.back());
                }
                first = last;
            }
        }
    }
    return rows;
}

// The mean of -log p of what was masked.
autograd::Tensor mean_loss(const Filler& f, const MaskedTokens& masked, const nn::Mode& mode) {
    return cross_entropy(f.model(masked.ids, mode), masked.targets);
}
int64_t masks(const MaskedTokens& masked) {
    const Sequence& ids = masked.targets.ids();
    return std::ssize(ids) - std::count(ids.begin(), ids.end(), masked.targets.pad());
}

// The rows that are held out, always with the same masks.
kit::Measured measure(const Filler& f, const std::vector<MaskedTokens>& held_out) {
    const autograd::NoGrad no_grad;
    kit::Measured all;
    for (const MaskedTokens& batch : held_out) {
        const int64_t count = masks(batch);
        all.nats +=
            static_cast<double>(mean_loss(f, batch, nn::Mode::eval()).item()) * static_cast<double>(count);
        all.predictions += count;
    }
    all.nats /= static_cast<double>(all.predictions);
    return all;
}

std::string described(const kit::Measured& loss) {
    return join(kit::number(loss.nats, 4), " nats per masked token, over ", loss.predictions);
}

}  // namespace

void train(const TrainSettings& s, const models::RunFolder& folder) {
    const Filler f = open_model(s.words[0], s.run.precision);
    const int64_t most = f.model.config.max_length, context = s.context > 0 ? s.context : most;
    kit::check_usage(context <= most && context >= 3, "--context ", context, ": the model takes 3 to ", most);
    const models::text::MaskingOptions masking = masking_of(f, s.words[0]);
    const std::vector<kit::File> files = kit::read_files({s.words.begin() + 1, s.words.end()}, s.bytes);
    std::vector<Sequence> rows = rows_of(f, files, context, masking);
    const int64_t all = std::ssize(rows), learned = all * 9 / 10;
    check(learned > 0, files[0].name, ": a text of ", kit::counted(all, "line"),
          "; two are needed, as a tenth is held out");

    const Rng rng(static_cast<uint64_t>(s.seed));
    const auto masked = [&](const Tokens& tokens, const Rng& of) { return mask_tokens(tokens, masking, of); };
    const int32_t pad = f.model.config.specials.pad;
    std::vector<MaskedTokens> held_out;
    for (auto first = rows.begin() + learned; first != rows.end();) {
        const auto last = first + std::min<int64_t>(s.batch, rows.end() - first);
        held_out.push_back(
            masked(Tokens::padded({first, last}, pad), rng.fork("held out").fork(held_out.size())));
        first = last;
    }
    rows.resize(static_cast<std::size_t>(learned));

    nn::TrainingOptions options = kit::training_options(
        s, s.seed, {.weight_decay = 0.01, .decoupled = true, .decay_matrices_only = true});
    options.validation_loss = [&] { return measure(f, held_out).nats; };
    models::Run run(
        folder,
        kit::parts_for_others(f.model, models::text::fingerprint(autograd::mapped(files, &kit::File::text)),
                              folder, s.words[0], models::hugging_face::Folder(s.words[0]).config),
        {}, options.adam);
    kit::say(join(kit::counted(learned, "line"), " to learn from, ", all - learned, " held out"));
    if (run.training.adam.steps() == 0 && !s.run.check)
        kit::say("held out, before: " + described(measure(f, held_out)));
    kit::Batches batches(rows, true, context, pad, rng.fork("batches"));
    batches.skip(run.training.adam.steps() * s.batch);
    kit::Batches others = batches;
    const auto next = [&](kit::Batches& from, int64_t step) {
        return masked(from.next(s.batch), rng.fork("masks").fork(static_cast<uint64_t>(step)));
    };
    const auto loss_of = [&](const MaskedTokens& batch, const nn::Mode& mode) {
        return nn::StepLoss{mean_loss(f, batch, mode), batch.ids.batch() * batch.ids.length()};
    };
    const bool ended = kit::train(
        run, [&](int64_t step, const nn::Mode& mode) { return loss_of(next(batches, step), mode); }, options,
        {.activations = kit::activation_bytes(f.model.config, s.batch * context),
         .trial = kit::trial_of(
             f.model,
             [&](int64_t i) {
                 const MaskedTokens batch = next(others, i);
                 return kit::Examples{{batch.ids}, batch.targets};
             },
             false),
         .batch = [&](int64_t i) { return loss_of(next(others, i), nn::Mode::train(Rng(0))); }});
    if (ended)
        std::cout << "held out, after: " << described(measure(f, held_out)) << '\n';
}

}  // namespace plaingrad::fill

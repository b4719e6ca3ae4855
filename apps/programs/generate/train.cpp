#include "apps/programs/generate/train.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "apps/kit/pretrained.h"
#include "apps/kit/run.h"
#include "apps/programs/generate/score.h"
#include "apps/programs/generate/write.h"
#include "autograd/base/mapped.h"
#include "models/text/lines.h"

namespace plaingrad::generate {

using autograd::check;
using autograd::join;
using autograd::Rng;
using autograd::Tokens;
using kit::Sequence;
using models::LanguageModel;

void add_train_options(kit::Options& options, TrainSettings& s) {
    options.rest("MODEL FILE...", "a folder from Hugging Face; texts to learn from", s.words, {},
                 kit::Options::Rest::model_and_files);
    kit::add_run_options(options, s.run);
    options.add("--bytes", "read the files as they are, with CR, BOM and NUL", s.bytes);
    options.add("--layers", "N", "train only the last N layers, and the final norm; 0: all parameters",
                s.layers, {.max = 10'000});
    options.add("--context", "N", "tokens in a piece of text; 0: 256, or what the model takes", s.context,
                {.max = 1 << 20});
    kit::add_text_training(options, s);
    options.add_common(s.seed, "random seed of batches and dropout");
}

namespace {

// All texts one after the other, with the token that ends a text after each.
Sequence joined(const models::Writer& w, const std::vector<kit::File>& files) {
    Sequence all;
    for (const kit::File& file : files) {
        const Sequence ids = ids_of(w, file);
        all.insert(all.end(), ids.begin(), ids.end());
        if (!w.model.config.specials.ends.empty())
            all.push_back(w.model.config.specials.end());
    }
    return all;
}

// The last tenth is held out. If these are many pieces, only every so many of them are measured, as a large
// model takes long.
struct Split {
    std::vector<Sequence> training, held_out;
};
Split split(const Sequence& text, int64_t context, const std::string& where) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(text.size() * 9 / 10);
    check(end - text.begin() > context && text.end() - end > 1, where, ": a text of ",
          kit::counted(std::ssize(text), "token"), "; --context ", context,
          " needs more, because a tenth is held out");
    constexpr int64_t kEnough = 16'384;  // tokens
    const auto every = static_cast<std::size_t>(1 + (text.end() - end) / kEnough);
    Split result = {{{text.begin(), end}}, {}};
    const std::vector<Sequence> all = kit::cut({{end, text.end()}}, context);
    for (std::size_t i = 0; i < all.size(); i += every)
        result.held_out.push_back(all[i]);
    return result;
}

// Freezes all but the last `layers` layers and the final norm: the tables of tokens and positions, the output
// layer, and the layers below. Returns what learns.
std::vector<nn::NamedParameter> learning(const LanguageModel& model, int64_t layers) {
    const models::Encoder& stack = model.backbone.encoder;
    const int64_t all = std::ssize(stack.layers);
    kit::check_usage(layers <= all, "--layers ", layers, ": the model has only ", all);
    if (layers > 0) {
        nn::freeze(model);
        for (int64_t i = all - layers; i < all; ++i)
            nn::freeze(stack.layers[static_cast<std::size_t>(i)], false);
        if (stack.final_norm)
            nn::freeze(*stack.final_norm, false);
    }
    std::vector<nn::NamedParameter> parameters = nn::parameters(model);
    std::erase_if(parameters, [](const nn::NamedParameter& p) { return !p.tensor.needs_grad(); });
    return parameters;
}

models::RunModel run_model_of(const LanguageModel& model, const TrainSettings& s, const std::string& data,
                              const models::RunFolder& folder) {
    models::RunModel result =
        kit::run_model_for_others(model, data, folder, s.words[0], models::SavedModel(s.words[0]).config);
    result.parameters = learning(model, s.layers);
    return result;
}

std::string in_words(const kit::Measured& loss) {
    return join(kit::number(loss.nats, 4), " nats per token: perplexity ",
                kit::number(std::exp(loss.nats), 2), ", over ", kit::counted(loss.predictions, "token"));
}

}  // namespace

void train(const TrainSettings& s, const models::RunFolder& folder) {
    kit::check_base(folder, s.words[0], "MODEL");
    const models::Writer w = open_model(s.words[0], s.run.precision);
    check(models::is_of_others(s.words[0]), s.words[0],
          ": char_lm has trained this model; ./apps/char_lm train --resume continues its run");
    const LanguageModel& model = w.model;
    const int64_t most = model.config.max_length,
                  context = s.context > 0 ? s.context : std::min<int64_t>(256, most);
    kit::check_usage(context <= most, "--context ", context, ": the model takes only ", most);
    const std::vector<kit::File> files = kit::read_files({s.words.begin() + 1, s.words.end()}, s.bytes);
    const Sequence ids = joined(w, files);
    const Split text = split(ids, context, kit::name_of(files));
    const auto pad = static_cast<int32_t>(model.config.vocabulary);  // no id of a text
    kit::Batches batches(text.training, false, context, pad, s.batch,
                         Rng(static_cast<uint64_t>(s.seed)).fork("batches"));
    // What the page of --report shows: a held-out piece without its last token, which is only predicted.
    const Sequence& piece = text.held_out[0];
    const Sequence shown(piece.begin(), piece.end() - 1);
    const std::string data = models::text::fingerprint(autograd::mapped(files, &kit::File::text), {ids});
    models::RunModel learns = run_model_of(model, s, data, folder);
    const int64_t all = nn::parameter_count(model), trained = nn::parameter_count(learns.parameters);
    kit::Run run(
        folder, std::move(learns),
        kit::run_options(
            s, s.seed,
            {.beta2 = 0.999, .weight_decay = 0.01, .decoupled = true, .decay_matrices_only = true}),
        {.activations = kit::activation_bytes(model.config, s.batch * context),
         .frozen = static_cast<double>(all - trained),
         .subject = kit::subject_of(model, std::vector<Tokens>{Tokens::padded({shown}, pad)},
                                    kit::token_names(w.tokenizer, model.config.vocabulary)),
         .trial = kit::trial_of(model, [&](int64_t step) { return kit::examples_of(batches(step)); }),
         .pretrained = true});
    kit::say(join(
        kit::counted(std::ssize(text.training[0]), "token"), " to learn from",
        trained < all ? "; " + kit::counted(trained, "parameter") + " learn, the others are frozen" : ""));
    kit::train(
        run, batches,
        [&](const Tokens& rows, const nn::Mode& mode) {
            return nn::StepLoss{kit::mean_loss(model, rows, mode), kit::predictions(rows)};
        },
        [&] { return kit::measure(model, text.held_out, pad, folder.team()); }, in_words);
}

}  // namespace plaingrad::generate

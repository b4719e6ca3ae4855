#include "apps/kit/text_training.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>

#include "apps/kit/prompt.h"
#include "models/text/lines.h"
#include "nn/schedule.h"

namespace plaingrad::kit {

std::string name_of(const std::vector<File>& files) {
    return files.size() == 1 ? files[0].name : "the files";
}

std::vector<File> read_files(const std::vector<std::string>& names, bool bytes, bool has_bytes) {
    std::vector<File> files;
    for (const std::string& name : names) {
        std::string text = models::text::read_file(name);
        if (!bytes) {
            models::text::check_plain(text, name);
            check(text.find('\0') == std::string::npos, name,
                  ": there is a NUL byte in this file: it is not text",
                  has_bytes ? "; --bytes reads any file" : "");
            text.erase(0, text.starts_with("\xef\xbb\xbf") ? 3 : 0);
            std::erase(text, '\r');
        }
        int64_t replaced = 0;
        if (!has_bytes)
            text = models::text::replace_invalid_utf8(text, replaced);
        report_replaced(name, replaced);
        files.push_back({name, std::move(text)});
    }
    return files;
}

std::vector<Text> texts_of(std::span<const File> files, bool lines) {
    std::vector<Text> texts;
    for (const File& file : files) {
        std::string_view rest = file.text;
        for (int64_t line = 1; !rest.empty(); ++line) {
            const std::size_t length = lines ? std::min(rest.find('\n'), rest.size()) : rest.size();
            if (length > 0)
                texts.push_back({rest.substr(0, length), file.name, line});
            rest.remove_prefix(std::min(length + 1, rest.size()));
        }
    }
    return texts;
}

std::vector<Sequence> cut(const std::vector<Sequence>& items, int64_t context) {
    std::vector<Sequence> pieces;
    for (const Sequence& item : items)
        for (auto first = item.begin(); item.end() - first > 1;) {
            const auto last = first + std::min<int64_t>(context, item.end() - first - 1);
            pieces.emplace_back(first, last + 1);
            first = last;
        }
    return pieces;
}

Tokens Batches::operator()(int64_t step) {
    const int64_t of_round = separate ? std::ssize(pieces) : (std::ssize(items[0]) - 1) / context;
    std::vector<Sequence> batch;
    for (int64_t at = (step - 1) * rows; at < step * rows; ++at) {
        if (const int64_t now = at / of_round; now != round) {
            round = now;
            order = rng.fork(static_cast<uint64_t>(round)).permutation(of_round);
        }
        batch.push_back(piece(order[static_cast<std::size_t>(of_round - 1 - at % of_round)]));
    }
    return Tokens::padded(batch, pad);
}

Sequence Batches::piece(int64_t number) const {
    if (separate)
        return pieces[static_cast<std::size_t>(number)];
    const Sequence& text = items[0];
    const int64_t starts = std::ssize(text) - context;  // a piece of context + 1 characters can begin there
    const int64_t first = number * context;
    const int64_t start = first + rng.fork(static_cast<uint64_t>(round))
                                      .fork("starts")
                                      .below(static_cast<uint64_t>(first), std::min(context, starts - first));
    return {text.begin() + start, text.begin() + start + context + 1};
}

Measured measure(const Objective& objective, const std::vector<Examples>& batches, nn::Team& team) {
    const autograd::NoGrad no_grad;
    const auto all = nn::shared_ranges(team, std::ssize(batches), [&](int64_t begin, int64_t end) {
        std::vector<double> some;
        for (int64_t i = begin; i < end; ++i) {
            const nn::StepLoss loss = objective(batches.begin()[i], nn::Mode::eval());
            some.push_back(static_cast<double>(loss.loss.item()));
            some.push_back(static_cast<double>(loss.terms));
        }
        return some;
    });
    Measured sum;
    for (std::size_t i = 0; i < all.size(); i += 2) {
        sum.nats += all[i] * all[i + 1];
        sum.predictions += static_cast<int64_t>(all[i + 1]);
    }
    sum.nats /= static_cast<double>(sum.predictions);
    return sum;
}

std::string in_words(const Measured& loss) {
    return join(number(loss.nats, 4), " nats per token = ", number(loss.nats / std::numbers::ln2, 4),
                " bits: perplexity ", number(std::exp(loss.nats), 2), ", over ",
                counted(loss.predictions, "token"));
}

std::vector<Examples> batches_of(const std::vector<Sequence>& pieces, int32_t pad) {
    constexpr std::size_t kAtOnce = 2048;  // tokens, whose activations fit into the cache
    std::size_t longest = 1;
    for (const Sequence& piece : pieces)
        longest = std::max(longest, piece.size() - 1);  // the last token is only predicted
    const auto rows = static_cast<int64_t>(std::max<std::size_t>(1, kAtOnce / longest));
    std::vector<Examples> batches;
    for (auto first = pieces.begin(); first != pieces.end();) {
        const auto last = first + std::min(rows, pieces.end() - first);
        batches.push_back(examples_of(Tokens::padded({first, last}, pad)));
        first = last;
    }
    return batches;
}

void add_text_training(Options& options, TextTraining& t, const std::string& pieces) {
    options.add("--batch", "N", pieces + " per step", t.batch, {.min = 1, .max = 1 << 16});
    options.add("--steps", "N", "training steps", t.steps, {.min = 1, .max = 1'000'000'000})
        .can_not_change("the learning rate falls over all of them");
    options.add("--lr", "X", "highest learning rate", t.lr, {.max = 1});
    options.add("--validate-every", "N", "steps between validations", t.validate_every, {.min = 1});
    options.add("--patience", "N", "stop after N validations without improvement; 0: never", t.patience);
}

models::RunOptions run_options(const TextTraining& t, const nn::AdamOptions& adam) {
    // nanoGPT counts steps from 0, and warms up over one more.
    const int64_t warmup = std::min<int64_t>(100, t.steps / 10) + 1;
    return {.steps = t.steps,
            .learning_rate = nn::CosineSchedule{t.lr, t.steps + 1, warmup, t.lr / 10},
            .adam = adam,
            .seed = static_cast<uint64_t>(t.seed),
            .validate_every = t.validate_every,
            .patience = t.patience};
}

void train(Run& run, const std::vector<Examples>& held_out, const std::vector<Examples>& at_end) {
    const auto measured = [&](const std::vector<Examples>& batches) {
        return measure(run.plan.objective, batches, run.folder.team());
    };
    double before = INFINITY;
    if (run.step() == 0 && !run.folder.run.check) {
        const Measured now = measured(held_out);
        check(std::isfinite(now.nats), "the held-out text costs ", now.nats,
              " nats before training; the model's weights are broken");
        before = now.nats;
        say("held out, before: " + in_words(now));
    }
    while (run.next()) {
        run.learn();
        if (run.validates())
            run.validated(measured(held_out).nats);
    }
    if (!run.finish())
        return;
    const Measured now = measured(at_end);
    std::cout << "held out, after: " << in_words(now) << '\n';
    if (now.nats > before)
        say("the held-out text is predicted worse than before; a lower --lr or fewer --steps may help");
}

}  // namespace plaingrad::kit

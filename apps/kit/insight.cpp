#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "apps/kit/model.h"
#include "apps/kit/picture.h"
#include "apps/kit/prompt.h"
#include "autograd/base/list.h"
#include "autograd/ops.h"

namespace plaingrad::kit {

using autograd::mapped;
using Ids = std::vector<int32_t>;

namespace {

// What a beam search kept, with the ends that it wrote, by the ids before the last one; the best first.
using Kept = std::multimap<Ids, models::Hypothesis>;

std::string token(const Ids& ids, const Labels& names) {
    return ids.empty() ? "<sos>" : as_line(names_of({ids.back()}, names)[0]);
}

// What was kept from `at` on, in one line as far as there is only one way on.
std::string drawn(const Kept& kept, models::Hypothesis at, const Labels& names, std::size_t depth) {
    std::string text = std::string(2 + 2 * depth, ' ') + token(at.ids, names);
    while (kept.count(at.ids) == 1) {
        at = kept.find(at.ids)->second;
        text += ' ' + token(at.ids, names);
    }
    text += "  " + number(at.log_probability, 2);
    text += at.finished ? "   score " + number(at.score, 3) + '\n' : "\n";
    for (auto [next, end] = kept.equal_range(at.ids); next != end; ++next)
        text += drawn(kept, next->second, names, depth + 1);
    return text;
}

std::vector<models::Hypothesis> kept_by(models::Stepper& stepper, models::BeamOptions o) {
    std::vector<models::Hypothesis> kept;
    o.kept = &kept;
    models::beam_search(stepper, o);
    for (models::Hypothesis& h : kept)
        if (h.finished)
            h.ids.push_back(stepper.specials.end());
    return kept;
}

// All beginnings that a beam search keeps, as a tree: behind each its log probability, and the score behind
// what ends.
std::string beam_tree(models::Stepper& stepper, const models::BeamOptions& o, const Labels& names) {
    Kept kept;
    for (const models::Hypothesis& h : kept_by(stepper, o))
        kept.emplace(Ids(h.ids.begin(), h.ids.end() - 1), h);
    return "  log p of each beginning; of what has ended, also its score, log p over a length penalty\n" +
           drawn(kept, {}, names, 0);
}

// "  0.9312  bonjour", a line each.
std::string next_tokens(models::Stepper& stepper, const Labels& names) {
    constexpr std::size_t kFive = 5;
    const std::vector<models::Hypothesis> kept = kept_by(stepper, {.beam = kFive, .max_tokens = 1});
    std::string text;
    for (std::size_t i = 0; i < std::min(kept.size(), kFive); ++i)
        text += "  " + number(std::exp(kept[i].log_probability), 4) + "  " + token(kept[i].ids, names) + '\n';
    return text;
}

std::vector<double> values_of(const Tensor& x) {
    const std::vector<Real> values = x.to_vector();
    return {values.begin(), values.end()};
}

}  // namespace

std::string attention_picture(const Tensor& weights, const Labels& rows, const Labels& columns) {
    const int64_t room = terminal_width(STDOUT_FILENO) - static_cast<int64_t>(widest(rows)) - 2;
    const int64_t all = weights.size(3), shown = std::clamp<int64_t>(room / 3, 1, all);
    const Tensor mean = autograd::slice(autograd::mean(weights, {0, 1}), 1, all - shown, all);  // (T, shown)
    HeatMap map = {.rows = autograd::mapped(rows, as_line),
                   .columns = autograd::mapped(Labels(columns.end() - shown, columns.end()), as_line),
                   .values = values_of(mean)};
    for (std::string& label : map.columns)
        while (static_cast<int64_t>(kit::columns(label)) >= std::max<int64_t>(room / shown, 3))
            label.pop_back();
    return draw(map, stdout_ink());
}

void show_heads(const models::Transformer& model, const models::Batch& batch, const Labels& names,
                const std::vector<int64_t>& right, const std::string& path) {
    const autograd::NoGrad no_grad;
    nn::Probe seen;
    model(batch.src, batch.read(), nn::Mode::eval(&seen));
    const Labels rows = names_of(batch.said().ids(), names), columns = names_of(batch.src.ids(), names);
    say(join("\nCross-attention for ", models::listed(columns, " "),
             " (rows: what it writes, columns: the input)\nfor every head; the number is the share of its "
             "weight on ",
             path, "\n\n"),
        STDOUT_FILENO);
    Tensor best;
    double most = -1;  // of its weight, on the right places
    std::string which;
    for (std::size_t layer = 0; layer < model.decoder.layers.size(); ++layer) {
        const Tensor& all = seen.of(model.decoder.layers[layer].cross_attention);  // (1, H, T, S)
        std::vector<std::string> pictures;
        for (int64_t head = 0; head < all.size(1); ++head) {
            const Tensor weights = autograd::slice(all, 1, head, head + 1);  // (1, 1, T, S)
            const std::vector<double> values = values_of(weights);
            double share = 0;
            for (int64_t t = 0; t < std::ssize(right); ++t)
                share +=
                    values.begin()[t * all.size(3) + right.begin()[t]] / static_cast<double>(all.size(3));
            pictures.push_back(draw({.title = join("head ", head + 1, ": ", number(share, 2)),
                                     .columns = columns,
                                     .values = values,
                                     .cells = Cells::small},
                                    stdout_ink()) +
                               '\n');
            if (share > most) {
                best = weights, most = share;
                which = join("layer ", layer + 1, ", head ", head + 1);
            }
        }
        std::cout << "layer " << layer + 1 << '\n'
                  << beside(pictures, static_cast<std::size_t>(terminal_width(STDOUT_FILENO)));
    }
    say(join("the best head: ", which, ", with ", number(most, 2), " of its weight on ", path, "\n\n"),
        STDOUT_FILENO);
    std::cout << attention_picture(best, rows, columns);
}

// Starts to decode the continuation of `last`, or its translation, after what is written of it.
using Start =
    std::function<std::unique_ptr<models::Stepper>(const std::string& last, const std::string& written)>;

// :next and :beam. o: of the search, but the user gives its width.
static void add_commands(Prompt& prompt, const Start& start, const Labels& names,
                         const models::BeamOptions& o) {
    prompt.commands.push_back({":next",
                               "[TEXT]  the five most probable next tokens, after TEXT if it is given",
                               [=](const std::string& last, const std::string& written) {
                                   return next_tokens(*start(last, written), names);
                               }});
    prompt.commands.push_back({":beam", "[N]  the tree of a beam search, N (5) wide",
                               [=](const std::string& last, const std::string& n) {
                                   models::BeamOptions options = o;
                                   options.n_best = 1;  // the tree shows all that is kept
                                   options.beam = n.empty() ? 5 : parse_integer(":beam", n, {1, 100});
                                   return beam_tree(*start(last, ""), options, names);
                               }});
}

void add_commands(Prompt& prompt, const models::Writer& w, const Labels& names) {
    const auto read = [&w](const std::string& text) {
        const Ids ids = w.encode(text);
        return Ids(ids.end() - std::min<int64_t>(std::ssize(ids), w.model.config.max_length), ids.end());
    };
    const Start start = [=, &w](const std::string& last, const std::string& text) {
        return w.start(read(text.empty() ? last : text));
    };
    add_commands(prompt, start, names, {.alpha = 0, .max_tokens = 12});
    prompt.commands.push_back(attention_command(w.model, names, read));
}

Prompt prompt_of(const models::Transformer& model, const models::text::Tokenizer& source,
                 const models::text::Tokenizer& target, const models::BeamOptions& search, bool ends) {
    Prompt prompt = {.names = token_names(source)};
    const Labels source_names = prompt.names, target_names = token_names(target);
    const auto tokens = [](const Ids& ids) { return Tokens(1, std::ssize(ids), ids); };
    const auto read = [=, &model, &source](const std::string& sentence) {
        Ids ids = source.encode(sentence);
        ids.insert(ids.end(), ends ? 1 : 0, model.config.specials.end());
        return tokens(ids);
    };
    const auto begun = [=, &model](Ids written) {
        written.insert(written.begin(), model.config.specials.start);
        return tokens(written);
    };
    const Start start = [=, &model, &target](const std::string& last, const std::string& written) {
        check(!last.empty(), "first type a sentence");
        return model.start(read(last), begun(target.encode(written)));
    };
    add_commands(prompt, start, target_names, search);
    prompt.commands.push_back(
        {":attention", "where it looked (last layer, mean of the heads)",
         [=, &model](const std::string& last, const std::string&) {
             const models::Hypothesis best = models::beam_search(*start(last, ""), search)[0][0];
             Ids ids = best.ids;
             if (best.finished)
                 ids.push_back(model.config.specials.end());
             const Tokens src = read(last);
             nn::Probe seen;
             model(src, begun({ids.begin(), ids.end() - 1}),
                   nn::Mode::eval(&seen));  // row t: before it wrote t
             return attention_picture(seen.of(model.decoder.layers.back().cross_attention),
                                      names_of(ids, target_names), names_of(src.ids(), source_names));
         }});
    return prompt;
}

}  // namespace plaingrad::kit

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <tuple>

#include "apps/kit/model.h"
#include "apps/kit/options.h"
#include "apps/kit/picture.h"
#include "apps/kit/program.h"
#include "apps/kit/prompt.h"
#include "autograd/base/list.h"
#include "autograd/ops.h"

namespace plaingrad::kit {

using autograd::join;
using autograd::mapped;
using autograd::Tensor;
using autograd::Tokens;
using Ids = std::vector<int32_t>;

namespace {

std::string last_token(const models::Hypothesis& h, const models::Stepper& stepper, const Labels& names) {
    return names[static_cast<std::size_t>(h.finished ? stepper.specials.end() : h.ids.back())];
}

// What a beam search kept, by the ids before its last token; the best first.
using Kept = std::multimap<Ids, models::Hypothesis>;

// What was kept from `at` on, in one line as far as there is only one way on.
template <class TokenOf>
std::string drawn(const Kept& kept, models::Hypothesis at, const TokenOf& token, std::size_t depth) {
    const auto next_of = [&] {
        return at.finished ? std::pair(kept.end(), kept.end()) : kept.equal_range(at.ids);
    };
    std::string text = std::string(2 + 2 * depth, ' ') + token(at);
    auto [next, end] = next_of();
    for (; next != end && std::next(next) == end; std::tie(next, end) = next_of()) {
        at = next->second;
        text += ' ' + token(at);
    }
    text += "  " + number(at.log_probability, 2);
    text += at.finished ? "   score " + number(at.score, 3) + '\n' : "\n";
    for (; next != end; ++next)
        text += drawn(kept, next->second, token, depth + 1);
    return text;
}

// All beginnings that a beam search keeps, as a tree: behind each its log probability, and the score behind
// what ends.
std::string beam_tree(models::Stepper& stepper, models::BeamOptions o, const Labels& names) {
    std::vector<models::Hypothesis> all;
    o.kept = &all;
    models::beam_search(stepper, o);
    Kept kept;
    for (const models::Hypothesis& h : all)
        kept.emplace(Ids(h.ids.begin(), h.ids.end() - (h.finished ? 0 : 1)), h);
    const auto token = [&](const models::Hypothesis& h) {
        return h.ids.empty() && !h.finished ? "<sos>" : as_line(last_token(h, stepper, names));
    };
    return "  log p of each beginning; of what has ended, also its score, log p over a length penalty\n" +
           drawn(kept, {}, token, 0);
}

// "  0.9312  bonjour", a line each.
std::string next_tokens(models::Stepper& stepper, const Labels& names) {
    constexpr std::size_t kFive = 5;
    std::vector<models::Hypothesis> kept;
    models::beam_search(stepper, {.beam = kFive, .max_tokens = 1, .kept = &kept});
    std::string text;
    for (std::size_t i = 0; i < std::min(kept.size(), kFive); ++i)
        text += "  " + number(std::exp(kept[i].log_probability), 4) + "  " +
                as_line(last_token(kept[i], stepper, names)) + '\n';
    return text;
}

}  // namespace

std::string attention_picture(const Tensor& weights, const Labels& rows, const Labels& columns) {
    const int64_t room = terminal_width(STDOUT_FILENO) - static_cast<int64_t>(widest(rows)) - 2;
    const int64_t all = weights.size(3), shown = std::clamp<int64_t>(room / 3, 1, all);
    const Tensor mean = autograd::slice(autograd::mean(weights, {0, 1}), 1, all - shown, all);  // (T, shown)
    HeatMap map = {.rows = autograd::mapped(rows, as_line),
                   .columns = autograd::mapped(Labels(columns.end() - shown, columns.end()), as_line),
                   .values = {}};
    for (const autograd::Real weight : mean.to_vector())
        map.values.push_back(static_cast<double>(weight));
    for (std::string& label : map.columns)
        while (static_cast<int64_t>(kit::columns(label)) >= std::max<int64_t>(room / shown, 3))
            label.pop_back();
    return draw(map, stdout_ink());
}

namespace {

struct HeadView {
    std::size_t layer;
    int64_t head;
    double right;                 // mean weight on the right places
    std::vector<double> weights;  // (T, S)
};

std::vector<HeadView> cross_attention(const models::Transformer& model, const models::Batch& batch,
                                      const std::vector<int64_t>& right) {
    const autograd::NoGrad no_grad;
    nn::Probe seen;
    model(batch.src, batch.read(), nn::Mode::eval(&seen));
    std::vector<HeadView> heads;
    for (std::size_t layer = 0; layer < model.decoder.layers.size(); ++layer) {
        const Tensor& weights = seen.of(model.decoder.layers[layer].cross_attention);  // (1, H, T, S)
        const int64_t T = weights.size(2), S = weights.size(3);
        for (int64_t head = 0; head < weights.size(1); ++head) {
            const autograd::Real* w = weights.data() + head * T * S;
            double sum = 0;
            for (int64_t t = 0; t < std::ssize(right); ++t)
                sum += static_cast<double>(w[t * S + right.begin()[t]]) / static_cast<double>(S);
            heads.push_back({layer, head, sum, std::vector<double>(w, w + T * S)});
        }
    }
    return heads;
}

}  // namespace

void show_heads(const models::Transformer& model, const models::Batch& batch, const Labels& names,
                const std::vector<int64_t>& right, const std::string& path) {
    const std::vector<HeadView> heads = cross_attention(model, batch, right);
    const HeadView& best = *std::max_element(
        heads.begin(), heads.end(), [](const HeadView& a, const HeadView& b) { return a.right < b.right; });
    const auto width = static_cast<std::size_t>(terminal_width(STDOUT_FILENO));
    const Labels rows = names_of(batch.said().ids(), names), columns = names_of(batch.src.ids(), names);
    const auto picture = [&](const HeadView& view, const std::string& title, Cells cells) {
        return draw(
            {.title = title, .rows = rows, .columns = columns, .values = view.weights, .cells = cells},
            stdout_ink());
    };
    say(join("\nCross-attention for ", models::listed(columns, " "),
             " (rows: what it writes, columns: the input)\nfor every head; the number is the share of its "
             "weight on ",
             path, "\n\n"),
        STDOUT_FILENO);
    std::vector<std::string> layer;
    const std::size_t shown = std::min<std::size_t>(heads.size(), 32);
    for (std::size_t i = 0; i < shown; ++i) {
        const HeadView& view = heads[i];
        layer.push_back(
            picture(view, join("head ", view.head + 1, ": ", number(view.right, 2)), Cells::small) + '\n');
        if (i + 1 == shown || heads[i + 1].layer > view.layer)
            std::cout << "layer " << view.layer + 1 << '\n' << beside(std::exchange(layer, {}), width);
    }
    if (shown < heads.size())
        std::cout << "and " << counted(std::ssize(heads) - 32, "head") << " more\n\n";
    say(join("the best head: layer ", best.layer + 1, ", head ", best.head + 1, ", with ",
             number(best.right, 2), " of its weight on ", path, "\n\n"),
        STDOUT_FILENO);
    const std::string large = picture(best, "", Cells::shades);
    std::cout << (widest(wrapped(large, large.size())) > width ? picture(best, "", Cells::small) : large);
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
    prompt.commands.push_back(attention_command(w.model, names, [=](const std::string& text) {
        const Ids ids = read(text);
        return Tokens(1, std::ssize(ids), ids);
    }));
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
        autograd::check(!last.empty(), "first type a sentence");
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

#include "apps/kit/insight.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "apps/kit/options.h"
#include "apps/kit/picture.h"
#include "apps/kit/program.h"
#include "autograd/base/mapped.h"
#include "autograd/ops.h"
#include "models/ranking.h"
#include "models/rows.h"
#include "nn/utf8.h"

namespace plaingrad::kit {

using autograd::mapped;
using autograd::Tensor;
using autograd::Tokens;
using Ids = std::vector<int32_t>;

std::string listed(const std::vector<std::pair<std::string, double>>& probabilities) {
    std::string text;
    for (const auto& [what, p] : probabilities)
        text += "  " + number(p, 4) + "  " + as_line(what) + '\n';
    return text;
}

namespace {

// A token that a beam search kept.
struct BeamNode {
    std::string token;
    double log_p = 0;  // with all before it
    std::string score = {};
    std::vector<std::size_t> next = {};  // the best first
};

// In one line as far as there is only one way on.
std::string drawn(const std::vector<BeamNode>& nodes, std::size_t node, std::size_t depth) {
    std::string text = std::string(2 + 2 * depth, ' ') + nodes[node].token;
    while (nodes[node].next.size() == 1) {
        node = nodes[node].next[0];
        text += ' ' + nodes[node].token;
    }
    text += "  " + number(nodes[node].log_p, 2) + nodes[node].score + '\n';
    for (const std::size_t next : nodes[node].next)
        text += drawn(nodes, next, depth + 1);
    return text;
}

// All beginnings that a beam search keeps, as a tree: behind each its log probability, and the score behind
// what ends. The search is that of models::beam_search.
std::string beam_tree(models::Stepper& stepper, const models::BeamOptions& o, const Labels& names) {
    const auto width = static_cast<std::size_t>(o.beam);
    std::vector<BeamNode> nodes = {{"<sos>"}};
    std::vector<std::size_t> places = {0};  // the nodes of the live ones
    std::vector<models::Live> live = {{0, {}, 0}};
    std::size_t ended = 0;
    bool best_ended = false;
    models::Rows rows(stepper);
    for (int64_t length = 1; !live.empty() && length <= models::room_for(stepper, o.max_tokens); ++length) {
        const Tensor log_p = autograd::log_softmax(rows.step());  // (rows, V)
        const auto candidates = models::best_candidates(live, log_p, 2 * width, stepper.specials);
        std::vector<models::Live> next;
        std::vector<std::size_t> next_places;
        for (std::size_t rank = 0; rank < candidates.size() && next.size() < width; ++rank) {
            const models::Candidate& c = candidates[rank];
            const bool ends = stepper.specials.is_end(c.token);
            if (ends && rank >= width)
                continue;
            const auto from = static_cast<std::size_t>(c.from);
            nodes[places[from]].next.push_back(nodes.size());
            nodes.push_back({names[static_cast<std::size_t>(c.token)], c.log_probability});
            if (!ends) {
                next.push_back({rows.keep(live[from].row, c.token), {}, c.log_probability});
                next_places.push_back(nodes.size() - 1);
                continue;
            }
            const double penalty = std::pow((o.k + static_cast<double>(length)) / (o.k + 1), o.alpha);
            nodes.back().score = "   score " + number(c.log_probability / penalty, 3);
            best_ended = best_ended || rank == 0;
            ++ended;
        }
        live = ended >= width && best_ended ? std::vector<models::Live>() : std::move(next);
        places = std::move(next_places);
    }
    return "  log p of each beginning, and the score of each sentence\n" + drawn(nodes, 0, 0);
}

std::string next_tokens(models::Stepper& stepper, const Labels& names) {
    const Tensor log_p = autograd::log_softmax(models::Rows(stepper).step());  // (1, V)
    const std::vector<models::Live> nothing = {{0, {}, 0}};
    std::vector<std::pair<std::string, double>> best;
    for (const models::Candidate& c : models::best_candidates(nothing, log_p, 5, stepper.specials))
        best.emplace_back(names[static_cast<std::size_t>(c.token)], std::exp(c.log_probability));
    return listed(best);
}

}  // namespace

std::string attention_picture(const Tensor& weights, const Labels& rows, const Labels& columns) {
    const auto room =
        static_cast<int64_t>(terminal_width(STDOUT_FILENO)) - std::ssize(right("", widest(rows) + 2));
    const int64_t all = weights.size(3), shown = std::clamp<int64_t>(room / 3, 1, all);
    const Tensor mean = autograd::slice(autograd::mean(weights, {0, 1}), 1, all - shown, all);  // (T, shown)
    HeatMap map = {.rows = rows, .columns = {columns.end() - shown, columns.end()}, .values = {}};
    for (const autograd::Real weight : mean.to_vector())
        map.values.push_back(static_cast<double>(weight));
    for (std::string& label : map.columns)
        while (static_cast<int64_t>(kit::columns(label)) >= std::max<int64_t>(room / shown, 3))
            label.pop_back();
    return draw(map, stdout_ink());
}

void add_commands(Prompt& prompt, const Start& start, const Labels& names, const models::BeamOptions& o) {
    prompt.commands.push_back({":next", "[TEXT]  the five most probable next tokens, after TEXT",
                               [=](const std::string& last, const std::string& written) {
                                   return next_tokens(*start(last, written), names);
                               }});
    prompt.commands.push_back({":beam", "[N]  the tree of a beam search, N (5) wide",
                               [=](const std::string& last, const std::string& n) {
                                   models::BeamOptions options = o;
                                   options.beam = n.empty() ? 5 : parse_integer(":beam", n, {1, 100});
                                   return beam_tree(*start(last, ""), options, names);
                               }});
}

void add_commands(Prompt& prompt, const models::Transformer& model, const Encode& source,
                  const Encode& target, const Labels& target_names, const models::BeamOptions& o) {
    const Labels source_names = prompt.names;
    const auto tokens = [](const Ids& ids) { return Tokens(1, std::ssize(ids), ids); };
    const auto begun = [=, &model](Ids written) {
        written.insert(written.begin(), model.config.specials.start);
        return tokens(written);
    };
    const Start start = [=, &model](const std::string& last, const std::string& written) {
        autograd::check(!last.empty(), "first type a sentence");
        return model.start(tokens(source(last)), begun(target(written)));
    };
    add_commands(prompt, start, target_names, o);
    prompt.commands.push_back(
        {":attention", "where it looked (last layer, mean of the heads)",
         [=, &model](const std::string& last, const std::string&) {
             Ids ids = models::beam_search(*start(last, ""), o)[0][0].ids;
             const Tokens src = tokens(source(last)), read = begun(ids);
             ids.push_back(model.config.specials.end());  // row t: before it wrote token t
             nn::Probe seen;
             model(src, read, nn::Mode::eval(&seen));
             return attention_picture(seen.of(model.decoder.layers.back().cross_attention),
                                      names_of(tokens(ids), target_names), names_of(src, source_names));
         }});
}

}  // namespace plaingrad::kit

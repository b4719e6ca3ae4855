#include "apps/kit/report.h"

#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <utility>

#include "apps/kit/run.h"
#include "autograd/base/parallel.h"
#include "autograd/base/real.h"
#include "autograd/base/text_stream.h"
#include "autograd/graph.h"
#include "autograd/inspect.h"
#include "autograd/ops.h"
#include "models/decoding/decoding.h"
#include "models/text/lines.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::kit {
namespace {

using autograd::mapped;
using nn::checkpoint::JsonText;

constexpr int64_t kSnapshots = 10;
constexpr int64_t kWeights = 3'400'000;     // of attention, in a page
constexpr char kAttention[] = "Attention";  // how the names of both kinds end
constexpr std::size_t kBins = 40, kTokens = 150;

// Two hexadecimal digits each, of which ff stands for 1. A weight above 0 is at least 01, so that hidden and
// hardly seen remain apart.
std::string bytes_of(const Tensor& weights) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const Real w : weights.to_vector()) {
        const long byte = w > 0 ? std::max(1L, std::lround(255 * std::min<Real>(w, 1))) : 0;
        text += {kDigits[byte / 16], kDigits[byte % 16]};
    }
    return text;
}

// Enough for a picture.
JsonText brief(double value) { return JsonText::rounded(value, 4); }

// A matrix of any numbers: [name,rows,most,bytes], where 1 stands for -most, 128 for 0, and 255 for most.
JsonText matrix(const std::string& name, const Tensor& x) {
    const Real most = max(reshape(abs(x), {-1}), 0).item() + Real(1e-30);
    return JsonText::array({name, x.size(0), brief(static_cast<double>(most)),
                            bytes_of((x * (127 / most) + Real(128)) / Real(255))});
}

// How values are spread, from the lowest to the highest: [name,lowest,highest,mean,deviation,counts].
JsonText spread(const std::string& name, const Tensor& values) {
    std::vector<Real> all = values.to_vector();
    std::erase_if(all, [](Real x) { return !std::isfinite(x); });
    if (all.empty())
        return JsonText::array({name + ": nothing finite", 0, 0, 0, 0, JsonText::array({1})});
    const auto [low, high] = std::minmax_element(all.begin(), all.end());
    const double from = static_cast<double>(*low), width = std::max(static_cast<double>(*high) - from, 1e-30);
    double sum = 0, squares = 0;
    std::vector<int64_t> counts(kBins);
    for (const Real value : all) {
        const auto x = static_cast<double>(value);
        sum += x;
        squares += x * x;
        ++counts[std::min(kBins - 1, static_cast<std::size_t>((x - from) / width * kBins))];
    }
    const auto n = static_cast<double>(all.size());
    const double deviation = std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
    return JsonText::array(
        {name, brief(from), brief(from + width), brief(sum / n), brief(deviation), counts});
}

// A line of the recording.
std::string line_of(const char* kind, int64_t step, const std::vector<JsonText::Member>& members) {
    std::vector<JsonText::Member> all = {{"kind", kind}, {"step", step}};
    all.insert(all.end(), members.begin(), members.end());
    int64_t replaced = 0;
    return models::text::replace_invalid_utf8(JsonText::object(all).text, replaced) + '\n';
}

// The tokens of a row.
Labels row_of(const Tokens& texts, int64_t row, const Labels& names) {
    Labels all;
    for (int64_t t = 0; t < texts.length(); ++t)
        all.push_back(texts.at(row, t) == texts.pad() ? "<pad>" : names_of({texts.at(row, t)}, names)[0]);
    return all;
}

// The modules with their types and parameters, and the texts.
std::string described(const ReportModel& s) {
    std::vector<JsonText> modules, texts;
    for (const nn::NamedModule& m : s.modules) {
        int64_t count = 0;
        for (const nn::NamedParameter& p : s.parameters)
            count += m.name.empty() || p.name.starts_with(m.name + ".") ? p.tensor.numel() : 0;
        modules.push_back(JsonText::array({m.name, m.type, count}));
    }
    for (int64_t row = 0; !s.texts.empty() && row < s.texts[0].batch(); ++row)
        texts.push_back(
            JsonText::array({row_of(s.texts[0], row, s.names),
                             s.target_names.empty() ? Labels() : row_of(s.texts[1], row, s.target_names)}));
    return line_of("model", 0, {{"modules", modules}, {"looks", texts}});
}

}  // namespace

Labels names_of(const std::vector<int32_t>& ids, const Labels& names) {
    return mapped(ids, [&](int32_t id) {
        return static_cast<std::size_t>(id) < names.size() ? names[static_cast<std::size_t>(id)]
                                                           : std::to_string(id);
    });
}

Recorder::Recorder(const RunPlan& plan, int64_t steps)
    : plan_(plan), model_(plan.report_model), steps_(steps), lines_(described(model_)) {}

void Recorder::call(int64_t step, const std::vector<Labels>& facts, const std::string& settings,
                    const std::map<std::string, double>& seconds) {
    const auto times = mapped(seconds, [](const auto& s) {
        return JsonText::array({s.first, brief(s.second)});
    });
    lines_ += line_of("call", step, {{"facts", facts}, {"settings", settings}, {"seconds", times}});
}

// Snapshots are at 0, 1/n², 4/n², 9/n², ... of the run: most of them early, when most changes.
bool Recorder::is_due(int64_t step) const {
    constexpr int64_t n = kSnapshots - 1;
    for (int64_t i = 0; i <= n; ++i)
        if (step == steps_ * i * i / (n * n))
            return true;
    return false;
}

// How many positions of each text fit into the page.
int64_t Recorder::positions_that_fit(const nn::Probe& seen) const {
    int64_t heads = 1;
    for (const nn::NamedModule& m : model_.modules)
        if (const Tensor* const weights = seen.find(m); weights != nullptr && m.type.ends_with(kAttention))
            heads += weights->size(1);
    const int64_t squares = kWeights / kSnapshots / heads / model_.texts[0].batch();
    return static_cast<int64_t>(std::sqrt(static_cast<double>(squares)));
}

void Recorder::snapshot(int64_t step) {
    const autograd::NoGrad no_grad;
    std::vector<JsonText> attention, positions, values, weights;
    nn::Probe seen;
    if (!model_.texts.empty())
        plan_.objective.logits(model_.texts, nn::Mode::eval(&seen));
    const int64_t shown = model_.texts.empty() ? 0 : positions_that_fit(seen);
    for (const nn::NamedModule& m : model_.modules) {
        const Tensor* const value = seen.find(m);
        if (value == nullptr)
            continue;
        if (m.type.ends_with(kAttention)) {
            for (int64_t i = 0; i < value->size(0); ++i) {
                Tensor w = slice((*value)[i], 1, 0, std::min(shown, value->size(2)));
                w = slice(w, 2, 0, std::min(shown, value->size(3)));  // (H, T, S)
                attention.push_back(JsonText::array({i, m.name, w.size(0), w.size(1), bytes_of(w)}));
            }
        } else if (m.type == "PositionalEncoding") {  // (T, d_model)
            positions.push_back(matrix(m.name, *value));
        } else {
            values.push_back(spread(m.name, *value));
        }
    }
    for (const nn::NamedParameter& p : model_.parameters)
        if (p.tensor.rank() >= 2)
            weights.push_back(spread(p.name, p.tensor));
    lines_ += line_of(
        "snapshot", step,
        {{"attention", attention}, {"positions", positions}, {"activations", values}, {"weights", weights}});
    embedding_ = embedding(step);
    const Answers answers = model_.answers ? model_.answers() : Answers();
    for (const std::string& text : answers.samples)
        lines_ += line_of("sample", step, {{"text", text}});
    if (!answers.confusion.empty())
        lines_ += line_of("confusion", step, {{"classes", answers.classes}, {"counts", answers.confusion}});
}

std::string Recorder::embedding(int64_t step) const {
    Labels labels;
    std::vector<int32_t> ids;
    for (std::size_t i = 0; i < model_.names.size() && ids.size() < kTokens; ++i)
        if (!model_.names[i].empty() && !model_.names[i].starts_with('<')) {
            labels.push_back(model_.names[i]);
            ids.push_back(static_cast<int32_t>(i));
        }
    if (ids.empty() || !model_.embedding.defined())
        return "";
    const Tensor x = autograd::embedding(model_.embedding, Tokens(1, std::ssize(ids), ids))[0];
    return line_of("embedding", step, {{"labels", labels}, {"vectors", matrix("", x)}});
}

extern const std::string_view run_page;  // run_page.html, compiled in by the Makefile

namespace {

constexpr int64_t kReload = 5;  // seconds
constexpr std::string_view kData = "<script type=\"application/json\" id=\"data\">";

std::string processor() {
    std::ifstream info("/proc/cpuinfo");  // elsewhere the instruction set must do
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name") && line.find(": ") != line.npos)
            return line.substr(line.find(": ") + 2) + ", ";
    return "";
}

// Adds up the seconds that each layer takes, in forward and in backward. The first op only starts the clock.
struct LayerTimes : autograd::OpWatch {
    using OpWatch::OpWatch;
    void after_forward(const char*, const Tensor&, autograd::List<const Tensor*>) override { add(layer()); }
    void after_backward(const autograd::Node& node) override { add(node.layer); }
    void add(const std::string& layer) {
        const auto now = std::chrono::steady_clock::now();
        if (last != decltype(last)())
            seconds[layer] += std::chrono::duration<double>(now - last).count();
        last = now;
    }
    std::map<std::string, double> seconds;
    std::chrono::steady_clock::time_point last;
};

std::string now() {
    const std::time_t time = std::time(nullptr);
    char text[60];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", std::localtime(&time));
    return text;
}

// Of a long log, every n-th line, the last, and those with a validation, which have no empty field.
std::string thinned(const std::string& log) {
    const int64_t every = 1 + std::count(log.begin(), log.end(), '\n') / 3000;
    autograd::TextInput lines(log);
    std::string kept;
    int64_t i = 0;
    for (std::string line; std::getline(lines, line); ++i)
        if (i % every == 0 || lines.peek() == EOF || line.find(",,") == line.npos)
            kept += line + (lines.eof() && !log.ends_with('\n') ? "" : "\n");
    return kept;
}

}  // namespace

void check_page(const std::string& file) {
    check(file.ends_with(".html"), file, ": the name of a page ends with .html");
    nn::checkpoint::check_can_replace(file);
    if (!nn::checkpoint::exists(file))
        return;
    const std::string text = nn::checkpoint::read_file(file);
    check(text.empty() || (text.starts_with("<!doctype html>") && text.find(kData) != text.npos), file,
          ": this file is there already, and it is no page about a run; give another name");
}

std::string html_page(const std::string& title, const std::vector<PageRun>& runs, int64_t reload) {
    std::vector<std::vector<std::string>> all;
    for (const PageRun& run : runs)
        all.push_back({run.name, thinned(run.log), run.lines});
    int64_t replaced = 0;
    std::string data = models::text::replace_invalid_utf8(
        nn::checkpoint::JsonText::array({title, reload, all}).text, replaced);
    // "</script>" in a text would end the data.
    for (std::size_t at = data.find('<'); at != data.npos; at = data.find('<', at))
        data.replace(at, 1, "\\u003c");
    std::string text(run_page);
    return text.replace(text.find(kData) + kData.size(), std::string_view("DATA").size(), data);
}

Answers answers_of(const models::Transformer& model, const ReportModel& page) {
    const Tokens& src = page.texts[0];
    Answers answers;
    for (const models::Hypothesis& h : models::greedy(*model.start(src), page.texts[1].length() + 1)) {
        Labels read = row_of(src, std::ssize(answers.samples), page.names);
        std::erase(read, "<pad>");
        answers.samples.push_back(models::listed(read, " ") + "  ->  " +
                                  models::listed(names_of(h.ids, page.target_names), " "));
    }
    return answers;
}

void Recorder::begin(const models::Run& run) {
    if (!run.folder.run.report.empty())
        check_page(run.folder.run.report);  // before hours of training
    if (const std::string file = run.folder.file("report.jsonl");
        run.step() > 0 && nn::checkpoint::exists(file))
        lines_ = nn::checkpoint::read_file(file);
    std::map<std::string, double> least;  // of a few, as whatever else the machine does only adds to it
    for (int64_t i = 0; i < 4; ++i) {
        LayerTimes times(run.model.parameters);
        plan_.try_batch(run.step() + 1).backward();
        for (const auto& [layer, seconds] : times.seconds)
            least[layer] = i == 0 ? seconds : std::min(least[layer], seconds);
        nn::zero_grad(run.model.parameters);
    }
    call(run.step(),
         {{"program", run.folder.program},
          {"plaingrad", autograd::version()},
          {"began", now()},
          {"machine",
           join(processor(), autograd::instruction_set(), ", ", counted(autograd::thread_count(), "thread"))},
          {"folder", run.folder.path}},
         run.folder.arguments, least);
    if (run.step() == 0)
        snapshot(0);  // kept with the first checkpoint, if one can be written
}

void Recorder::after_step(const models::Run& run, const nn::StepReport& step, const Scores& scores) {
    for (const auto& [name, value] : step.validation ? scores : Scores())
        lines_ += line_of("score", step.step, {{"name", name}, {"value", brief(value)}});
    const bool last = step.step == run.last() || interrupted() || run.has_ended();
    const bool is_new = last || is_due(step.step);
    if (is_new)
        snapshot(step.step);
    if (!is_new && !step.validation)
        return;
    if (run.folder.exists())
        nn::checkpoint::replace_file(run.folder.file("report.jsonl"), lines());
    if (!run.folder.run.report.empty())
        try {
            nn::checkpoint::replace_file(
                run.folder.run.report,
                html_page(run.folder.program, {{"", run.log(), lines()}}, last ? 0 : kReload));
        } catch (const nn::checkpoint::FileError& error) {
            if (last || !std::exchange(told_, true))
                say(error.what());  // the training is worth more than its picture
        }
}

}  // namespace plaingrad::kit

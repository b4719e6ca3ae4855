#include "apps/kit/report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>

#include "apps/kit/program.h"
#include "apps/kit/run.h"
#include "autograd/base/list.h"
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
using autograd::Real;
using autograd::Tensor;
using nn::checkpoint::JsonText;

constexpr int64_t kSnapshots = 10;
constexpr int64_t kBytes = 3'400'000;       // of all attention weights in a page, a byte each
constexpr char kAttention[] = "Attention";  // how the names of both kinds end
constexpr std::size_t kBins = 40, kTokens = 150;

// 255 stands for 1. A weight above 0 is at least 1, so that hidden and hardly seen remain apart.
std::string bytes_of(const Tensor& weights) {
    std::string bytes;
    for (const Real w : weights.to_vector())
        bytes += static_cast<char>(w > 0 ? std::max(1L, std::lround(255 * std::min<Real>(w, 1))) : 0);
    return base64(bytes);
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

// The modules with their types and parameters, and the texts.
std::vector<JsonText::Member> described(const ReportModel& s) {
    std::vector<JsonText> modules;
    for (const nn::NamedModule& m : s.modules) {
        int64_t count = 0;
        for (const nn::NamedParameter& p : s.parameters)
            count += m.name.empty() || p.name.starts_with(m.name + ".") ? p.tensor.numel() : 0;
        modules.push_back(JsonText::array({m.name, m.type, count}));
    }
    const auto texts = mapped(s.texts, [](const ReportText& l) {
        return JsonText::array({l.source, l.target});
    });
    return {{"modules", modules}, {"looks", texts}};
}

}  // namespace

std::string base64(const std::string& bytes) {
    constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        uint32_t group = 0;  // three bytes are four digits
        for (std::size_t k = i; k < i + 3; ++k)
            group = group << 8 | (k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0);
        for (std::size_t k = 0; k < 4; ++k)
            text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    }
    return text;
}

Labels names_of(const std::vector<int32_t>& ids, const Labels& names) {
    return mapped(ids, [&](int32_t id) {
        return static_cast<std::size_t>(id) < names.size() ? names[static_cast<std::size_t>(id)]
                                                           : std::to_string(id);
    });
}

std::vector<autograd::Tokens> as_in_a_batch(std::vector<autograd::Tokens> texts, int64_t positions) {
    int64_t longest = 0;
    for (autograd::Tokens& text : texts) {
        text = text.slice(0, std::min(positions, text.length()));
        longest = std::max(longest, text.length());
    }
    for (std::size_t i = 1; i < texts.size(); ++i)
        if (texts[i].pad() != autograd::Tokens::kNoPadding)
            texts[i] = autograd::Tokens::padded({texts[i].ids()}, texts[i].pad(), longest);
    return texts;
}

Recorder::Recorder(const RunPlan& plan, int64_t steps, const std::string& earlier, int64_t done)
    : plan_(plan), model_(plan.report_model), steps_(steps) {
    autograd::TextInput lines(earlier);
    for (std::string line; std::getline(lines, line);)
        try {
            const nn::checkpoint::Json row(line, "report.jsonl");
            const std::string kind = row["kind"].text();
            const int64_t step = row["step"].count();
            if (step > done)
                continue;
            if (kind == "snapshot")
                last_ = step;
            rows_.push_back({kind, line});
        } catch (const nn::checkpoint::FileError&) {
            continue;  // a damaged line is left out
        }
    if (rows_.empty())
        add("model", 0, described(model_));
}

std::string Recorder::lines() const {
    std::string all;
    for (const Row& row : rows_)
        all += row.line + '\n';
    return all;
}

void Recorder::add(const std::string& kind, int64_t step, const std::vector<JsonText::Member>& members) {
    std::vector<JsonText::Member> all = {{"kind", kind}, {"step", step}};
    all.insert(all.end(), members.begin(), members.end());
    int64_t replaced = 0;
    rows_.push_back({kind, models::text::replace_invalid_utf8(JsonText::object(all).text, replaced)});
}

void Recorder::call(int64_t step, const std::vector<Labels>& facts, const std::string& settings,
                    const std::map<std::string, double>& seconds) {
    const auto times = mapped(seconds, [](const auto& s) {
        return JsonText::array({s.first, brief(s.second)});
    });
    add("call", step, {{"facts", facts}, {"settings", settings}, {"seconds", times}});
}

void Recorder::score(int64_t step, const Scores& scores) {
    for (const auto& [name, value] : scores)
        add("score", step, {{"name", name}, {"value", brief(value)}});
}

// Snapshots are at 0, 1/n², 4/n², 9/n², ... of the run: most of them early, when most changes.
bool Recorder::after_step(int64_t step) {
    constexpr int64_t n = kSnapshots - 1;
    for (int64_t i = 0; i <= n; ++i)
        if (step == steps_ * i * i / (n * n))
            return snapshot(step);
    return false;
}

// How many positions of each text fit into the page.
int64_t Recorder::positions_that_fit(const nn::Probe& seen) const {
    int64_t heads = 1;
    for (const nn::NamedModule& m : model_.modules)
        if (const Tensor* const weights = seen.find(m); weights != nullptr && m.type.ends_with(kAttention))
            heads += weights->size(1);
    const int64_t squares = kBytes / kSnapshots / heads / std::ssize(model_.texts);
    return static_cast<int64_t>(std::sqrt(static_cast<double>(squares)));
}

bool Recorder::snapshot(int64_t step) {
    if (step <= last_)
        return false;
    last_ = step;
    const autograd::NoGrad no_grad;
    std::vector<JsonText> attention, positions, values, weights;
    int64_t shown = 0;
    for (std::size_t i = 0; i < model_.texts.size(); ++i) {
        nn::Probe seen;
        plan_.objective.logits(model_.texts[i].inputs, nn::Mode::eval(&seen));
        if (i == 0)
            shown = positions_that_fit(seen);
        for (const nn::NamedModule& m : model_.modules) {
            const Tensor* const value = seen.find(m);
            if (value == nullptr)
                continue;
            if (m.type.ends_with(kAttention)) {
                const Tensor w = slice(slice(*value, 2, 0, std::min(shown, value->size(2))), 3, 0,
                                       std::min(shown, value->size(3)));  // (1, H, T, S)
                attention.push_back(JsonText::array({i, m.name, w.size(1), w.size(2), bytes_of(w)}));
            } else if (i == 0 && m.type == "PositionalEncoding") {  // (T, d_model)
                positions.push_back(matrix(m.name, *value));
            } else if (i == 0) {
                values.push_back(spread(m.name, *value));
            }
        }
    }
    for (const nn::NamedParameter& p : model_.parameters)
        if (p.tensor.rank() >= 2)
            weights.push_back(spread(p.name, p.tensor));
    add("snapshot", step,
        {{"attention", attention}, {"positions", positions}, {"activations", values}, {"weights", weights}});
    embedding(step);
    const Answers answers = model_.answers ? model_.answers() : Answers();
    for (const std::string& text : answers.samples)
        add("sample", step, {{"text", text}});
    if (!answers.confusion.empty())
        add("confusion", step, {{"classes", model_.classes}, {"counts", answers.confusion}});
    return true;
}

// Only the last one is kept.
void Recorder::embedding(int64_t step) {
    if (!model_.embedding.defined())
        return;
    Labels labels;
    std::vector<int32_t> ids;
    for (std::size_t i = 0; i < model_.tokens.size() && ids.size() < kTokens; ++i)
        if (!model_.tokens[i].empty() && !model_.tokens[i].starts_with('<')) {
            labels.push_back(model_.tokens[i]);
            ids.push_back(static_cast<int32_t>(i));
        }
    if (ids.empty())
        return;
    const Tensor x = autograd::embedding(model_.embedding, autograd::Tokens(1, std::ssize(ids), ids))[0];
    std::erase_if(rows_, [](const Row& row) { return row.kind == "embedding"; });
    add("embedding", step, {{"labels", labels}, {"vectors", matrix("", x)}});
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
    autograd::check(file.ends_with(".html"), file, ": the name of a page ends with .html");
    nn::checkpoint::check_can_replace(file);
    if (!nn::checkpoint::exists(file))
        return;
    const std::string text = nn::checkpoint::read_file(file);
    autograd::check(text.empty() || (text.starts_with("<!doctype html>") && text.find(kData) != text.npos),
                    file, ": this file is there already, and it is no page about a run; give another name");
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

ReportModel report_model_of(const models::Transformer& model, const std::vector<models::Batch>& texts,
                            const Labels& names, const Labels& target_names) {
    ReportModel s = about(model, model.src_embedding.tokens.table, names);
    const std::vector<autograd::Tokens> sources = as_in_a_batch(mapped(texts, &models::Batch::src), 32);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const autograd::Tokens src = sources[i], tgt = texts[i].tgt;
        const autograd::Tokens read = tgt.slice(0, std::min<int64_t>(32, tgt.length() - 1));
        s.texts.push_back({names_of(src.ids(), names), names_of(read.ids(), target_names), {src, read}});
    }
    s.answers = [=, &model] {
        Labels lines;
        for (const models::Batch& text : texts) {
            const std::vector<int32_t> ids = models::greedy(*model.start(text.src), text.tgt.length())[0].ids;
            lines.push_back(models::listed(names_of(text.src.ids(), names), " ") + "  ->  " +
                            models::listed(names_of(ids, target_names), " "));
        }
        return Answers{lines};
    };
    return s;
}

std::string earlier_lines(const models::RunFolder& folder) {
    const std::string file = folder.exists() ? folder.file("report.jsonl") : "";
    return folder.resumes() && nn::checkpoint::exists(file) ? nn::checkpoint::read_file(file) : "";
}

void Recorder::begin(const models::Run& run) {
    if (!run.folder.run.report.empty())
        check_page(run.folder.run.report);  // before hours of training
    std::map<std::string, double> least;    // of a few, as whatever else the machine does only adds to it
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
          {"machine", autograd::join(processor(), autograd::instruction_set(), ", ",
                                     counted(autograd::thread_count(), "thread"))},
          {"folder", run.folder.path}},
         run.folder.arguments, least);
    after_step(run.step());  // kept with the first checkpoint, if one can be written
}

void Recorder::after_step(const models::Run& run, const nn::StepReport& step, const Scores& scores) {
    if (step.validation)
        score(step.step, scores);
    const bool last = step.step == run.last() || interrupted() || run.has_ended();
    const bool is_new = last ? snapshot(step.step) : after_step(step.step);
    if (!is_new && !last && !step.validation)
        return;
    if (run.folder.exists())
        nn::checkpoint::replace_file(run.folder.file("report.jsonl"), lines());
    if (!run.folder.run.report.empty())
        nn::checkpoint::replace_file(
            run.folder.run.report,
            html_page(run.folder.program, {{"", run.log(), lines()}}, last ? 0 : kReload));
}

}  // namespace plaingrad::kit

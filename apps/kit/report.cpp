#include "apps/kit/report.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>

#include "apps/kit/program.h"
#include "autograd/base/mapped.h"
#include "autograd/base/parallel.h"
#include "autograd/base/text_stream.h"
#include "autograd/base/version.h"
#include "autograd/graph.h"
#include "autograd/inspect.h"
#include "models/decoding.h"
#include "models/text/lines.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::kit {

extern const std::string_view run_page;  // run_page.html, compiled in by the Makefile

namespace {

using autograd::mapped;
using autograd::Tensor;

constexpr int64_t kReload = 5;  // seconds
constexpr std::string_view kData = "<script type=\"application/json\" id=\"data\">";

std::string processor() {
    std::ifstream info("/proc/cpuinfo");  // elsewhere the instruction set must do
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name") && line.find(": ") != line.npos)
            return line.substr(line.find(": ") + 2) + ", ";
    return "";
}

std::string earlier_lines(const models::RunFolder& folder) {
    const std::string file = folder.exists() ? folder.file("report.jsonl") : "";
    return folder.resumes() && nn::checkpoint::exists(file) ? nn::checkpoint::read_file(file) : "";
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
    autograd::TextReader lines(log);
    std::string kept;
    int64_t i = 0;
    for (std::string line; std::getline(lines, line); ++i)
        if (i % every == 0 || lines.peek() == EOF || line.find(",,") == line.npos)
            kept += line + (lines.eof() && !log.ends_with('\n') ? "" : "\n");
    return kept;
}

}  // namespace

void check_page(const std::string& file) {
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

Subject subject_of(const models::Transformer& model, const std::vector<models::Batch>& texts,
                   const Labels& names, const Labels& target_names) {
    Subject s = about(model, model.src_embedding.tokens.table, names);
    const std::vector<autograd::Tokens> sources = as_in_a_batch(mapped(texts, &models::Batch::src), 32);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const autograd::Tokens src = sources[i], tgt = first_of(texts[i].tgt, 33);
        const autograd::Tokens read = tgt.slice(0, tgt.length() - 1);
        s.looks.push_back({names_of(src.ids(), names), names_of(read.ids(), target_names),
                           [=, &model](const nn::Mode& mode) { model(src, read, mode); }});
    }
    s.samples = [=, &model] {
        Labels lines;
        for (const models::Batch& text : texts) {
            const std::vector<int32_t> ids = models::greedy(*model.start(text.src), text.tgt.length())[0].ids;
            lines.push_back(models::listed(names_of(text.src.ids(), names), " ") + "  ->  " +
                            models::listed(names_of(ids, target_names), " "));
        }
        return lines;
    };
    return s;
}

Report::Report(const models::Run& run, const Plan& plan)
    : run_(run),
      wanted_(run.folder.exists() || !run.folder.run.report.empty()),
      recorder_(plan.subject, run.options.steps, earlier_lines(run.folder), run.training.adam.steps()) {
    if (!wanted_)
        return;
    if (!run.folder.run.report.empty())
        check_page(run.folder.run.report);
    std::map<std::string, double> least;  // of a few, as whatever else the machine does only adds to it
    for (int64_t i = 0; i < 4; ++i) {
        LayerTimes times(run.model.parameters);
        plan.try_batch(run.step() + 1).backward();
        for (const auto& [layer, seconds] : times.seconds)
            least[layer] = i == 0 ? seconds : std::min(least[layer], seconds);
        nn::zero_grad(run.model.parameters);
    }
    recorder_.call(run.training.adam.steps(),
                   {{"program", run.folder.program},
                    {"plaingrad", autograd::version()},
                    {"began", now()},
                    {"machine", autograd::join(processor(), autograd::instruction_set(), ", ",
                                               counted(autograd::thread_count(), "thread"))},
                    {"folder", run.folder.path}},
                   run.folder.arguments, least);
    recorder_.after_step(run.training.adam.steps());  // kept with the first checkpoint, if one can be written
}

void Report::after_step(const nn::StepReport& step) {
    if (!wanted_)
        return;
    if (step.validation)
        recorder_.scores(step.step);
    const bool last = step.step == run_.last() || interrupted() || run_.has_ended();
    const bool snapshot = last ? recorder_.snapshot(step.step) : recorder_.after_step(step.step);
    if (!snapshot && !last && !step.validation)
        return;
    if (run_.folder.exists())
        nn::checkpoint::replace_file(run_.folder.file("report.jsonl"), {recorder_.lines()});
    if (!run_.folder.run.report.empty())
        nn::checkpoint::replace_file(
            run_.folder.run.report,
            {html_page(run_.folder.program, {{"", run_.log(), recorder_.lines()}}, last ? 0 : kReload)});
}

}  // namespace plaingrad::kit

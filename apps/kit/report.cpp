#include "apps/kit/report.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <tuple>

#include "apps/kit/page.h"
#include "apps/kit/program.h"
#include "autograd/base/mapped.h"
#include "autograd/base/parallel.h"
#include "autograd/base/text_stream.h"
#include "autograd/base/version.h"
#include "autograd/graph.h"
#include "autograd/inspect.h"
#include "models/decoding.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::kit {
namespace {

using autograd::mapped;
using autograd::Tensor;

constexpr int64_t kReload = 5;  // seconds

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

}  // namespace

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
    log_as_json(true);  // of a resumed run, without the rows that will come again
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
    log_as_json(false);
    if (step.validation)
        recorder_.scores(step.step);
    const bool last = step.step == run_.last() || interrupted() || run_.has_ended();
    const bool snapshot = last ? recorder_.snapshot(step.step) : recorder_.after_step(step.step);
    const int64_t every = run_.folder.run.report_every;
    const bool shows = snapshot || last || (every > 0 && step.step % every == 0);
    // After a validation a checkpoint follows, from which the run may be resumed.
    if (run_.folder.exists() && (shows || step.validation))
        nn::checkpoint::replace_file(run_.folder.file("report.jsonl"), {recorder_.lines()});
    if (shows)
        write_page(!last);
}

void Report::log_as_json(bool from_start) const {
    if (!run_.folder.exists() || run_.folder.run.log != "json")
        return;
    const std::string file = run_.folder.file("log.jsonl"), &log = run_.log();
    const std::string names = log.substr(0, log.find('\n'));
    // (A run that was killed may have left its own: starting it again replaces that.)
    if (from_start && nn::checkpoint::exists(file))
        autograd::check(
            std::string_view("{\"step\":").starts_with(nn::checkpoint::read_file(file).substr(0, 8)), file,
            ": this file is there already, and it is no log of a run; give another folder");
    std::string objects;
    autograd::TextReader rows(
        log.substr(from_start ? names.size() + 1 : log.rfind('\n', log.size() - 2) + 1));
    for (std::string row, name, value; std::getline(rows, row); objects += "}\n") {
        autograd::TextReader keys(names), values(row);
        for (const char* next = "{\""; std::getline(keys, name, ',') && std::getline(values, value, ',');)
            if (value.find_first_of("0123456789") != value.npos)  // neither empty nor infinite
                objects += std::exchange(next, ",\"") + name + "\":" + value;
    }
    nn::checkpoint::append_to_file(file, objects, from_start);
}

void Report::write_page(bool goes_on) const {
    const auto& [file, every] = std::tie(run_.folder.run.report, run_.folder.run.report_every);
    if (file.empty() || (goes_on && every == 0))
        return;
    const std::string page =
        html_page(run_.folder.program, {{"", run_.log(), recorder_.lines()}}, goes_on ? kReload : 0);
    nn::checkpoint::replace_file(file, {page});
}

}  // namespace plaingrad::kit

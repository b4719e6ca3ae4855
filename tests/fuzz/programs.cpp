// The command lines of programs, the runs that they resume, and the pages that they write about runs.
#include <algorithm>
#include <iostream>
#include <limits>
#include <regex>
#include <sstream>

#include "apps/kit/options.h"
#include "apps/kit/report.h"
#include "apps/kit/run.h"
#include "apps/programs/classify/classify.h"
#include "apps/programs/generate/generate.h"
#include "apps/programs/translate/translate.h"
#include "models/text/lines.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/safetensors.h"
#include "tests/apps/running.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/small_models.h"

namespace plaingrad::fuzz {
namespace {

using kit::Options;
using tests::Words;

// ---- command lines

// Three options act at once, on the whole process or on a file, and so are left out.
bool is_left_out(const std::string& word) {
    return word.starts_with("--threads") || word.starts_with("--plain") || word == "--report" ||
           word.starts_with("--report=");
}

template <class Settings>
void parse(const std::string& program, void (*add_rows)(Options&, Settings&), Words words) {
    Settings settings, resumed;
    Options options({program, "learns"}), again({program, "learns"});
    add_rows(options, settings);
    add_rows(again, resumed);
    words.insert(words.begin(), program);
    options.parse(static_cast<int>(words.size()), tests::pointers(words).data());
    // What a checkpoint keeps of the settings gives these settings again. (Files come back with whole names.)
    const std::string kept = options.kept();
    again.resume(kept, "last.safetensors");
    expect(again.kept() == kept, "resumed, it keeps other settings: ", again.kept());
    expect(options.was_given("--validation") || again.changed() == options.changed(),
           "resumed with other settings: ", again.changed());
}

// What --help prints, while this lives.
struct Help {
    std::ostringstream text;
    std::streambuf* const own = std::cout.rdbuf(text.rdbuf());
    ~Help() { std::cout.rdbuf(own); }
};

void parse(char program, const Words& words) {
    switch (static_cast<unsigned char>(program - '0') % 3) {
        case 1:
            return parse("translate train", translate::add_train_options, words);
        case 2:
            return parse("classify train", classify::add_train_options, words);
        default:
            return parse("generate train", generate::add_train_options, words);
    }
}

// The first byte chooses the program, 0 to 2, and each line is a word.
void command_line(const std::string& bytes) {
    const Help help;
    std::istringstream lines(bytes.substr(std::min<std::size_t>(1, bytes.size())));
    Words words;
    for (std::string line; std::getline(lines, line);)  // up to a NUL, as a system hands a word over
        if (const std::string word = line.substr(0, line.find('\0')); !is_left_out(word))
            words.push_back(word);
    try {
        parse(bytes.empty() ? '0' : bytes[0], words);
    } catch (const kit::UsageError& wrong) {
        throw autograd::Error(wrong.what());
    } catch (const kit::Ended& ended) {
        expect(ended.status == 0 && !help.text.str().empty(), "it ended without a word");
    }
}

// The options of these programs, as their help names them.
Words option_names() {
    const Help help;
    for (const char program : {'0', '1', '2'})
        try {
            parse(program, {"--help"});
        } catch (const kit::Ended&) {
        }
    const std::regex option("--[a-z][a-z0-9-]*");
    const std::string text = help.text.str();
    return {std::sregex_token_iterator(text.begin(), text.end(), option), std::sregex_token_iterator()};
}

// ---- a run that is resumed

models::Metadata kept_settings() {
    generate::TrainSettings settings;
    Options options({"generate train", "learns"});
    generate::add_train_options(options, settings);
    Words words = {"generate", "a.txt", "--steps=9"};
    options.parse(3, tests::pointers(words).data());
    return {
        {"generate.arguments", options.kept()}, {"generate.data", "1 texts, 5"}, {"generate.loss", "1.5"}};
}

// As models::Run does: settings, weights, the optimizer's state. Then a step, from whatever was read.
void resume(const std::string& bytes) {
    static const tests::Folder folder;
    static const std::string config =
        folder.write("config.json", written(models::hugging_face::config_of(small_language_model().config)));
    const std::string path = folder.write("last.safetensors", bytes);
    const nn::checkpoint::Metadata metadata = nn::checkpoint::read(path).metadata();
    const nn::checkpoint::Fields read{metadata, "generate.", path};
    generate::TrainSettings settings;
    Options options({"generate train", "learns"});
    generate::add_train_options(options, settings);
    std::string arguments;
    read("arguments", arguments);
    options.resume(arguments, path);
    double loss = 0;
    read("loss", loss);
    const auto model = models::load_model<models::LanguageModel>(path);
    nn::Training training(nn::parameters(model), {});
    models::load_training(path, training);
    expect(training.adam.steps() >= 0, "a run of ", training.adam.steps(), " steps");
    for (const nn::NamedParameter& p : training.adam.parameters())
        sum(p.tensor).backward();
    training.adam.step(1e-3);
}

std::vector<std::string> resume_seeds() {
    const models::LanguageModel model = small_language_model();
    nn::Training training(nn::parameters(model), {});
    for (const nn::NamedParameter& p : training.adam.parameters())
        sum(p.tensor).backward();
    training.adam.step(1e-3);
    return {saved(model, kept_settings(), &training)};
}

// ---- pages

std::string as_utf8(const std::string& text) {
    int64_t replaced = 0;
    return models::text::replace_invalid_utf8(text, replaced);
}

void check_lines_of_json(const std::string& lines) {
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);)
        nn::checkpoint::Json(line, "report.jsonl");
}

// Of a page without runs: what comes before the data, and after it.
struct Frame {
    std::string before, after;
    Frame() {
        const std::string empty = kit::html_page("", {});
        const std::string data = "[\"\",0,[]]";
        const std::size_t at = empty.find(data);
        before = empty.substr(0, at);
        after = empty.substr(at + data.size());
    }
};

// Whatever a run's texts say, the page is the frame and one piece of JSON without "<", which ends nothing,
// and which a browser reads as these texts.
void check_page(const std::string& title, const kit::PageRun& run) {
    static const Frame frame;
    const std::string page = kit::html_page(title, {run}, 5);
    expect(page.starts_with(frame.before) && page.ends_with(frame.after), "a text changes the page");
    const std::string data =
        page.substr(frame.before.size(), page.size() - frame.before.size() - frame.after.size());
    expect(data.find('<') == data.npos, "a text can end the data: ", data);
    std::vector<std::string> texts;
    using nn::checkpoint::Json;
    for (const Json& item : Json(data, "page").items())
        if (item.kind() == Json::Kind::string)
            texts.push_back(item.text());
        else if (item.kind() == Json::Kind::number)
            expect(item.count() == 5, "another time to load it again");
        else
            for (const Json& part : item.items())
                for (const Json& text : part.items())
                    texts.push_back(text.text());
    const bool is_whole = std::count(run.log.begin(), run.log.end(), '\n') < 3000;
    expect(texts.size() == 4 && texts[0] == as_utf8(title) && texts[1] == as_utf8(run.name) &&
               (!is_whole || texts[2] == as_utf8(run.log)) && texts[3] == as_utf8(run.lines),
           "a browser reads other texts");
}

// The four texts are separated by NULs.
void report(const std::string& bytes) {
    std::vector<std::string> texts(1);
    for (const char c : bytes)
        c == '\0' ? void(texts.emplace_back()) : void(texts.back() += c);
    texts.resize(4);
    check_page(texts[0], {texts[1], texts[2], texts[3]});
    const kit::RunPlan plan = {.report_model = {.names = texts}};
    kit::Recorder recorder(plan, 9);
    const double seconds = static_cast<double>(bytes.size()) / 7;
    recorder.call(0, {texts, texts}, texts[3],
                  {{texts[0], seconds}, {texts[1], std::numeric_limits<double>::quiet_NaN()}});
    check_lines_of_json(recorder.lines());
}

std::vector<std::string> command_line_seeds() {
    return {"0--steps=9\n--lr\n0.01\na.txt\n--report\n3",
            "1a\nb\n--preset\nbase\n--validation=c,d\n--lower-case\n--merges=0",
            "2--epochs=3\n--validation\n100\n--context=9\nx.tsv",
            "3folder\nb.txt\n--batch\n2\n--save=run",
            "4folder\nb.txt\n--resume=run",
            "0--layers=2\n--heads=2\n--d-model=8\n--context=9\n--dropout=0.2\n--batch=3\n--preset=small\na",
            "1--layers=2\n--heads=2\n--d-ff=8\n--codes=c\n--tokenized\n--context=9\na\nb",
            "2--layers=2\n--patience=2\n--keep-case\na",
            "0--help"};
}
std::vector<std::string> report_seeds() {
    std::string texts = "title</script>|run|step,loss\n1,2.5\n2,,\n|{\"kind\":\"x\\\"<!--\"}\n";
    std::replace(texts.begin(), texts.end(), '|', '\0');
    return {texts};
}

}  // namespace

void add_programs(std::vector<Target>& all) {
    all.push_back({"command_line", command_line, command_line_seeds, Form::words, Refusal::any_error, -1,
                   option_names});
    // As for saved models; beside the weights there are two moments and the gradients.
    all.push_back({"resume", resume, resume_seeds, Form::safetensors, Refusal::file_error, kMiB + 16 * kMiB});
    all.push_back({"report", report, report_seeds});
}

}  // namespace plaingrad::fuzz

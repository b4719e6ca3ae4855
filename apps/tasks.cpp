// Four classic tasks, each learned from scratch: copying, reversing, sorting, adding. Together they use all
// three families of models. Each result is printed beside a published one.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>

#include "apps/kit/run.h"
#include "autograd/base/list.h"
#include "models/batch.h"
#include "models/decoding/decoding.h"
#include "models/families/one_stack.h"
#include "models/presets.h"
#include "nn/parallel/data_parallel.h"
#include "nn/schedule.h"

using namespace plaingrad;
using autograd::Rng;
using autograd::Tensor;
using autograd::Tokens;
using models::Kind;
using models::Real;
using nn::Init;
using Pairs = std::vector<models::Pair>;
using Sequence = std::vector<int32_t>;

namespace {

// -------------------------------------------------------------------------------------------------- tasks

struct Recipe {
    int64_t layers, heads, width, d_ff;  // of each stack
    Real dropout;
    Init init;
    int64_t steps, batch;
    double lr, lowest_lr;  // half a cosine leads from lr to 0, but not below lowest_lr
    int64_t warmup;        // steps
    nn::AdamOptions adam = {};
    double clip = 1;
};

// A question is a sequence of symbols, and so is its answer. Symbol s has the id s + 4.
struct Questions {
    int64_t symbols, length, answer_length;
    Sequence (*solve)(Sequence question);
    int64_t tested, required;  // questions in the test, and how many must be answered right
};

struct Words {
    std::string name, summary;
    std::string figure, source;  // published
};

struct Task : Questions, Words {
    Kind kind;
    Recipe published, ours;
};

Sequence copied(Sequence question) { return question; }

Sequence reversed(Sequence question) { return {question.rbegin(), question.rend()}; }

Sequence sorted(Sequence question) {
    std::sort(question.begin(), question.end());
    return question;
}

// 4 7 8 5 -> 1 3 2, as 47 + 85 = 132. There are no signs: the position tells what a digit means.
Sequence added(Sequence question) {
    const auto digit = [&](std::size_t i) { return question[i] - models::kFirstFreeId; };
    const int32_t sum = 10 * (digit(0) + digit(2)) + digit(1) + digit(3), zero = models::kFirstFreeId;
    return {zero + sum / 100, zero + sum / 10 % 10, zero + sum % 10};
}

constexpr nn::AdamOptions kPaperAdam = {.beta2 = 0.98, .eps = 1e-9};  // "Attention Is All You Need", §5.3
constexpr nn::AdamOptions kMinGptAdam = {
    .beta2 = 0.95, .weight_decay = 0.1, .decoupled = true, .decay_matrices_only = true};
constexpr double kNoClip = std::numeric_limits<double>::infinity();
constexpr Recipe kReverse = {1, 1, 32, 64, 0, Init::xavier, 3900, 128, 5e-4, 0, 50, {}, 5};

// We use our own recipe where the published one takes minutes (copy, add) or misses its figure with some
// seeds (sort).
const std::vector<Task> kTasks = {
    {{10, 10, 10, copied, 10'000, 10'000},
     {"copy", "10 symbols, unchanged", "no figure, harvardnlp",
      "github.com/harvardnlp/annotated-transformer"},
     Kind::encoder_decoder,
     {2, 8, 512, 2048, Real(0.1), Init::xavier, 400, 80, 1.1e-3, 0, 400, kPaperAdam, kNoClip},
     {1, 4, 64, 256, 0, Init::xavier, 400, 64, 3e-3, 0, 40, kPaperAdam}},
    {{10, 16, 16, reversed, 10'000, 10'000},
     {"reverse", "16 symbols, the last one first", "100.00 %, phlippe",
      "github.com/phlippe/uvadlc_notebooks, tutorial 6"},
     Kind::masked,
     kReverse,
     kReverse},
    {{3, 6, 6, sorted, 5000, 5000},
     {"sort", "6 digits from 0 to 2, the smallest first", "5000/5000, karpathy",
      "github.com/karpathy/minGPT, demo.ipynb"},
     Kind::causal,
     {3, 3, 48, 192, Real(0.1), Init::gpt2, 2000, 64, 5e-4, 5e-4, 0, kMinGptAdam},
     {3, 3, 48, 192, Real(0.1), Init::gpt2, 1000, 64, 3e-3, 0, 50, kMinGptAdam}},
    {{10, 4, 3, added, 1000, 999},
     {"add", "two numbers of two digits", "999/1000, karpathy",
      "github.com/karpathy/minGPT, play_math.ipynb in its history"},
     Kind::causal,
     {2, 4, 128, 512, Real(0.1), Init::gpt2, 900, 512, 6e-4, 6e-5, 0, kMinGptAdam},
     {2, 4, 128, 512, 0, Init::gpt2, 1000, 128, 2e-3, 0, 100, kMinGptAdam}},
};

// --------------------------------------------------------------------------------------------------- data

// The questions are numbered from 0 to symbols^length - 1. The digits of its number are a question's symbols.
int64_t count(const Task& t) {
    int64_t n = 1;
    for (int64_t i = 0; i < t.length; ++i)
        n *= t.symbols;
    return n;
}

models::Pair question(const Task& t, int64_t number) {
    Sequence symbols(static_cast<std::size_t>(t.length));
    for (auto place = symbols.rbegin(); place != symbols.rend(); ++place, number /= t.symbols)
        *place = models::kFirstFreeId + static_cast<int32_t>(number % t.symbols);
    return {symbols, t.solve(symbols)};
}

struct Data {
    Pairs batch(int64_t step, int64_t size) const {
        return draw(rng.fork("training").fork(static_cast<uint64_t>(step)), false, size);
    }
    Pairs test() const { return draw(rng.fork("test"), true, task.tested); }

    // Whether a question is for the test only. Where there are few questions (add), exactly as many are as
    // the test has; elsewhere a quarter, chosen by a hash, as in minGPT's demo.
    bool held_out(int64_t number) const {
        return few ? order[static_cast<std::size_t>(number)] < task.tested
                   : rng.fork("split").bits(static_cast<uint64_t>(number)) % 4 == 0;
    }
    Pairs draw(const Rng& of, bool test, int64_t size) const {
        Pairs pairs;
        for (uint64_t i = 0; std::ssize(pairs) < size; ++i) {
            const int64_t drawn = of.below(i, count(task));
            const int64_t number = few && test ? static_cast<int64_t>(i) : drawn;  // each of a few, in turn
            if (held_out(number) == test)
                pairs.push_back(question(task, number));
        }
        return pairs;
    }

    const Task& task;
    const Rng rng;
    const bool few = count(task) == 10 * task.tested;
    const std::vector<int64_t> order = rng.fork("split").permutation(few ? count(task) : 0);
};

// ------------------------------------------------------------------------------------------------- models

models::Config config_of(const Task& t, const Recipe& r, autograd::Precision precision) {
    const bool two_stacks = t.kind == Kind::encoder_decoder;
    models::Config config = two_stacks               ? models::preset("prenorm")
                            : t.kind == Kind::causal ? models::gpt2()
                                                     : models::Config();
    config.vocabulary = models::kFirstFreeId + t.symbols;
    config.n_layers = r.layers;
    config.tied = false;
    models::BlockConfig& block = config.block;
    block.d_model = r.width, block.n_heads = r.heads, block.d_ff = r.d_ff;
    block.dropout = {.embeddings = r.dropout, .sublayers = r.dropout, .attention = r.dropout};
    block.init = r.init;
    block.precision = precision;
    if (two_stacks) {
        config.src_vocabulary = config.vocabulary;
        config.n_decoder_layers = r.layers;
        config.max_length = t.length + 1;  // <sos> or <eos> takes one
        config.embeddings_tied = false;
        block.dropout.feed_forward = r.dropout;
    } else {
        config.max_length = t.length + t.answer_length - 1;                       // the last is never read
        config.specials = {.never = {models::kPad, models::kSos, models::kUnk}};  // ours, not GPT-2's
        block.scale_embeddings = false;
    }
    return config;
}

// What a model of each family learns, and how it answers.

// The encoder reads the question; the decoder continues <sos> with the answer and <eos>.
kit::Examples examples(const models::Transformer&, const Pairs& pairs) {
    return kit::examples_of(models::make_batch(pairs));
}

// Each position sees the whole question and predicts the answer's symbol at that position, all at once.
kit::Examples examples(const models::MaskedLanguageModel&, const Pairs& pairs) {
    const models::Batch batch = models::make_batch(pairs);
    return {{batch.src}, batch.tgt.slice(1, batch.tgt.length() - 1)};  // between <sos> and <eos>
}

std::vector<Sequence> answers(const models::MaskedLanguageModel& model, const Tokens& questions, int64_t) {
    const autograd::NoGrad no_grad;
    const Tokens best = argmax(model(questions, models::Mode::eval()));  // (B, T)
    std::vector<Sequence> all;
    for (auto row = best.ids().begin(); row != best.ids().end(); row += best.length())
        all.emplace_back(row, row + best.length());
    return all;
}

// Question and answer are one text. The loss counts only the answer, as the question cannot be predicted.
kit::Examples examples(const models::LanguageModel&, const Pairs& pairs) {
    std::vector<Sequence> texts;
    Sequence targets;  // of all rows; padding where the loss must not count
    for (const models::Pair& pair : pairs) {
        texts.push_back(pair.src);
        texts.back().insert(texts.back().end(), pair.tgt.begin(), pair.tgt.end() - 1);
        targets.insert(targets.end(), pair.src.size() - 1, models::kPad);
        targets.insert(targets.end(), pair.tgt.begin(), pair.tgt.end());
    }
    const Tokens read = Tokens::padded(texts, models::kPad);
    return {{read}, Tokens(read.batch(), read.length(), targets, models::kPad)};
}

// Both kinds of decoders write it token by token.
template <class Model>
std::vector<Sequence> answers(const Model& model, const Tokens& questions, int64_t length) {
    constexpr bool ends = std::is_same_v<Model, models::Transformer>;  // an answer without <eos> is wrong
    const auto stepper = model.start(questions);
    std::vector<Sequence> all;
    for (const models::Hypothesis& h : models::greedy(*stepper, ends ? length + 1 : length)) {
        all.push_back(h.ids);
        if (ends && !h.finished)
            all.back().push_back(models::kPad);
    }
    return all;
}

// ---------------------------------------------------------------------------------------- training and test

// After little training, an answer may contain reserved ids: "?".
std::string symbol(int32_t id) {
    return id < models::kFirstFreeId ? "?" : std::to_string(id - models::kFirstFreeId);
}

// "0 2 1  ->  0 1 2", or "47 + 85 = 132".
std::string example(const Sequence& question, const Sequence& answer, bool sum) {
    const auto text = [&](const Sequence& ids) {
        return models::listed(autograd::mapped(ids, symbol), sum ? "" : " ");
    };
    const auto begin = question.begin(), end = question.end();
    return (sum ? text({begin, begin + 2}) + " + " + text({begin + 2, end}) + " = "
                : text(question) + "  ->  ") +
           text(answer);
}

// Returns how many answers are right, and prints two of them.
template <class Model>
int64_t test(const Model& model, const Task& task, const Data& data) {
    constexpr std::size_t kBatch = 500;  // few at a time, to keep memory small
    const Pairs all = data.test();
    int64_t right = 0;
    for (std::size_t i = 0; i < all.size(); i += kBatch) {
        std::vector<Sequence> asked;
        for (std::size_t j = i; j < std::min(i + kBatch, all.size()); ++j)
            asked.push_back(all[j].src);
        const std::vector<Sequence> given =
            answers(model, Tokens::padded(asked, models::kPad), task.answer_length);
        for (std::size_t j = 0; j < given.size(); ++j) {
            const bool correct = given[j] == all[i + j].tgt;
            right += correct ? 1 : 0;
            if (i + j == all.size() / 2 || i + j == all.size() - 1)
                std::cout << "  " << example(asked[j], given[j], task.solve == added)
                          << (correct ? "\n" : "  (wrong)\n");
        }
    }
    return right;
}

// A model that has learned, and its test.
struct Outcome {
    int64_t parameters, right;
    double seconds;
};

template <class Model>
Outcome learn(const Model& model, const Task& task, const Recipe& r, const Rng& rng,
              const models::RunFolder& folder) {
    const auto start = std::chrono::steady_clock::now();
    const int64_t parameters = nn::parameter_count(model);
    kit::announce(kit::name() + " " + task.name, parameters, model.config.block.precision);
    const Data data = {task, rng};
    constexpr bool all_at_once = std::is_same_v<Model, models::MaskedLanguageModel>;
    const nn::CosineSchedule cosine = {r.lr, r.steps, r.warmup};
    kit::Objective objective = kit::objective_of(
        model, [&](int64_t step) { return examples(model, data.batch(step, r.batch)); }, !all_at_once);
    if (all_at_once)  // no position is masked
        objective.loss = [logits = objective.logits](const kit::Examples& e, const nn::Mode& mode) {
            return autograd::cross_entropy(logits(e.inputs, mode), e.targets);
        };
    kit::Run run(folder, models::run_model(model),
                 {.steps = r.steps,
                  .learning_rate = [&](int64_t step) { return std::max(cosine(step), r.lowest_lr); },
                  .adam = r.adam,
                  .clip = r.clip,
                  .seed = rng.state()},
                 {.activations = kit::activation_bytes(model.config, r.batch * model.config.max_length),
                  .report_model = kit::report_model_of(model, examples(model, {data.test()[0]}).inputs,
                                                       kit::token_names(model.config.vocabulary, symbol)),
                  .objective = objective});
    while (run.next())
        run.learn();
    if (!run.finish())
        throw kit::Ended{};
    const int64_t right = test(model, task, data);
    return {parameters, right,
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

// ------------------------------------------------------------------------------------------------ program

struct Settings {
    std::string preset = "ours";
    int64_t steps = 0, seed = 1;
    models::RunSettings run = {.save_every = 200};
    std::vector<std::string> names;
};

std::string describe(const Recipe& r) {
    return autograd::join(kit::counted(r.layers, "layer"), ", ", kit::counted(r.heads, "head"), ", ", r.width,
                          " wide, dropout ", r.dropout, "; ", r.steps, " steps of ", r.batch, ", rate ",
                          r.lr);
}

std::string describe(const Task& task, const Recipe& here) {
    const std::string published = describe(task.published), ours = describe(here);
    return autograd::join(task.name, ": ", task.summary, "\n  published  ", task.figure, " (", task.source,
                          ")\n             ", published, "\n  here       ",
                          ours == published ? "the same" : ours, '\n');
}

// The command-line options; parsing them fills `s`.
void add_options(kit::Options& options, Settings& s) {
    options.rest("TASK...", "copy, reverse, sort or add; all four if none is named", s.names).kept();
    options.add("--preset", "how each task is trained", s.preset, {"ours", "published"});
    options.add("--steps", "N", "steps for each task; 0: the recipe's", s.steps, {.max = 1'000'000'000})
        .can_not_change("the learning rate falls over all of them");
    kit::add_run_options(options, s.run);
    options.add_common(s.seed);
    const auto in_words = [](const Task& task) { return describe(task, task.ours); };
    options.note(models::listed(autograd::mapped(kTasks, in_words), "\n"));
}

Outcome learn(const Task& task, const Recipe& r, const Settings& s, const models::RunFolder& folder) {
    const Rng rng = Rng(static_cast<uint64_t>(s.seed)).fork(task.name), initial = rng.fork("model");
    const models::Config config = config_of(task, r, kit::precision_of(s.run.precision));
    if (task.kind == Kind::encoder_decoder)
        return learn(models::Transformer(config, initial), task, r, rng, folder);
    if (task.kind == Kind::masked)
        return learn(models::MaskedLanguageModel(config, initial), task, r, rng, folder);
    return learn(models::LanguageModel(config, initial), task, r, rng, folder);
}

std::string table_row(const Task& task, const Recipe& recipe, const Outcome& o) {
    constexpr const char* kFamilies[] = {"encoder-decoder", "decoder-only", "encoder-only"};  // as in Kind
    const std::string right = autograd::join(o.right, '/', task.tested);
    return kit::left(task.name, 9) + kit::left(kFamilies[static_cast<int>(task.kind)], 15) +
           kit::right(kit::grouped(o.parameters), 12) + "  " + kit::left(task.figure, 23) +
           kit::left(right, 11) + (describe(recipe) == describe(task.published) ? "  " : " *") +
           kit::right(kit::number(o.seconds), 8) + '\n';
}

void main_program(kit::Options& options) {
    Settings s;
    add_options(options, s);
    options.parse();
    for (const std::string& name : s.names)
        kit::check_usage(
            std::any_of(kTasks.begin(), kTasks.end(), [&](const Task& task) { return task.name == name; }),
            "unknown task '", name, "'; there are copy, reverse, sort, add");
    const models::RunFolder folder("tasks", s.run, options);  // with --resume, restores s
    kit::check_usage(s.names.size() == 1 || !(folder.exists() || s.run.check || !s.run.report.empty()),
                     "--save, --check and --report need one TASK");
    std::string missed,
        table = "task     family           parameters  published              ours          seconds\n";
    for (const Task& task : kTasks) {
        if (!s.names.empty() && std::find(s.names.begin(), s.names.end(), task.name) == s.names.end())
            continue;
        Recipe recipe = s.preset == "published" ? task.published : task.ours;
        recipe.steps = s.steps > 0 ? s.steps : recipe.steps;
        std::cout << describe(task, recipe) << std::flush;
        const Outcome o = learn(task, recipe, s, folder);
        std::cout << '\n';
        table += table_row(task, recipe, o);
        if (o.right < task.required)
            missed += (missed.empty() ? "" : ", ") + task.name;
    }
    if (table.find(" * ") != std::string::npos)
        table += "* trained with our own recipe, listed above under the published one\n";
    std::cout << table;
    kit::flush_output();
    kit::check_result(missed.empty(), "too few right answers: ", missed, "; more --steps may help");
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program(
        "tasks", argc, argv,
        {{"", "learns to copy, reverse, sort and add, with all three families of models", main_program},
         kit::info_command("tasks", add_options)});
}

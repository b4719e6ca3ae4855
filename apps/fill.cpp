// Fills gaps with the words that a masked language model expects there: a BertForMaskedLM from Hugging Face.
//
//     ./apps/fill bert 'The [MASK] sat on the mat.'
#include <algorithm>
#include <iostream>

#include "apps/kit/model.h"
#include "apps/kit/prompt.h"
#include "apps/kit/text_training.h"
#include "autograd/base/list.h"
#include "models/filler.h"
#include "models/text/lines.h"
#include "models/text/training_data.h"

using namespace plaingrad;
using autograd::check;
using autograd::join;
using autograd::Rng;
using autograd::Tokens;
using kit::Sequence;
using models::Filler;
using models::Filling;

namespace {

// -------------------------------------------------------------------------------------------- filling gaps

// Prints the text with the most probable words, and what each of its masks may be, one after the other:
// "The cat sat on the mat.<TAB>cat=0.3121<TAB>dog=0.2011".
void print_answer(const Filler& f, const std::string& text, const std::string& where, int64_t n) {
    if (f.encode(text, where).cut)
        kit::say(join(kit::name(), ": ", kit::as_line(where), ": more than ",
                      kit::counted(f.model.config.max_length, "token"), ", read only that far"));
    const std::vector<std::vector<Filling>> masks = f(text, n);
    std::string filled =
        f.filled(text, autograd::mapped(masks, [](const auto& mask) { return mask[0].word; }));
    std::replace(filled.begin(), filled.end(), '\t', ' ');
    std::cout << kit::as_line(filled);
    for (const std::vector<Filling>& mask : masks)
        for (const Filling& one : mask)
            std::cout << '\t' << kit::as_line(one.word) << '=' << kit::number(one.probability, 4);
    std::cout << '\n';
    kit::flush_output();
}

// A line for each; an empty one where there is nothing to fill.
void fill_lines(const Filler& f, int64_t n) {
    int status = 0;
    kit::for_each_line(std::cin, "standard input", [&](const std::string& line, const std::string& where) {
        try {
            if (models::text::has_text(line))
                return print_answer(f, line, where, n);
        } catch (const autograd::Error& error) {
            std::cerr << join(kit::name(), ": ", kit::as_line(error.what()), "\n");
            status = 1;
        }
        std::cout << '\n';
        kit::flush_output();
    });
    if (status != 0)
        throw kit::Ended{status};
}

void talk(const Filler& f, int64_t n) {
    const kit::Labels names = kit::token_names(f.tokenizer);
    kit::Prompt prompt = {.answer = [&](const std::string& text, const std::string& where) {
        print_answer(f, text, where, n);
    }};
    const auto ids_of = [&](const std::string& text) { return f.encode(text).ids; };
    prompt.commands = {kit::attention_command(f.model, names, ids_of)};
    kit::say("type a text with " + f.mask + " in it");
    kit::converse(prompt);
}

void fill_command(kit::Options& options) {
    std::vector<std::string> words;
    int64_t n = 5;
    options.rest("MODEL [TEXT...]",
                 "a folder from Hugging Face; texts, otherwise the lines of standard input", words,
                 {.min = 1});
    options.add("--n", "N", "words for each mask", n, {.min = 1, .max = 1000});
    // Otherwise a read error looks like the end of the input. Before any output, which would get lost.
    std::ios::sync_with_stdio(false);
    const Filler f = kit::open_given<Filler>(options, words);
    const std::vector<std::string> texts = kit::given_texts(words);
    for (std::size_t i = 0; i < texts.size(); ++i)
        print_answer(f, texts[i], join("text ", i + 1), n);
    if (texts.empty())
        kit::can_prompt() ? talk(f, n) : fill_lines(f, n);
}

// ---------------------------------------------------------------------------------------- training further

void add_train_options(kit::Options& options, kit::TextTraining& s) {
    s.batch = 16, s.steps = 200, s.validate_every = 50, s.lr = 5e-5;
    options
        .rest("MODEL FILE...", "a folder from Hugging Face; texts to learn from, line by line", s.words,
              {.min = 2})
        .may_change();
    kit::add_run_options(options, s.run);
    options.add("--context", "N", "tokens of a line at most; 0: what the model takes", s.context,
                {.max = 1 << 20});
    kit::add_text_training(options, s, "lines");
    options.add_common(s.seed, "random seed of batches, masks and dropout");
}

// What may be masked: the widest range of ids without a special one. Special tokens are usually the first,
// or, if they were added to a model later, the last.
models::text::MaskingOptions masking_of(const Filler& f, const std::string& path) {
    check(f.tokenizer.encode("").size() == 2, path,
          ": training needs a tokenizer that puts one token before a text and one behind it");
    const auto size = static_cast<int32_t>(f.tokenizer.size());
    models::text::MaskingOptions widest = {.mask = f.mask_id, .first_id = 0};
    for (int32_t first = 0, id = 0; id <= size; ++id)
        if (id == size || id == f.model.config.specials.pad || id == f.mask_id ||
            f.tokenizer.decode({id}, {.skip_special_tokens = true}).empty()) {
            if (id - first > widest.end_id - widest.first_id)
                widest.first_id = first, widest.end_id = id;
            first = id + 1;
        }
    check(widest.first_id < widest.end_id, path, ": training needs tokens that are not special");
    return widest;
}

// Each line between [CLS] and [SEP], in pieces of at most `context` tokens. Pieces without anything to mask
// are left out.
std::vector<Sequence> pieces_of(const Filler& f, const std::vector<kit::Text>& lines, int64_t context,
                                const models::text::MaskingOptions& masking) {
    const Sequence around = f.tokenizer.encode("");
    const auto may_be_masked = [&](int32_t id) { return id >= masking.first_id && id < masking.end_id; };
    std::vector<Sequence> pieces;
    for (const kit::Text& line : lines) {
        const Sequence ids = f.tokenizer.encode(line.text, {.add_special_tokens = false});
        const int64_t most = context - std::ssize(around);
        for (auto first = ids.begin(); first != ids.end();) {
            const auto last = first + std::min<int64_t>(most, ids.end() - first);
            if (std::any_of(first, last, may_be_masked)) {
                pieces.push_back({around.front()});
                pieces.back().insert(pieces.back().end(), first, last);
                pieces.back().push_back(around.back());
            }
            first = last;
        }
    }
    return pieces;
}

void train_command(kit::Options& options) {
    kit::TextTraining s;
    add_train_options(options, s);
    options.parse();
    kit::check_saves(s.run);
    const models::RunFolder folder("fill", s.run, options);
    const Filler f = kit::open_model<Filler>(s.words[0], s.run.precision);
    const int64_t most = f.model.config.max_length, context = s.context > 0 ? s.context : most;
    kit::check_usage(context <= most && context >= 3, "--context ", context, ": the model takes 3 to ", most);
    const models::text::MaskingOptions masking = masking_of(f, s.words[0]);
    const auto files = kit::read_files({s.words.begin() + 1, s.words.end()}, false, false);
    const std::vector<kit::Text> lines = kit::texts_of(files, true);
    std::vector<Sequence> rows = pieces_of(f, lines, context, masking);
    const int64_t all = std::ssize(rows), learned = all * 9 / 10;
    check(learned > 0, kit::name_of(files), ": ", kit::counted(all, "piece"),
          " of lines with something to mask; two are needed, because a tenth is held out");

    const std::string data = models::text::fingerprint(
        autograd::mapped(lines, [](const kit::Text& line) { return std::string(line.text); }), rows);
    const Rng rng(static_cast<uint64_t>(s.seed));
    const auto masked = [&](const Tokens& tokens, const Rng& of) {
        const models::text::MaskedTokens some = mask_tokens(tokens, masking, of);
        return kit::Examples{{some.ids}, some.targets};
    };
    const auto pad = static_cast<int32_t>(f.model.config.vocabulary);  // an id that no text has
    std::vector<kit::Examples> held_out;                               // always with the same masks
    for (auto first = rows.begin() + learned; first != rows.end();) {
        const auto last = first + std::min<int64_t>(s.batch, rows.end() - first);
        held_out.push_back(
            masked(Tokens::padded({first, last}, pad), rng.fork("held out").fork(held_out.size())));
        first = last;
    }
    // What the page of --report shows: a held-out piece, with all its words.
    const Sequence shown = rows[static_cast<std::size_t>(learned)];
    rows.resize(static_cast<std::size_t>(learned));

    kit::Batches batches = {rows, true, context, pad, s.batch, rng.fork("batches")};
    const auto examples = [&](int64_t step) {
        return masked(batches(step), rng.fork("masks").fork(static_cast<uint64_t>(step)));
    };
    kit::Run run(folder, kit::run_model_of(f, data, s.words[0]),
                 kit::run_options(s, {.weight_decay = 0.01, .decoupled = true, .decay_matrices_only = true}),
                 {.activations = kit::activation_bytes(f.model.config, s.batch * context),
                  .report_model = kit::report_model_of(f.model, {Tokens::padded({shown}, pad)},
                                                       kit::token_names(f.tokenizer)),
                  .objective = kit::objective_of(f.model, examples, false)});
    kit::say(join(kit::counted(learned, "piece"), " of lines to learn from, ", all - learned, " held out"));
    kit::train(run, held_out, held_out);
}

void print_model(const std::string& path) {
    kit::print_sizes(path, nn::parameter_count(kit::open_model<Filler>(path).model));
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("fill", argc, argv,
                            {{"", "fills gaps in texts with a masked language model", fill_command},
                             {"train", "trains a model further on texts", train_command},
                             kit::new_command({"bert"}),
                             kit::info_command("fill", add_train_options, print_model)});
}

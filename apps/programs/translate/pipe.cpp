#include <iostream>
#include <utility>

#include "apps/kit/program.h"
#include "apps/kit/prompt.h"
#include "apps/programs/translate/translate.h"
#include "autograd/base/text_stream.h"

namespace plaingrad::translate {
namespace {

using autograd::check;
using autograd::join;
using models::Translation;

class Pipe {
public:
    Pipe(const models::Translator& translator, const PipeOptions& options, const std::string& name)
        : translator_(translator), options_(options), name_(kit::as_line(name)) {}

    void operator()(std::istream& in) {
        const auto add = [&](const std::string& line, const std::string&) {
            lines_.push_back(line);
            ++read_;
            if (in.rdbuf()->in_avail() <= 0 || std::ssize(lines_) >= 8 * options_.translation.batch)
                write();
        };
        try {
            kit::for_each_line(in, name_, add, rule_for(translator_.tokenizer.is_byte_level()));
        } catch (const autograd::Error&) {
            write();  // the lines before the one that is wrong
            throw;
        }
        write();
    }

    // Some unknown characters are normal. If all are unknown, the input is in another language.
    void report_unknown() const {
        check(unknown_ == 0 || unknown_ < pieces_, name_,
              ": the model has never seen any of these characters; is this the language that it learned "
              "from?");
        if (unknown_ > 0)
            std::cerr << join(name_, ": the model has never seen ", unknown_, " of ", pieces_,
                              " words or pieces of words, first ", first_unknown_, "\n");
    }

private:
    // Translates the lines that were added.
    void write() {
        int64_t line = read_ - std::ssize(lines_);
        const std::vector<std::string> lines = std::exchange(lines_, {});
        for (const Translation& translation : translator_.translate(lines, options_.translation)) {
            print(translation, line++);
            pieces_ += translation.pieces;
            if (unknown_ == 0 && !translation.unknown.empty())
                first_unknown_ = join("'", kit::as_line(translation.unknown[0]), "' in line ", line);
            unknown_ += std::ssize(translation.unknown);
            if (translation.cut)
                std::cerr << join(name_, ":", line, ": longer than ", translator_.model.config.max_length - 1,
                                  " pieces: the rest is left out\n");
        }
        kit::flush_output();
    }

    void print(const Translation& translation, int64_t line) const {
        for (const Translation::Candidate& c : translation.best) {
            if (options_.list)
                std::cout << line << " ||| " << c.text << " ||| " << c.score;
            else if (options_.scores)
                std::cout << c.score << '\t' << c.text;
            else
                std::cout << c.text;
            if (options_.translation.align)
                std::cout << " ||| " << models::text::to_string(c.alignment);
            std::cout << '\n';
        }
    }

    const models::Translator& translator_;
    const PipeOptions& options_;
    const std::string name_;
    std::vector<std::string> lines_;    // to be translated
    int64_t read_ = 0;                  // lines
    int64_t pieces_ = 0, unknown_ = 0;  // of all lines
    std::string first_unknown_;
};

}  // namespace

void translate_lines(const models::Translator& translator, const PipeOptions& options, std::istream& in,
                     const std::string& name) {
    Pipe pipe(translator, options, name);
    pipe(in);
    pipe.report_unknown();
}

void talk(const models::Translator& translator, const PipeOptions& options) {
    const models::text::Tokenizer& tokenizer = translator.tokenizer;
    const models::TranslationOptions& o = options.translation;
    kit::Prompt prompt = kit::prompt_of({.model = translator.model,
                                         .source = tokenizer,
                                         .target = tokenizer,
                                         .search = {.beam = o.beam, .alpha = o.alpha, .k = 0},
                                         .ends = true});
    prompt.read = [&](const std::string& line) {
        const std::vector<int32_t> ids = tokenizer.encode(line);
        const kit::Labels pieces = tokenizer.pieces(line);
        kit::Reading reading = {tokenizer.decode(ids, {.unknown = pieces})};
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (ids[i] == tokenizer.unknown())
                reading.unknown.push_back(tokenizer.decode({ids[i]}, {.unknown = {pieces[i]}}));
        return reading;
    };
    prompt.answer = [&](const std::string& text, const std::string& where) {
        autograd::TextInput line(text + '\n');
        Pipe(translator, options, where)(line);  // what is unknown was told already
    };
    kit::converse(prompt);
}

}  // namespace plaingrad::translate

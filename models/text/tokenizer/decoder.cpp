#include "models/text/tokenizer/decoder.h"

#include "autograd/base/mapped.h"
#include "models/text/tokenizer/byte_alphabet.h"
#include "models/text/tokenizer/joiners.h"

namespace plaingrad::models::text::tokenizer {
namespace {

using Strings = std::vector<std::string>;

constexpr std::string_view kUnknown = "\xef\xbf\xbd";  // U+FFFD

std::string join(const Strings& pieces, std::string_view between = "") {
    std::string text;
    for (const std::string& piece : pieces)
        text.append(text.empty() && &piece == pieces.data() ? "" : between).append(piece);
    return text;
}

void apply(const BytesOfCharacters&, Strings& pieces, InvalidUtf8 invalid) {
    std::string text;
    for (const std::string& piece : pieces)
        text.append(byte_alphabet().read(piece).value_or(piece));
    pieces = {invalid == InvalidUtf8::replace ? replace_invalid_runs(text) : text};
}

// The byte of <0x0A>; -1 for another piece.
int byte_of(const std::string& piece) {
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>')
        return -1;
    int byte = 0;
    for (const char c : {piece[3], piece[4]}) {
        const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(c);
        if (digit == std::string_view::npos)
            return -1;
        byte = byte * 16 + static_cast<int>(digit < 16 ? digit : digit - 6);
    }
    return byte;
}

void apply(const ByteFallback&, Strings& pieces, InvalidUtf8 invalid) {
    Strings out;
    std::string run;
    const auto end_run = [&] {
        const bool valid = invalid == InvalidUtf8::keep || find_invalid_utf8(run) == run.npos;
        std::string text;
        for (std::size_t i = 0; !valid && i < run.size(); ++i)
            text.append(kUnknown);
        if (!run.empty())
            out.push_back(valid ? run : text);
        run.clear();
    };
    for (std::string& piece : pieces) {
        if (const int byte = byte_of(piece); byte >= 0) {
            run.push_back(static_cast<char>(byte));
            continue;
        }
        end_run();
        out.push_back(std::move(piece));
    }
    end_run();
    pieces = std::move(out);
}

void apply(const Fuse&, Strings& pieces, InvalidUtf8) { pieces = {join(pieces)}; }

void apply(const Strip& strip, Strings& pieces, InvalidUtf8) {
    for (std::string& piece : pieces)
        for (int64_t i = 0; i < strip.start && piece.starts_with(strip.content); ++i)
            piece.erase(0, strip.content.size());
}

void apply(const WordPieces& words, Strings& pieces, InvalidUtf8) {
    for (std::string& piece : pieces) {
        if (&piece != pieces.data())
            piece = piece.starts_with(words.prefix) ? piece.substr(words.prefix.size()) : " " + piece;
        if (words.cleanup)
            piece = replace_all(clean_up(std::move(piece)), " do not", " don't");
    }
}

void apply(const Spaces& spaces, Strings& pieces, InvalidUtf8) {
    for (std::string& piece : pieces)
        piece = replace_all(piece, spaces.replacement, spaces.trims && &piece == pieces.data() ? "" : " ");
}

void apply(const Replace& replace, Strings& pieces, InvalidUtf8) {
    for (std::string& piece : pieces)
        piece = replace_all(piece, replace.from, replace.to);
}

void apply(const EndOfWord& end, Strings& pieces, InvalidUtf8) {
    for (std::string& piece : pieces)
        piece = replace_all(piece, end.suffix, &piece == &pieces.back() ? "" : " ");
}

void apply(const JoinersUndone&, Strings& pieces, InvalidUtf8) { pieces = {detokenize(join(pieces))}; }

Strip strip_from(const Json& part) {
    part["stop"].require(part["stop"].count() == 0, "is not supported, unless it is 0");
    return {part["content"].nonempty_text(), part["start"].count()};
}

Decoder::Step decoder_step(const Json& part) {
    const std::string_view type = part["type"].view();
    if (type == "ByteLevel") {
        for (const char* option : {"add_prefix_space", "trim_offsets", "use_regex"})
            part[option].boolean_or(true);  // of no use here
        return BytesOfCharacters{};
    }
    if (type == "WordPiece")
        return WordPieces{part["prefix"].text(), part["cleanup"].boolean()};
    if (type == "Metaspace") {
        part["split"].boolean_or(true);
        const std::string scheme =
            part["prepend_scheme"].text_or(part["add_prefix_space"].boolean_or(true) ? "always" : "never");
        return Spaces{part["replacement"].nonempty_text(), scheme != "never"};
    }
    if (type == "Replace")
        return replace_from(part);
    if (type == "Strip")
        return strip_from(part);
    if (type == "Fuse")
        return Fuse{};
    if (type == "BPEDecoder")
        return EndOfWord{part["suffix"].nonempty_text()};
    if (type == "Joiners")
        return JoinersUndone{};
    part["type"].require(
        type == "ByteFallback", nn::checkpoint::shown(type),
        " is not supported; BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip, "
        "WordPiece are");
    return ByteFallback{};
}

// Whether a character may begin with these bytes: with the smallest or the greatest that may follow.
bool begins_character(std::string_view bytes) {
    for (const char* rest : {"\x80\x80\x80", "\xbf\xbf\xbf"})
        if (nn::utf8_length(std::string(bytes).append(rest)) > bytes.size())
            return true;
    return false;
}

}  // namespace

Decoder Decoder::from(const Json& part) {
    return {autograd::mapped(steps_of(part, "decoders"), decoder_step)};
}

std::string Decoder::operator()(std::vector<std::string> pieces, InvalidUtf8 invalid) const {
    for (const Step& step : steps)
        std::visit([&](const auto& s) { apply(s, pieces, invalid); }, step);
    return join(pieces, steps.empty() ? " " : "");
}

std::string clean_up(std::string text) {
    for (const char* mark : {" .", " ?", " !", " ,"})
        text = replace_all(text, mark, mark + 1);
    text = replace_all(text, " ' ", "'");
    for (const char* ending : {" n't", " 'm", " 's", " 've", " 're"})
        text = replace_all(text, ending, ending + 1);
    return text;
}

std::size_t unfinished(std::string_view text) {
    for (std::size_t length = std::min<std::size_t>(3, text.size()); length > 0; --length)
        if (begins_character(text.substr(text.size() - length)))
            return length;
    return 0;
}

std::string replace_invalid_runs(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        std::size_t length = nn::utf8_length(text);
        if (length > 0) {
            out.append(text.substr(0, length));
        } else {
            out.append(kUnknown);
            for (length = std::min<std::size_t>(3, text.size()); length > 1; --length)
                if (begins_character(text.substr(0, length)))
                    break;
        }
        text.remove_prefix(length);
    }
    return out;
}

}  // namespace plaingrad::models::text::tokenizer

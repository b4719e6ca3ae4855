#include "models/text/tokenizer/steps.h"

#include <charconv>

namespace plaingrad::models::text::tokenizer {
namespace {

using Step = std::function<void(Strings& pieces, InvalidUtf8 invalid)>;

constexpr std::string_view kUnknown = "\xef\xbf\xbd";  // U+FFFD

std::string join(const Strings& pieces, std::string_view between = "") {
    std::string text;
    for (const std::string& piece : pieces)
        text.append(text.empty() && &piece == pieces.data() ? "" : between).append(piece);
    return text;
}

// change(piece, whether it is the first one, and the last)
template <class Change>
Step each(Change change) {
    return [change](Strings& pieces, InvalidUtf8) {
        for (std::string& piece : pieces)
            piece = change(piece, &piece == pieces.data(), &piece == &pieces.back());
    };
}

// Pieces are bytes, written in ByteAlphabet.
void bytes_of_characters(Strings& pieces, InvalidUtf8 invalid) {
    std::string text;
    for (const std::string& piece : pieces)
        text.append(byte_alphabet().read(piece).value_or(piece));
    pieces = {invalid == InvalidUtf8::replace ? replace_invalid_runs(text) : text};
}

// The byte of <0x0A>; -1 for another piece.
int byte_of(const std::string& piece) {
    unsigned byte = 0;
    if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>'))
        return -1;
    const char *digits = piece.data() + 3, *end = digits + 2;
    return std::from_chars(digits, end, byte, 16).ptr == end ? static_cast<int>(byte) : -1;
}

// Pieces <0x00> to <0xFF> are bytes.
void byte_fallback(Strings& pieces, InvalidUtf8 invalid) {
    Strings out;
    for (std::size_t i = 0; i < pieces.size();) {
        std::string run;
        for (; i < pieces.size() && byte_of(pieces[i]) >= 0; ++i)
            run.push_back(static_cast<char>(byte_of(pieces[i])));
        if (run.empty()) {
            out.push_back(std::move(pieces[i++]));
        } else if (invalid == InvalidUtf8::keep || find_invalid_utf8(run) == run.npos) {
            out.push_back(run);
        } else {
            out.emplace_back();
            for (std::size_t n = run.size(); n > 0; --n)
                out.back().append(kUnknown);
        }
    }
    pieces = std::move(out);
}

void fuse(Strings& pieces, InvalidUtf8) { pieces = {join(pieces)}; }

// A space before each piece that does not continue a word.
Step word_pieces_from(const Json& part) {
    return each([prefix = part["prefix"].text(), cleanup = part["cleanup"].boolean()](std::string piece,
                                                                                      bool first, bool) {
        if (!first)
            piece = piece.starts_with(prefix) ? piece.substr(prefix.size()) : " " + piece;
        return cleanup ? replace_all(clean_up(std::move(piece)), " do not", " don't") : piece;
    });
}

Step strip_from(const Json& part) {
    part["stop"].require(part["stop"].count() == 0, "is not supported, unless it is 0");
    return each([content = part["content"].nonempty_text(), start = part["start"].count()](std::string piece,
                                                                                           bool, bool) {
        for (int64_t i = 0; i < start && piece.starts_with(content); ++i)
            piece.erase(0, content.size());
        return piece;
    });
}

// A space in place of each `replacement`, but none at the beginning, unless none was put there.
Step spaces_from(const Json& part) {
    part["split"].boolean_or(true);
    const std::string scheme =
        part["prepend_scheme"].text_or(part["add_prefix_space"].boolean_or(true) ? "always" : "never");
    return each([space = part["replacement"].nonempty_text(), trims = scheme != "never"](
                    const std::string& piece, bool first, bool) {
        return replace_all(piece, space, trims && first ? "" : " ");
    });
}

Step decoder_step(const Json& part) {
    const std::string_view type = part["type"].view();
    if (type == "ByteLevel") {
        for (const char* option : {"add_prefix_space", "trim_offsets", "use_regex"})
            part[option].boolean_or(true);  // of no use here
        return bytes_of_characters;
    }
    if (type == "WordPiece")
        return word_pieces_from(part);
    if (type == "Metaspace")
        return spaces_from(part);
    if (type == "Replace")
        return each(
            [replace = Replace(part)](const std::string& piece, bool, bool) { return replace(piece); });
    if (type == "Strip")
        return strip_from(part);
    if (type == "Fuse")
        return fuse;
    if (type == "BPEDecoder")  // a space at the end of each word but the last
        return each([suffix = part["suffix"].nonempty_text()](const std::string& piece, bool, bool last) {
            return replace_all(piece, suffix, last ? "" : " ");
        });
    if (type == "Joiners")  // a type of ours
        return [](Strings& pieces, InvalidUtf8) { pieces = {detokenize(join(pieces))}; };
    part["type"].require(
        type == "ByteFallback", nn::checkpoint::shown(type),
        " is not supported; BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip, "
        "WordPiece are");
    return byte_fallback;
}

// Whether a character may begin with these bytes: with the smallest or the greatest that may follow.
bool begins_character(std::string_view bytes) {
    for (const char* rest : {"\x80\x80\x80", "\xbf\xbf\xbf"})
        if (nn::checkpoint::utf8_length(std::string(bytes).append(rest)) > bytes.size())
            return true;
    return false;
}

}  // namespace

Decoder Decoder::from(const Json& part) {
    Decoder all;
    for (const Json& step : steps_of(part, "decoders"))
        all.steps_.push_back(decoder_step(step));
    return all;
}

std::string Decoder::operator()(Strings pieces, InvalidUtf8 invalid) const {
    for (const auto& step : steps_)
        step(pieces, invalid);
    return join(pieces, steps_.empty() ? " " : "");
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
        std::size_t length = nn::checkpoint::utf8_length(text);
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

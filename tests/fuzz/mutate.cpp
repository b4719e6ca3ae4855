#include "tests/fuzz/mutate.h"

#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "tests/fuzz/json_tree.h"

namespace plaingrad::fuzz {
namespace {

// Numbers at the limits of types, and just beyond.
const std::vector<std::string> kNumbers = {"0",
                                           "1",
                                           "2",
                                           "3",
                                           "-1",
                                           "255",
                                           "65536",
                                           "2147483647",
                                           "2147483648",
                                           "-0.5",
                                           "1e-60",
                                           "1e308",
                                           "1e309",
                                           "4294967296",
                                           "4611686018427387904",
                                           "9223372036854775807",
                                           "9223372036854775808",
                                           "0.1",
                                           "5",
                                           "8"};
const std::vector<std::string> kSingles = {"null", "true", "false", "\"\"", "[]", "{}", "0"};

std::size_t header_bytes(const std::string& bytes) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), std::min<std::size_t>(bytes.size(), 8));
    return bytes.size() >= 8 && length <= bytes.size() - 8 ? static_cast<std::size_t>(length) : 0;
}

void collect(const Json& tree, std::set<std::string>& words) {
    words.insert(tree.keys.begin(), tree.keys.end());
    if (tree.is_string())
        words.insert(tree.string());
    for (const Json& item : tree.items)
        collect(item, words);
}

void all_nodes(Json& tree, std::vector<Json*>& nodes) {
    nodes.push_back(&tree);
    for (Json& item : tree.items)
        all_nodes(item, nodes);
}

class TreeMutator {
public:
    TreeMutator(const std::vector<std::string>& known, const MutateBytes& mutates, Dice& random)
        : words(known), inner(mutates), dice(random) {}

    void operator()(Json& tree) {
        for (int64_t changes = 1 + dice.below(3); changes > 0; --changes) {
            std::vector<Json*> nodes;
            all_nodes(tree, nodes);
            Json& node = *dice.one_of(nodes);
            if (node.kind == Json::Kind::single)
                change(node);
            else if (node.items.empty() || dice.one_in(6))
                add(node, *dice.one_of(nodes));
            else
                change_members(node, *dice.one_of(nodes));
        }
    }

private:
    void change(Json& value) {
        if (value.kind != Json::Kind::single)
            value = {.text = dice.one_of(kNumbers)};
        else if (dice.one_in(12))
            value = parse_json(dice.one_of(kSingles)).value();
        else if (!value.is_string())
            value.text = dice.one_in(4) ? neighbour(value.text) : dice.one_of(kNumbers);
        else if (dice.one_in(2) && !words.empty())
            value.set_string(dice.one_of(words));
        else if (dice.one_in(4))
            value.set_string(dice.one_of(kNumbers));
        else
            value.set_string(inner(value.string()));
    }
    std::string neighbour(const std::string& number) {
        const bool whole = number.find_first_not_of("0123456789") == number.npos && number.size() < 18;
        return whole ? std::to_string(std::stoll(number) + (dice.one_in(2) ? 1 : -1)) : "1";
    }
    std::string name() { return words.empty() || dice.one_in(8) ? inner("name") : dice.one_of(words); }

    void add(Json& node, Json value) {
        if (node.kind == Json::Kind::object) {
            Json key;
            key.set_string(name());
            node.keys.push_back(key.string());
        }
        node.items.push_back(std::move(value));
    }
    void change_members(Json& node, Json other) {
        const std::size_t i = dice.index(node.items.size()), k = dice.index(node.items.size());
        const auto at = static_cast<std::ptrdiff_t>(i);
        switch (dice.below(5)) {
            case 0:
                node.items.erase(node.items.begin() + at);
                if (node.kind == Json::Kind::object)
                    node.keys.erase(node.keys.begin() + at);
                break;
            case 1:
                std::swap(node.items[i], node.items[k]);
                break;
            case 2:
                node.items[i] = std::move(other);
                break;
            case 3:
                add(node, node.items[i]);
                break;
            default:
                if (node.kind == Json::Kind::object)
                    node.keys[i] = name();
                else
                    change(node.items[i]);
        }
    }

    const std::vector<std::string>& words;
    const MutateBytes& inner;
    Dice& dice;
};

// The fuzzer changes an input five times in a row. What was written last is not parsed again: with the
// sanitizers, parsing took a third of the time.
struct {
    std::string text;
    Json tree;
} last_written;

std::optional<Json> tree_of(const std::string& text) {
    if (text.empty() || text != last_written.text)
        return parse_json(text);
    last_written.text.clear();
    return std::move(last_written.tree);
}
std::string written(Json tree) {
    last_written = {to_text(tree), std::move(tree)};
    return last_written.text;
}

std::string mutate_json(const std::string& bytes, const std::vector<std::string>& words,
                        const MutateBytes& inner, Dice& dice) {
    std::optional<Json> tree = dice.one_in(5) ? std::nullopt : tree_of(bytes);
    if (!tree)
        return inner(bytes);
    TreeMutator(words, inner, dice)(*tree);
    return written(std::move(*tree));
}

// ---- words of a command line

// In one line, "--name=value", or in two.
void add_option(std::vector<std::string>& lines, const std::string& name, const std::string& value,
                Dice& dice) {
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(dice.index(lines.size() + 1));
    if (dice.one_in(2))
        lines.insert(at, name + "=" + value);
    else
        lines.insert(lines.insert(at, value), name);
}

std::string mutate_words(const std::string& bytes, const std::vector<std::string>& names,
                         const MutateBytes& inner, Dice& dice) {
    if (bytes.empty() || names.empty() || dice.one_in(5))
        return inner(bytes);
    std::vector<std::string> lines;
    std::istringstream in(bytes.substr(1));
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    for (int64_t changes = 1 + dice.below(3); changes > 0; --changes)
        if (lines.empty() || dice.one_in(2))
            add_option(lines, dice.one_of(names), dice.one_of(kNumbers), dice);
        else if (dice.one_in(2))
            lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(dice.index(lines.size())));
        else if (std::string& line = lines[dice.index(lines.size())]; dice.one_in(2))
            line = line.substr(0, line.find('=')) + "=" + dice.one_of(kNumbers);
        else
            line = dice.one_in(2) ? dice.one_of(names) : inner(line);
    std::string mutated(1, dice.one_in(8) ? static_cast<char>('0' + dice.below(5)) : bytes[0]);
    for (const std::string& line : lines)
        mutated += line + '\n';
    return mutated;
}

// ---- safetensors

std::size_t bytes_of(const std::string& dtype) {
    static const std::map<std::string, std::size_t> sizes = {{"I16", 2}, {"U16", 2}, {"F16", 2}, {"BF16", 2},
                                                             {"I32", 4}, {"U32", 4}, {"F32", 4}, {"F64", 8},
                                                             {"I64", 8}, {"U64", 8}};
    const auto size = sizes.find(dtype);
    return size == sizes.end() ? 1 : size->second;
}

constexpr std::size_t kMostData = 1 << 14;

// Gives each tensor the offsets of its shape and dtype, one after the other. Returns how many bytes they all
// need, up to kMostData.
std::size_t lay_out(Json& header) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < header.keys.size(); ++i) {  // none, if it is no object
        Json& entry = header.items[i];
        Json* const offsets = entry.find("data_offsets");
        const Json *const shape = entry.find("shape"), *const dtype = entry.find("dtype");
        if (header.keys[i] == "__metadata__" || offsets == nullptr || shape == nullptr || dtype == nullptr)
            continue;
        std::size_t bytes = dtype->is_string() ? bytes_of(dtype->string()) : 1;
        for (const Json& size : shape->items)
            bytes = std::min<std::size_t>(bytes * std::strtoull(size.text.substr(0, 5).c_str(), nullptr, 10),
                                          kMostData);
        *offsets = {.kind = Json::Kind::array, .items = {{.text = std::to_string(at)}, {}}};
        at += bytes;
        offsets->items[1].text = std::to_string(at);
    }
    return std::min(at, kMostData);
}

// Names of settings and their values are texts in the metadata: to change one of these is what gets deepest.
void mutate_header(Json& header, const std::vector<std::string>& words, const MutateBytes& inner,
                   Dice& dice) {
    Json* const metadata = header.find("__metadata__");
    TreeMutator(words, inner, dice)(metadata != nullptr && dice.one_in(2) ? *metadata : header);
}

std::string mutate_safetensors(const std::string& bytes, const std::vector<std::string>& words,
                               const MutateBytes& inner, Dice& dice) {
    const std::size_t length = header_bytes(bytes);
    if (length == 0 || dice.one_in(10))
        return inner(bytes);
    std::string text = bytes.substr(8, length), data = bytes.substr(8 + length);
    if (dice.one_in(8)) {
        data = inner(data);
    } else if (std::optional<Json> header = dice.one_in(8) ? std::nullopt : tree_of(text); !header) {
        text = inner(text);
    } else {
        mutate_header(*header, words, inner, dice);
        if (dice.one_in(2))
            data.resize(lay_out(*header), '\x3d');
        text = written(std::move(*header));
    }
    const uint64_t size = text.size();
    return std::string(reinterpret_cast<const char*>(&size), 8) + text + data;
}

}  // namespace

const std::vector<std::string>& words_of(const Target& target) {
    static std::map<std::string, std::vector<std::string>> all;
    const auto [place, is_new] = all.try_emplace(target.name);
    if (is_new && target.form != Form::bytes) {
        std::set<std::string> words;
        if (target.form != Form::words)
            words = {"U8", "F16", "BF16", "F32", "F64", "I64"};
        for (const std::string& seed : target.seeds()) {
            const bool has_length = target.form == Form::safetensors;
            if (const auto tree = parse_json(has_length ? seed.substr(8, header_bytes(seed)) : seed))
                collect(*tree, words);
        }
        if (target.words != nullptr)
            for (const std::string& word : target.words())
                words.insert(word);
        place->second.assign(words.begin(), words.end());
    }
    return place->second;
}

std::string mutate_bytes(std::string bytes, Dice& dice) {
    static const std::string pieces = "{}[]\",:\\u0eE+-.19tfn \n\x80\xc3";
    for (int64_t changes = 1 + dice.below(4); changes > 0; --changes) {
        bytes += bytes.empty() ? " " : "";
        const std::size_t at = dice.index(bytes.size()), length = dice.index(16);
        switch (dice.below(6)) {
            case 0:
                bytes[at] = static_cast<char>(dice.below(256));
                break;
            case 1:
                bytes[at] = dice.one_of(pieces);
                break;
            case 2:
                bytes.erase(at, length);
                break;
            case 3:
                bytes.insert(at, 1, dice.one_of(pieces));
                break;
            case 4:
                bytes.insert(at, "\\n");  // which becomes a line break in a name
                break;
            default:
                bytes.insert(dice.index(bytes.size()), bytes.substr(at, length));
                break;
        }
    }
    return bytes;
}

std::string mutate(const Target& target, const std::string& bytes, const MutateBytes& inner, Dice& dice) {
    if (target.form == Form::json)
        return mutate_json(bytes, words_of(target), inner, dice);
    if (target.form == Form::safetensors)
        return mutate_safetensors(bytes, words_of(target), inner, dice);
    if (target.form == Form::words)
        return mutate_words(bytes, words_of(target), inner, dice);
    return inner(bytes);
}

}  // namespace plaingrad::fuzz

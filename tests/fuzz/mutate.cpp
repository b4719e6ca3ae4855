#include "tests/fuzz/mutate.h"

#include <cstring>
#include <map>
#include <set>

#include "models/text/lines.h"
#include "tests/fuzz/json_tree.h"

namespace plaingrad::fuzz {
namespace {

using Words = std::vector<std::string>;

// Numbers at the limits of types, and just beyond.
const Words kNumbers = models::text::split_words(
    "0 1 2 3 5 8 -1 0.1 -0.5 255 65536 2147483647 2147483648 4294967296 4611686018427387904 "
    "9223372036854775807 9223372036854775808 1e-60 1e308 1e309");
const Words kSingles = {"null", "true", "false", "\"\"", "[]", "{}", "0"};

template <class List>
auto place(List& list, std::size_t i) {
    return list.begin() + static_cast<std::ptrdiff_t>(i);
}

std::size_t header_bytes(const std::string& bytes) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), std::min<std::size_t>(bytes.size(), 8));
    return bytes.size() >= 8 && length <= bytes.size() - 8 ? static_cast<std::size_t>(length) : 0;
}

void all_nodes(Json& tree, std::vector<Json*>& nodes) {
    nodes.push_back(&tree);
    for (Json& item : tree.items)
        all_nodes(item, nodes);
}

class TreeMutator {
public:
    TreeMutator(const Words& known, const MutateBytes& mutates, Dice& random)
        : words(known), inner(mutates), dice(random) {}

    void operator()(Json& tree) {
        for (int64_t changes = 1 + dice.below(3); changes > 0; --changes) {
            std::vector<Json*> nodes;
            all_nodes(tree, nodes);
            Json& node = *dice.one_of(nodes);
            node.kind == Json::Kind::single ? change(node) : change_members(node, *dice.one_of(nodes));
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
        else
            value.set_string(dice.one_in(4) ? dice.one_of(kNumbers) : inner(value.string()));
    }
    std::string neighbour(const std::string& number) {
        const bool whole = number.find_first_not_of("0123456789") == number.npos && number.size() < 18;
        return whole ? std::to_string(std::stoll(number) + (dice.one_in(2) ? 1 : -1)) : "1";
    }
    std::string name() {
        Json key;
        key.set_string(words.empty() || dice.one_in(8) ? inner("name") : dice.one_of(words));
        return key.string();
    }

    void change_members(Json& node, Json other) {
        const bool is_object = node.kind == Json::Kind::object;
        const std::size_t i = dice.index(node.items.size() + 1);
        const int64_t choice = dice.below(6);
        if (i == node.items.size() || choice == 0) {
            if (is_object)
                node.keys.push_back(name());
            node.items.push_back(std::move(other));
        } else if (choice == 1) {
            node.items.erase(place(node.items, i));
            if (is_object)
                node.keys.erase(place(node.keys, i));
        } else if (choice == 2) {
            std::swap(node.items[i], dice.one_of(node.items));
        } else if (choice == 3) {
            node.items[i] = std::move(other);
        } else {
            is_object ? void(node.keys[i] = name()) : change(node.items[i]);
        }
    }

    const Words& words;
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

std::string mutate_json(const std::string& bytes, const Words& words, const MutateBytes& inner, Dice& dice) {
    std::optional<Json> tree = dice.one_in(5) ? std::nullopt : tree_of(bytes);
    if (!tree)
        return inner(bytes);
    TreeMutator(words, inner, dice)(*tree);
    return written(std::move(*tree));
}

// ---- words of a command line

// An option is one line, "--name=value", or two.
std::string mutate_words(const std::string& bytes, const Words& names, const MutateBytes& inner, Dice& dice) {
    if (bytes.empty() || names.empty() || dice.one_in(5))
        return inner(bytes);
    Words lines = lines_in(bytes.substr(1));
    for (int64_t changes = 1 + dice.below(3); changes > 0; --changes) {
        const std::size_t at = dice.index(lines.size() + (lines.empty() ? 1 : 0));
        if (lines.empty() || dice.one_in(2)) {
            const std::string name = dice.one_of(names), value = dice.one_of(kNumbers);
            const Words option = dice.one_in(2) ? Words{name + "=" + value} : Words{name, value};
            lines.insert(dice.one_in(2) ? lines.end() : place(lines, at), option.begin(), option.end());
        } else if (dice.one_in(2)) {
            lines.erase(place(lines, at));
        } else if (dice.one_in(2)) {
            lines[at] = lines[at].substr(0, lines[at].find('=')) + "=" + dice.one_of(kNumbers);
        } else {
            lines[at] = dice.one_in(2) ? dice.one_of(names) : inner(lines[at]);
        }
    }
    std::string mutated(1, dice.one_in(8) ? static_cast<char>('0' + dice.below(5)) : bytes[0]);
    for (const std::string& line : lines)
        mutated += line + '\n';
    return mutated;
}

// ---- safetensors

constexpr std::size_t kMostData = 1 << 14;

// Of a dtype, whose name ends with its bits: F32, BF16, I8.
std::size_t bytes_of(const Json& dtype) {
    const std::string name = dtype.is_string() ? dtype.string() : "";
    return name.ends_with("16") ? 2 : name.ends_with("32") ? 4 : name.ends_with("64") ? 8 : 1;
}

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
        std::size_t bytes = bytes_of(*dtype);
        for (const Json& size : shape->items)
            bytes = std::min<std::size_t>(bytes * std::strtoull(size.text.substr(0, 5).c_str(), nullptr, 10),
                                          kMostData);
        const std::string begin = std::to_string(at), end = std::to_string(at += bytes);
        *offsets = {.kind = Json::Kind::array, .items = {{.text = begin}, {.text = end}}};
    }
    return std::min(at, kMostData);
}

std::string mutate_safetensors(const std::string& bytes, const Words& words, const MutateBytes& inner,
                               Dice& dice) {
    const std::size_t length = header_bytes(bytes);
    if (length == 0 || dice.one_in(10))
        return inner(bytes);
    std::string text = bytes.substr(8, length), data = bytes.substr(8 + length);
    if (dice.one_in(8)) {
        data = inner(data);
    } else if (std::optional<Json> header = dice.one_in(8) ? std::nullopt : tree_of(text); !header) {
        text = inner(text);
    } else {
        // Names of settings and their values are texts in the metadata: to change one of these is what gets
        // deepest.
        Json* const metadata = header->find("__metadata__");
        TreeMutator(words, inner, dice)(metadata != nullptr && dice.one_in(2) ? *metadata : *header);
        if (dice.one_in(2))
            data.resize(lay_out(*header), '\x3d');
        text = written(std::move(*header));
    }
    const uint64_t size = text.size();
    return std::string(reinterpret_cast<const char*>(&size), 8) + text + data;
}

}  // namespace

const Words& words_of(const Target& target) {
    static std::map<std::string, Words> all;
    const auto [place, is_new] = all.try_emplace(target.name);
    if (is_new && target.form != Form::bytes) {
        std::set<std::string> words;
        if (target.form != Form::words)
            words = {"U8", "F16", "BF16", "F32", "F64", "I64"};
        for (const std::string& seed : target.seeds()) {
            const bool has_length = target.form == Form::safetensors;
            std::optional<Json> tree = parse_json(has_length ? seed.substr(8, header_bytes(seed)) : seed);
            std::vector<Json*> nodes;
            if (tree)
                all_nodes(*tree, nodes);
            for (const Json* node : nodes) {
                words.insert(node->keys.begin(), node->keys.end());
                if (node->is_string())
                    words.insert(node->string());
            }
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
        const int64_t choice = dice.below(6);
        if (choice < 2)
            bytes[at] = choice == 0 ? static_cast<char>(dice.below(256)) : dice.one_of(pieces);
        else if (choice == 2)
            bytes.erase(at, length);
        else if (choice == 3)
            bytes.insert(at, 1, dice.one_of(pieces));
        else
            bytes.insert(at, choice == 4 ? "\\n" : bytes.substr(at, length));  // a line break in a name
    }
    return bytes;
}

std::string mutate(const Target& target, const std::string& bytes, const MutateBytes& inner, Dice& dice) {
    const auto of_form = target.form == Form::json          ? mutate_json
                         : target.form == Form::safetensors ? mutate_safetensors
                         : target.form == Form::words       ? mutate_words
                                                            : nullptr;
    return of_form == nullptr ? inner(bytes) : of_form(bytes, words_of(target), inner, dice);
}

}  // namespace plaingrad::fuzz

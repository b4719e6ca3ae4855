#include "nn/checkpoint/state_dict.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "autograd/base/parallel.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::nn::checkpoint {
namespace {

using autograd::join;

// Names under a heading; only the first few of many, to keep the line short.
struct Listing {
    std::string text;
    int count = 0;

    void add(const std::string& name) {
        if (++count <= 5)
            text += (count > 1 ? ", " : " ") + name;
    }
    std::string words() const {
        return count == 0 ? "" : "; " + text + (count > 5 ? join(", and ", count - 5, " more") : "");
    }
};

std::string words(const std::vector<int64_t>& sizes) {
    constexpr std::size_t kMost = 8;  // a file may say millions
    std::string text = "(";
    for (std::size_t i = 0; i < std::min(sizes.size(), kMost); ++i)
        text.append(i > 0 ? ", " : "").append(std::to_string(sizes[i]));
    return text + (sizes.size() > kMost ? ", ...)" : ")");
}

// What a model expects,
struct Expected {
    std::string name;
    std::vector<int64_t> shape;  // in the file
    std::size_t weight;          // a number: equal for the names of one tied weight
};
// and where it is.
struct Found {
    const SafeTensors* file = nullptr;  // nullptr: no file has it
    const Entry* entry = nullptr;
};

// By name only.
std::vector<Found> match_names(std::span<const SafeTensors> files, const std::vector<Expected>& expected,
                               const Canonical& canonical, Listing& unexpected) {
    std::unordered_map<std::string, std::size_t> by_name;
    for (std::size_t i = 0; i < expected.size(); ++i)
        by_name.emplace(expected[i].name, i);
    std::vector<Found> found(expected.size());
    for (const SafeTensors& file : files)
        for (const Entry& entry : file.entries()) {
            auto place = by_name.find(entry.name);
            const std::string name = place == by_name.end() ? canonical(entry.name) : entry.name;
            place = by_name.find(name);
            if (place != by_name.end() && found[place->second].entry == nullptr)
                found[place->second] = {&file, &entry};
            else if (!name.empty())
                unexpected.add(shown(entry.name));
        }
    return found;
}

// Where an entry's numbers are in memory: the same for all names of a tied weight.
using Place = std::pair<const Real*, int64_t>;
Place place_of(const StateEntry& entry) { return {entry.tensor.data(), entry.first}; }

std::vector<Expected> expected_of(const std::vector<StateEntry>& entries) {
    std::map<Place, std::size_t> weights;
    std::vector<Expected> all;
    for (const StateEntry& entry : entries)
        all.push_back(
            {entry.name, sizes_of(entry), weights.emplace(place_of(entry), weights.size()).first->second});
    return all;
}

constexpr int64_t kPiece = int64_t{1} << 16;  // how many numbers are read at a time, to stay in the cache

// The tensors of two names of one weight. A NaN equals itself here.
bool same_bytes(const Found& a, const Found& b, int64_t n) {
    std::vector<Real> x(static_cast<std::size_t>(std::min(n, kPiece))), y(x.size());
    for (int64_t at = 0; at < n; at += kPiece) {
        const int64_t count = std::min(kPiece, n - at);
        a.file->copy(*a.entry, at, count, x.data());
        b.file->copy(*b.entry, at, count, y.data());
        if (std::memcmp(x.data(), y.data(), static_cast<std::size_t>(count) * sizeof(Real)) != 0)
            return false;
    }
    return true;
}

// Throws FileError if a weight differs between two of its names.
void check_tied(const std::vector<Expected>& expected, const std::vector<Found>& found,
                const LoadCall& call) {
    std::map<std::size_t, std::size_t> first;  // the first name of each weight that a file has
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (found[i].entry == nullptr)
            continue;
        const std::size_t j = first.emplace(expected[i].weight, i).first->second;
        const int64_t n = (found[i].entry->end - found[i].entry->begin) / size_of(found[i].entry->dtype);
        check_file(j == i || same_bytes(found[i], found[j], n), call.where, "; different: ", expected[i].name,
                   " is not ", expected[j].name, ", with which it is tied; ", call.hint);
    }
}

// Rows of the file become columns, in squares, whose lines of both sides stay in the cache.
void transpose(const Real* from, int64_t rows, int64_t columns, Real* to, int64_t to_row) {
    constexpr int64_t kSquare = 16;
    for (int64_t r0 = 0; r0 < rows; r0 += kSquare)
        for (int64_t c0 = 0; c0 < columns; c0 += kSquare)
            for (int64_t c = c0; c < std::min(c0 + kSquare, columns); ++c)
                for (int64_t r = r0; r < std::min(r0 + kSquare, rows); ++r)
                    to[c * to_row + r] = from[r * columns + c];
}

// One of an entry's tensors, for which `before` rows of the file's matrix, or numbers of its vector, are
// skipped. Each number is copied once, from the file into the parameter. What must be rearranged is read a
// few rows at a time.
void read_part(const Found& found, const StateEntry& entry, Tensor tensor, int64_t before) {
    const std::vector<int64_t>& sizes = found.entry->shape;
    Real* const to = tensor.mutable_data() + entry.first;
    const int64_t n = tensor.numel(), stride = sizes.empty() ? 1 : tensor.size(-1);
    if (!entry.transposed && entry.columns < 0) {
        autograd::parallel_for(0, n, 16 * kPiece, [&](int64_t begin, int64_t end) {
            found.file->copy(*found.entry, before + begin, end - begin, to + begin);
        });
        return;
    }
    const int64_t columns = sizes.back(), rows = !entry.beside.empty() ? stride
                                                 : sizes.size() < 2    ? 1
                                                                       : sizes[0];
    if (columns == 0)
        return;
    const int64_t grain = std::max<int64_t>(16, kPiece / columns / 16 * 16);
    autograd::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
        Tensor some = Tensor::uninitialized({end - begin, columns});  // in recycled memory
        Real* const numbers = some.mutable_data();
        found.file->copy(*found.entry, (before + begin) * columns, some.numel(), numbers);
        if (entry.transposed)
            return transpose(numbers, end - begin, columns, to + begin, stride);
        for (int64_t r = begin; r < end; ++r)
            std::copy_n(numbers + (r - begin) * columns, columns, to + r * stride);
    });
}

void read_entry(const Found& found, const StateEntry& entry) {
    read_part(found, entry, entry.tensor, 0);
    int64_t before = entry.beside.empty() ? 0 : entry.tensor.size(-1);
    for (const Tensor& next : entry.beside) {
        read_part(found, entry, next, before);
        before += next.size(-1);
    }
}

// Which entries to read, each weight under one of its names. A disk is fastest from begin to end, and the
// system then reads ahead by itself. (To ask it for the next tensors made a cold load slower by half.)
std::vector<std::size_t> reading_order(const std::vector<StateEntry>& entries,
                                       const std::vector<Found>& found) {
    std::set<Place> known;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i].entry != nullptr && known.insert(place_of(entries[i])).second)
            order.push_back(i);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tie(found[a].file, found[a].entry->begin) <
               std::tie(found[b].file, found[b].entry->begin);
    });
    return order;
}

// The file that holds each tensor, and its name there, before a number is read. Files may lack some of the
// names of a tied weight.
std::vector<Found> match(std::span<const SafeTensors> files, const std::vector<Expected>& expected,
                         const Canonical& canonical, const std::string& where, const std::string& hint) {
    Listing missing{"missing:"}, unexpected{"unexpected:"}, different{"different:"};
    std::vector<Found> found = match_names(files, expected, canonical, unexpected);
    std::map<std::size_t, bool> has;  // each weight under one of its names
    for (std::size_t i = 0; i < expected.size(); ++i)
        has[expected[i].weight] |= found[i].entry != nullptr;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Entry* const entry = found[i].entry;
        const Expected& e = expected[i];
        if (!has[e.weight])
            missing.add(e.name);
        else if (entry != nullptr && entry->shape != e.shape)
            different.add(join(e.name, " is ", words(entry->shape), " and should be ", words(e.shape)));
        else if (entry != nullptr && !SafeTensors::is_real(*entry))
            different.add(join(e.name, " is ", name_of(entry->dtype), ", no floating-point numbers"));
    }
    check_file(missing.count + unexpected.count + different.count == 0, where, missing.words(),
               unexpected.words(), different.words(), "; ", hint);
    return found;
}

}  // namespace

std::string replaced(std::string name, const NameRules& rules) {
    for (const auto& [from, to] : rules)
        if (const std::size_t at = name.find(from); at != name.npos)
            name.replace(at, from.size(), to);
    return name;
}

StateDict with_options(StateDict state, const LoadOptions& options) {
    state.canonical = [before = state.canonical, options](std::string name) {
        for (const std::string& end : options.ignore)
            if (name.ends_with(end))
                return std::string();
        return before(replaced(name, options.rules));
    };
    return state;
}

std::string without_wrappers(std::string name) {
    const std::string compiled = "_orig_mod.", parallel = "module.";
    while (name.find(compiled) != name.npos)
        name.erase(name.find(compiled), compiled.size());
    while (name.starts_with(parallel))
        name.erase(0, parallel.size());
    return name;
}

void save(const std::string& path, const StateDict& state, const Metadata& metadata,
          const SaveOptions& options) {
    std::vector<StateEntry> entries = state.entries;
    std::set<Place> known;
    if (options.tied_once)
        std::erase_if(entries, [&](const StateEntry& e) { return !known.insert(place_of(e)).second; });
    write(path, entries, metadata);
}

void load(std::span<const SafeTensors> files, const StateDict& state, const LoadCall& call) {
    const autograd::NoGrad no_grad;
    const std::vector<Expected> expected = expected_of(state.entries);
    const std::vector<Found> found = match(files, expected, state.canonical, call.where, call.hint);
    check_tied(expected, found, call);
    for (const std::size_t i : reading_order(state.entries, found)) {
        read_entry(found[i], state.entries[i]);
        if (call.after)
            call.after(state.entries[i]);
    }
}

LoadCall call_of(const SafeTensors& file) {
    return {.where = join("[load] ", file.path(), " does not fit the model"),
            .hint = "build the model with the configuration that it was saved with"};
}

void load(const SafeTensors& file, const StateDict& state) { load({&file, 1}, state, call_of(file)); }

Metadata load(const std::string& path, const StateDict& state) {
    const SafeTensors file = read(path);
    load(file, state);
    return file.metadata();
}

}  // namespace plaingrad::nn::checkpoint

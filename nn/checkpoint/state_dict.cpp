#include "nn/checkpoint/state_dict.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "autograd/base/list.h"
#include "autograd/base/parallel.h"

namespace plaingrad::nn::checkpoint {
namespace {

// "; missing: a, b"
std::string under(const char* heading, const std::vector<std::string>& names) {
    return names.empty() ? "" : join("; ", heading, ": ", listed_few(names));
}

std::string words(const std::vector<int64_t>& sizes) {  // a file may say millions
    return "(" + listed_few(autograd::mapped(sizes, [](int64_t size) { return std::to_string(size); })) + ")";
}

// Where an entry's numbers are in memory: the same for all names of a tied weight.
using Place = std::pair<const Real*, int64_t>;
Place place_of(const StateEntry& entry) { return {entry.tensor.data(), entry.first}; }

constexpr int64_t kPiece = int64_t{1} << 16;  // how many numbers are read at a time, to stay in the cache

// Whether the tensors of two names of one weight are the same. A NaN equals itself here.
bool same_bytes(const Match& a, const Match& b) {
    const int64_t n = (a.there->end - a.there->begin) / a.there->dtype->size;
    std::vector<Real> x(static_cast<std::size_t>(std::min(n, kPiece))), y(x.size());
    for (int64_t at = 0; at < n; at += kPiece) {
        const int64_t count = std::min(kPiece, n - at);
        a.file->copy(*a.there, at, count, x.data());
        b.file->copy(*b.there, at, count, y.data());
        if (std::memcmp(x.data(), y.data(), static_cast<std::size_t>(count) * sizeof(Real)) != 0)
            return false;
    }
    return true;
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
// skipped. Each number is copied once, from the file into the parameter. What must be transposed is read a
// few rows at a time.
void read_part(const Match& m, Tensor tensor, int64_t before) {
    const StateEntry& entry = *m.entry;
    Real* const to = tensor.mutable_data() + entry.first;
    if (tensor.numel() == 0)
        return;
    const int64_t rows = entry.columns >= 0 ? entry.columns
                         : entry.transposed ? tensor.size(-1)
                                            : tensor.numel();  // of one number each
    const int64_t columns = entry.transposed ? tensor.size(0) : 1;
    const int64_t grain = entry.transposed ? std::max<int64_t>(16, kPiece / columns / 16 * 16) : 16 * kPiece;
    autograd::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
        if (!entry.transposed)
            return m.file->copy(*m.there, before + begin, end - begin, to + begin);
        Tensor some = Tensor::uninitialized({end - begin, columns});  // in recycled memory
        m.file->copy(*m.there, (before + begin) * columns, some.numel(), some.mutable_data());
        transpose(some.data(), end - begin, columns, to + begin, tensor.size(-1));
    });
}

}  // namespace

std::string replaced(std::string name, const NameRules& rules) {
    for (const auto& [from, to] : rules)
        if (const std::size_t at = name.find(from); at != name.npos)
            name.replace(at, from.size(), to);
    return name;
}

StateDict tied_once(StateDict state) {
    std::set<Place> known;
    std::erase_if(state, [&](const StateEntry& e) { return !known.insert(place_of(e)).second; });
    return state;
}

std::vector<Match> match(std::span<const SafeTensors> files, const StateDict& state, const std::string& where,
                         const std::string& hint) {
    std::vector<std::string> missing, unexpected, different;
    std::unordered_map<std::string_view, Match> by_name;
    for (const StateEntry& entry : state)
        by_name[entry.name].entry = &entry;
    for (const SafeTensors& file : files)
        for (const Entry& there : file.entries()) {
            const auto own = by_name.find(there.name),
                       place = own != by_name.end() ? own : by_name.find(there.meant);
            if (place != by_name.end() && place->second.there == nullptr)
                place->second = {place->second.entry, &file, &there};
            else if (place != by_name.end() || !there.meant.empty())
                unexpected.push_back(shown(there.name));
        }
    std::map<Place, Match> first;  // of each weight that a file has
    for (const StateEntry& entry : state)
        if (const Match& m = by_name[entry.name]; m.there != nullptr) {
            first.emplace(place_of(entry), m);
            if (const std::vector<int64_t> sizes = sizes_of(entry); m.there->shape != sizes)
                different.push_back(
                    join(entry.name, " is ", words(m.there->shape), " and should be ", words(sizes)));
            else if (m.there->dtype->convert == nullptr)
                different.push_back(
                    join(entry.name, " is ", m.there->dtype->name, ", no floating-point numbers"));
        }
    for (const StateEntry& entry : state) {
        const Match& m = by_name[entry.name];
        const auto one = first.find(place_of(entry));
        if (one == first.end())
            missing.push_back(entry.name);
        else if (m.there != nullptr && m.there != one->second.there && different.empty() &&
                 !same_bytes(m, one->second))
            different.push_back(
                join(entry.name, " is not ", one->second.entry->name, ", with which it is tied"));
    }
    check_file(missing.empty() && unexpected.empty() && different.empty(), where, under("missing", missing),
               under("unexpected", unexpected), under("different", different), "; ", hint);
    std::vector<Match> once;
    for (const auto& [place, m] : first)
        once.push_back(m);
    // A disk is fastest from begin to end, and the system then reads ahead by itself. (To ask it for the next
    // tensors made a cold load slower by half.)
    std::sort(once.begin(), once.end(), [](const Match& a, const Match& b) {
        return std::tie(a.file, a.there->begin) < std::tie(b.file, b.there->begin);
    });
    return once;
}

void Match::read() const {
    read_part(*this, entry->tensor, 0);
    int64_t before = entry->beside.empty() ? 0 : entry->tensor.size(-1);
    for (const Tensor& next : entry->beside) {
        read_part(*this, next, before);
        before += next.size(-1);
    }
}

Metadata load(const SafeTensors& file, const StateDict& state) {
    for (const Match& m : match({&file, 1}, state, join("[load] ", file.path(), " does not fit the model"),
                                "build the model with the configuration that it was saved with"))
        m.read();
    return file.metadata();
}

}  // namespace plaingrad::nn::checkpoint

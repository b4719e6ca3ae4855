#include "nn/checkpoint/matching.h"

#include <algorithm>
#include <map>
#include <unordered_map>

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

// By name only.
Matches match_names(std::span<const SafeTensors> files, const std::vector<Expected>& expected,
                    const Canonical& canonical, Listing& unexpected) {
    std::unordered_map<std::string, std::size_t> by_name;
    for (std::size_t i = 0; i < expected.size(); ++i)
        by_name.emplace(expected[i].name, i);
    Matches matches = {.found = std::vector<Found>(expected.size()), .ignored = {}};
    for (const SafeTensors& file : files)
        for (const Entry& entry : file.entries()) {
            auto place = by_name.find(entry.name);
            const std::string name = place == by_name.end() ? canonical(entry.name) : entry.name;
            place = by_name.find(name);
            if (name.empty())
                matches.ignored.push_back(entry.name);
            else if (place != by_name.end() && matches.found[place->second].entry == nullptr)
                matches.found[place->second] = {&file, &entry};
            else
                unexpected.add(shown(entry.name));
        }
    return matches;
}

}  // namespace

Matches match(std::span<const SafeTensors> files, const std::vector<Expected>& expected,
              const Canonical& canonical, const std::string& where, const std::string& hint) {
    Listing missing{"missing:"}, unexpected{"unexpected:"}, different{"different:"};
    Matches matches = match_names(files, expected, canonical, unexpected);
    std::map<std::size_t, bool> has;  // each weight under one of its names
    for (std::size_t i = 0; i < expected.size(); ++i)
        has[expected[i].weight] |= matches.found[i].entry != nullptr;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const Entry* const entry = matches.found[i].entry;
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
    return matches;
}

}  // namespace plaingrad::nn::checkpoint

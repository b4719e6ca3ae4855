#include "models/text/tokenizer/part.h"

#include <cmath>

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::JsonReader;

// The path of a member. A name that could not be told from its surroundings, or is very long, is quoted.
static std::string inner_path(const std::string& path, std::string_view name) {
    const std::string quoted = nn::checkpoint::shown(name);
    return path + (path.empty() ? "" : ".") + (quoted.size() == name.size() + 2 ? std::string(name) : quoted);
}

Part Part::read(JsonReader& json, std::string path, const Reads& reads) {
    int64_t room = 200'000;
    return read(json, std::move(path), reads, 10, room);
}

Part Part::read(JsonReader& json, std::string path, const Reads& reads, int levels, int64_t& room) {
    Part part;
    part.where_ = json.where();
    part.path_ = std::move(path);
    part.kind_ = json.kind();
    part.require(levels > 0 && --room > 0, "has more values than any tokenizer needs");
    switch (part.kind_) {
        case Kind::object:
            json.object([&](std::string_view name) {
                if (reads && reads(name))
                    return;
                const std::string own(name);  // the reader's is gone with the next one
                part.items_.push_back(read(json, inner_path(part.path_, own), {}, levels - 1, room));
                part.items_.back().name_ = own;
            });
            break;
        case Kind::array:
            json.array([&] {
                std::string inner = part.path_ + "[" + std::to_string(part.items_.size()) + "]";
                part.items_.push_back(read(json, std::move(inner), {}, levels - 1, room));
            });
            break;
        case Kind::string:
            part.text_ = json.string();
            break;
        case Kind::boolean:
            part.flag_ = json.boolean();
            break;
        case Kind::number:
            part.number_ = json.real();
            break;
        case Kind::null:
            json.null();
            break;
    }
    return part;
}

void Part::fail(const std::string& complaint) const {
    throw nn::checkpoint::FileError(where_ + ": " + (path_.empty() ? "the file" : path_) + " " + complaint);
}

void Part::expect(Kind kind, const char* what) const {
    require(kind_ == kind, is_null() ? "is missing; it must be " : "must be ", what);
}

const std::vector<Part>& Part::items() const {
    require(kind_ == Kind::array || kind_ == Kind::object, "must be a list");
    return items_;
}

const Part& Part::operator[](std::string_view name) const {
    expect(Kind::object, "an object");
    for (const Part& item : items_)
        if (item.name_ == name) {
            item.used_ = true;
            return item;
        }
    Part& none = missing_.emplace_back();
    none.where_ = where_;
    none.path_ = inner_path(path_, name);
    return none;
}

const std::string& Part::text() const {
    expect(Kind::string, "a string");
    return text_;
}

const std::string& Part::nonempty_text() const {
    require(!text().empty(), "must not be empty");
    return text_;
}

bool Part::flag() const {
    expect(Kind::boolean, "true or false");
    return flag_;
}

int64_t Part::integer() const {
    expect(Kind::number, "a number");
    require(number_ >= 0 && number_ < 1e9 && number_ == std::floor(number_),
            "must be a number from 0 to 10^9");
    return static_cast<int64_t>(number_);
}

void Part::check_all_used() const {
    for (const Part& item : items_) {
        item.require(kind_ != Kind::object || item.used_ || item.is_null(), "is not supported");
        item.check_all_used();
    }
}

}  // namespace plaingrad::models::text::tokenizer

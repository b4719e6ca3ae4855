// A value of a `tokenizer.json` or `tokenizer_config.json`, small enough to be held as a tree: a
// normalizer, a decoder, a template. What nobody has asked for is refused by name at the end: an option
// that is not honoured would give other ids without a word.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "nn/checkpoint/json.h"

namespace plaingrad::models::text::tokenizer {

class Part {
public:
    using Kind = nn::checkpoint::JsonReader::Kind;

    // The next value of the file, which is called `path` in errors, as "pre_tokenizer". Throws FileError for
    // one that has too many levels or values.
    static Part read(nn::checkpoint::JsonReader& json, std::string path) { return read(json, path, {}); }
    // The same for an object. reads(name) may read a member itself, and then returns true.
    using Reads = std::function<bool(std::string_view name)>;
    static Part read(nn::checkpoint::JsonReader& json, std::string path, const Reads& reads);

    bool is_null() const { return kind_ == Kind::null; }
    bool is(Kind kind) const { return kind_ == kind; }
    const std::vector<Part>& items() const;  // of an array, or the values of an object

    // The member of an object; a null if there is none.
    const Part& operator[](std::string_view name) const;
    const std::string& name() const { return name_; }  // in its object

    // The value. Throws FileError if it is of another kind. With a default: also for null.
    const std::string& text() const;
    const std::string& nonempty_text() const;
    bool flag() const;
    int64_t integer() const;
    std::string text_or(const std::string& otherwise) const { return is_null() ? otherwise : text(); }
    bool flag_or(bool otherwise) const { return is_null() ? otherwise : flag(); }

    // Throws FileError if the member of an object, or of one in it, was not asked for.
    void check_all_used() const;
    // For what is not supported, and for what makes no sense.
    template <class... Parts>
    void require(bool condition, const Parts&... complaint) const {
        if (!condition) [[unlikely]]
            fail(autograd::join(complaint...));
    }

private:
    static Part read(nn::checkpoint::JsonReader& json, std::string path, const Reads& reads, int levels,
                     int64_t& room);
    [[noreturn]] void fail(const std::string& complaint) const;
    void expect(Kind kind, const char* what) const;

    std::string where_, path_, name_, text_;
    Kind kind_ = Kind::null;
    bool flag_ = false;
    double number_ = 0;
    std::vector<Part> items_;
    mutable bool used_ = false;
    mutable std::list<Part> missing_;  // that were asked for
};

}  // namespace plaingrad::models::text::tokenizer

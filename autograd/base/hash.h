// FNV-1a (Fowler, Noll and Vo): one number that depends on every byte of a text, for names, and for data that
// must be the same as before. Two texts can be made that have the same number: it is no signature.
#pragma once

#include <cstdint>
#include <string_view>

namespace plaingrad::autograd {

struct Hash {
    uint64_t value = 0xcbf29ce484222325u;

    Hash& add(uint64_t number) { return value = (value ^ number) * 0x100000001b3u, *this; }
    Hash& add(std::string_view text) {
        for (const char c : text)
            add(static_cast<unsigned char>(c));
        return *this;
    }
};

}  // namespace plaingrad::autograd

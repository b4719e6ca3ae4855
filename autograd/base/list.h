// A list as an argument: a std::span that also accepts a braced list, {0, 1}.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

namespace plaingrad::autograd {

// It points to the caller's elements. A function that keeps them copies them.
template <class T>
struct List : std::span<const T> {
    using std::span<const T>::span;
    List(std::initializer_list<T> list) : std::span<const T>(list.begin(), list.size()) {}
};

// f of each thing, in order. f is a function, or a member of the things.
//
//     const std::vector<std::string> texts = mapped(examples, &Example::text);
template <class Things, class F>
auto mapped(const Things& things, const F& f) {
    std::vector<std::decay_t<std::invoke_result_t<const F&, decltype(*things.begin())>>> all;
    for (const auto& thing : things)
        all.push_back(std::invoke(f, thing));
    return all;
}

}  // namespace plaingrad::autograd

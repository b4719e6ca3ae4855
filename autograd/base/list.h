// A list as an argument: a std::span that also accepts a braced list, {0, 1}.
#pragma once

#include <initializer_list>
#include <span>

namespace plaingrad::autograd {

// It points to the caller's elements. A function that keeps them copies them.
template <class T>
struct List : std::span<const T> {
    using std::span<const T>::span;
    List(std::initializer_list<T> list) : std::span<const T>(list.begin(), list.size()) {}
};

}  // namespace plaingrad::autograd

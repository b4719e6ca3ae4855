// f of each thing, in order. f is a function, or a member of the things.
//
//     const std::vector<std::string> texts = mapped(examples, &Example::text);
#pragma once

#include <functional>
#include <type_traits>
#include <vector>

namespace plaingrad::autograd {

template <class Things, class F>
auto mapped(const Things& things, const F& f) {
    std::vector<std::decay_t<std::invoke_result_t<const F&, decltype(*things.begin())>>> all;
    for (const auto& thing : things)
        all.push_back(std::invoke(f, thing));
    return all;
}

}  // namespace plaingrad::autograd

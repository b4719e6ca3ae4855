#include "nn/module.h"

#include <algorithm>

namespace plaingrad::nn {

std::vector<NamedParameter> first_names(const std::vector<NamedParameter>& parameters) {
    std::vector<NamedParameter> first;
    for (const NamedParameter& p : parameters)
        if (std::none_of(first.begin(), first.end(), [&](auto& f) { return f.tensor.same_memory(p.tensor); }))
            first.push_back(p);
    return first;
}

int64_t parameter_count(const std::vector<NamedParameter>& parameters) {
    int64_t count = 0;
    for (const NamedParameter& p : parameters)
        count += p.tensor.numel();
    return count;
}

void zero_grad(const std::vector<NamedParameter>& parameters) {
    for (const NamedParameter& p : parameters)
        Tensor(p.tensor).zero_grad();
}

void copy_values(const std::vector<NamedParameter>& from, const std::vector<NamedParameter>& to) {
    check(from.size() == to.size(), "[copy_values] ", from.size(), " parameters cannot be copied to ",
          to.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        check(from[i].name == to[i].name && from[i].tensor.shape() == to[i].tensor.shape(), "[copy_values] ",
              from[i].name, " ", from[i].tensor.shape(), " does not fit ", to[i].name, " ",
              to[i].tensor.shape());
        const Real* values = from[i].tensor.data();
        std::copy(values, values + from[i].tensor.numel(), Tensor(to[i].tensor).mutable_data());
    }
}

}  // namespace plaingrad::nn

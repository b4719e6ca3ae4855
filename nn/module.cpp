#include "nn/module.h"

#include <algorithm>
#include <unordered_set>

namespace plaingrad::nn {

std::vector<NamedParameter> unique_parameters(const std::vector<NamedParameter>& parameters) {
    std::unordered_set<const Real*> seen;
    std::vector<NamedParameter> unique;
    for (const NamedParameter& p : parameters)
        if (seen.insert(p.tensor.data()).second)
            unique.push_back(p);
    return unique;
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

#include "nn/module.h"

#include <unordered_map>
#include <unordered_set>

namespace plaingrad::nn {

void Visitor::found(NamedParameter p) {
    p.name = autograd::join(path_, path_.empty() ? "" : ".", p.name);
    if (p.tensor.defined())
        parameter(p);
}

namespace detail {

// "... type_name() [with M = plaingrad::nn::Linear; ...]" -> "Linear". Clang writes "[M = ...]".
std::string short_type_name(std::string_view text) {
    text.remove_prefix(text.find("M = ") + 4);
    text = text.substr(0, text.find_first_of(";]"));
    const std::size_t space = text.substr(0, text.find('<')).rfind("::");
    return std::string(space == text.npos ? text : text.substr(space + 2));
}

void check_names(const std::vector<NamedParameter>& parameters) {
    std::unordered_set<std::string_view> names;
    for (const NamedParameter& p : parameters)
        check(names.insert(p.name).second, "[visit] two parameters have the name ", p.name,
              "; each member needs a name of its own, or a file could not tell them apart");
}

}  // namespace detail

std::vector<NamedParameter> unique_parameters(const std::vector<NamedParameter>& parameters) {
    std::unordered_map<const void*, const NamedParameter*> seen;
    std::vector<NamedParameter> unique;
    for (const NamedParameter& p : parameters) {
        const auto [at, is_new] = seen.try_emplace(p.tensor.memory(), &p);
        const NamedParameter& first = *at->second;
        check(first.tensor.node() == p.tensor.node() || !first.tensor.needs_grad() || !p.tensor.needs_grad(),
              "[parameters] ", first.name, " and ", p.name,
              " have the same memory, but each its own gradient; use share() for tied weights");
        if (is_new)
            unique.push_back(p);
    }
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
        p.tensor.zero_grad();
}

void freeze(const std::vector<NamedParameter>& parameters, bool frozen) {
    for (const NamedParameter& p : parameters)
        Tensor(p.tensor).require_grad(!frozen);
}

void copy_values(const std::vector<NamedParameter>& from, const std::vector<NamedParameter>& to) {
    check(from.size() == to.size(), "[copy_values] ", from.size(), " parameters cannot be copied to ",
          to.size());
    for (std::size_t i = 0; i < from.size(); ++i)
        check(from[i].name == to[i].name && from[i].tensor.shape() == to[i].tensor.shape(), "[copy_values] ",
              from[i].name, " ", from[i].tensor.shape(), " does not fit ", to[i].name, " ",
              to[i].tensor.shape());
    for (std::size_t i = 0; i < from.size(); ++i) {
        const Real* values = from[i].tensor.data();
        std::copy(values, values + from[i].tensor.numel(), to[i].tensor.mutable_data());
    }
}

}  // namespace plaingrad::nn

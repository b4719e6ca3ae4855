// The loss of each run of the museum beside that of the run without a mistake, as small multiples.
#pragma once

#include <algorithm>
#include <cctype>

#include "autograd/base/check.h"
#include "tests/figures/figure.h"
#include "tests/traps/trap.h"

namespace plaingrad::tests {

// A row of curves.csv: how many of 2000 sequences the run reverses, and its loss after 20, 40, ... steps.
struct Curve {
    std::string name, score;
    std::vector<double> loss;
};

inline std::vector<Curve> read_curves(const std::string& csv) {
    std::vector<Curve> all;
    std::istringstream lines(csv);
    std::string line, cell;
    std::getline(lines, line);  // the heading
    while (std::getline(lines, line)) {
        std::istringstream cells(line);
        Curve& curve = all.emplace_back();
        std::getline(cells, curve.name, ',');
        std::getline(cells, curve.score, ',');
        while (std::getline(cells, cell, ','))
            curve.loss.push_back(std::max(std::stod(cell), 1e-4));  // 0.0000 has no logarithm
    }
    return all;
}

// The name of the run without a mistake, with a trap's options.
inline std::string reference_of(const Trap& trap) {
    std::string name = "healthy";
    for (const char c : (trap.field("Options").empty() ? "" : " ") + trap.field("Options"))
        name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
}

inline const Curve& curve_named(const std::vector<Curve>& curves, const std::string& name) {
    for (const Curve& curve : curves)
        if (curve.name == name)
            return curve;
    throw autograd::Error("curves.csv has no " + name + "; make traps writes it");
}

inline figures::LineChart panel_of(const Trap& trap, const Curve& curve, const Curve& reference) {
    std::vector<double> steps;
    for (std::size_t i = 1; i <= reference.loss.size(); ++i)
        steps.push_back(20 * static_cast<double>(i));
    autograd::check(curve.loss.size() <= steps.size(), "curves.csv: the run ", curve.name, " has ",
                    curve.loss.size(), " losses, the one without a mistake has ", steps.size());
    std::string title = trap.field("Title");
    std::erase(title, '`');
    const std::vector<double> x(steps.begin(), steps.begin() + std::ssize(curve.loss));
    return {.title = title + '\n' + curve.score,
            .x = {.name = "step", .ticks = {0, 400, 800, 1200}},
            .y = {.name = "loss", .log = true, .low = 0.003, .high = 10},
            .series = {{"without a mistake", reference.loss, steps}, {"with it", curve.loss, x}}};
}

inline std::string traps_figure(const std::vector<Trap>& traps, const std::string& csv) {
    const std::vector<Curve> curves = read_curves(csv);
    std::vector<figures::LineChart> panels;
    for (const Curve& curve : curves) {
        const auto trap =
            std::find_if(traps.begin(), traps.end(), [&](const Trap& t) { return t.name == curve.name; });
        if (trap == traps.end() || curve.loss.empty())
            continue;  // a reference, or a run that stopped at once
        const Curve& reference = curve_named(curves, reference_of(*trap));
        if (curve.loss != reference.loss)
            panels.push_back(panel_of(*trap, curve, reference));
    }
    return figures::svg(
        "The mistakes that change the loss",
        "Training curves of reverse_task, each with one mistake, beside "
        "the curve without. Below each name: how many of 2000 sequences it reverses after training.",
        panels, 4);
}

}  // namespace plaingrad::tests

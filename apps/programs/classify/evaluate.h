// Evaluates a classifier on labelled texts, and predicts labels line by line.
#pragma once

#include <iosfwd>

#include "apps/programs/classify/data.h"
#include "apps/programs/classify/report.h"
#include "models/labeller.h"

namespace plaingrad::classify {

Confusion evaluate(const models::Labeller& l, const std::vector<Example>& examples);

// Says on standard error how many texts are longer than the model reads, if any.
void report_cuts(const models::text::Reader& reader, const std::vector<Example>& examples);

// "weather<TAB>weather=0.9731<TAB>time=0.0102...", the most probable label first.
std::string prediction(const models::Labeller& l, const std::string& text);

// Writes a prediction for each line before it reads the next one.
void predict_lines(const models::Labeller& l, std::istream& in, const std::string& name);

}  // namespace plaingrad::classify

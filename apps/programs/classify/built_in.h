// What classify learns from when it is given no file: requests to an assistant, made from the templates in
// requests.txt, which the Makefile compiles into the program. The held-out sentences have other templates,
// and their slots are filled with words that training never puts there.
#pragma once

#include "apps/programs/classify/data.h"

namespace plaingrad::classify {

Corpus built_in_corpus(const autograd::Rng& rng);
std::vector<std::string> built_in_labels();

}  // namespace plaingrad::classify

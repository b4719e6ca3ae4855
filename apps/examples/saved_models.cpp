// Labels a text and continues another with models that these commands have trained:
//
//     ./apps/classify train moods.tsv --validation 0 --save moods    lines of label<TAB>text
//     ./apps/generate train README.md --save readme
#include <iostream>

#include "models/labeller.h"
#include "models/writer.h"

int main() {
    const auto label = plaingrad::models::Labeller::load("moods");
    std::cout << label("what a lovely evening")[0].name << '\n';
    const auto write = plaingrad::models::Writer::load("readme");
    std::cout << "The " << write("The ") << '\n';
}

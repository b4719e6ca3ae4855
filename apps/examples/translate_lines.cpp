// Translates its input, line by line, with a translator that this command has trained:
//
//     ./apps/translate train train.en train.de --save run
#include <iostream>
#include <string>

#include "models/translator.h"

int main() {
    const auto translate = plaingrad::models::Translator::load("run");
    for (std::string line; std::getline(std::cin, line);)
        std::cout << translate(line) << '\n';
}

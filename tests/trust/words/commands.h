// Every command of every program that reads files: how it is called with a file that is not what it expects.
#pragma once

#include <string>
#include <vector>

#include "tests/folder.h"

namespace plaingrad::trust::words {

// A command line, in which
//     FILE            is the file
//     $lm             a model or a text that `make_fixtures` has made
//     $bert/FILE=a.b  that folder, but with the file in the place of its member a.b
//     < FILE          makes the file standard input
const std::vector<std::string>& reading_commands();
// In which PLACE is where something is to be written.
const std::vector<std::string>& writing_commands();

// Small models of every kind, and texts, in folder/fixtures.
void make_fixtures(const tests::Folder& folder);

std::vector<std::string> split(const std::string& line);

}  // namespace plaingrad::trust::words

#!/bin/sh
# Prints a text as C++: FOLDER/NAME.txt becomes the string_view `plaingrad::FOLDER::NAME`. It exists because programs
# carry texts that are edited as texts.
#
# usage: embed.sh <file>
name=$(basename "$1") space=$(basename "$(dirname "$1")")
name=${name%.*}
printf '#include <string_view>\nnamespace plaingrad::%s {\nextern const std::string_view %s;\n' "$space" "$name"
printf 'const std::string_view %s = R"text(' "$name"
cat "$1"
printf ')text";\n}\n'

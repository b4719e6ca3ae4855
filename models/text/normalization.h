// Unicode's canonical normalization forms: the same text written in the same code points. Unicode Standard
// Annex #15, "Unicode Normalization Forms"; of Unicode 9.0, as Hugging Face's `tokenizers` has it. Bytes that
// are not UTF-8 stay as they are.
#pragma once

#include <string>
#include <string_view>

namespace plaingrad::models::text {

// Composed: as few code points as possible, as U+00E9. What most texts are in already.
std::string nfc(std::string_view text);

// Decomposed: a letter, then its marks, as U+0065 U+0301.
std::string nfd(std::string_view text);

}  // namespace plaingrad::models::text

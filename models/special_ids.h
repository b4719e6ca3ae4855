// Reserved ids, the same in every vocabulary; no data symbol can have them.
#pragma once

#include <cstdint>

namespace plaingrad::models {

enum SpecialId : int32_t { kPad = 0, kSos = 1, kEos = 2, kUnk = 3, kFirstFreeId = 4 };

}  // namespace plaingrad::models

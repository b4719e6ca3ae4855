#include "autograd/base/version.h"

namespace plaingrad::autograd {

const char* version() { return kVersion; }

}  // namespace plaingrad::autograd

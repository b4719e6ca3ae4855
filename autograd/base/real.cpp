#include "autograd/base/real.h"

// Declared in real.h; its address is all that matters.
const char PLAINGRAD_REAL_SYMBOL = 0;

const char* plaingrad::autograd::version() { return kVersion; }

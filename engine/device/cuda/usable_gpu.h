// Whether a GPU can be trained on.
#pragma once

#include "base/result.h"

namespace millrace::cuda {

/// The error says what is missing: no driver, no such GPU, one that is too old.
Status checkUsable(int index);

} // namespace millrace::cuda

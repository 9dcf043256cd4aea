// The % operator of texts: printf-style formatting as Python does it.
#pragma once

#include "text/jinja/value.h"

namespace millrace::jinja {

/// arguments: a tuple, a dict for %(name)s, or a single value.
Value percentFormatted(Heap& heap, const Value& format, const Value& arguments);

} // namespace millrace::jinja

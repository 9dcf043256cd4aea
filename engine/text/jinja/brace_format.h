// str.format(): fields in braces.
#pragma once

#include "text/jinja/value.h"

namespace millrace::jinja {

/// Fields reach items and attributes by the rules of the sandbox.
std::string braceFormatted(Heap& heap, const Value& format, const Arguments& arguments);

} // namespace millrace::jinja

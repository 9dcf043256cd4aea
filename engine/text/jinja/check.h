// What the reference implementation finds wrong with a template before it renders it: names of filters and tests that
// do not exist, and break and continue outside loops.
#pragma once

#include "text/jinja/ast.h"

namespace millrace::jinja {

/// Throws Fault with the line. Unknown names within an if are let pass, as they may be meant for other versions; they
/// fail when they are reached.
void checkTemplate(const ParsedTemplate& parsed);

} // namespace millrace::jinja

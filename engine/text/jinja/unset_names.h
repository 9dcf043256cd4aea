// Which names a scope sets before it reads them. The reference implementation decides when it compiles a template which
// scope a name belongs to; a name that a scope sets and has not read further up is that scope's own from its beginning
// on, unset until then, even for loops and macros inside it that stand before the assignment. (A name that is set
// within an if alone still is what it is outside until then.)
#pragma once

#include "text/jinja/ast.h"

namespace millrace::jinja {

/// Fills ParsedTemplate::unset, Statement::unset and Statement::unsetOtherwise.
void findUnsetNames(ParsedTemplate& parsed);

} // namespace millrace::jinja

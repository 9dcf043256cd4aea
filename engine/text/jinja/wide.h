// Whole numbers of 128 bits, for sums and products that must not overflow before they are checked.
#pragma once

namespace millrace::jinja {

__extension__ using Wide = __int128;

} // namespace millrace::jinja

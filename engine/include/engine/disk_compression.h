// Whether state on disk is compressed, which changes how many bytes move and never what they say.
#pragma once

namespace millrace {

enum class DiskCompression {
  Off,
  On,   ///< wherever it saves a page
  Auto, ///< what the drive moves faster for it, by more than it costs the cores
};

} // namespace millrace

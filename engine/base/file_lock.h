// An exclusive lock on an open file description: it ends when the last descriptor of it is closed, by whatever death of
// the process.
#pragma once

#include <string_view>

namespace millrace {

enum class LockState { Free, Held, Unsupported };

/// Free: it was, and is this descriptor's now. The descriptor must be open for writing.
LockState tryLock(int descriptor);
/// Whether some other descriptor holds the lock.
LockState lockState(int descriptor);
/// The file lies on a file system that several machines can mount.
bool isSharedFileSystem(int descriptor);

} // namespace millrace

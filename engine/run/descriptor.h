// A file descriptor that closes itself. Move-only.
#pragma once

#include <unistd.h>
#include <utility>

namespace millrace {

class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : m_descriptor(descriptor) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : m_descriptor(std::exchange(other.m_descriptor, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      m_descriptor = std::exchange(other.m_descriptor, -1);
    }
    return *this;
  }

  int get() const { return m_descriptor; }
  bool valid() const { return m_descriptor >= 0; }
  void reset() {
    if (m_descriptor >= 0) ::close(m_descriptor);
    m_descriptor = -1;
  }

 private:
  int m_descriptor;
};

} // namespace millrace

// Streams and events: asynchronous work in order, and the points in it that others wait for.
// A stream belongs to one device and is submitted to by one thread at a time. Submitting never blocks.
#pragma once

#include "base/result.h"
#include "base/units.h"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace millrace {

class Device;

/// A point in a stream's work, or a moment that the host announces. Copyable; a default-made Event has already
/// happened.
class Event {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual bool ready() const = 0;
    /// Blocks the calling host thread. Throws EngineException when the work before the event failed.
    virtual void synchronize() = 0;
  };

  Event() = default;
  explicit Event(std::shared_ptr<State> state) : m_state(std::move(state)) {}

  bool ready() const { return !m_state || m_state->ready(); }
  void synchronize() const {
    if (m_state) m_state->synchronize();
  }
  const std::shared_ptr<State>& state() const { return m_state; }

 private:
  std::shared_ptr<State> m_state;
};

/// An event that a host thread announces: streams may wait for it before it is signalled. The form that lets a layer's
/// copy-in wait for host AdamW without blocking the submitting thread.
class HostSignal {
 public:
  class State : public Event::State {
   public:
    virtual void signal() = 0;
    /// The host work failed: whoever waits fails with this error.
    virtual void fail(Error error) = 0;
  };

  HostSignal() = default;
  explicit HostSignal(std::shared_ptr<State> state) : m_state(std::move(state)) {}
  Event event() const { return Event(m_state); }
  void signal() const { m_state->signal(); }
  void fail(Error error) const { m_state->fail(std::move(error)); }

 private:
  std::shared_ptr<State> m_state;
};

/// Why a stream stood still; what a person reads as "stalls by cause".
enum class Stall { Order, Weights, Optimizer, Gradients, Activations, Data };
constexpr std::size_t stallCauses = 6;

/// What a stream did since it was made. Seconds are wall time on the stream.
struct StreamUse {
  Bytes copiedBytes = 0;
  double copySeconds = 0;
  double busySeconds = 0; ///< copies included
  std::array<double, stallCauses> stallSeconds{};
};

class Stream {
 public:
  virtual ~Stream() = default;
  virtual Device& device() = 0;
  virtual const std::string& name() const = 0;
  /// Work submitted later starts after the event has happened; time spent standing still is booked under the cause.
  virtual void wait(const Event& event, Stall cause = Stall::Order) = 0;
  /// Happens when all work submitted so far is done.
  virtual Event record() = 0;
  /// Copies bytes between host and device memory in either direction, or within one; readable when a later record()
  /// happens.
  virtual void copy(void* destination, const void* source, Bytes bytes) = 0;
  /// Sets bytes to zero.
  virtual void zero(void* destination, Bytes bytes) = 0;
  /// Runs a function on the stream in order; it may use memory but not submit or synchronise. For host-side pieces of
  /// the work (a row gather, a host reduction).
  virtual void hostTask(std::function<void()> task) = 0;
  /// Blocks the host until all submitted work is done; throws EngineException when any of it failed.
  void synchronize() { record().synchronize(); }
  /// Totals of the work that is done.
  virtual StreamUse use() const = 0;
};

} // namespace millrace

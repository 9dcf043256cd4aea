#include "run/run_follower.h"

#include "run/metrics_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

namespace millrace {

namespace {
constexpr int lookAgainMilliseconds = 1000;
constexpr std::size_t metricsSource = 0;

/// "line 17": what begins at this byte.
std::string lineAt(FileSystem& files, const Path& path, Bytes begin) {
  std::int64_t number = 1;
  const auto file = files.open(path, OpenMode::Read);
  std::string piece;
  for (Bytes done = 0; file && done < begin; done += static_cast<Bytes>(piece.size())) {
    piece.resize(static_cast<std::size_t>(std::min<Bytes>(MiB, begin - done)));
    if (!(*file)->read(std::as_writable_bytes(std::span(piece)), done)) return fmt::format("the one at byte {}", begin);
    number += std::count(piece.begin(), piece.end(), '\n');
  }
  return fmt::format("line {}", number);
}

} // namespace

RunFollower::RunFollower(FileSystem& files, const RunDirectory& run, std::int64_t afterStep, Bytes metricsOffset)
    : m_files(files),
      m_run(run),
      m_afterStep(afterStep),
      m_sources{Source(JsonLinesReader(files, run.metrics(), metricsOffset)),
                Source(JsonLinesReader(files, run.events())), Source(JsonLinesReader(files, run.samples()))},
      m_notify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      m_stopEvent(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  // Before anything is read, so that no growth goes unnoticed. A process's death shows too: its files are closed.
  if (m_notify.valid() && ::inotify_add_watch(m_notify.get(), run.path().c_str(),
                                              IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE) < 0)
    m_notify.reset();
}

RunFollower::RunFollower(RunFollower&& other) noexcept
    : m_files(other.m_files),
      m_run(std::move(other.m_run)),
      m_afterStep(other.m_afterStep),
      m_sources(std::move(other.m_sources)),
      m_attempts(other.m_attempts),
      m_lastStep(other.m_lastStep),
      m_notify(std::move(other.m_notify)),
      m_stopEvent(std::move(other.m_stopEvent)),
      m_stopped(other.m_stopped.load()) {}

Result<RunFollower> RunFollower::open(FileSystem& files, const RunDirectory& run, std::int64_t afterStep) {
  MILLRACE_CHECK(requireRun(files, run));
  MILLRACE_TRY(const std::vector<std::int64_t> attempts, metricsAttempts(files, run.metrics()));
  MILLRACE_TRY(const Bytes offset, offsetAfterStep(files, run.metrics(), afterStep));
  RunFollower follower(files, run, afterStep, offset);
  follower.m_attempts = attempts.empty() ? 0 : attempts.back();
  return follower;
}

Result<std::optional<RunEvent>> RunFollower::next() {
  while (!m_stopped.load(std::memory_order_acquire)) {
    MILLRACE_CHECK(fillHeads());
    if (auto event = takeEarliest()) return event;
    // Asked before reading once more: what a run writes before it ends is read before its end is believed.
    const bool live = probeOwner(m_run.owner()).live;
    MILLRACE_CHECK(fillHeads());
    if (auto event = takeEarliest()) return event;
    if (auto event = takeDamage()) return event;
    if (!live) break;
    waitForChange();
  }
  return std::nullopt;
}

/// Every source that has a line gets a head. A source found empty is looked at again when another was read after it: a
/// line that comes earlier in time may have been written in between.
Status RunFollower::fillHeads() {
  for (Source& source : m_sources) source.emptyAt = source.emptyAt == m_reads && hasHead() ? m_reads : 0;
  for (bool settled = false; !settled;) {
    settled = true;
    for (std::size_t i = 0; i < m_sources.size(); ++i) {
      Source& source = m_sources[i];
      if (source.head || source.emptyAt == m_reads) continue;
      const std::uint64_t before = source.lines.refills();
      MILLRACE_CHECK(fill(i));
      m_reads += source.lines.refills() - before;
      if (!source.head) source.emptyAt = m_reads;
      settled = false;
    }
  }
  return {};
}

bool RunFollower::hasHead() const {
  return std::any_of(m_sources.begin(), m_sources.end(), [](const Source& source) { return source.head.has_value(); });
}

Status RunFollower::fill(std::size_t index) {
  Source& source = m_sources[index];
  const std::string name = source.lines.path().string();
  while (!source.head) {
    MILLRACE_TRY(const std::optional<JsonLine> line, source.lines.next());
    if (source.lines.rewritten()) {
      if (index == metricsSource)
        MILLRACE_CHECK(goBack());
      else
        source.lines.seek(0); // only a run that was replaced by a new one begins these anew
      continue;
    }
    if (!line) return {};
    const auto passOver = [&] {
      if (source.damaged++ == 0) source.firstDamaged = line->begin;
    };
    if (index == metricsSource) {
      auto metrics = stepMetricsFromJson(line->text, name);
      if (metrics)
        source.head = RunEvent{metrics->time, metrics->step, std::move(*metrics)};
      else
        passOver();
    } else {
      auto event = runEventFromJson(line->text, name);
      if (!event)
        passOver();
      else if (event->step > m_afterStep || m_afterStep < 0)
        source.head = std::move(*event);
    }
  }
  return {};
}

/// The metrics were cut back under our eyes: the first step of what was cut off says to where.
Status RunFollower::goBack() {
  std::int64_t last = m_afterStep;
  bool found = false;
  MILLRACE_TRY(const std::vector<std::int64_t> attempts, metricsAttempts(m_files, m_run.metrics()));
  for (const std::int64_t attempt : attempts) {
    if (attempt <= m_attempts) continue;
    MILLRACE_TRY(MetricsReader cut, MetricsReader::open(m_files, metricsAttemptPath(m_run.metrics(), attempt)));
    MILLRACE_TRY(const std::optional<StepMetrics> first, cut.next());
    if (first) last = found ? std::min(last, first->step - 1) : first->step - 1;
    found = found || first;
    m_attempts = attempt;
  }
  MILLRACE_TRY(const Bytes offset, offsetAfterStep(m_files, m_run.metrics(), std::max(last, m_afterStep)));
  m_sources[metricsSource].lines.seek(offset);
  return {};
}

std::optional<RunEvent> RunFollower::takeEarliest() {
  Source* earliest = nullptr;
  for (Source& source : m_sources)
    if (source.head && (!earliest || source.head->time < earliest->head->time)) earliest = &source;
  if (!earliest) return std::nullopt;
  m_lastStep = earliest->head->step;
  return std::exchange(earliest->head, std::nullopt);
}

/// One line a file, however many were passed over.
std::optional<RunEvent> RunFollower::takeDamage() {
  for (Source& source : m_sources) {
    const std::uint64_t count = std::exchange(source.damaged, 0);
    if (count == 0) continue;
    const std::string name = source.lines.path().filename().string();
    const std::string first = lineAt(m_files, source.lines.path(), source.firstDamaged);
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    std::string message =
        count == 1 ? fmt::format("{}: {} is not valid and is skipped", name, first)
                   : fmt::format("{}: {} lines are not valid and are skipped, the first is {}", name, count, first);
    return RunEvent{now, m_lastStep, LogLine{Severity::Warning, std::move(message)}};
  }
  return std::nullopt;
}

void RunFollower::waitForChange() {
  pollfd polled[] = {{m_notify.get(), POLLIN, 0}, {m_stopEvent.get(), POLLIN, 0}};
  (void)::poll(polled, 2, lookAgainMilliseconds);
  if (!m_notify.valid()) return;
  alignas(inotify_event) char events[4096];
  while (::read(m_notify.get(), events, sizeof events) > 0) { // what changed does not matter: all files are looked at
  }
}

void RunFollower::stop() {
  m_stopped.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  (void)!::write(m_stopEvent.get(), &one, sizeof one);
}

} // namespace millrace

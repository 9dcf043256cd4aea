#include "run_display.h"

#include "set_lines.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <type_traits>

namespace millrace::cli {

namespace {

constexpr double paceMemory = 0.9; // share of the pace that older steps keep
constexpr double secondsOfDay = 86400;

std::int64_t over(std::int64_t bytes, double seconds) {
  return std::llround(static_cast<double>(bytes) / seconds);
}

/// Samples are indented, so that they stand apart from what the program itself says.
std::string indented(const std::string& text) {
  std::string result = "  ";
  for (const char c : printable(text)) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

std::string rate(double perSecond) {
  return perSecond >= 100 ? formatCount(std::llround(perSecond)) : fmt::format("{:.1f}", perSecond);
}

} // namespace

void RunDisplay::show(const RunEvent& event) {
  if (m_console.outputReserved()) {
    m_console.out().write(toJson(event) + "\n");
    m_console.out().flush();
    if (const auto* metrics = std::get_if<StepMetrics>(&event.body)) showStep(*metrics);
  } else {
    showText(event);
  }
}

void RunDisplay::showText(const RunEvent& event) {
  std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, StepMetrics>) {
          showStep(body);
        } else if constexpr (std::is_same_v<Body, StateChanged>) {
          showState(body);
        } else if constexpr (std::is_same_v<Body, Evaluation>) {
          m_console.line(fmt::format("step {}: validation loss {:.4f}, perplexity {:.2f}, {:.3f} bits per byte{}",
                                     formatCount(event.step), body.loss, body.perplexity, body.bitsPerByte,
                                     body.best ? ", the best so far" : ""));
          for (const std::string& line : setLines(body.sets)) m_console.line(line);
        } else if constexpr (std::is_same_v<Body, Sample>) {
          m_lastSampleStep = event.step;
          m_console.line(
              fmt::format("step {}: sample\n{}", formatCount(event.step), indented(body.prompt + body.text)));
        } else if constexpr (std::is_same_v<Body, CheckpointSaved>) {
          m_console.line(fmt::format("step {}: checkpoint of {} saved in {:.1f} s: {}", formatCount(event.step),
                                     formatBytes(body.bytes), body.seconds, body.path));
        } else if constexpr (std::is_same_v<Body, Alert>) {
          if (m_lastWarning == body.message + "; " + body.advice) return; // it was logged as well
          m_console.line(fmt::format("step {}: warning: {}; {}", formatCount(event.step), body.message, body.advice));
        } else {
          // What ends a run is told once, on standard error, by whoever carries it through.
          if (body.severity == Severity::Debug || body.severity == Severity::Error) return;
          if (body.severity == Severity::Warning) m_lastWarning = body.message;
          m_console.line((body.severity == Severity::Warning ? "warning: " : "") + body.message);
        }
      },
      event.body);
}

void RunDisplay::showState(const StateChanged& change) {
  const bool wentOn = change.state == RunState::Running && m_state == RunState::Paused;
  m_state = change.state;
  m_rested = m_rested || change.state == RunState::Paused;
  // Evaluations and checkpoints tell of themselves, and how the run ended is told by whoever knows what comes next.
  if (change.state == RunState::Paused)
    m_console.line(change.reason.empty() ? "paused" : "paused: " + change.reason);
  else if (wentOn)
    m_console.line("going on");
}

void RunDisplay::showStep(const StepMetrics& metrics) {
  // A watched run may go back to a checkpoint, or have rested: neither says anything about its pace.
  const double between = m_last ? metrics.time - m_last->time - metrics.seconds : 0;
  if (m_last && metrics.step == m_last->step + 1 && !m_rested && between < 10 * metrics.seconds + 60) {
    m_secondsBetween += std::max(0.0, between);
    ++m_stepsSeen;
  }
  m_rested = false;
  m_secondsPerStep =
      m_secondsPerStep > 0 ? paceMemory * m_secondsPerStep + (1 - paceMemory) * metrics.seconds : metrics.seconds;
  const bool due = !m_last || m_console.progressDue(); // the first step says that it has begun
  if (due) m_console.progress(progressText(metrics), !m_last);
  m_last = metrics;
  m_lastShown = due;
}

std::optional<double> RunDisplay::secondsLeft(const StepMetrics& metrics) const {
  if (metrics.totalSteps <= 0 || m_secondsPerStep <= 0) return std::nullopt;
  // Evaluations and checkpoints come now and then: their time is spread over all steps, so that none makes a jump.
  const double perStep =
      m_secondsPerStep + m_secondsBetween / static_cast<double>(std::max<std::int64_t>(1, m_stepsSeen));
  return static_cast<double>(std::max<std::int64_t>(0, metrics.totalSteps - metrics.step)) * perStep;
}

std::string RunDisplay::progressText(const StepMetrics& metrics) const {
  std::string text = "step " + formatCount(metrics.step);
  if (metrics.totalSteps > 0) text += "/" + formatCount(metrics.totalSteps);
  text += fmt::format("  loss {:.4f}  {} tokens/s", metrics.loss, rate(metrics.tokensPerSecond));
  if (const auto left = secondsLeft(metrics)) text += "  ETA " + formatDuration(*left);
  for (const LinkMetrics& link : metrics.links)
    if (link.name == "disk" && metrics.seconds > 0) {
      const auto daily = static_cast<double>(link.bytesOut) * secondsOfDay / m_secondsPerStep;
      text +=
          fmt::format("  disk {}/s in, {}/s out, {} written a day", formatBytes(over(link.bytesIn, metrics.seconds)),
                      formatBytes(over(link.bytesOut, metrics.seconds)),
                      formatBytes(static_cast<std::int64_t>(std::min(daily, 9e18))));
    }
  if (metrics.discarded) text += "  discarded";
  return text;
}

void RunDisplay::finish() {
  if (m_last && (!m_lastShown || m_console.rewritesProgress())) m_console.progress(progressText(*m_last), true);
  m_console.endProgress(true);
}

} // namespace millrace::cli

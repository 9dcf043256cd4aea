#include "run_display.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <type_traits>

namespace millrace::cli {

namespace {

constexpr double paceMemory = 0.9; // share of the pace that older steps keep

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
          // How it ended is said at the end, by whoever knows what comes next.
          if (isFinal(body.state) || body.state == RunState::Evaluating) return;
          if (body.state == RunState::Running && body.reason.empty() && m_last) return;
          if (body.state == RunState::Saving) return; // the checkpoint tells
          m_console.line(fmt::format("{}{}{}", toString(body.state), body.reason.empty() ? "" : ": ", body.reason));
        } else if constexpr (std::is_same_v<Body, Evaluation>) {
          m_console.line(fmt::format("step {}: validation loss {:.4f}, perplexity {:.2f}, {:.3f} bits per byte{}",
                                     formatCount(event.step), body.loss, body.perplexity, body.bitsPerByte,
                                     body.best ? ", the best so far" : ""));
        } else if constexpr (std::is_same_v<Body, Sample>) {
          m_console.line(fmt::format("step {}: sample\n{}", formatCount(event.step), indented(body.prompt + body.text)));
        } else if constexpr (std::is_same_v<Body, CheckpointSaved>) {
          m_console.line(fmt::format("step {}: checkpoint of {} saved in {:.1f} s: {}", formatCount(event.step),
                                     formatBytes(body.bytes), body.seconds, body.path));
        } else if constexpr (std::is_same_v<Body, Alert>) {
          m_console.line(fmt::format("step {}: ALERT: {}{}{}", formatCount(event.step), body.message,
                                     body.advice.empty() ? "" : ". What to do: ", body.advice));
        } else {
          if (body.severity == Severity::Debug) return;
          const bool plain = body.severity == Severity::Info;
          m_console.line(fmt::format("{}{}{}", plain ? "" : toString(body.severity), plain ? "" : ": ", body.message));
        }
      },
      event.body);
}

void RunDisplay::showStep(const StepMetrics& metrics) {
  // A watched run may go back to a checkpoint, or have rested: neither says anything about its pace.
  if (m_last && metrics.step == m_last->step + 1 && metrics.time > m_last->time) {
    const double between = std::min(metrics.time - m_last->time, 10 * metrics.seconds + 60);
    m_secondsPerStep = m_secondsPerStep > 0 ? paceMemory * m_secondsPerStep + (1 - paceMemory) * between : between;
  } else if (m_secondsPerStep == 0) {
    m_secondsPerStep = metrics.seconds;
  }
  m_last = metrics;
  const bool due = m_console.progressDue();
  if (due) m_console.progress(progressText(metrics));
  m_lastShown = due;
}

std::optional<double> RunDisplay::secondsLeft(const StepMetrics& metrics) const {
  const std::int64_t total = metrics.stepsTotal > 0 ? metrics.stepsTotal : m_stepsTotal;
  if (total <= 0 || m_secondsPerStep <= 0) return std::nullopt;
  return static_cast<double>(std::max<std::int64_t>(0, total - metrics.step)) * m_secondsPerStep;
}

std::string RunDisplay::progressText(const StepMetrics& metrics) const {
  const std::int64_t total = metrics.stepsTotal > 0 ? metrics.stepsTotal : m_stepsTotal;
  std::string text = "step " + formatCount(metrics.step);
  if (total > 0) text += "/" + formatCount(total);
  text += fmt::format("  loss {:.4f}  {} tokens/s", metrics.loss, rate(metrics.tokensPerSecond));
  if (const auto left = secondsLeft(metrics)) text += "  ETA " + formatDuration(*left);
  if (metrics.discarded) text += "  discarded";
  return text;
}

void RunDisplay::finish() {
  if (m_last && !m_lastShown) m_console.progress(progressText(*m_last), true);
  m_console.endProgress(true);
}

} // namespace millrace::cli

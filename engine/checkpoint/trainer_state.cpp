#include "checkpoint/trainer_state.h"

#include "base/json_number.h"

#include <charconv>
#include <fmt/format.h>

namespace millrace {

namespace {

Json wordToJson(std::uint64_t word) {
  return fmt::format("{:#018x}", word); // JSON numbers of other programs lose bits above 2^53
}

class StateReader {
 public:
  StateReader(const Json& json, const std::string& source) : m_reader(json, source) {}

  std::int64_t count(const std::string& key, std::int64_t minimum = 0) {
    require(key);
    return m_reader.integer(key, minimum, minimum, INT64_MAX);
  }

  std::optional<double> optionalNumber(const std::string& key) {
    if (!m_reader.has(key)) return std::nullopt;
    const auto number = numberFromJson(m_reader.value(key));
    if (!number) m_reader.problem(key, R"(is not a number, expected one, or "nan", "inf" or "-inf")");
    return number;
  }

  double number(const std::string& key) {
    require(key);
    return optionalNumber(key).value_or(0);
  }

  std::uint64_t word(const std::string& key) {
    const std::string text = this->text(key);
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const bool prefixed = text.size() > 2 && text.starts_with("0x");
    if (!prefixed || std::from_chars(text.data() + 2, end, value, 16) != std::from_chars_result{end, std::errc()})
      m_reader.problem(key, "is not a hexadecimal number such as 0x000000000000002a");
    return value;
  }

  std::string text(const std::string& key) {
    require(key);
    return m_reader.text(key, "");
  }

  Status finish() const { return m_reader.finish(); }

 private:
  void require(const std::string& key) {
    if (!m_reader.has(key)) m_reader.problem(key, "is missing");
  }

  JsonReader m_reader;
};

} // namespace

Json toJson(const TrainerState& state) {
  Json json;
  json["step"] = state.step;
  json["tokens"] = state.tokens;
  json["epoch"] = state.cursor.epoch;
  json["row"] = state.cursor.row;
  json["optimizer_steps"] = state.optimizerSteps;
  json["discarded_steps"] = state.discardedSteps;
  json["discarded_in_row"] = state.discardedInRow;
  json["best_validation_loss"] = state.bestValidationLoss ? numberToJson(*state.bestValidationLoss) : Json();
  json["best_validation_step"] = state.bestValidationStep;
  json["evaluations_without_improvement"] = state.evaluationsWithoutImprovement;
  json["evaluated_step"] = state.evaluatedStep;
  json["sampled_step"] = state.sampledStep;
  json["elapsed_seconds"] = numberToJson(state.elapsedSeconds);
  json["loss_average"] = state.lossAverage ? numberToJson(*state.lossAverage) : Json();
  json["seed"] = wordToJson(state.seed);
  json["sampler_state"] = wordToJson(state.samplerState);
  json["config_fingerprint"] = state.configFingerprint;
  json["data_fingerprint"] = state.dataFingerprint;
  return json;
}

Result<TrainerState> trainerStateFromJson(const Json& json, const std::string& source) {
  StateReader reader(json, source);
  TrainerState state;
  state.step = reader.count("step");
  state.tokens = reader.count("tokens");
  state.cursor.epoch = reader.count("epoch");
  state.cursor.row = reader.count("row");
  state.optimizerSteps = reader.count("optimizer_steps");
  state.discardedSteps = reader.count("discarded_steps");
  state.discardedInRow = reader.count("discarded_in_row");
  state.bestValidationLoss = reader.optionalNumber("best_validation_loss");
  state.bestValidationStep = reader.count("best_validation_step", -1);
  state.evaluationsWithoutImprovement = reader.count("evaluations_without_improvement");
  state.evaluatedStep = reader.count("evaluated_step", -1);
  state.sampledStep = reader.count("sampled_step", -1);
  state.elapsedSeconds = reader.number("elapsed_seconds");
  state.lossAverage = reader.optionalNumber("loss_average");
  state.seed = reader.word("seed");
  state.samplerState = reader.word("sampler_state");
  state.configFingerprint = reader.text("config_fingerprint");
  state.dataFingerprint = reader.text("data_fingerprint");
  MILLRACE_CHECK(reader.finish());
  return state;
}

} // namespace millrace

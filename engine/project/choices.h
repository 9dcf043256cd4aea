// The words that project files use for the engine's choices, one table for reading and writing each.
#pragma once

#include "engine/project.h"

#include <span>
#include <string>
#include <vector>

namespace millrace {

template <class T>
struct ChoiceWord {
  const char* word;
  T value;
};

inline constexpr ChoiceWord<DataFormat> dataFormatWords[] = {
    {"auto", DataFormat::Auto},     {"txt", DataFormat::Text},          {"jsonl", DataFormat::Jsonl},
    {"alpaca", DataFormat::Alpaca}, {"sharegpt", DataFormat::ShareGpt}, {"messages", DataFormat::Messages}};
inline constexpr ChoiceWord<LearnFrom> learnFromWords[] = {
    {"assistant", LearnFrom::Assistant}, {"last", LearnFrom::Last}, {"all", LearnFrom::All}};
inline constexpr ChoiceWord<OverLong> overLongWords[] = {
    {"truncate", OverLong::Truncate}, {"split", OverLong::Split}, {"drop", OverLong::Drop}};
inline constexpr ChoiceWord<LengthUnit> lengthUnitWords[] = {{"steps", LengthUnit::Steps},
                                                             {"tokens", LengthUnit::Tokens},
                                                             {"epochs", LengthUnit::Epochs},
                                                             {"hours", LengthUnit::Hours}};
inline constexpr ChoiceWord<Recipe> recipeWords[] = {{"pretrain", Recipe::Pretrain}, {"fine-tune", Recipe::FineTune}};
inline constexpr ChoiceWord<Precision> precisionWords[] = {
    {"fp32", Precision::Fp32}, {"tf32", Precision::Tf32}, {"bf16", Precision::Bf16}};
inline constexpr ChoiceWord<ClipMode> clipModeWords[] = {
    {"exact", ClipMode::Exact}, {"exact-bf16", ClipMode::ExactBf16}, {"off", ClipMode::Off}};
inline constexpr ChoiceWord<RecomputePolicy> recomputePolicyWords[] = {{"auto", RecomputePolicy::Auto},
                                                                       {"full", RecomputePolicy::Full},
                                                                       {"selective", RecomputePolicy::Selective},
                                                                       {"none", RecomputePolicy::None}};
inline constexpr ChoiceWord<Switch> switchWords[] = {{"auto", Switch::Auto}, {"on", Switch::On}, {"off", Switch::Off}};
inline constexpr ChoiceWord<ScheduleShape> scheduleShapeWords[] = {{"constant", ScheduleShape::Constant},
                                                                   {"linear", ScheduleShape::Linear},
                                                                   {"cosine", ScheduleShape::Cosine},
                                                                   {"wsd", ScheduleShape::Wsd}};
inline constexpr ChoiceWord<PlacementChoice> placementWords[] = {{"auto", PlacementChoice::Auto},
                                                                 {"ram", PlacementChoice::Ram},
                                                                 {"weights", PlacementChoice::Weights},
                                                                 {"vram", PlacementChoice::Vram}};
inline constexpr ChoiceWord<DiskCompression> compressionWords[] = {
    {"off", DiskCompression::Off}, {"on", DiskCompression::On}, {"auto", DiskCompression::Auto}};

template <class T>
std::string wordOf(std::span<const ChoiceWord<T>> words, T value) {
  for (const auto& entry : words)
    if (entry.value == value) return entry.word;
  return words.front().word;
}

template <class T>
std::vector<std::string> wordsOf(std::span<const ChoiceWord<T>> words) {
  std::vector<std::string> all;
  for (const auto& entry : words) all.push_back(entry.word);
  return all;
}

} // namespace millrace

#include "model/config_rope.h"

#include "model/config_keys.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace millrace {

namespace {

constexpr std::array<std::pair<const char*, RopeKind>, 5> kinds{{
    {"default", RopeKind::Default},
    {"linear", RopeKind::Linear},
    {"dynamic", RopeKind::Dynamic},
    {"llama3", RopeKind::Llama3},
    {"yarn", RopeKind::Yarn},
}};

/// phi3 has no other; "su" is what it was called first, and its first files say yarn to the same.
constexpr std::array<std::pair<const char*, RopeKind>, 4> phi3Kinds{{
    {"default", RopeKind::Default},
    {"longrope", RopeKind::LongRope},
    {"su", RopeKind::LongRope},
    {"yarn", RopeKind::LongRope},
}};
constexpr std::int64_t phi3OriginalPositions = 4096;

constexpr double minimumTheta = 1.001; // at 1 all frequencies are equal and yarn divides by log(theta)
constexpr double maximumTheta = 1e15;
constexpr double maximumFactor = 1e6;

template <class Table>
RopeKind kindOf(JsonReader& reader, const Table& table) {
  std::vector<std::string> choices;
  for (const auto& [name, kind] : table) choices.emplace_back(name);
  const std::string older = reader.choice("type", "", choices);
  const std::string newer = reader.choice("rope_type", older.empty() ? "default" : older, choices);
  if (!older.empty() && older != newer)
    reader.problem("type", fmt::format("is '{}' but {} is '{}': remove the one that is wrong", older,
                                       reader.path("rope_type"), newer));
  for (const auto& [name, kind] : table)
    if (newer == name) return kind;
  return RopeKind::Default;
}

/// The share of a head that rotates. transformers takes an odd number of elements for one more, which would be past a
/// small head's end.
double rotatedShare(JsonReader& reader, const RopeContext& context, double fallback) {
  const double share = reader.number("partial_rotary_factor", fallback, 0, 1);
  if (!context.phi3 && share != 1)
    reader.problem("partial_rotary_factor",
                   fmt::format("is {}: this family rotates whole heads, only 1 is possible", share));
  const auto elements = static_cast<std::int64_t>(static_cast<double>(context.headDim) * share);
  if (context.phi3 && (elements < 2 || elements % 2 != 0))
    reader.problem("partial_rotary_factor", fmt::format("is {}, which is {} elements of heads of {}: expected an even "
                                                        "number of them from 2",
                                                        share, elements, context.headDim));
  return share;
}

double required(JsonReader& reader, const std::string& key, double minimum, double maximum) {
  if (!reader.has(key)) reader.problem(key, "is missing; this kind of rotary scaling needs it");
  return reader.number(key, 1, minimum, maximum);
}

/// A number for which null, absent and 0 all mean the default.
std::optional<double> optionalNumber(JsonReader& reader, const std::string& key, double maximum) {
  const double value = reader.number(key, 0, 0, maximum);
  return value == 0 ? std::nullopt : std::optional<double>(value);
}

struct Defaults {
  double theta = 10000;
  std::int64_t originalMaxPositions = 0; ///< from the config's top level, 0: not there
  double rotatedShare = 1;
};

void readYarn(JsonReader& reader, const RopeContext& context, RopeSpec& rope) {
  if (reader.has("factor"))
    rope.factor = reader.number("factor", 1, 1e-6, maximumFactor);
  else
    rope.factor = static_cast<double>(context.maxPositions) / static_cast<double>(rope.originalMaxPositions);
  rope.betaFast = optionalNumber(reader, "beta_fast", 1e6).value_or(32);
  rope.betaSlow = optionalNumber(reader, "beta_slow", 1e6).value_or(1);
  if (reader.has("attention_factor")) rope.attentionFactor = reader.number("attention_factor", 1, 0, 1e6);
  // One of the two alone changes nothing.
  rope.mscale = optionalNumber(reader, "mscale", 1e6);
  rope.mscaleAllDim = optionalNumber(reader, "mscale_all_dim", 1e6);
  if (!rope.mscale || !rope.mscaleAllDim || rope.attentionFactor) rope.mscale = rope.mscaleAllDim = std::nullopt;
  rope.truncate = reader.boolean("truncate", true);
}

/// A divisor for each pair of elements that rotate.
std::vector<double> factorsOf(JsonReader& reader, const char* key, std::size_t pairs) {
  const Json& list = reader.value(key);
  std::vector<double> factors;
  if (list.is_array() && list.size() == pairs)
    for (const Json& factor : list)
      if (factor.is_number()) factors.push_back(factor.get<double>());
  const bool usable = std::all_of(factors.begin(), factors.end(),
                                  [](double factor) { return factor >= 1e-6 && factor <= maximumFactor; });
  if (factors.size() != pairs || !usable) {
    reader.problem(key, fmt::format("is not a list of {} positive numbers, one for each pair that rotates", pairs));
    factors.assign(pairs, 1.0);
  }
  return factors;
}

void readLongRope(JsonReader& reader, const RopeContext& context, RopeSpec& rope) {
  const auto elements = static_cast<std::int64_t>(static_cast<double>(context.headDim) * rope.partialRotaryFactor);
  rope.shortFactors = factorsOf(reader, "short_factor", static_cast<std::size_t>(elements / 2));
  rope.longFactors = factorsOf(reader, "long_factor", static_cast<std::size_t>(elements / 2));
  rope.extendedPositions = context.maxPositions;
  rope.factor = static_cast<double>(context.maxPositions) / static_cast<double>(rope.originalMaxPositions);
  if (reader.has("factor")) rope.factor = reader.number("factor", 1, 1e-6, maximumFactor);
  if (reader.has("attention_factor")) rope.attentionFactor = reader.number("attention_factor", 1, 0, 1e6);
  if (rope.originalMaxPositions < 2)
    reader.problem("original_max_position_embeddings",
                   fmt::format("is {}, expected 2 or more", rope.originalMaxPositions));
}

/// One flat object of parameters.
Result<RopeSpec> readParameters(const Json& object, const std::string& prefix, const Defaults& defaults,
                                const RopeContext& context, std::vector<std::string>* warnings) {
  JsonReader reader(object, context.source, prefix);
  RopeSpec rope;
  rope.kind = context.phi3 ? kindOf(reader, phi3Kinds) : kindOf(reader, kinds);
  rope.theta = reader.number("rope_theta", defaults.theta, minimumTheta, maximumTheta);
  rope.partialRotaryFactor = rotatedShare(reader, context, defaults.rotatedShare);
  reader.ignore("finetuned"); // bookkeeping of some published yarn models
  // What the kind does not read is refused as unknown, unless it is null.
  for (const auto& [key, value] : object.items())
    if (value.is_null()) reader.ignore(key);
  if (rope.kind != RopeKind::LongRope)
    for (const char* key : {"short_factor", "long_factor"})
      refuseUnless(reader, key, {}, "is of longrope, which this rotary scaling is not");

  const std::int64_t original = reader.integer("original_max_position_embeddings", 0, 1, maximumPositions);
  if (original != 0 && defaults.originalMaxPositions != 0 && original != defaults.originalMaxPositions)
    reader.problem("original_max_position_embeddings",
                   fmt::format("is {} but original_max_position_embeddings of the config is {}: remove the one that is "
                               "wrong",
                               original, defaults.originalMaxPositions));
  const std::int64_t given = original != 0 ? original : defaults.originalMaxPositions;

  switch (rope.kind) {
  case RopeKind::Default:
    if (reader.number("factor", 1, 0, maximumFactor) != 1)
      reader.problem("factor", "has no effect without a rope_type; name the kind of scaling");
    break;
  case RopeKind::Linear:
    rope.factor = required(reader, "factor", 1e-6, maximumFactor);
    break;
  case RopeKind::Dynamic:
    rope.factor = required(reader, "factor", 1, maximumFactor);
    if (context.headDim < 4)
      reader.problem("rope_type",
                     fmt::format("is dynamic, which needs heads of at least 4 elements, not {}", context.headDim));
    break;
  case RopeKind::Llama3:
    rope.factor = required(reader, "factor", 1e-6, maximumFactor);
    rope.lowFrequencyFactor = required(reader, "low_freq_factor", 1e-6, maximumFactor);
    rope.highFrequencyFactor = required(reader, "high_freq_factor", 1e-6, maximumFactor);
    rope.originalMaxPositions = given != 0 ? given : context.maxPositions;
    if (rope.highFrequencyFactor <= rope.lowFrequencyFactor)
      reader.problem("high_freq_factor", fmt::format("is {}, expected more than low_freq_factor, which is {}",
                                                     rope.highFrequencyFactor, rope.lowFrequencyFactor));
    break;
  case RopeKind::Yarn:
    rope.originalMaxPositions = given != 0 ? given : context.maxPositions;
    readYarn(reader, context, rope);
    break;
  case RopeKind::LongRope:
    rope.originalMaxPositions = given != 0 ? given : phi3OriginalPositions;
    readLongRope(reader, context, rope);
    break;
  }
  if (given != 0 && rope.originalMaxPositions == 0 && given != context.maxPositions && warnings)
    warnings->push_back(fmt::format("{}: {} changes nothing with this kind of rotary scaling; transformers ignores it "
                                    "too",
                                    context.source, reader.path("original_max_position_embeddings")));
  MILLRACE_CHECK(reader.finish());
  return rope;
}

} // namespace

Result<RopeSpec> ropeFromConfig(JsonReader& config, const RopeContext& context, std::vector<std::string>* warnings) {
  Defaults defaults;
  defaults.theta = config.number("rope_theta", context.theta, minimumTheta, maximumTheta);
  defaults.originalMaxPositions = config.integer("original_max_position_embeddings", 0, 1, maximumPositions);
  defaults.rotatedShare = rotatedShare(config, context, 1);
  const Json& scaling = config.object("rope_scaling");
  const Json& parameters = config.object("rope_parameters");
  MILLRACE_CHECK(config.status());
  if (!scaling.empty() && !parameters.empty() && scaling != parameters)
    config.problem("rope_scaling", "and rope_parameters say different things: remove the one that is wrong");
  MILLRACE_CHECK(config.status());
  const Json& chosen = scaling.empty() ? parameters : scaling;
  const std::string prefix = scaling.empty() ? "rope_parameters." : "rope_scaling.";
  for (const char* type : {"full_attention", "sliding_attention"})
    if (chosen.contains(type))
      config.problem(prefix + type, "gives rotary positions by layer type; models of this family have one set for all "
                                    "layers, and transformers would not take these: put its keys one level up");
  MILLRACE_CHECK(config.status());
  return readParameters(chosen, prefix, defaults, context, warnings);
}

void addRopeToConfig(Json& config, const RopeSpec& rope) {
  config["rope_theta"] = rope.theta;
  config["rope_scaling"] = nullptr;
  if (rope.partialRotaryFactor != 1) config["partial_rotary_factor"] = rope.partialRotaryFactor;
  if (rope.kind == RopeKind::Default) return;
  Json scaling = Json::object();
  if (rope.kind == RopeKind::LongRope) { // older versions take these three keys alone
    scaling["type"] = "longrope";
    scaling["short_factor"] = rope.shortFactors;
    scaling["long_factor"] = rope.longFactors;
    const double usual = static_cast<double>(rope.extendedPositions) / static_cast<double>(rope.originalMaxPositions);
    if (rope.factor != usual) scaling["factor"] = rope.factor;
    if (rope.attentionFactor) scaling["attention_factor"] = *rope.attentionFactor;
    config["rope_scaling"] = std::move(scaling);
    return;
  }
  for (const auto& [name, kind] : kinds)
    if (kind == rope.kind) scaling["rope_type"] = name;
  scaling["factor"] = rope.factor;
  if (rope.kind == RopeKind::Llama3) {
    scaling["low_freq_factor"] = rope.lowFrequencyFactor;
    scaling["high_freq_factor"] = rope.highFrequencyFactor;
  }
  if (rope.kind == RopeKind::Llama3 || rope.kind == RopeKind::Yarn)
    scaling["original_max_position_embeddings"] = rope.originalMaxPositions;
  if (rope.kind == RopeKind::Yarn) {
    scaling["beta_fast"] = rope.betaFast;
    scaling["beta_slow"] = rope.betaSlow;
    if (rope.attentionFactor) scaling["attention_factor"] = *rope.attentionFactor;
    if (rope.mscale) scaling["mscale"] = *rope.mscale;
    if (rope.mscaleAllDim) scaling["mscale_all_dim"] = *rope.mscaleAllDim;
    scaling["truncate"] = rope.truncate;
  }
  config["rope_scaling"] = std::move(scaling);
}

} // namespace millrace

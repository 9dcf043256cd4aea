#include "data/conversation_tokens.h"

#include "base/hash.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {

Result<ChatTemplate> load(FileSystem& files, const ChatTemplateChoice& choice) {
  if (!choice.builtIn.empty()) return ChatTemplate::builtIn(choice.builtIn);
  if (!choice.file.empty()) {
    MILLRACE_TRY(const std::string source,
                 readTextFile(files, choice.file, static_cast<Bytes>(jinja::Template::longestSource)));
    return ChatTemplate::parse(source, choice.file.string());
  }
  if (!choice.model.empty()) return ChatTemplate::load(files, choice.model, choice.name);
  return badInput(
      fmt::format("the data holds conversations, and there is no model folder with a chat template; choose a "
                  "file or a built-in one: {}",
                  fmt::join(ChatTemplate::builtInNames(), ", ")));
}

std::string roleOf(const Json& message) {
  return message["role"].get<std::string>();
}

/// The system messages that it begins with, and the messages [begin, end).
Conversation partOf(const Conversation& whole, std::size_t system, std::size_t begin, std::size_t end) {
  Conversation part;
  part.variables = whole.variables;
  part.variables["messages"] = Json::array();
  const auto take = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      part.variables["messages"].push_back(whole.messages()[i]);
      part.learnable.push_back(whole.learnable[i]);
    }
  };
  take(0, system);
  take(begin, end);
  return part;
}

/// Only what the setting asks for stays learnable.
Conversation withSetting(Conversation conversation, LearnFrom learn) {
  if (learn != LearnFrom::Last) return conversation;
  std::size_t last = conversation.messages().size();
  for (std::size_t i = 0; i < conversation.messages().size(); ++i)
    if (roleOf(conversation.messages()[i]) == "assistant") last = i;
  for (std::size_t i = 0; i < conversation.learnable.size(); ++i)
    conversation.learnable[i] = conversation.learnable[i] && i == last;
  return conversation;
}

/// Those of the turns that are learnable. The template's own marks do not say which message they belong to.
Result<std::vector<jinja::ByteRange>> learnableRanges(const Conversation& conversation, const RenderedChat& chat,
                                                      const std::string& where) {
  std::vector<bool> turns;
  for (std::size_t i = 0; i < conversation.messages().size(); ++i)
    if (roleOf(conversation.messages()[i]) == "assistant") turns.push_back(conversation.learnable[i]);
  if (std::find(turns.begin(), turns.end(), false) == turns.end()) return chat.assistant;
  if (std::find(turns.begin(), turns.end(), true) == turns.end()) return std::vector<jinja::ByteRange>();
  if (turns.size() != chat.assistant.size())
    return badInput(fmt::format("{}: marks {} stretches where assistants say something {} times, so that it cannot be "
                                "told which of them are to be learnt",
                                where, chat.assistant.size(), turns.size()));
  std::vector<jinja::ByteRange> ranges;
  for (std::size_t i = 0; i < turns.size(); ++i)
    if (turns[i]) ranges.push_back(chat.assistant[i]);
  return ranges;
}

/// Whether any token is a target: the first of a document is none.
bool learnsAnything(const TokenizedDocument& document) {
  return document.ids.size() > 1 &&
         (document.facts.wholeLearnt || std::any_of(document.facts.learnt.begin(), document.facts.learnt.end(),
                                                    [](const TokenRange& range) { return range.end > 1; }));
}

} // namespace

Result<ChatTemplate> loadChatTemplate(FileSystem& files, const ChatTemplateChoice& choice) {
  auto chat = load(files, choice);
  if (chat) return chat;
  Error error = std::move(chat.error());
  error.key = choice.file.empty() ? "data.chat.built_in" : "data.chat.template";
  error.message += fmt::format(" ({})", error.key);
  return tl::unexpected<Error>(std::move(error));
}

Result<ConversationTokens> ConversationTokens::create(FileSystem& files, const ChatSpec& spec,
                                                      const Tokenizer& tokenizer) {
  MILLRACE_TRY(ChatTemplate chat, loadChatTemplate(files, spec.chatTemplate));
  const auto name = [&](const char* variable, std::optional<std::int32_t> id) {
    if (id && !chat.defaults().contains(variable)) chat.setDefault(variable, std::string(*tokenizer.token(*id)));
  };
  name("bos_token", tokenizer.beginOfText());
  name("eos_token", tokenizer.endOfText());
  return ConversationTokens(std::move(chat), spec, tokenizer);
}

std::string ConversationTokens::fingerprint() const {
  Hasher128 hasher;
  hasher.update(fmt::format("{} {} {} {}:{} {}", static_cast<int>(m_spec.learn), static_cast<int>(m_spec.overLong),
                            m_spec.context, m_template.source().size(), m_template.source(),
                            m_template.defaults().dump(-1, ' ', false, Json::error_handler_t::replace)));
  return hasher.hex();
}

std::optional<std::int32_t> ConversationTokens::turnEnd() const {
  const auto id = m_tokenizer->idOf(m_template.turnEnd());
  return id && m_tokenizer->isSpecial(*id) ? id : std::nullopt;
}

std::vector<std::string> ConversationTokens::marksWithoutToken() const {
  const std::string_view source = m_template.source();
  std::vector<std::string> marks;
  for (std::size_t begin = source.find("<|"); begin != std::string_view::npos; begin = source.find("<|", begin + 1)) {
    const std::size_t length = source.substr(begin + 2).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length == std::string_view::npos || length == 0 || !source.substr(begin + 2 + length).starts_with("|>"))
      continue;
    std::string mark(source.substr(begin, length + 4));
    if (!m_tokenizer->idOf(mark) && std::find(marks.begin(), marks.end(), mark) == marks.end())
      marks.push_back(std::move(mark));
  }
  // What a template writes for them where nobody names the tokens.
  for (const auto& [mark, variable] : {std::pair{"<s>", "bos_token"}, {"</s>", "eos_token"}})
    if (source.find(fmt::format("'{}'", mark)) != std::string_view::npos && !m_template.defaults().contains(variable) &&
        !m_tokenizer->idOf(mark))
      marks.emplace_back(mark);
  return marks;
}

Result<TokenizedDocument> ConversationTokens::tokenizeWhole(const Conversation& conversation) const {
  MILLRACE_TRY(const RenderedChat chat, m_template.renderForTraining(conversation.variables));
  TokenizedDocument document;
  document.facts.hash = hash64(chat.text);
  document.facts.textBytes = chat.text.size();
  if (m_spec.learn == LearnFrom::All) {
    MILLRACE_CHECK(m_tokenizer->encode(chat.text, false, document.ids));
    return document;
  }
  MILLRACE_TRY(const auto ranges, learnableRanges(conversation, chat, m_template.where()));
  std::vector<std::size_t> cuts, before;
  for (const jinja::ByteRange& range : ranges) cuts.insert(cuts.end(), {range.begin, range.end});
  MILLRACE_CHECK(m_tokenizer->encodeCut(chat.text, cuts, document.ids, before));
  document.facts.wholeLearnt = false;
  auto& learnt = document.facts.learnt;
  for (std::size_t i = 0; i < before.size(); i += 2) {
    const auto begin = static_cast<std::uint32_t>(before[i]), end = static_cast<std::uint32_t>(before[i + 1]);
    if (begin >= end) continue;
    if (!learnt.empty() && learnt.back().end == begin)
      learnt.back().end = end;
    else
      learnt.push_back({begin, end});
  }
  return document;
}

void ConversationTokens::truncate(TokenizedDocument& document) const {
  const auto context = static_cast<std::uint32_t>(m_spec.context);
  document.ids.resize(context);
  auto& learnt = document.facts.learnt;
  while (!learnt.empty() && learnt.back().begin >= context) learnt.pop_back();
  if (!learnt.empty()) learnt.back().end = std::min(learnt.back().end, context);
}

Result<bool> ConversationTokens::fits(const Conversation& conversation) const {
  MILLRACE_TRY(const std::string text, m_template.renderText(conversation.variables));
  MILLRACE_TRY(const auto ids, m_tokenizer->encode(text, false));
  return static_cast<std::int64_t>(ids.size()) <= m_spec.context;
}

Result<std::vector<TokenizedDocument>> ConversationTokens::split(const Conversation& conversation,
                                                                 ConversationCounts& counts) const {
  const Json& messages = conversation.messages();
  std::size_t system = 0;
  while (system < messages.size() && roleOf(messages[system]) == "system") ++system;
  // A part begins where a user speaks.
  std::vector<std::size_t> starts{system};
  for (std::size_t i = system + 1; i < messages.size(); ++i)
    if (roleOf(messages[i]) == "user" && roleOf(messages[i - 1]) != "user") starts.push_back(i);
  starts.push_back(messages.size());

  std::vector<TokenizedDocument> parts;
  const std::size_t turns = starts.size() - 1;
  for (std::size_t first = 0; first < turns;) {
    const auto upTo = [&](std::size_t end) { return partOf(conversation, system, starts[first], starts[end]); };
    // As many turns as fit, at least one. Doubling and halving looks at parts of about the length that is kept.
    std::size_t good = first + 1, bad = turns + 1;
    for (std::size_t step = 1; good < turns && bad > turns; step *= 2) {
      const std::size_t tried = std::min(good + step, turns);
      MILLRACE_TRY(const bool fit, fits(upTo(tried)));
      (fit ? good : bad) = tried;
    }
    while (bad <= turns && good + 1 < bad) {
      const std::size_t tried = good + (bad - good) / 2;
      MILLRACE_TRY(const bool fit, fits(upTo(tried)));
      (fit ? good : bad) = tried;
    }
    MILLRACE_TRY(TokenizedDocument part, tokenizeWhole(upTo(good)));
    if (isOverLong(part)) {
      truncate(part);
      ++counts.truncated;
    }
    if (learnsAnything(part)) parts.push_back(std::move(part));
    first = good;
  }
  return parts;
}

Result<std::vector<TokenizedDocument>> ConversationTokens::tokenize(const Conversation& given,
                                                                    ConversationCounts& counts) const {
  const Conversation conversation = withSetting(given, m_spec.learn);
  std::vector<TokenizedDocument> documents;
  // What is dropped or split is not searched for what assistants say, which takes long in long conversations.
  const bool whole = m_spec.overLong == OverLong::Truncate;
  MILLRACE_TRY(const bool fit, whole ? Result<bool>(true) : fits(conversation));
  if (!fit && m_spec.overLong == OverLong::Drop) {
    ++counts.dropped;
    return documents;
  }
  if (!fit) {
    ++counts.split;
    MILLRACE_TRY(const std::string text, m_template.renderText(conversation.variables));
    MILLRACE_TRY(documents, split(conversation, counts));
    for (TokenizedDocument& part : documents) part.facts.hash = hash64(text);
  } else {
    MILLRACE_TRY(TokenizedDocument document, tokenizeWhole(conversation));
    if (isOverLong(document)) {
      ++counts.truncated;
      truncate(document);
    }
    if (learnsAnything(document)) documents.push_back(std::move(document));
  }
  if (documents.empty()) ++counts.nothingLearnt;
  return documents;
}

} // namespace millrace

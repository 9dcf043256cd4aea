#include "bridge/text_model.h"

#include "bridge/text.h"

#include <QThreadPool>
#include <atomic>
#include <mutex>
#include <utility>

namespace millrace::ui {

/// What both threads see, and what belongs to the worker alone.
struct TextModel::Shared {
  std::atomic<bool> stopped = false;

  std::mutex mutex; ///< of what waits to be told
  std::int64_t done = 0, total = 0;
  std::string text;
  std::int64_t tokens = 0;
  std::optional<Result<LoadedModel>> loading;
  std::optional<Result<GeneratedText>> generated;

  std::optional<TextGenerator> generator; ///< the worker's
};

namespace {

constexpr std::size_t longestStopText = 64;

/// With the model's own template, or a built-in one.
Result<ChatRenderer> openRenderer(const TextGenerator& generator, const std::string& builtIn) {
  ChatTemplateChoice choice;
  if (builtIn.empty())
    choice.model = generator.folder();
  else
    choice.builtIn = builtIn;
  LocalFileSystem files;
  MILLRACE_TRY(ChatRenderer renderer, ChatRenderer::open(files, choice));
  if (!renderer.problem().empty()) return failure(ErrorKind::BadInput, renderer.problem());
  return renderer;
}

} // namespace

TextModel::TextModel(QObject* parent)
    : QObject(parent),
      m_wakeUp(std::make_shared<WakeUp>(this, [this] { take(); })),
      m_shared(std::make_shared<Shared>()),
      m_worker(std::make_shared<WorkerThread>()) {}

TextModel::~TextModel() {
  m_wakeUp->release();
  m_shared->stopped = true;
  m_worker->post([shared = m_shared] { shared->generator.reset(); });
  // A piece of work that cannot be broken off may take its time, and this thread has none. The program's end waits.
  QThreadPool::globalInstance()->start([worker = std::move(m_worker)]() mutable { worker.reset(); });
}

void TextModel::load(const ModelChoice& choice, const GenerateOptions& options) {
  if (m_state == State::Loading || m_state == State::Generating) return;
  m_loaded.reset();
  m_shared->stopped = false;
  m_shared->done = m_shared->total = 0;
  setState(State::Loading);
  m_worker->post([shared = m_shared, wakeUp = m_wakeUp, choice, how = options]() mutable {
    shared->generator.reset();
    // Kept by the generator, which is kept by what it points to.
    how.loading = [told = shared.get(), wakeUp](std::int64_t done, std::int64_t total) {
      {
        const std::lock_guard lock(told->mutex);
        told->done = done;
        told->total = total;
      }
      wakeUp->wake();
      return !told->stopped;
    };
    const auto load = [&]() -> Result<LoadedModel> {
      LocalFileSystem files;
      MILLRACE_TRY(shared->generator, TextGenerator::open(files, choice, how));
      // Given up while there was nothing to be told of.
      if (shared->stopped) return failure(ErrorKind::Interrupted, "loading was given up");
      const TextGenerator& generator = *shared->generator;
      LoadedModel loaded{generator.folder(), generator.step(), generator.memory(), generator.warnings(), {}};
      if (const auto renderer = openRenderer(generator, {}); !renderer) loaded.chatProblem = renderer.error().message;
      return loaded;
    };
    Result<LoadedModel> loading = load();
    if (!loading) shared->generator.reset();
    {
      const std::lock_guard lock(shared->mutex);
      shared->loading = std::move(loading);
    }
    wakeUp->wake();
  });
}

void TextModel::unload() {
  if (m_state != State::Ready) return;
  m_loaded.reset();
  m_worker->post([shared = m_shared] { shared->generator.reset(); });
  setState(State::None);
}

void TextModel::begin(std::function<Result<GeneratedText>(Shared&)> work) {
  if (m_state != State::Ready) return;
  m_shared->stopped = false;
  {
    const std::lock_guard lock(m_shared->mutex);
    m_shared->text.clear();
    m_shared->tokens = 0;
  }
  setState(State::Generating);
  m_worker->post([shared = m_shared, wakeUp = m_wakeUp, work = std::move(work)] {
    Result<GeneratedText> generated = work(*shared);
    {
      const std::lock_guard lock(shared->mutex);
      shared->generated = std::move(generated);
    }
    wakeUp->wake();
  });
}

Result<GeneratedText> TextModel::write(Shared& shared, WakeUp& wakeUp, const std::string& prompt,
                                       const SamplingOptions& sampling) {
  const auto piece = [&](std::string_view text) {
    bool first = false;
    {
      const std::lock_guard lock(shared.mutex);
      first = shared.text.empty(); // else somebody was woken who has not come yet
      shared.text += text;
    }
    if (first) wakeUp.wake();
    return !shared.stopped;
  };
  const auto counted = [&](std::int64_t tokens) {
    const std::lock_guard lock(shared.mutex);
    shared.tokens = tokens;
    return !shared.stopped;
  };
  return shared.generator->generate(prompt, sampling, piece, counted);
}

void TextModel::generate(const std::string& prompt, const SamplingOptions& sampling) {
  begin([wakeUp = m_wakeUp, prompt, sampling](Shared& shared) { return write(shared, *wakeUp, prompt, sampling); });
}

void TextModel::answer(const ChatQuestion& question, const SamplingOptions& sampling) {
  begin([wakeUp = m_wakeUp, question, sampling](Shared& shared) -> Result<GeneratedText> {
    MILLRACE_TRY(const ChatRenderer renderer, openRenderer(*shared.generator, question.builtIn));
    MILLRACE_TRY(const std::string prompt, renderer.renderPrompt(question.messages));
    SamplingOptions how = sampling;
    how.promptIsWhole = true;
    if (std::string end = renderer.turnEnd(); !end.empty() && end.size() <= longestStopText)
      how.stop.push_back(std::move(end));
    return write(shared, *wakeUp, prompt, how);
  });
}

void TextModel::stop() {
  if (m_state != State::Loading && m_state != State::Generating) return;
  m_shared->stopped = true;
  m_stopping = true;
  Q_EMIT stateChanged();
}

void TextModel::take() {
  std::int64_t done = 0, total = 0, tokens = 0;
  std::string text;
  std::optional<Result<LoadedModel>> loading;
  std::optional<Result<GeneratedText>> generated;
  {
    const std::lock_guard lock(m_shared->mutex);
    done = m_shared->done;
    total = m_shared->total;
    tokens = m_shared->tokens;
    text.swap(m_shared->text);
    loading.swap(m_shared->loading);
    generated.swap(m_shared->generated);
  }
  if (m_state == State::Generating && !text.empty()) Q_EMIT textCame(toQt(text), tokens);
  if (loading) {
    if (*loading) m_loaded = std::move(**loading);
    setState(*loading ? State::Ready : State::None);
    if (!*loading) Q_EMIT loadFailed(toQt(loading->error().message), loading->error().kind == ErrorKind::Interrupted);
  } else if (m_state == State::Loading && total > 0) {
    Q_EMIT loadProgressed(done, total);
  }
  if (!generated) return;
  setState(State::Ready);
  if (*generated)
    Q_EMIT finished(**generated);
  else
    Q_EMIT failed(toQt(generated->error().message));
}

void TextModel::setState(State state) {
  m_state = state;
  m_stopping = false;
  Q_EMIT stateChanged();
}

} // namespace millrace::ui

// TextModel: a trained model in memory, and the text that it makes. Owned by whoever asks it; GUI thread, with loading
// and generating on a thread of its own, to which the model belongs. One thing at a time; what is asked while it works
// on something else is passed over.
#pragma once

#include "bridge/wake_up.h"
#include "bridge/worker_thread.h"
#include "engine/chat.h"
#include "engine/generate.h"

#include <QObject>
#include <QString>
#include <memory>
#include <optional>
#include <vector>

namespace millrace::ui {

/// What is known of a model that was loaded.
struct LoadedModel {
  Path folder;                      ///< of its weights
  std::optional<std::int64_t> step; ///< of a checkpoint
  GeneratorMemory memory;
  std::vector<std::string> warnings;
  std::string chatProblem; ///< why it has no chat template of its own that can be used; empty: it has one
};

/// A conversation to be answered.
struct ChatQuestion {
  std::string builtIn; ///< name of a built-in template; empty: the model's own
  std::vector<ChatMessage> messages;
};

class TextModel : public QObject {
  Q_OBJECT
 public:
  enum class State {
    None,
    Loading,
    Ready,
    Generating,
  };

  explicit TextModel(QObject* parent = nullptr);
  /// Gives up what is being done, and does not wait for it.
  ~TextModel() override;

  State state() const { return m_state; }
  /// Of the model that is loaded; nothing while none is.
  const std::optional<LoadedModel>& loaded() const { return m_loaded; }
  /// It was asked to stop, and has not yet.
  bool isStopping() const { return m_stopping; }

  /// In place of the one that is there, whose memory is freed before. options.context has to be set.
  void load(const ModelChoice& choice, const GenerateOptions& options);
  void unload();
  void generate(const std::string& prompt, const SamplingOptions& sampling);
  void answer(const ChatQuestion& question, const SamplingOptions& sampling);
  /// Gives up loading or generating.
  void stop();

 Q_SIGNALS:
  void stateChanged();
  /// In parameters; total 0: it is being looked at.
  void loadProgressed(qint64 done, qint64 total);
  void loadFailed(const QString& message, bool stopped);
  /// What the model has written since the last time, and the tokens of all so far.
  void textCame(const QString& text, qint64 tokens);
  /// The text has come before. seconds: by the clock, prompt included.
  void finished(const millrace::GeneratedText& text);
  void failed(const QString& message);

 private:
  struct Shared;

  void setState(State state);
  void take();
  /// On the worker.
  static Result<GeneratedText> write(Shared& shared, WakeUp& wakeUp, const std::string& prompt,
                                     const SamplingOptions& sampling);
  void begin(std::function<Result<GeneratedText>(Shared&)> work);

  State m_state = State::None;
  bool m_stopping = false;
  std::optional<LoadedModel> m_loaded;
  std::shared_ptr<WakeUp> m_wakeUp;
  std::shared_ptr<Shared> m_shared;
  std::shared_ptr<WorkerThread> m_worker;
};

} // namespace millrace::ui

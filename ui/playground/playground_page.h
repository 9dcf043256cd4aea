// The Playground page: text from any model that is here, continued or as a conversation, as it comes. GUI thread.
#pragma once

#include "bridge/live_runs.h"
#include "bridge/machine_look.h"
#include "bridge/text_model.h"

#include <QElapsedTimer>
#include <QWidget>

class QBoxLayout;
class QComboBox;
class QPlainTextEdit;
class QPushButton;
class QSplitter;
class QTabWidget;

namespace millrace::ui {

class ModelPanel;
class SamplingPanel;
class StatusLine;
class WrittenText;

using DevicesFunction = std::function<std::vector<ComputeDevice>()>;
/// Of this machine.
std::vector<ComputeDevice> devicesHere();

class PlaygroundPage final : public QWidget {
  Q_OBJECT

 public:
  explicit PlaygroundPage(LiveRunsFunction runs = &liveRuns, DevicesFunction devices = &devicesHere,
                          QWidget* parent = nullptr);

  /// Runs, checkpoints and model folders that are near at hand.
  void setPlaces(const QStringList& places);
  TextModel& model() { return m_model; }

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  /// Keys that send what was typed.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* makeSettings();
  QWidget* makeTextTab();
  QWidget* makeChatTab();
  QWidget* makeButtons();
  bool isChat() const;
  QPlainTextEdit* input() const;
  WrittenText* written() const;
  void lookAtMachine();
  void modelChanged();
  void generate();
  void ask();
  void take(const QString& text, qint64 tokens);
  void finish(const GeneratedText& text);
  void fail(const QString& problem);
  void clear();
  void copyAnswer();
  void showChatTemplate();
  void updateButtons();

  const LiveRunsFunction m_runsFunction;
  const DevicesFunction m_devicesFunction;
  TextModel m_model;
  ModelPanel* m_modelPanel;
  SamplingPanel* m_sampling;
  QSplitter* m_splitter;
  QBoxLayout* m_settings;
  QTabWidget* m_tabs;
  QPlainTextEdit* m_prompt;
  WrittenText* m_text;
  QComboBox* m_template;
  QPlainTextEdit* m_system;
  WrittenText* m_conversation;
  QPlainTextEdit* m_message;
  QPushButton* m_generate;
  QPushButton* m_stop;
  QPushButton* m_clear;
  QPushButton* m_copy;
  StatusLine* m_status;

  Path m_shownFolder;                                ///< of the model whose chat template was looked at
  TextModel::State m_state = TextModel::State::None; ///< that was heard of last
  bool m_chatAsked = false;                          ///< what is being written belongs to the conversation
  std::vector<ChatMessage> m_turns;                  ///< of the conversation, without the system message
  QString m_answer;                                  ///< the last, or what has come of it
  QElapsedTimer m_sinceFirst;                        ///< piece of text
  qint64 m_tokensAtFirst = 0;
};

} // namespace millrace::ui

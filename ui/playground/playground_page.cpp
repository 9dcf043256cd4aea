#include "playground/playground_page.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "playground/generation_text.h"
#include "playground/model_panel.h"
#include "playground/sampling_panel.h"
#include "playground/written_text.h"
#include "style/flow_layout.h"
#include "style/icons.h"
#include "style/page_area.h"
#include "style/status_line.h"

#include <QClipboard>
#include <QComboBox>
#include <QFormLayout>
#include <QGroupBox>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <utility>

namespace millrace::ui {

namespace {

/// Width from which the settings stand beside the text.
constexpr int besideWidth = 860;
/// And from which, above the text, they stand beside each other.
constexpr int pairWidth = 640;
constexpr int chatTab = 1;

QPlainTextEdit* makeInput(const QString& name, const QString& accessibleName, const QString& placeholder) {
  auto* edit = new QPlainTextEdit;
  edit->setObjectName(name);
  edit->setAccessibleName(accessibleName);
  edit->setPlaceholderText(placeholder);
  edit->setTabChangesFocus(true);
  return edit;
}

WrittenText* makeOutput(const QString& name, const QString& accessibleName, const QString& placeholder) {
  auto* text = new WrittenText;
  text->setObjectName(name);
  text->setAccessibleName(accessibleName);
  text->setPlaceholderText(placeholder);
  return text;
}

} // namespace

std::vector<ComputeDevice> devicesHere() {
  return computeDevices(inspectMachine());
}

PlaygroundPage::PlaygroundPage(LiveRunsFunction runs, DevicesFunction devices, QWidget* parent)
    : QWidget(parent),
      m_runsFunction(std::move(runs)),
      m_devicesFunction(std::move(devices)),
      m_modelPanel(new ModelPanel(m_model)),
      m_sampling(new SamplingPanel),
      m_splitter(new QSplitter(Qt::Horizontal)),
      m_settings(new QBoxLayout(QBoxLayout::TopToBottom)),
      m_tabs(new QTabWidget),
      m_prompt(makeInput(QStringLiteral("prompt"), tr("Prompt"),
                         tr("What the model continues; empty: a new text. Ctrl+Enter generates."))),
      m_text(makeOutput(QStringLiteral("writtenText"), tr("Prompt and continuation"),
                        tr("What the model writes comes here."))),
      m_template(new QComboBox),
      m_system(makeInput(QStringLiteral("systemMessage"), tr("System message"),
                         tr("What the model is told before the conversation; empty: nothing"))),
      m_conversation(
          makeOutput(QStringLiteral("conversation"), tr("Conversation"), tr("What you and the model say comes here."))),
      m_message(makeInput(QStringLiteral("chatMessage"), tr("Your message"),
                          tr("What you say. Enter sends, Shift+Enter begins a new line."))),
      m_generate(new QPushButton(icon(QStringLiteral("play")), tr("&Generate"))),
      m_stop(new QPushButton(icon(QStringLiteral("stop")), tr("St&op"))),
      m_clear(new QPushButton(icon(QStringLiteral("discard")), tr("Cl&ear"))),
      m_copy(new QPushButton(icon(QStringLiteral("copy")), tr("Co&py answer"))),
      m_status(new StatusLine) {
  m_tabs->setObjectName(QStringLiteral("playgroundTabs"));
  m_tabs->setDocumentMode(true); // no frame, and the window's own background
  m_tabs->addTab(makeTextTab(), tr("&A text"));
  m_tabs->addTab(makeChatTab(), tr("&Chat"));
  auto* work = new QWidget;
  auto* workLayout = new QVBoxLayout(work);
  workLayout->setContentsMargins(0, 0, 0, 0);
  workLayout->addWidget(m_tabs, 1);
  workLayout->addWidget(makeButtons());
  m_splitter->addWidget(makeSettings());
  m_splitter->addWidget(work);
  m_splitter->setStretchFactor(0, 0);
  m_splitter->setStretchFactor(1, 1);
  m_splitter->setChildrenCollapsible(false);
  auto* page = new QWidget;
  (new QVBoxLayout(page))->addWidget(m_splitter);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(new PageArea(page));

  for (QPlainTextEdit* edit : {m_prompt, m_message}) edit->installEventFilter(this);
  connect(m_modelPanel, &ModelPanel::aboutToLoad, this, [this] {
    m_status->tell({});
    lookAtMachine();
  });
  connect(m_tabs, &QTabWidget::currentChanged, this, &PlaygroundPage::updateButtons);
  connect(m_message, &QPlainTextEdit::textChanged, this, &PlaygroundPage::updateButtons);
  connect(&m_model, &TextModel::stateChanged, this, &PlaygroundPage::modelChanged);
  connect(&m_model, &TextModel::textCame, this, &PlaygroundPage::take);
  connect(&m_model, &TextModel::finished, this, &PlaygroundPage::finish);
  connect(&m_model, &TextModel::failed, this, &PlaygroundPage::fail);
  updateButtons();
}

QWidget* PlaygroundPage::makeSettings() {
  auto* model = new QGroupBox(tr("Model"));
  (new QVBoxLayout(model))->addWidget(m_modelPanel);
  auto* sampling = new QGroupBox(tr("Sampling"));
  (new QVBoxLayout(sampling))->addWidget(m_sampling);
  m_settings->addWidget(model, 1);
  m_settings->addWidget(sampling, 1);
  auto* settings = new QWidget;
  auto* layout = new QVBoxLayout(settings);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(m_settings);
  layout->addStretch(1);
  return settings;
}

QWidget* PlaygroundPage::makeTextTab() {
  auto* input = new QWidget;
  auto* inputLayout = new QVBoxLayout(input);
  inputLayout->setContentsMargins(0, 0, 0, 0);
  inputLayout->addWidget(new QLabel(tr("Prompt:")));
  inputLayout->addWidget(m_prompt);
  auto* parts = new QSplitter(Qt::Vertical);
  parts->addWidget(input);
  parts->addWidget(m_text);
  parts->setStretchFactor(0, 1);
  parts->setStretchFactor(1, 3);
  parts->setChildrenCollapsible(false);
  auto* tab = new QWidget;
  (new QVBoxLayout(tab))->addWidget(parts);
  return tab;
}

QWidget* PlaygroundPage::makeChatTab() {
  m_template->setObjectName(QStringLiteral("chatTemplate"));
  m_template->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_template->setMinimumContentsLength(12);
  m_template->setToolTip(tr("How a conversation is written for the model"));
  m_template->addItem(tr("The model's own"), QString());
  for (const std::string& name : builtInChatTemplates())
    m_template->addItem(tr("Built in: %1").arg(toQt(name)), toQt(name));
  const int line = fontMetrics().lineSpacing();
  m_system->setFixedHeight(2 * line + 12);
  m_message->setFixedHeight(3 * line + 12);
  auto* form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->addRow(tr("Template:"), m_template);
  form->addRow(tr("S&ystem:"), m_system);
  auto* tab = new QWidget;
  auto* layout = new QVBoxLayout(tab);
  layout->addLayout(form);
  layout->addWidget(m_conversation, 1);
  layout->addWidget(m_message);
  return tab;
}

QWidget* PlaygroundPage::makeButtons() {
  m_generate->setObjectName(QStringLiteral("generateButton"));
  m_stop->setObjectName(QStringLiteral("stopGenerating"));
  m_stop->setToolTip(tr("What has come stays (Esc)"));
  m_clear->setObjectName(QStringLiteral("clearText"));
  m_copy->setObjectName(QStringLiteral("copyAnswer"));
  m_status->setObjectName(QStringLiteral("generationStatus"));
  auto* row = new QWidget;
  auto* column = new QVBoxLayout(row);
  column->setContentsMargins(0, 0, 0, 0);
  auto* buttons = new FlowLayout;
  for (QPushButton* button : {m_generate, m_stop, m_clear, m_copy}) buttons->addWidget(button);
  column->addLayout(buttons);
  column->addWidget(m_status);
  connect(m_generate, &QPushButton::clicked, this, &PlaygroundPage::generate);
  connect(m_stop, &QPushButton::clicked, &m_model, &TextModel::stop);
  connect(m_clear, &QPushButton::clicked, this, &PlaygroundPage::clear);
  connect(m_copy, &QPushButton::clicked, this, &PlaygroundPage::copyAnswer);
  return row;
}

void PlaygroundPage::setPlaces(const QStringList& places) {
  m_modelPanel->setPlaces(places);
}

void PlaygroundPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const Qt::Orientation orientation = width() < besideWidth ? Qt::Vertical : Qt::Horizontal;
  const bool pairs = orientation == Qt::Vertical && width() >= pairWidth;
  m_settings->setDirection(pairs ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  if (orientation != m_splitter->orientation()) m_splitter->setOrientation(orientation);
}

void PlaygroundPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  lookAtMachine();
}

void PlaygroundPage::lookAtMachine() {
  inBackground(this, m_runsFunction, [this](const std::vector<LiveRun>& runs) { m_modelPanel->setLiveRuns(runs); });
  inBackground(this, m_devicesFunction,
               [this](const std::vector<ComputeDevice>& devices) { m_modelPanel->setDevices(devices); });
}

bool PlaygroundPage::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress && event->type() != QEvent::ShortcutOverride)
    return QWidget::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
  const bool sends = enter && (watched == m_message ? !(key->modifiers() & Qt::ShiftModifier)
                                                    : bool(key->modifiers() & Qt::ControlModifier));
  const bool stops = key->key() == Qt::Key_Escape && m_model.state() == TextModel::State::Generating;
  if (!sends && !stops) return QWidget::eventFilter(watched, event);
  event->accept();
  if (event->type() == QEvent::ShortcutOverride) return true;
  if (stops)
    m_model.stop();
  else
    m_generate->click();
  return true;
}

void PlaygroundPage::modelChanged() {
  if (m_model.loaded() && m_model.loaded()->folder != m_shownFolder) showChatTemplate();
  updateButtons();
  const TextModel::State before = std::exchange(m_state, m_model.state());
  if (before != TextModel::State::Loading || m_state != TextModel::State::Ready) return;
  // Whoever waited for the model goes on with the prompt.
  if (const QWidget* focus = focusWidget(); focus && m_modelPanel->isAncestorOf(focus)) input()->setFocus();
}

bool PlaygroundPage::isChat() const {
  return m_tabs->currentIndex() == chatTab;
}

QPlainTextEdit* PlaygroundPage::input() const {
  return isChat() ? m_message : m_prompt;
}

WrittenText* PlaygroundPage::written() const {
  return m_chatAsked ? m_conversation : m_text;
}

void PlaygroundPage::generate() {
  if (m_model.state() != TextModel::State::Ready) return;
  m_answer.clear();
  m_sinceFirst.invalidate();
  m_chatAsked = isChat();
  m_status->tell(tr("Reading the prompt…"));
  if (m_chatAsked) return ask();
  m_text->clear();
  m_text->addProminent(m_prompt->toPlainText());
  m_model.generate(m_prompt->toPlainText().toStdString(), m_sampling->options());
}

void PlaygroundPage::ask() {
  const QString message = m_message->toPlainText();
  m_turns.push_back({"user", message.toStdString()});
  m_conversation->addProminent(m_turns.size() > 1 ? tr("\n\nYou\n") : tr("You\n"));
  m_conversation->add(message);
  m_conversation->addProminent(tr("\n\nModel\n"));
  ChatQuestion question;
  question.builtIn = m_template->currentData().toString().toStdString();
  if (const QString system = m_system->toPlainText(); !system.trimmed().isEmpty())
    question.messages.push_back({"system", system.toStdString()});
  question.messages.insert(question.messages.end(), m_turns.begin(), m_turns.end());
  m_model.answer(question, m_sampling->options());
  m_message->clear(); // once Stop has the focus that Generate had
}

void PlaygroundPage::take(const QString& text, qint64 tokens) {
  m_answer += text;
  written()->add(text);
  if (!m_sinceFirst.isValid()) {
    m_sinceFirst.start();
    m_tokensAtFirst = tokens;
  }
  const double seconds = static_cast<double>(m_sinceFirst.elapsed()) / 1000;
  const double pace = seconds > 0.2 ? static_cast<double>(tokens - m_tokensAtFirst) / seconds : 0; // steady by then
  if (!m_model.isStopping()) m_status->tell(tr("Generating: %1…").arg(paceText(tokens, pace)));
}

void PlaygroundPage::finish(const GeneratedText& text) {
  if (m_chatAsked) m_turns.push_back({"assistant", text.text});
  m_sampling->advanceSeed();
  m_status->tell(generatedText(text));
  updateButtons();
}

void PlaygroundPage::fail(const QString& problem) {
  // What was asked is there to be asked again; in the conversation it stays to be seen.
  if (m_chatAsked) {
    const QString message = toQt(m_turns.back().content);
    m_turns.pop_back();
    if (m_message->toPlainText().isEmpty()) m_message->setPlainText(message);
    m_conversation->add(tr("(no answer)"));
  }
  m_status->tell(problem, StatusKind::Bad);
  updateButtons();
}

void PlaygroundPage::clear() {
  if (isChat()) {
    m_turns.clear();
    m_conversation->clear();
  } else {
    m_text->clear();
    m_prompt->clear();
  }
  input()->setFocus();
  m_answer.clear();
  m_status->tell({});
  updateButtons();
}

void PlaygroundPage::copyAnswer() {
  QGuiApplication::clipboard()->setText(m_answer);
  m_status->tell(tr("The answer is copied."));
}

void PlaygroundPage::showChatTemplate() {
  m_shownFolder = m_model.loaded()->folder;
  const std::string& problem = m_model.loaded()->chatProblem;
  m_template->setItemText(0, problem.empty() ? tr("The model's own") : tr("The model's own (there is none)"));
  m_template->setItemData(0, toQt(problem), Qt::ToolTipRole);
  if (problem.empty()) return m_template->setCurrentIndex(0);
  // A model that was trained on plain text knows no marks of a template.
  if (m_template->currentIndex() == 0)
    m_template->setCurrentIndex(std::max(0, m_template->findData(QStringLiteral("plain"))));
}

void PlaygroundPage::updateButtons() {
  const TextModel::State state = m_model.state();
  const bool works = state == TextModel::State::Generating;
  const bool ready = state == TextModel::State::Ready;
  // One takes the focus over from the other; else it would go to whatever comes next.
  const bool canAsk = ready && (!isChat() || !m_message->toPlainText().trimmed().isEmpty());
  const bool focusGenerate = m_generate->hasFocus(), focusStop = m_stop->hasFocus();
  if (works || canAsk) (works ? m_stop : m_generate)->setEnabled(true);
  if (works && focusGenerate) m_stop->setFocus();
  if (!works && focusStop) canAsk ? m_generate->setFocus() : input()->setFocus();
  m_generate->setEnabled(canAsk);
  m_generate->setToolTip(ready ? QString() : works ? tr("The model writes") : tr("Load a model first"));
  m_stop->setEnabled(works);
  const bool any = isChat() ? !m_turns.empty() || !m_conversation->document()->isEmpty()
                            : !m_text->document()->isEmpty() || !m_prompt->document()->isEmpty();
  m_clear->setEnabled(!works && any);
  m_copy->setEnabled(!works && !m_answer.isEmpty());
  m_template->setEnabled(!works);
  m_system->setEnabled(!works);
  if (works && m_model.isStopping()) m_status->tell(tr("Stopping…"));
}

} // namespace millrace::ui

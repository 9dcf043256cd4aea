#include "configure/json_view.h"

#include "bridge/text.h"
#include "style/status_colors.h"

#include <QEvent>
#include <QFontDatabase>
#include <QLabel>
#include <QPlainTextEdit>
#include <QScopedValueRollback>
#include <QTextBlock>
#include <QVBoxLayout>
#include <algorithm>

namespace millrace::ui {

namespace {

/// The edit's line ends are \n, whatever the file's are.
QString shownText(const std::string& text) {
  return QString::fromStdString(text).replace("\r\n", "\n");
}

/// Position in the edit of a byte of the text.
int positionOf(const std::string& text, std::size_t byte) {
  return static_cast<int>(shownText(text.substr(0, byte)).size());
}

/// Changes what differs, so that cursor, scrolling and the steps of undo stay.
void replaceDifference(QPlainTextEdit& edit, const QString& text) {
  const QString before = edit.toPlainText();
  if (before == text) return;
  const auto shorter = std::min(before.size(), text.size());
  qsizetype head = 0, tail = 0;
  while (head < shorter && before[head] == text[head]) ++head;
  while (tail < shorter - head && before[before.size() - 1 - tail] == text[text.size() - 1 - tail]) ++tail;
  QTextCursor cursor(edit.document());
  cursor.setPosition(static_cast<int>(head));
  cursor.setPosition(static_cast<int>(before.size() - tail), QTextCursor::KeepAnchor);
  cursor.insertText(text.mid(head, text.size() - tail - head));
}

} // namespace

JsonView::JsonView(ProjectDocument& document, QWidget* parent)
    : QWidget(parent), m_document(document), m_edit(new QPlainTextEdit(this)), m_problem(new QLabel(this)) {
  m_edit->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  m_edit->setLineWrapMode(QPlainTextEdit::NoWrap);
  m_edit->setTabChangesFocus(true);
  m_edit->setAccessibleName(tr("Project as JSON"));
  m_problem->setWordWrap(true);
  m_problem->setTextFormat(Qt::PlainText);
  m_problem->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_edit, 1);
  layout->addWidget(m_problem);
  connect(&document, &ProjectDocument::changed, this, &JsonView::showText);
  connect(&document, &ProjectDocument::validated, this, &JsonView::showProblem);
  connect(&document, &ProjectDocument::replaced, this, [this] { m_edit->document()->clearUndoRedoStacks(); });
  connect(m_edit, &QPlainTextEdit::textChanged, this, &JsonView::takeText);
  showText();
}

void JsonView::showText() {
  {
    const QScopedValueRollback showing(m_showing, true);
    replaceDifference(*m_edit, shownText(m_document.text()));
  }
  showProblem();
}

void JsonView::takeText() {
  if (m_showing) return;
  QString text = m_edit->toPlainText();
  if (m_document.text().find("\r\n") != std::string::npos) text.replace("\n", "\r\n");
  m_document.setText(text.toStdString());
}

void JsonView::showProblem() {
  const auto& error = m_document.isParsed() ? m_document.error() : m_document.parseError();
  m_problem->setVisible(error.has_value());
  m_edit->setExtraSelections({});
  if (!error) return;
  m_problem->setText(withoutSource(toQt(error->message), m_document.sourceName()));
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, statusColor(StatusKind::Bad, palette()));
  m_problem->setPalette(colors);
  if (!m_document.isParsed()) {
    if (const auto byte = m_document.parseErrorByte()) mark({*byte, *byte + 1});
  } else if (const auto span = spanOfValue(m_document.text(), error->key)) {
    mark(*span);
  }
}

void JsonView::mark(TextSpan bytes) {
  const int last = std::max(m_edit->document()->characterCount() - 1, 0);
  QTextEdit::ExtraSelection underline;
  underline.cursor = QTextCursor(m_edit->document());
  const int begin = std::min(positionOf(m_document.text(), bytes.begin), last);
  underline.cursor.setPosition(begin);
  underline.cursor.setPosition(std::min(positionOf(m_document.text(), bytes.end), last), QTextCursor::KeepAnchor);
  underline.format.setUnderlineStyle(QTextCharFormat::WaveUnderline);
  underline.format.setUnderlineColor(statusColor(StatusKind::Bad, palette()));
  QTextEdit::ExtraSelection line; // which is seen where the text itself is too short to be
  line.cursor = QTextCursor(m_edit->document()->findBlock(begin));
  line.format.setProperty(QTextFormat::FullWidthSelection, true);
  QColor background = statusColor(StatusKind::Bad, palette());
  background.setAlphaF(0.12F);
  line.format.setBackground(background);
  m_edit->setExtraSelections({line, underline});
}

void JsonView::revealProblem() {
  const QList<QTextEdit::ExtraSelection> marks = m_edit->extraSelections();
  if (!marks.isEmpty()) {
    QTextCursor cursor = m_edit->textCursor();
    cursor.setPosition(marks.last().cursor.selectionStart());
    m_edit->setTextCursor(cursor);
  }
  m_edit->setFocus(Qt::OtherFocusReason);
}

void JsonView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) showProblem();
}

} // namespace millrace::ui

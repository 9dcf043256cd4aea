#include "train/samples_panel.h"

#include "models/sample_model.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QListView>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QStackedLayout>
#include <QTextCharFormat>
#include <QTextCursor>

namespace millrace::ui {

SamplesPanel::SamplesPanel(QWidget* parent)
    : QWidget(parent),
      m_list(new QListView),
      m_text(new QPlainTextEdit),
      m_empty(new QLabel(tr("No samples yet. A project's samples.prompts say what the model is asked to continue, and "
                            "samples.every how often."))) {
  m_list->setObjectName(QStringLiteral("sampleList"));
  m_list->setAccessibleName(tr("Samples, newest first"));
  m_list->setUniformItemSizes(true);
  m_list->setTextElideMode(Qt::ElideRight);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_text->setObjectName(QStringLiteral("sampleText"));
  m_text->setAccessibleName(tr("The chosen sample"));
  m_text->setReadOnly(true);
  m_text->setTabChangesFocus(true);
  m_empty->setWordWrap(true);
  m_empty->setAlignment(Qt::AlignCenter);

  auto* splitter = new QSplitter;
  splitter->addWidget(m_list);
  splitter->addWidget(m_text);
  splitter->setStretchFactor(0, 1);
  splitter->setStretchFactor(1, 2);
  splitter->setChildrenCollapsible(false);
  auto* stack = new QStackedLayout(this);
  stack->addWidget(m_empty);
  stack->addWidget(splitter);
}

void SamplesPanel::show(SampleModel* model) {
  if (m_model) m_model->disconnect(this);
  m_model = model;
  m_list->setModel(model);
  if (model) {
    connect(model, &QAbstractItemModel::rowsInserted, this, &SamplesPanel::newestCame);
    connect(model, &QAbstractItemModel::modelReset, this, &SamplesPanel::showCurrent);
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, &SamplesPanel::showCurrent);
  }
  showCurrent();
}

void SamplesPanel::newestCame() {
  // Whoever reads an older one goes on reading it; the newest is followed by newer ones.
  const QModelIndex current = m_list->currentIndex();
  if (!current.isValid() || current.row() <= 1) m_list->setCurrentIndex(m_model->index(0));
  showCurrent();
}

void SamplesPanel::showCurrent() {
  const bool any = m_model && m_model->rowCount() > 0;
  static_cast<QStackedLayout*>(layout())->setCurrentIndex(any ? 1 : 0);
  m_text->clear();
  if (!any) return;
  QModelIndex index = m_list->currentIndex();
  if (!index.isValid()) {
    m_list->setCurrentIndex(m_model->index(0));
    index = m_list->currentIndex();
  }
  // The prompt stands out from what the model wrote.
  QTextCursor cursor(m_text->document());
  QTextCharFormat bold;
  bold.setFontWeight(QFont::Bold);
  cursor.insertText(index.data(SampleModel::PromptRole).toString(), bold);
  cursor.insertText(index.data(SampleModel::TextRole).toString(), QTextCharFormat());
  m_text->moveCursor(QTextCursor::Start);
}

} // namespace millrace::ui

#include "configure/project_header.h"

#include "style/elided_label.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace millrace::ui {

namespace {

constexpr double nameScale = 1.4;

} // namespace

ProjectHeader::ProjectHeader(ProjectDocument& document, QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_name(new ElidedLabel(Qt::ElideRight, this)),
      m_path(new ElidedLabel(Qt::ElideMiddle, this)),
      m_dirty(new QLabel(tr("\u25cf not saved"), this)),
      m_save(new QPushButton(tr("&Save"), this)),
      m_saveAs(new QPushButton(tr("Save &as…"), this)),
      m_start(new QPushButton(tr("Star&t training"), this)),
      m_failure(new QFrame(this)),
      m_failureText(new QLabel(m_failure)),
      m_overwrite(new QPushButton(tr("Overwrite"), m_failure)),
      m_reload(new QPushButton(tr("Reload"), m_failure)) {
  QFont large = font();
  large.setPointSizeF(large.pointSizeF() * nameScale);
  large.setBold(true);
  m_name->setFont(large);
  m_dirty->setAccessibleName(tr("The project has changes that are not saved"));
  QSizePolicy keepsPlace = m_dirty->sizePolicy();
  keepsPlace.setRetainSizeWhenHidden(true);
  m_dirty->setSizePolicy(keepsPlace);

  auto* names = new QVBoxLayout;
  names->setSpacing(0);
  names->addWidget(m_name);
  names->addWidget(m_path);
  auto* line = new QHBoxLayout;
  line->addLayout(names, 1);
  for (QWidget* widget : {static_cast<QWidget*>(m_dirty), static_cast<QWidget*>(m_save),
                          static_cast<QWidget*>(m_saveAs), static_cast<QWidget*>(m_start)})
    line->addWidget(widget);

  m_failure->setFrameShape(QFrame::StyledPanel);
  m_failureText->setWordWrap(true);
  m_failureText->setTextFormat(Qt::PlainText);
  auto* dismiss = new QPushButton(tr("Dismiss"), m_failure);
  auto* failure = new QHBoxLayout(m_failure);
  failure->addWidget(m_failureText, 1);
  for (QPushButton* button : {m_overwrite, m_reload, dismiss}) failure->addWidget(button);
  m_failure->hide();

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(line);
  layout->addWidget(m_failure);

  connect(m_save, &QPushButton::clicked, this, &ProjectHeader::saveRequested);
  connect(m_saveAs, &QPushButton::clicked, this, &ProjectHeader::saveAsRequested);
  connect(m_start, &QPushButton::clicked, this, &ProjectHeader::startRequested);
  connect(dismiss, &QPushButton::clicked, m_failure, &QWidget::hide);
  connect(m_overwrite, &QPushButton::clicked, this, [this] { m_document.save(true); });
  connect(m_reload, &QPushButton::clicked, this, [this] { m_document.load(m_document.filePath()); });
  connect(&document, &ProjectDocument::titleChanged, this, &ProjectHeader::showTitle);
  connect(&document, &ProjectDocument::dirtyChanged, this, &ProjectHeader::showTitle);
  connect(&document, &ProjectDocument::saveFailed, this, &ProjectHeader::showFailure);
  for (const auto done : {&ProjectDocument::saved, &ProjectDocument::replaced})
    connect(&document, done, m_failure, &QWidget::hide);
  showTitle();
}

void ProjectHeader::setStartEnabled(bool enabled, const QString& why) {
  m_start->setEnabled(enabled);
  m_start->setToolTip(enabled ? QString() : why);
}

void ProjectHeader::showTitle() {
  m_name->setText(m_document.name());
  m_path->setText(m_document.filePath().isEmpty() ? tr("in no file yet") : m_document.filePath());
  m_dirty->setVisible(m_document.isDirty());
  m_save->setEnabled(m_document.isDirty() || m_document.filePath().isEmpty());
}

void ProjectHeader::showFailure(const QString& message, bool changedOnDisk) {
  m_failureText->setText(message);
  m_overwrite->setVisible(changedOnDisk);
  m_reload->setVisible(changedOnDisk);
  m_failure->show();
}

} // namespace millrace::ui

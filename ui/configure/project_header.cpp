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
      m_banner(new QFrame(this)),
      m_bannerText(new QLabel(m_banner)),
      m_reload(new QPushButton(tr("Re&load"), m_banner)),
      m_keep(new QPushButton(tr("&Keep mine"), m_banner)),
      m_dismiss(new QPushButton(tr("D&ismiss"), m_banner)) {
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

  m_banner->setFrameShape(QFrame::StyledPanel);
  m_banner->setObjectName(QStringLiteral("fileBanner"));
  m_bannerText->setWordWrap(true);
  m_bannerText->setTextFormat(Qt::PlainText);
  m_reload->setObjectName(QStringLiteral("reloadProject"));
  m_reload->setToolTip(tr("Read the file again; what was changed here is lost"));
  m_keep->setObjectName(QStringLiteral("keepProject"));
  m_keep->setToolTip(tr("Go on with what is shown; saving it replaces the file"));
  auto* banner = new QHBoxLayout(m_banner);
  banner->addWidget(m_bannerText, 1);
  for (QPushButton* button : {m_reload, m_keep, m_dismiss}) banner->addWidget(button);
  m_banner->hide();

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(line);
  layout->addWidget(m_banner);

  connect(m_save, &QPushButton::clicked, this, &ProjectHeader::saveRequested);
  connect(m_saveAs, &QPushButton::clicked, this, &ProjectHeader::saveAsRequested);
  connect(m_start, &QPushButton::clicked, this, &ProjectHeader::startRequested);
  connect(m_reload, &QPushButton::clicked, this, [this] { m_document.load(m_document.filePath()); });
  connect(m_keep, &QPushButton::clicked, &document, &ProjectDocument::keepMine);
  connect(m_dismiss, &QPushButton::clicked, m_banner, &QWidget::hide);
  connect(&document, &ProjectDocument::titleChanged, this, &ProjectHeader::showTitle);
  connect(&document, &ProjectDocument::dirtyChanged, this, &ProjectHeader::showTitle);
  connect(&document, &ProjectDocument::saveFailed, this, &ProjectHeader::showBanner);
  for (const auto done : {&ProjectDocument::saved, &ProjectDocument::replaced})
    connect(&document, done, this, [this] { showBanner({}); });
  connect(&document, &ProjectDocument::diskChanged, this, [this] { showBanner({}); });
  showTitle();
}

void ProjectHeader::setStartEnabled(bool enabled, const QString& why) {
  m_start->setEnabled(enabled);
  m_start->setToolTip(enabled ? QString() : why);
}

void ProjectHeader::showTitle() {
  m_name->setText(m_document.name());
  const QString path = m_document.filePath();
  m_path->setText(path.isEmpty()            ? tr("in no file yet")
                  : m_document.isReadOnly() ? tr("Read-only: %1").arg(path)
                                            : path);
  m_dirty->setVisible(m_document.isDirty());
  m_save->setEnabled(m_document.isDirty() || m_document.filePath().isEmpty());
}

void ProjectHeader::showBanner(const QString& problem) {
  const bool changed = m_document.isChangedOnDisk();
  m_bannerText->setText(changed ? tr("%1 was changed by another program since it was read. Reload it, or keep what is "
                                     "shown here.")
                                      .arg(m_document.filePath())
                                : problem);
  m_reload->setVisible(changed);
  m_keep->setVisible(changed);
  m_dismiss->setVisible(!changed);
  m_banner->setVisible(changed || !problem.isEmpty());
}

void ProjectHeader::revealBanner() {
  if (m_keep->isVisible()) m_keep->setFocus(Qt::OtherFocusReason);
}

} // namespace millrace::ui

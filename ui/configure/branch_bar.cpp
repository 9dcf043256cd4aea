#include "configure/branch_bar.h"

#include "style/icons.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace millrace::ui {

BranchBar::BranchBar(QWidget* parent) : QFrame(parent), m_text(new QLabel) {
  setFrameShape(QFrame::StyledPanel);
  m_text->setObjectName(QStringLiteral("branchText"));
  m_text->setWordWrap(true);
  m_text->setTextFormat(Qt::PlainText);
  auto* drop = new QPushButton(tr("Begin anew &instead"));
  drop->setObjectName(QStringLiteral("dropBranch"));
  drop->setToolTip(tr("Start a run that begins as the project says, not from the checkpoint"));
  auto* image = new QLabel;
  const int side = fontMetrics().height() + 6;
  image->setPixmap(icon(QStringLiteral("branch")).pixmap(QSize(side, side), devicePixelRatioF()));
  auto* layout = new QHBoxLayout(this);
  layout->addWidget(image);
  layout->addWidget(m_text, 1);
  layout->addWidget(drop);
  connect(drop, &QPushButton::clicked, this, &BranchBar::dropped);
  hide();
}

void BranchBar::setBeginning(const QString& text) {
  m_text->setText(text);
  setVisible(!text.isEmpty());
}

} // namespace millrace::ui

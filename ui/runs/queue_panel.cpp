#include "runs/queue_panel.h"

#include "runs/plain_table.h"
#include "runs/queue_model.h"
#include "style/flow_layout.h"
#include "style/icons.h"
#include "style/numbers.h"

#include <QCheckBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

namespace millrace::ui {

QueuePanel::QueuePanel(RunQueue& queue, QWidget* parent)
    : QWidget(parent),
      m_queue(queue),
      m_model(new QueueModel(queue, this)),
      m_view(plainTable(QStringLiteral("queueView"), tr("Queue of runs"))),
      m_text(new QLabel),
      m_stops(new QCheckBox(tr("Stand still after a fai&lure"))) {
  m_view->setModel(m_model);
  m_view->header()->setStretchLastSection(true);
  m_view->header()->resizeSection(QueueModel::TitleColumn, 28 * fontMetrics().averageCharWidth());
  m_view->header()->resizeSection(QueueModel::WhatColumn, 44 * fontMetrics().averageCharWidth());
  m_view->setMinimumHeight(5 * fontMetrics().lineSpacing());
  m_text->setObjectName(QStringLiteral("queueText"));
  m_text->setWordWrap(true);
  m_text->setTextFormat(Qt::PlainText);
  m_stops->setObjectName(QStringLiteral("queueStops"));

  auto* bar = new FlowLayout;
  const auto add = [&](const QString& text, const QString& iconName, const QString& name, auto&& clicked) {
    auto* button = new QPushButton(iconName.isEmpty() ? QIcon() : icon(iconName), text);
    button->setObjectName(name);
    button->setAutoDefault(false);
    connect(button, &QPushButton::clicked, this, clicked);
    bar->addWidget(button);
    return button;
  };
  m_onOff = add({}, {}, QStringLiteral("queueOnOff"), [this] { m_queue.setOn(!m_queue.isOn()); });
  m_add = add(tr("Add a &project…"), QStringLiteral("configure"), QStringLiteral("queueAdd"),
              [this] { Q_EMIT addRequested(); });
  m_up = add(tr("Move &up"), {}, QStringLiteral("queueUp"), [this] { m_queue.move(current(), -1); });
  m_down = add(tr("Move do&wn"), {}, QStringLiteral("queueDown"), [this] { m_queue.move(current(), 1); });
  m_retry =
      add(tr("Tr&y again"), QStringLiteral("play"), QStringLiteral("queueRetry"), [this] { m_queue.retry(current()); });
  m_remove = add(tr("Re&move"), QStringLiteral("discard"), QStringLiteral("queueRemove"),
                 [this] { m_queue.remove(current()); });
  bar->addWidget(m_stops);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(bar);
  layout->addWidget(m_text);
  layout->addWidget(m_view, 1);

  connect(m_stops, &QCheckBox::toggled, this, [this](bool stops) { m_queue.setStopsOnFailure(stops); });
  connect(m_view->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
    m_selected = now.data(QueueModel::IdRole).toLongLong();
    update();
  });
  connect(&m_queue, &RunQueue::changed, this, [this] {
    select(m_selected);
    update();
  });
  update();
}

qint64 QueuePanel::current() const {
  return m_view->currentIndex().data(QueueModel::IdRole).toLongLong();
}

/// Rows are made anew with every change; what was chosen stays so.
void QueuePanel::select(qint64 id) {
  const int row = m_model->rowOf(id);
  if (row >= 0 && current() != id) m_view->setCurrentIndex(m_model->index(row, 0));
}

void QueuePanel::update() {
  const QueuedRun* run = m_queue.find(current());
  const bool movable = run && run->state != QueuedRun::State::Running;
  const std::vector<QueuedRun>& runs = m_queue.runs();
  const bool on = m_queue.isOn();
  m_onOff->setText(on ? tr("St&art no more") : tr("St&art the queue"));
  m_onOff->setIcon(icon(on ? QStringLiteral("pause") : QStringLiteral("play")));
  m_onOff->setEnabled(m_queue.isReady() && (on || m_queue.next()));
  m_add->setEnabled(m_queue.isReady());
  m_up->setEnabled(movable && run != &runs.front() && (run - 1)->state != QueuedRun::State::Running);
  m_down->setEnabled(movable && run != &runs.back());
  m_retry->setEnabled(run && run->state == QueuedRun::State::Failed);
  m_remove->setEnabled(movable);
  m_stops->setEnabled(m_queue.isReady());
  {
    const QSignalBlocker quiet(m_stops);
    m_stops->setChecked(m_queue.stopsOnFailure());
  }
  const auto waiting = std::count_if(runs.begin(), runs.end(),
                                     [](const QueuedRun& each) { return each.state == QueuedRun::State::Waiting; });
  QString text;
  if (!m_queue.notice().isEmpty())
    text = m_queue.notice();
  else if (!m_queue.isReady())
    text = tr("Reading the queue…");
  else if (runs.empty())
    text =
        tr("Nothing waits. Line up the project that is open with Ctrl+F5, a project file with the button above, or a "
           "run that was interrupted from its details. One is begun when the one before has ended, in this window.");
  else if (!on && waiting > 0)
    text = tr("The queue stands still: nothing is begun before it is started.");
  else if (m_queue.running())
    text = tr("%1 is at work; the next begins when it ends.").arg(m_queue.running()->title);
  else if (on && waiting > 0)
    text = tr("The next begins when the run at work has ended.");
  m_text->setText(text);
  m_text->setVisible(!text.isEmpty());
}

} // namespace millrace::ui

// SampleModel: the texts that a run has generated, newest first; bounded. GUI thread.
#pragma once

#include "engine/run_event.h"

#include <QAbstractListModel>
#include <deque>

namespace millrace::ui {

class SampleModel final : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role { StepRole = Qt::UserRole, PromptRole, TextRole };

  explicit SampleModel(QObject* parent = nullptr, int capacity = 1000);

  void append(std::int64_t step, const Sample& sample);
  void clear();

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  struct Entry {
    qint64 step = 0;
    QString prompt, text;
  };

  const int m_capacity;
  std::deque<Entry> m_entries; ///< newest first
};

} // namespace millrace::ui

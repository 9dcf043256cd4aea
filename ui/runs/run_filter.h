// RunFilter: the runs of a RunTableModel with a text, in a state, with a tag; sorted by any column. GUI thread.
#pragma once

#include "engine/runs.h"

#include <QSortFilterProxyModel>
#include <optional>

namespace millrace::ui {

enum class RunsShown { All, Live, Finished, Interrupted, Failed, Gone };

class RunFilter final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit RunFilter(QObject* parent = nullptr);

  /// Every word of it is somewhere in a run's name, folder, project, model, reason, tags or notes; in either case.
  void setText(const QString& text);
  void setShown(RunsShown shown);
  /// Empty: whatever their tags.
  void setTag(const QString& tag);
  bool isFiltering() const { return !m_words.isEmpty() || m_shown != RunsShown::All || !m_tag.isEmpty(); }

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  QStringList m_words;
  RunsShown m_shown = RunsShown::All;
  QString m_tag;
};

} // namespace millrace::ui

// SettingsPanel: which settings runs do not share, and what that means for comparing them. GUI thread; runs are read on
// the pool's.
#pragma once

#include "engine/run_compare.h"

#include <QWidget>

class QLabel;
class QTreeView;

namespace millrace::ui {

class DifferenceModel;

class SettingsPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit SettingsPanel(QWidget* parent = nullptr);

  /// Directories; with fewer than two there is nothing to compare. Takes the place of an earlier question.
  void compare(const QStringList& runs);

 Q_SIGNALS:
  /// Why losses of the runs cannot be compared, or only with care; none as soon as others are asked about.
  void warned(const QStringList& warnings);

 private:
  void show(const Result<RunComparison>& comparison);
  void setText(const QString& text);

  DifferenceModel* m_model;
  QLabel* m_text;
  QTreeView* m_table;
  quint64 m_question = 0; ///< number of the newest; an answer to an earlier one is out of date
};

} // namespace millrace::ui

// RunFilterBar: which runs a table shows: words, state, tag; and how many these are. GUI thread.
#pragma once

#include <QWidget>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace millrace::ui {

class RunFilter;

class RunFilterBar final : public QWidget {
  Q_OBJECT

 public:
  /// filter: outlives it.
  explicit RunFilterBar(RunFilter& filter, QWidget* parent = nullptr);

  /// Those that runs have; a chosen one that none has any more is given up.
  void setTags(const QStringList& tags);
  void setCounts(int shown, int all);

 private:
  void listAll();
  void updateListAll();

  RunFilter& m_filter;
  QLineEdit* m_text;
  QComboBox* m_state;
  QComboBox* m_tag;
  QLabel* m_count;
  QPushButton* m_listAll;
};

} // namespace millrace::ui

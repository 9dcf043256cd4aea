// SamplesPanel: what a model writes as it learns: a list of samples, and the chosen one whole.
#pragma once

#include <QWidget>

class QLabel;
class QListView;
class QPlainTextEdit;

namespace millrace::ui {

class SampleModel;

class SamplesPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit SamplesPanel(QWidget* parent = nullptr);

  /// May be null. Must outlive its being shown.
  void show(SampleModel* model);

 private:
  void showCurrent();
  void newestCame();

  SampleModel* m_model = nullptr;
  QListView* m_list;
  QPlainTextEdit* m_text;
  QLabel* m_empty;
};

} // namespace millrace::ui

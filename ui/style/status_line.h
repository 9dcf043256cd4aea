// StatusLine: a sentence about how something stands, with the sign of it beside: nothing, good, a warning, bad. Takes
// no room while there is nothing to say.
#pragma once

#include "style/status_colors.h"

#include <QWidget>

class QLabel;

namespace millrace::ui {

class StatusLine final : public QWidget {
  Q_OBJECT

 public:
  explicit StatusLine(QWidget* parent = nullptr);

  /// Unknown: no sign, in the palette's own colour.
  void tell(const QString& text, StatusKind status = StatusKind::Unknown);
  QString text() const;
  StatusKind status() const { return m_status; }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void paintStatus();

  QLabel* m_icon;
  QLabel* m_text;
  StatusKind m_status = StatusKind::Unknown;
};

} // namespace millrace::ui

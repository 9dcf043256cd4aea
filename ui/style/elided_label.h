// ElidedLabel: one line of text that gives way when there is no room: cut in the middle, whole in its tooltip.
#pragma once

#include <QFrame>

namespace millrace::ui {

class ElidedLabel final : public QFrame {
  Q_OBJECT

 public:
  explicit ElidedLabel(Qt::TextElideMode mode = Qt::ElideMiddle, QWidget* parent = nullptr);

  void setText(const QString& text);
  QString text() const { return m_text; }

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Qt::TextElideMode m_mode;
  QString m_text;
};

} // namespace millrace::ui

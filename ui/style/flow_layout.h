// FlowLayout: widgets beside each other, in as many lines as the width asks for; each line starts at the left.
#pragma once

#include <QLayout>
#include <QList>

namespace millrace::ui {

class FlowLayout final : public QLayout {
  Q_OBJECT

 public:
  explicit FlowLayout(QWidget* parent = nullptr);
  ~FlowLayout() override;

  void addItem(QLayoutItem* item) override { m_items.append(item); }
  int count() const override { return static_cast<int>(m_items.size()); }
  QLayoutItem* itemAt(int index) const override { return m_items.value(index); }
  QLayoutItem* takeAt(int index) override;

  Qt::Orientations expandingDirections() const override { return {}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  /// In one line.
  QSize sizeHint() const override;
  /// Of the widest widget.
  QSize minimumSize() const override;
  void setGeometry(const QRect& area) override;

 private:
  int place(const QRect& area, bool move) const;

  QList<QLayoutItem*> m_items;
};

} // namespace millrace::ui

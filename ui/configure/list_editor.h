// A list of texts with buttons to add, remove and move. Knows nothing of projects; GUI thread.
#pragma once

#include <QStringList>
#include <QWidget>

class QListWidget;
class QListWidgetItem;
class QPushButton;

namespace millrace::ui {

class ListEditor : public QWidget {
  Q_OBJECT
 public:
  explicit ListEditor(QWidget* parent);

  const QStringList& items() const { return m_items; }
  /// Keeps the current row as far as there is one. Tells nobody.
  void showItems(const QStringList& items);
  int currentRow() const;
  void setCurrentRow(int row);
  /// What the Add button asked for: at the end, as if typed; the last one becomes the current one.
  void append(const QStringList& items);
  /// In place of the current item, as if it had been edited in the list.
  void replaceCurrent(const QString& text);
  /// Whether items are edited in place, with F2 or a double click.
  void setEditable(bool editable);
  void describe(const QString& name, const QString& help);

 Q_SIGNALS:
  /// By a person.
  void edited(const QStringList& items);
  void currentChanged(int row);
  /// The Add button was pressed: append() what is to be added.
  void addRequested();

 protected:
  /// The Delete key in the list.
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void remove();
  void move(int by);
  void itemChanged(QListWidgetItem* item);
  void show(int row);
  void enableButtons();

  QStringList m_items;
  bool m_editable = true;
  bool m_showing = false; ///< changes of the list widget are ours
  QListWidget* m_list;
  QPushButton *m_addButton, *m_removeButton, *m_upButton, *m_downButton;
};

} // namespace millrace::ui

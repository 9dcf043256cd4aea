// The tables of the Runs page: rows without branches, long texts cut in the middle. GUI thread.
#pragma once

#include <QHeaderView>
#include <QTreeView>

namespace millrace::ui {

inline QTreeView* plainTable(const QString& name, const QString& accessibleName) {
  auto* table = new QTreeView;
  table->setObjectName(name);
  table->setAccessibleName(accessibleName);
  table->setRootIsDecorated(false);
  table->setUniformRowHeights(true);
  table->setAlternatingRowColors(true);
  table->setTextElideMode(Qt::ElideMiddle);
  table->header()->setTextElideMode(Qt::ElideMiddle);
  return table;
}

} // namespace millrace::ui

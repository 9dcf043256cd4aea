// How the page asks for files and folders: a function that is passed in, so that tests need no dialog. GUI thread.
#pragma once

#include <QString>
#include <QStringList>
#include <functional>

class QWidget;

namespace millrace::ui {

struct PathRequest {
  enum class Kind { OpenFile, OpenFiles, Folder, SaveFile };
  Kind kind = Kind::OpenFile;
  QString title;
  QString start;  ///< where to begin: a folder or a file
  QString filter; ///< "JSON (*.json)"; empty: all files
};

/// Calls `chosen` with absolute paths, now or later, while the parent is there; never when the person gives up.
using PathChosen = std::function<void(const QStringList& paths)>;
using PathChooser = std::function<void(QWidget* parent, const PathRequest& request, PathChosen chosen)>;

/// Asks with the desktop's dialogs, modal to the parent's window.
PathChooser nativePathChooser();

} // namespace millrace::ui

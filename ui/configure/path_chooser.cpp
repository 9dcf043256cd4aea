#include "configure/path_chooser.h"

#include <QFileDialog>

namespace millrace::ui {

namespace {

QFileDialog::FileMode modeOf(PathRequest::Kind kind) {
  switch (kind) {
  case PathRequest::Kind::OpenFile:
    return QFileDialog::ExistingFile;
  case PathRequest::Kind::OpenFiles:
    return QFileDialog::ExistingFiles;
  case PathRequest::Kind::Folder:
    return QFileDialog::Directory;
  case PathRequest::Kind::SaveFile:
    break;
  }
  return QFileDialog::AnyFile;
}

} // namespace

PathChooser nativePathChooser() {
  return [](QWidget* parent, const PathRequest& request, PathChosen chosen) {
    auto* dialog = new QFileDialog(parent, request.title, request.start, request.filter);
    dialog->setFileMode(modeOf(request.kind));
    dialog->setOption(QFileDialog::ShowDirsOnly, request.kind == PathRequest::Kind::Folder);
    if (request.kind == PathRequest::Kind::SaveFile) {
      dialog->setAcceptMode(QFileDialog::AcceptSave);
      dialog->setDefaultSuffix(QStringLiteral("json"));
      dialog->selectFile(request.start);
    }
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    QObject::connect(dialog, &QFileDialog::filesSelected, parent, std::move(chosen));
    dialog->open();
  };
}

} // namespace millrace::ui

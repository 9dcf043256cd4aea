// Texts of the engine as Qt's, and back: UTF-8; bytes of a path stay as they are.
#pragma once

#include <QFile>
#include <QString>
#include <filesystem>
#include <string>
#include <string_view>

namespace millrace::ui {

inline QString toQt(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

inline QString toQt(const std::string& text) {
  return QString::fromStdString(text);
}

inline QString toQt(const std::filesystem::path& path) {
  return QFile::decodeName(QByteArray::fromStdString(path.native()));
}

inline std::filesystem::path toPath(const QString& path) {
  return QFile::encodeName(path).toStdString();
}

/// A message about a project without the file's name that it begins with: where that is in sight, or there is no file.
inline QString withoutSource(const QString& message, const QString& source) {
  const QString prefix = source + QStringLiteral(": ");
  return message.startsWith(prefix) ? message.mid(prefix.size()) : message;
}

} // namespace millrace::ui

// Theme: the Fusion style in palettes of our own, light or dark, as the user chose or as the desktop is.
#pragma once

#include <QDBusVariant>
#include <QObject>
#include <QPalette>

namespace millrace::ui {

enum class ThemeChoice { System, Light, Dark };

QPalette lightPalette();
QPalette darkPalette();
bool isDark(const QPalette& palette);

/// Sets the application's style and palette, and follows the desktop while the choice is System. GUI thread; one per
/// application.
class Theme final : public QObject {
  Q_OBJECT

 public:
  explicit Theme(QObject* parent = nullptr);

  ThemeChoice choice() const { return m_choice; }
  void choose(ThemeChoice choice);

 private Q_SLOTS:
  void settingChanged(const QString& group, const QString& key, const QDBusVariant& value);

 private:
  void askDesktop();
  void apply();

  ThemeChoice m_choice = ThemeChoice::System;
  bool m_desktopIsDark = false;
};

} // namespace millrace::ui

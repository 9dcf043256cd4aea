#include "style/theme.h"

#include "style/workbench_style.h"

#include <QApplication>
#include <QDBusConnection>
#include <QDBusMessage>
#include <QDBusPendingCallWatcher>
#include <QDBusPendingReply>
#include <QDBusVariant>

namespace millrace::ui {

namespace {

const QString service = QStringLiteral("org.freedesktop.portal.Desktop");
const QString path = QStringLiteral("/org/freedesktop/portal/desktop");
const QString interface = QStringLiteral("org.freedesktop.portal.Settings");
const QString appearance = QStringLiteral("org.freedesktop.appearance");
const QString colorScheme = QStringLiteral("color-scheme");
constexpr uint preferDark = 1;

struct Colors {
  QRgb window, base, alternate, button, text, dim, disabled, accent, onAccent, link, visited, tip, light, mid, dark,
      shadow;
};

QPalette paletteOf(const Colors& colors) {
  QPalette palette;
  const auto set = [&](QPalette::ColorRole role, QRgb color) { palette.setColor(role, QColor(color)); };
  set(QPalette::Window, colors.window);
  set(QPalette::WindowText, colors.text);
  set(QPalette::Base, colors.base);
  set(QPalette::AlternateBase, colors.alternate);
  set(QPalette::Text, colors.text);
  set(QPalette::PlaceholderText, colors.dim);
  set(QPalette::Button, colors.button);
  set(QPalette::ButtonText, colors.text);
  set(QPalette::BrightText, colors.onAccent);
  set(QPalette::Highlight, colors.accent);
  set(QPalette::HighlightedText, colors.onAccent);
  set(QPalette::Link, colors.link);
  set(QPalette::LinkVisited, colors.visited);
  set(QPalette::ToolTipBase, colors.tip);
  set(QPalette::ToolTipText, colors.text);
  set(QPalette::Light, colors.light);
  set(QPalette::Midlight, colors.button);
  set(QPalette::Mid, colors.mid);
  set(QPalette::Dark, colors.dark);
  set(QPalette::Shadow, colors.shadow);
  for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, QColor(colors.disabled));
  palette.setColor(QPalette::Disabled, QPalette::Highlight, QColor(colors.mid));
  palette.setColor(QPalette::Disabled, QPalette::HighlightedText, QColor(colors.text));
  return palette;
}

} // namespace

QPalette lightPalette() {
  return paletteOf({.window = 0xfff4f5f7,
                    .base = 0xffffffff,
                    .alternate = 0xfff0f2f5,
                    .button = 0xffe9ebef,
                    .text = 0xff1b1f24,
                    .dim = 0xff5c6570,
                    .disabled = 0xff6f7780,
                    .accent = 0xff1f5fbf,
                    .onAccent = 0xffffffff,
                    .link = 0xff1a56b0,
                    .visited = 0xff6b3fa0,
                    .tip = 0xffffffff,
                    .light = 0xffffffff,
                    .mid = 0xffc5cad1,
                    .dark = 0xffa3aab3,
                    .shadow = 0xff7a828c});
}

QPalette darkPalette() {
  return paletteOf({.window = 0xff1e2126,
                    .base = 0xff16181c,
                    .alternate = 0xff1b1e23,
                    .button = 0xff2a2e35,
                    .text = 0xffe6e8eb,
                    .dim = 0xffa0a8b2,
                    .disabled = 0xff868e98,
                    .accent = 0xff3571cb,
                    .onAccent = 0xffffffff,
                    .link = 0xff7fb0ff,
                    .visited = 0xffc5a3ff,
                    .tip = 0xff2a2e35,
                    .light = 0xff3a3f48,
                    .mid = 0xff454b55,
                    .dark = 0xff15171a,
                    .shadow = 0xff0b0c0e});
}

bool isDark(const QPalette& palette) {
  return palette.color(QPalette::Window).lightness() < 128;
}

Theme::Theme(QObject* parent) : QObject(parent), m_desktopIsDark(isDark(QApplication::palette())) {
  QApplication::setStyle(new WorkbenchStyle);
  // What the platform's theme says stands until the desktop's portal has answered, if there is one.
  QDBusConnection::sessionBus().connect(service, path, interface, QStringLiteral("SettingChanged"), this,
                                        SLOT(settingChanged(QString, QString, QDBusVariant)));
  askDesktop();
  apply();
}

void Theme::choose(ThemeChoice choice) {
  m_choice = choice;
  apply();
}

void Theme::askDesktop() {
  QDBusMessage call = QDBusMessage::createMethodCall(service, path, interface, QStringLiteral("Read"));
  call << appearance << colorScheme;
  auto* watcher = new QDBusPendingCallWatcher(QDBusConnection::sessionBus().asyncCall(call), this);
  connect(watcher, &QDBusPendingCallWatcher::finished, this, [this, watcher] {
    const QDBusPendingReply<QDBusVariant> reply = *watcher;
    // Older portals wrap the value twice.
    if (!reply.isError()) settingChanged(appearance, colorScheme, reply.value());
    watcher->deleteLater();
  });
}

void Theme::settingChanged(const QString& group, const QString& key, const QDBusVariant& value) {
  if (group != appearance || key != colorScheme) return;
  QVariant inner = value.variant();
  if (inner.canConvert<QDBusVariant>()) inner = inner.value<QDBusVariant>().variant();
  m_desktopIsDark = inner.toUInt() == preferDark;
  apply();
}

void Theme::apply() {
  const bool dark = m_choice == ThemeChoice::Dark || (m_choice == ThemeChoice::System && m_desktopIsDark);
  QApplication::setPalette(dark ? darkPalette() : lightPalette());
}

} // namespace millrace::ui

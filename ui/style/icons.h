// Icons of our own, drawn in the text colour of the palette that the application has when they are painted.
#pragma once

#include <QIcon>
#include <QString>

namespace millrace::ui {

/// name: of an SVG in resources/icons, without its ending.
QIcon icon(const QString& name);

} // namespace millrace::ui

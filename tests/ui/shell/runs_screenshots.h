// Pictures of the Runs page in its states.
#pragma once

#include <QString>
#include <functional>

class QWidget;

namespace millrace::test {

/// take: what keeps a picture of a widget under a name. folder: for runs and settings of its own. theme: what names
/// begin with.
void runsStates(const std::function<void(QWidget&, const QString&)>& take, const QString& theme, const QString& folder);

} // namespace millrace::test

// What the form calls the project's keys. Pure functions; GUI thread (translations).
#pragma once

#include "engine/project_fields.h"

#include <QString>

namespace millrace::ui {

/// "Micro-batch" for training.micro_batch; the key itself when it has no label.
QString fieldLabel(const std::string& key);

/// Heading of a section: "Checkpoints" for checkpoint.
QString sectionLabel(const std::string& section);

/// The default as a person would write it; empty when there is none.
QString fallbackText(const ProjectField& field);

/// Meaning, key, range and default, for tool tips.
QString fieldHelp(const ProjectField& field);

} // namespace millrace::ui

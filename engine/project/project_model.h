// The architecture that a project trains.
#pragma once

#include "base/json_reader.h"
#include "engine/project.h"
#include "model/model_spec.h"

#include <string>
#include <vector>

namespace millrace {

/// Reads the config.json of the project's model and checks that the project's other settings go with it. A trained
/// model whose tokenizer has more added tokens than the model has rows gets the rows that these need. Errors: BadInput
/// naming the file and key. Otherwise the tokenizer is checked as far as the project itself tells of it. warnings, when
/// given, gets what the config says that is accepted and not done here, and how the model grows.
Result<ModelSpec> readProjectModel(FileSystem& files, const Project& project, const std::string& source,
                                   std::vector<std::string>* warnings = nullptr);

} // namespace millrace

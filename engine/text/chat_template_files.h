// Where chat templates are found in model folders.
#pragma once

#include "base/json_reader.h"
#include "text/jinja/template.h"

#include <string>

namespace millrace {

struct FoundTemplate {
  std::string source;
  std::string where;                   ///< the file, for messages
  Json specialTokens = Json::object(); ///< bos_token, eos_token, ... of the folder
};

/// See ChatTemplate::load.
Result<FoundTemplate> findChatTemplate(FileSystem& files, const Path& folder, const std::string& name);

/// "file: line 3: TypeError: ..." for people.
std::string describeTemplateFault(const jinja::TemplateFault& fault, const std::string& where);

} // namespace millrace

#include "engine/data_check.h"

#include "data/source_files.h"
#include "run/run_preparation.h"

namespace millrace {

namespace {

Status check(FileSystem& files, const Project& project) {
  Log log; // what is passed over is told by the run
  MILLRACE_TRY(const std::vector<SourceFile> sources, findSourceFiles(files, dataSpecOf(project).sources, log));
  MILLRACE_TRY(const Bytes bytes, bytesOf(files, sources));
  if (bytes == 0) return tl::unexpected<Error>(noDocuments(sources, {}));
  return {};
}

} // namespace

Status checkData(FileSystem& files, const Project& project) {
  Status checked = check(files, project);
  if (!checked) checked.error().key = "data.sources";
  return checked;
}

} // namespace millrace

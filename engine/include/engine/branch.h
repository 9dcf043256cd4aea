// Branching: a run that begins from a checkpoint of another one, with settings changed that may change.
#pragma once

#include "base/file.h"
#include "engine/project.h"
#include "engine/run.h"

namespace millrace {

/// The project that a branch of a run starts out with: that of the run.
Result<Project> projectOfRun(FileSystem& files, const Path& run);

/// Whether the project may go on from there: model, tokenizer, data, context, precision and seed are the run's, since
/// weights, moments and the place in the data mean nothing without them, and it is longer than what is done already.
/// BadInput that names the keys otherwise, and where there is no such run or checkpoint. Does not read the weights.
Status checkBranch(FileSystem& files, const BranchPoint& branch, const Project& project);

} // namespace millrace

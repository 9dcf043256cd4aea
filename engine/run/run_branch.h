// What a branch takes from the run that it begins from.
#pragma once

#include "engine/branch.h"
#include "run/run_preparation.h"

namespace millrace {

/// As describeRun() of a new run: the project's settings, with the model and tokenizer of the run that it begins from.
/// The errors of checkBranch().
Result<RunDescription> describeBranch(FileSystem& files, const Project& project, const BranchPoint& branch);

/// Before the first event of a branch: the steps and evaluations that led to its beginning, so that its charts show the
/// whole way. May be repeated.
Status copyHistory(FileSystem& files, const BranchPoint& branch, const RunDirectory& directory);

/// As run.json keeps it, and back.
Json branchToJson(const BranchPoint& branch);
Result<BranchPoint> branchFromJson(const Json& json, const std::string& source);

} // namespace millrace

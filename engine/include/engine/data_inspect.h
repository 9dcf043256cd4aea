// What training would see of its data: the formats that were found out, the first rows counted, and examples token by
// token, before anything is trained.
#pragma once

#include "base/file.h"
#include "engine/project.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

struct DataInspectOptions {
  std::int64_t rows = 100;            ///< looked at, spread over the files
  std::size_t examples = 3;           ///< shown token by token
  std::size_t tokensOfExample = 2000; ///< shown of each, at most
};

struct InspectedFile {
  std::filesystem::path path;
  DataFormat format = DataFormat::Auto; ///< never Auto
  std::string why;                      ///< it has this format
  std::int64_t rows = 0;                ///< looked at
  std::string problem;                  ///< why none of them can be used; empty: some can
};

struct InspectedRow {
  std::filesystem::path file;
  std::int64_t line = 0;
  std::string problem;
};

struct InspectedToken {
  std::int32_t id = 0;
  std::string text;    ///< valid UTF-8; bytes of a part of a character are U+FFFD
  bool learnt = false; ///< as a target
};

/// A document; a part of a conversation that was split is one.
struct InspectedExample {
  std::filesystem::path file;
  std::int64_t line = 0;
  std::string set; ///< meta.pile_set_name; empty: none
  std::vector<InspectedToken> tokens;
  std::int64_t tokensInAll = 0;
  std::int64_t learnt = 0; ///< of all of them
};

struct InspectedSet {
  std::string name; ///< empty: rows without one
  std::int64_t documents = 0;
};

struct DataInspection {
  std::vector<InspectedFile> files; ///< those that were looked into, the first ones
  std::int64_t filesInAll = 0;
  std::string chatTemplate;                   ///< where it is from; empty: there are no conversations
  std::vector<std::string> marksWithoutToken; ///< that the template writes: plain text to this tokenizer
  std::string tokenizer;                      ///< where it is from
  std::int64_t context = 0;                   ///< tokens; conversations with more are over-long
  std::int64_t rows = 0;                      ///< looked at
  std::int64_t documents = 0;
  std::int64_t emptyRows = 0;
  std::int64_t badRows = 0;
  std::int64_t otherSets = 0;         ///< rows of sets that are not asked for
  std::int64_t repairedSequences = 0; ///< invalid UTF-8 that became U+FFFD
  std::int64_t truncated = 0;         ///< over-long conversations, or parts of such, without their ends
  std::int64_t split = 0;             ///< over-long conversations taken in parts
  std::int64_t dropped = 0;           ///< over-long conversations left out
  std::int64_t nothingLearnt = 0;     ///< conversations left out, since no token is learnt
  std::int64_t tokens = 0;
  std::int64_t learntTokens = 0;
  std::vector<InspectedSet> sets;
  std::vector<InspectedRow> unusable; ///< the first of them
  std::vector<InspectedExample> examples;
};

/// Reads the first rows of the project's sources and tokenizes them as a run would. Where the project trains its
/// tokenizer one is trained on these rows alone. Rows that cannot be used are reported, not an error. Errors: no such
/// file, files that are no sources, conversations without a template, a tokenizer that cannot be read.
Result<DataInspection> inspectData(FileSystem& files, const Project& project, const DataInspectOptions& options = {});

} // namespace millrace

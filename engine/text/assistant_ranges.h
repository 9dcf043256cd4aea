// Finds what assistants say in a rendered conversation when the template does not mark it: by rendering beginnings of
// the conversation and comparing. Pure.
#pragma once

#include "base/json_reader.h"
#include "text/jinja/template.h"

#include <ctime>
#include <string>
#include <vector>

namespace millrace {

/// The day that strftime_now() tells where conversations are rendered for training: always the same, so that tokens do
/// not depend on when they were made. It is the one that published templates write where they cannot ask.
std::tm trainingDay();

/// variables: those that gave `text`, with the list `messages`. A turn begins behind what add_generation_prompt adds
/// and ends with the token that closes it; white space that the template writes behind that token is not the
/// assistant's. An error names the message where the template, or the conversation's length, makes this impossible;
/// where names the template.
Result<std::vector<jinja::ByteRange>> findAssistantRanges(const jinja::Template& parsed, const Json& variables,
                                                          const std::string& text, const std::string& where);

/// Sorted, without empty ones, overlaps joined, and within a text of `size` bytes.
std::vector<jinja::ByteRange> joinedRanges(std::vector<jinja::ByteRange> ranges, std::size_t size);

} // namespace millrace

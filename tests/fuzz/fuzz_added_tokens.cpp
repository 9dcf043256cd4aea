#include "fuzz/model_file_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::fuzz::addedTokens({data, size});
  return 0;
}

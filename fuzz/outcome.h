// What a parser may do with any input: return, or refuse it by a ConfigError or a DataError with a text that can be
// shown. Everything else ends the process, which libFuzzer reports with the input.
#pragma once

#include <string_view>

#include "base/error.h"

namespace troika::fuzz {

// Ends the process, naming `promise`, when it is not kept.
void require(bool kept, const char* promise);

// Requires valid UTF-8 without control characters, at most 64 KiB, not empty.
void require_message(std::string_view text);

// Calls `parse` and says whether it returned (not refused).
template <class Parse>
bool accepted(const Parse& parse) {
  try {
    parse();
    return true;
  } catch (const base::ConfigError& error) {
    require_message(error.what());
  } catch (const base::DataError& error) {
    require_message(error.what());
  }
  return false;
}

}  // namespace troika::fuzz

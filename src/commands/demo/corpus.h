// The text that `troika demo` trains on.
#pragma once

#include <string>
#include <vector>

#include "base/language.h"

namespace troika::commands {

struct Corpus {
  std::vector<std::string> paths;
  base::Text what;     // "the C and C++ headers of this machine"
  std::string prompt;  // that its texts begin with
};

// `given` where it is not empty; else what is below `root`, which is "" but in tests: headers, or licences; else the licences that
// are installed with the program, whose folder is `programs`. ConfigError where there is none.
Corpus corpus_of(const std::vector<std::string>& given, const std::string& programs, const std::string& root);

}  // namespace troika::commands

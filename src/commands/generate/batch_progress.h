// How far a file of texts has come: a line on stderr, at most one a second.
#pragma once

#include <cstddef>

#include "base/language.h"

namespace troika::commands {

class BatchProgress {
 public:
  BatchProgress(std::size_t total, base::Language language);

  void add(std::size_t tokens) { tokens_ += tokens; }
  void show(std::size_t done);

 private:
  const std::size_t total_;
  const base::Language language_;
  const double begin_;
  double last_;
  std::size_t tokens_ = 0;
};

}  // namespace troika::commands

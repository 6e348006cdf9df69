// A line that tells how far a long job over files is.
#pragma once

#include <cstdio>
#include <string>

#include "data/progress.h"

namespace troika::commands {

// On a terminal the line is rewritten in place, once a second; elsewhere a new one comes every ten seconds.
class ProgressLine {
 public:
  ProgressLine(std::string what, std::FILE* to);  // `to` may be null: silent
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const data::Progress& progress);

 private:
  std::string what_;
  std::FILE* to_;
  bool rewrites_;
  bool shown_ = false;
  double start_, last_;
};

}  // namespace troika::commands

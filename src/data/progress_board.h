// Progress of a job where other processes see it.
#pragma once

#include <optional>
#include <string>

#include "data/progress.h"

namespace troika::data {

// The file is there while the object is. One thread. Never throws for a disk that refuses: progress is a courtesy.
class ProgressBoard {
 public:
  explicit ProgressBoard(std::string path);
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  void post(const Progress& progress);  // at most four times a second

 private:
  const std::string path_;
  double last_seconds_ = -1;
};

// What the process that works has posted last, with its name; nothing when none has.
std::optional<Progress> posted_progress(const std::string& path);

}  // namespace troika::data

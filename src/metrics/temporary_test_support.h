// For tests: a folder of this process alone, gone when it ends.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/file.h"

namespace troika::metrics {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "troika_metrics_" + std::to_string(::getpid())) {
    base::remove_tree(path_);
    base::make_directories(path_);
  }
  ~TemporaryFolder() { base::remove_tree(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline const std::string& temporary_folder() {
  static const TemporaryFolder folder;
  return folder.path();
}

}  // namespace troika::metrics

// For tests: a temporary folder, removed at the end.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "base/error.h"
#include "base/file.h"

namespace troika::base {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "troika-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw BugError("cannot make a temporary folder like '" + path_ + "'");
  }
  ~TemporaryFolder() { remove_tree(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One for the whole test program.
inline const std::string& temporary_folder() {
  static const TemporaryFolder folder;
  return folder.path();
}

}  // namespace troika::base

#include "config/config_test_support.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace troika::config {

std::string temporary_file(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + "config-" + std::to_string(::getpid()) + "-" + name;
  base::write_file_atomic(path, content);
  return path;
}

}  // namespace troika::config

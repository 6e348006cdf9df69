#include "config/config_test_support.h"

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::config {

std::string temporary_file(const std::string& name, const std::string& content) {
  const std::string path = base::temporary_folder() + "/" + name;
  base::write_file_atomic(path, content);
  return path;
}

}  // namespace troika::config

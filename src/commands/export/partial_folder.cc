#include "commands/export/partial_folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace troika::commands {

PartialFolder::PartialFolder(const std::string& to) : to_(to), path_(to + ".partial") {
  if (base::file_exists(to) || !base::list_directory(to).empty())
    throw base::ConfigError(base::say("'{}' is there already; name a folder that does not exist or is empty", to));
  if (base::file_exists(path_) || base::directory_exists(path_))
    throw base::ConfigError(
        base::say("'{}' is left of an export that did not end, or is written right now; remove it first", path_));
  base::make_directories(path_);
}

PartialFolder::~PartialFolder() {
  std::error_code ignored;  // the error that ends the export matters more
  if (!kept_) std::filesystem::remove_all(path_, ignored);
}

void PartialFolder::keep() {
  base::rename_path(path_, to_);
  kept_ = true;
}

}  // namespace troika::commands

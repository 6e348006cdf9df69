// A folder that appears whole or not at all.
#pragma once

#include <string>

namespace troika::commands {

// Written as TO.partial; removed again unless it was kept.
class PartialFolder {
 public:
  // ConfigError when `to` is there and not an empty folder, or TO.partial is there.
  explicit PartialFolder(const std::string& to);
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const std::string& path() const { return path_; }
  void keep();  // under its own name

 private:
  const std::string to_, path_;
  bool kept_ = false;
};

}  // namespace troika::commands

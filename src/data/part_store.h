// Results of the chunks of a long job, a file each, so that a job that was killed goes on where it stood.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troika::data {

// Threads: safe, for different chunks.
class PartStore {
 public:
  explicit PartStore(std::string folder);  // created where needed; what earlier processes left in it is used

  // The content of a part that this process or an earlier one put; nothing when there is none or it is damaged.
  std::optional<std::string> get(std::int64_t chunk) const;
  // A part is there whole or not at all, however the process ends. DataError when the disk refuses.
  void put(std::int64_t chunk, std::string_view content) const;
  void remove() const;  // the folder with all parts

 private:
  std::string path_of(std::int64_t chunk) const;
  const std::string folder_;
};

}  // namespace troika::data

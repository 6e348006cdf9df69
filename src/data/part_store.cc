#include "data/part_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace troika::data {

static constexpr std::size_t key_characters = 16;

PartStore::PartStore(std::string folder) : folder_(std::move(folder)) { base::make_directories(folder_); }

std::string PartStore::path_of(std::int64_t chunk) const { return fmt::format("{}/part-{:08d}", folder_, chunk); }

std::optional<std::string> PartStore::get(std::int64_t chunk) const {
  const std::string path = path_of(chunk);
  if (!base::file_exists(path)) return std::nullopt;
  std::string content = base::read_file(path);
  if (content.size() < key_characters) return std::nullopt;
  const std::string hash = content.substr(0, key_characters);
  content.erase(0, key_characters);
  if (base::hash_bytes(content) != hash) return std::nullopt;
  return content;
}

// Not synced: what a crash of the machine leaves half written, the hash tells.
void PartStore::put(std::int64_t chunk, std::string_view content) const {
  const std::string path = path_of(chunk), temporary = fmt::format("{}.{}", path, ::getpid());
  base::remove_tree(temporary);
  base::append_file(temporary, base::hash_bytes(content) + std::string(content));
  base::replace_file(temporary, path);
}

void PartStore::remove() const { base::remove_tree(folder_); }

}  // namespace troika::data

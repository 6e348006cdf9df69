#include "data/part_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/run_files.h"
#include "base/say.h"
#include "data/made_once.h"

namespace troika::data {

static constexpr std::size_t key_characters = 16;

PartStore::PartStore(std::string folder) : folder_(std::move(folder)) {
  if (base::is_link(folder_)) base::remove_tree(folder_);  // in a cache that came from somebody else
  base::make_directories(folder_);
}

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
  try {
    base::remove_tree(temporary);
    base::append_file(temporary, base::hash_bytes(content));
    base::append_file(temporary, content);
    base::replace_file(temporary, path);
  } catch (const base::DataError& error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw DiskError(base::text_of(error));
  }
}

void PartStore::remove() const { base::remove_tree(folder_); }

PartsOfJob::~PartsOfJob() {
  try {
    if (!keeps_) store_.remove();
  } catch (const base::DataError&) {  // they are looked for again by the same key only
  }
}

void PartsOfJob::keep_after(base::Error& error) {
  keeps_ = dynamic_cast<const DiskError*>(&error) != nullptr && !base::list_directory(store_.folder()).empty();
  if (keeps_)
    error.add_context(
        base::say("what is tokenized stays in '{}', and the same command continues there; delete that folder to have its room instead",
                  store_.folder()));
}

}  // namespace troika::data

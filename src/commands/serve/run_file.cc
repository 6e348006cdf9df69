#include "commands/serve/run_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "commands/serve/refusal_texts.h"

namespace troika::commands::serve {

std::optional<RunFile> RunFile::of(int descriptor) {
  struct stat facts {};
  if (descriptor < 0) return std::nullopt;
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(descriptor);
    return std::nullopt;
  }
  Facts known;
  known.device = facts.st_dev;
  known.inode = facts.st_ino;
  known.bytes = facts.st_size;
  known.changed = static_cast<double>(facts.st_mtim.tv_sec) + static_cast<double>(facts.st_mtim.tv_nsec) / 1e9;
  return RunFile(descriptor, known);
}

std::optional<RunFile> RunFile::open(const std::string& folder, const std::string& name) {
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  int at = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  const std::vector<std::string> parts = base::split(name, '/');
  for (std::size_t i = 0; i < parts.size() && at >= 0; ++i) {
    const bool last = i + 1 == parts.size();
    const bool leads_out = parts[i].empty() || parts[i] == "." || parts[i] == "..";
    const int next = leads_out ? -1 : ::openat(at, parts[i].c_str(), last ? flags : flags | O_DIRECTORY);
    ::close(at);
    at = next;
  }
  return of(at);
}

RunFile::~RunFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RunFile& RunFile::operator=(RunFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(facts_, other.facts_);
  return *this;
}

std::size_t RunFile::read(std::int64_t offset, char* to, std::size_t bytes) const {
  std::size_t all = 0;
  while (all < bytes) {
    const ssize_t count = ::pread(descriptor_, to + all, bytes - all, offset + static_cast<std::int64_t>(all));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    all += static_cast<std::size_t>(count);
  }
  return all;
}

std::string RunFile::text(std::int64_t offset, std::int64_t bytes) const {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  text.resize(read(offset, text.data(), text.size()));
  return text;
}

std::optional<std::string> text_of_run(const std::string& folder, const std::string& name, std::int64_t most_bytes) {
  const std::optional<RunFile> file = RunFile::open(folder, name);
  if (!file) return std::nullopt;
  if (file->facts().bytes > most_bytes)
    throw base::DataError(base::say(refusal_texts.large_file, name, base::format_bytes(file->facts().bytes),
                                    base::format_bytes(most_bytes)));
  return file->text(0, file->facts().bytes);
}

}  // namespace troika::commands::serve

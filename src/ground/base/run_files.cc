#include "base/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/cause.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"

namespace troika::base {
namespace {

constexpr int careful = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

struct Place {
  std::string folder, name;
};

Place place_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// The way to a file: its end, or where it failed and what is in the way there.
struct Opened {
  Descriptor last;
  int cause = 0;       // errno
  std::string failed;  // the part of the path that could not be opened
  mode_t kind = 0;     // of what is there
};

mode_t kind_at(int folder, const std::string& name) {
  struct stat facts {};
  return ::fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 ? facts.st_mode & S_IFMT : 0;
}

Opened open_below(const std::string& folder, const std::string& name, int flags) {
  Opened opened;
  opened.failed = folder;
  opened.last = Descriptor(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!opened.last) opened.cause = errno;
  const std::vector<std::string> parts = split(name, '/');
  for (std::size_t i = 0; i < parts.size() && opened.cause == 0; ++i) {
    const bool is_file = i + 1 == parts.size(), leads_out = parts[i].empty() || parts[i] == "." || parts[i] == "..";
    const int at = opened.last.number();
    opened.failed += (opened.failed.back() == '/' ? "" : "/") + parts[i];
    if (!is_file && (flags & O_CREAT) != 0 && !leads_out) ::mkdirat(at, parts[i].c_str(), 0777);
    Descriptor next(leads_out ? -1
                              : ::openat(at, parts[i].c_str(),
                                         careful | (is_file ? flags : O_RDONLY | O_DIRECTORY), 0644));
    if (!next) {
      opened.cause = leads_out ? EINVAL : errno;
      opened.kind = kind_at(at, parts[i]);
    }
    opened.last = std::move(next);
  }
  return opened;
}

bool is_regular(const Descriptor& file) {
  struct stat facts {};
  return ::fstat(file.number(), &facts) == 0 && S_ISREG(facts.st_mode);
}

}  // namespace

std::optional<RunFile> RunFile::of(int number) {
  Descriptor descriptor(number);
  struct stat facts {};
  if (!descriptor || ::fstat(number, &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  Facts known;
  known.device = facts.st_dev;
  known.inode = facts.st_ino;
  known.bytes = facts.st_size;
  known.changed = static_cast<double>(facts.st_mtim.tv_sec) + static_cast<double>(facts.st_mtim.tv_nsec) / 1e9;
  return RunFile(std::move(descriptor), known);
}

std::optional<RunFile> RunFile::open(const std::string& folder, const std::string& name) {
  return of(open_below(folder, name, O_RDONLY).last.release());
}

std::optional<RunFile> RunFile::open(const std::string& path) {
  const Place place = place_of(path);
  return open(place.folder, place.name);
}

std::size_t RunFile::read(std::int64_t offset, char* to, std::size_t bytes) const {
  std::size_t all = 0;
  while (all < bytes) {
    const ssize_t count =
        ::pread(descriptor_.number(), to + all, bytes - all, offset + static_cast<std::int64_t>(all));
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

static std::string whole_text(const RunFile& file, const std::string& path, std::int64_t most_bytes) {
  if (file.facts().bytes > most_bytes)
    throw DataError(say("'{}' has {}, more than the limit of {} for such a file: it is damaged or the wrong file", path, format_bytes(file.facts().bytes), format_bytes(most_bytes)));
  return file.text(0, file.facts().bytes);
}

std::optional<std::string> text_of_run(const std::string& folder, const std::string& name, std::int64_t most_bytes) {
  const std::optional<RunFile> file = RunFile::open(folder, name);
  if (!file) return std::nullopt;
  return whole_text(*file, folder + "/" + name, most_bytes);
}

std::string read_regular_file(const std::string& path, std::int64_t most_bytes) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor) throw DataError(say("cannot open '{}': {}", path, system_cause(errno)), cause_of_errno(errno));
  const std::optional<RunFile> file = RunFile::of(descriptor.release());
  if (!file) throw DataError(say("'{}' is a pipe, a folder or a device, not a regular file: remove it or choose another", path));
  return whole_text(*file, path, most_bytes);
}

Descriptor open_in_run(const std::string& folder, const std::string& name, int flags) {
  Opened opened = open_below(folder, name, flags);
  if (opened.last && is_regular(opened.last)) return std::move(opened.last);
  if (opened.kind == S_IFLNK) throw DataError(say("'{}' is a link, and links inside a run folder are not followed: remove it", opened.failed));
  const bool irregular = opened.kind != 0 && opened.kind != S_IFREG && opened.kind != S_IFDIR;
  if (opened.last || irregular || (opened.kind == S_IFDIR && opened.cause == EISDIR))
    throw DataError(say("'{}' is a pipe, a folder or a device, not a regular file: remove it or choose another", opened.failed));
  throw DataError(say("cannot open '{}': {}", opened.failed, system_cause(opened.cause)), cause_of_errno(opened.cause));
}

Descriptor open_in_run(const std::string& path, int flags) {
  const Place place = place_of(path);
  return open_in_run(place.folder, place.name, flags);
}

void append_in_run(const std::string& folder, const std::string& name, std::string_view content) {
  const Descriptor file = open_in_run(folder, name, O_WRONLY | O_CREAT | O_APPEND);
  if (const int cause = write_whole(file.number(), content); cause != 0)
    throw DataError(say("cannot write '{}': {}", folder + "/" + name, system_cause(cause)), cause_of_errno(cause));
}

void append_in_run(const std::string& path, std::string_view content) {
  const Place place = place_of(path);
  append_in_run(place.folder, place.name, content);
}

bool is_link(const std::string& path) { return kind_at(AT_FDCWD, path) == S_IFLNK; }
bool is_plain_folder(const std::string& path) { return kind_at(AT_FDCWD, path) == S_IFDIR; }

}  // namespace troika::base

// The one way to open files of a run's folder. The folder may come from somebody else, and others may write into it:
// opening follows no link inside it, never blocks, refuses anything but regular files, and reads at most the stated
// number of bytes. The folder itself may be a link, or be reached through links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"

namespace troika::base {

// The most that is read of one: far above what Troika writes, far below what a host has.
inline constexpr std::int64_t most_settings_bytes = std::int64_t{1} << 20;   // config.yaml
inline constexpr std::int64_t most_state_bytes = std::int64_t{16} << 20;     // state.json: more than 100,000 ranks
inline constexpr std::int64_t most_list_bytes = std::int64_t{64} << 20;      // manifest.json: some 400,000 parts
inline constexpr std::int64_t most_program_bytes = std::int64_t{256} << 20;  // program.txt, timelines

// A regular file that is open for reading. Movable. Threads: const use is safe.
class RunFile {
 public:
  // `name` below `folder`: "logs/rank-00000.log". No part of it may be a link, and opening waits for nothing, a pipe included.
  // Nothing where there is no such file.
  static std::optional<RunFile> open(const std::string& folder, const std::string& name);
  static std::optional<RunFile> open(const std::string& path);  // of a file right in the run's folder
  // Takes over an open descriptor; nothing if it is not a regular file.
  static std::optional<RunFile> of(int descriptor);

  // As it was when it was opened.
  struct Facts {
    std::uint64_t device = 0, inode = 0;
    std::int64_t bytes = 0;
    double changed = 0;  // since 1970
  };
  const Facts& facts() const { return facts_; }

  // Bytes from `offset` on; fewer than asked for at the end of the file, or where the disk fails.
  std::size_t read(std::int64_t offset, char* to, std::size_t bytes) const;
  std::string text(std::int64_t offset, std::int64_t bytes) const;

 private:
  RunFile(Descriptor descriptor, const Facts& facts) : descriptor_(std::move(descriptor)), facts_(facts) {}

  Descriptor descriptor_;
  Facts facts_;
};

// All of a file; nothing where there is none. DataError where it is larger than that.
std::optional<std::string> text_of_run(const std::string& folder, const std::string& name, std::int64_t most_bytes);

// All of a file that somebody has named: links to it are followed, as its user means them. DataError where it is absent, no
// regular file, or larger than that.
std::string read_regular_file(const std::string& path, std::int64_t most_bytes);

// To write: `flags` of open(2), with O_CREAT the folders in `name` are made, too. DataError that names what cannot be opened,
// and the link or whatever else is in its place.
Descriptor open_in_run(const std::string& folder, const std::string& name, int flags);
Descriptor open_in_run(const std::string& path, int flags);  // a file right in the run's folder

// Appends to such a file, in one write where the disk takes it.
void append_in_run(const std::string& folder, const std::string& name, std::string_view content);
void append_in_run(const std::string& path, std::string_view content);

bool is_link(const std::string& path);
bool is_plain_folder(const std::string& path);  // a folder, and no link to one

}  // namespace troika::base

#include "data/input_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "data/decompress.h"

namespace troika::data {

bool ends_with(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

Compression compression_of(std::string_view name) {
  if (ends_with(name, ".gz")) return Compression::gzip;
  return ends_with(name, ".zst") ? Compression::zstd : Compression::none;
}

std::string_view without_compression(std::string_view name) {
  switch (compression_of(name)) {
    case Compression::gzip:
      return name.substr(0, name.size() - 3);
    case Compression::zstd:
      return name.substr(0, name.size() - 4);
    case Compression::none:
      break;
  }
  return name;
}

namespace {

// A file without a name: it is gone when its last descriptor and mapping are.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder) : folder_(folder) {
    base::make_directories(folder);
    std::string path = folder + "/troika-text-XXXXXX";
    descriptor_ = ::mkostemp(path.data(), O_CLOEXEC);
    if (descriptor_ < 0) refuse();
    ::unlink(path.c_str());
  }
  ~ScratchFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse();
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  int descriptor() const { return descriptor_; }

 private:
  [[noreturn]] void refuse() const {
    throw base::DataError(
        fmt::format("'{}' cannot hold decompressed text: {}; free some space or name another --data.cache", folder_,
                    std::strerror(errno)));
  }

  const std::string folder_;
  int descriptor_ = -1;
};

}  // namespace

static base::MappedFile map_text(const std::string& path, const std::string& scratch) {
  if (compression_of(path) == Compression::none) return base::MappedFile(path);
  const base::MappedFile stored(path);
  ScratchFile file(scratch.empty() ? std::filesystem::temp_directory_path().string() : scratch);
  decompress(stored.text(), compression_of(path), path, [&](std::string_view bytes) {
    file.append(bytes);
    return true;
  });
  return base::MappedFile(file.descriptor(), path);
}

InputText::InputText(const std::string& path, const std::string& scratch)
    : stored_bytes_(base::file_size(path)), file_(map_text(path, scratch)) {}

std::string first_text(const std::string& path, std::size_t most_bytes) {
  const base::MappedFile stored(path);
  if (compression_of(path) == Compression::none) return std::string(stored.text().substr(0, most_bytes));
  std::string text;
  decompress(stored.text(), compression_of(path), path, [&](std::string_view bytes) {
    text += bytes.substr(0, most_bytes - text.size());
    return text.size() < most_bytes;
  });
  return text;
}

}  // namespace troika::data

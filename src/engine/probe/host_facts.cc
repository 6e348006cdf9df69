#include "probe/host_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/system_cause.h"
#include "base/text.h"

namespace troika::probe {
namespace {

// A file without a name in the end: gone when this object goes, whatever happens.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder) : path_(folder + "/.troika-probe-XXXXXX") {
    descriptor_ = ::mkstemp(path_.data());
    if (descriptor_ < 0) fail(base::Phrase("cannot make a file in the folder of '{}': {}"));
    ::unlink(path_.c_str());
  }
  ~ScratchFile() { ::close(descriptor_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void write(const std::vector<char>& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno != EINTR) fail(base::Phrase("cannot write in the folder of '{}': {}"));
      if (count > 0) done += static_cast<std::size_t>(count);
    }
    if (::fsync(descriptor_) != 0) fail(base::Phrase("cannot write in the folder of '{}': {}"));
  }

 private:
  [[noreturn]] void fail(base::Phrase what) const {
    throw base::DataError(base::say(what, path_, base::system_cause(errno)));
  }
  std::string path_;
  int descriptor_ = -1;
};

std::string value_of_line(const std::string& text, const std::string& key) {
  for (const std::string& line : base::split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string::npos && base::trim(line.substr(0, colon)) == key)
      return base::printable(base::trim(line.substr(colon + 1)), 80);
  }
  return "";
}

}  // namespace

std::string processor_name_in(const std::string& cpuinfo) {
  for (const char* key : {"model name", "Model", "Hardware"})
    if (const std::string name = value_of_line(cpuinfo, key); !name.empty()) return name;
  return "processor";
}

std::string processor_name() {
  try {
    return processor_name_in(base::read_file("/proc/cpuinfo"));
  } catch (const base::DataError&) {
    return processor_name_in("");
  }
}

double disk_bytes_per_second(const std::string& folder) {
  constexpr std::size_t piece_bytes = 8 << 20, most_bytes = 64 << 20;
  constexpr double most_seconds = 2;
  std::vector<char> piece(piece_bytes);
  for (std::size_t i = 0; i < piece.size(); ++i)
    piece[i] = static_cast<char>(i * 2654435761u >> 13);  // not compressible
  ScratchFile file(folder);
  std::size_t bytes = 0;
  const double begin = base::monotonic_seconds();
  double seconds = 0;
  while (bytes < most_bytes && seconds < most_seconds) {
    file.write(piece);
    bytes += piece.size();
    seconds = base::monotonic_seconds() - begin;
  }
  return static_cast<double>(bytes) / seconds;
}

double load_average() {
  try {
    double load = 0;
    const std::string text = base::read_file("/proc/loadavg");
    return base::parse_double(text.substr(0, text.find(' ')), &load) ? load : 0;
  } catch (const base::DataError&) {
    return 0;
  }
}

std::string folder_of_file(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (!base::directory_exists(folder))
    throw base::ConfigError(base::say("there is no folder '{}' for '{}'; make it first", folder, path));
  return folder;
}

}  // namespace troika::probe

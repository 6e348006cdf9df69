#include "records/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/file.h"

namespace troika::records {

void LineWriter::append(const std::string& line) {
  waiting_.push_back(line + "\n");
  if (waiting_.size() > most_waiting_) waiting_.pop_front();
  try {
    const std::size_t slash = path_.rfind('/');
    if (slash != std::string::npos && slash > 0) base::make_directories(path_.substr(0, slash));
    while (!waiting_.empty()) {
      base::append_file(path_, waiting_.front());
      waiting_.pop_front();
    }
  } catch (const base::DataError&) {  // they wait for the next try
  }
}

namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

LineReader::News LineReader::read(std::int64_t most_bytes) {
  News news;
  const OpenFile file(path_);
  struct stat facts {};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &facts) != 0 || !S_ISREG(facts.st_mode)) return news;
  const auto inode = static_cast<std::uint64_t>(facts.st_ino);
  bool skips_a_part = false;  // of a line, at the front
  if (inode_ != inode || facts.st_size < offset_) {
    news.begun_anew = offset_ > 0;
    inode_ = inode;
    offset_ = 0;
    rest_.clear();
    if (tail_bytes_ > 0 && facts.st_size > tail_bytes_) {
      offset_ = facts.st_size - tail_bytes_;
      skips_a_part = true;
    }
  }
  const std::int64_t end = std::min<std::int64_t>(facts.st_size, offset_ + most_bytes);
  std::string bytes;
  while (offset_ < end) {
    bytes.resize(static_cast<std::size_t>(std::min<std::int64_t>(end - offset_, 1 << 20)));
    const ssize_t count = ::pread(file.descriptor(), bytes.data(), bytes.size(), offset_);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    offset_ += count;
    rest_.append(bytes, 0, static_cast<std::size_t>(count));
  }
  if (skips_a_part) {
    const std::size_t newline = rest_.find('\n');
    rest_.erase(0, newline == std::string::npos ? rest_.size() : newline + 1);
  }
  std::size_t begin = 0;
  for (std::size_t newline = rest_.find('\n'); newline != std::string::npos; newline = rest_.find('\n', begin)) {
    news.lines.push_back(rest_.substr(begin, newline - begin));
    begin = newline + 1;
  }
  rest_.erase(0, begin);
  return news;
}

}  // namespace troika::records

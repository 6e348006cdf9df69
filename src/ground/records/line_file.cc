#include "records/line_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/text.h"

namespace troika::records {

void LineWriter::append(const std::string& line) {
  waiting_.push_back(line + "\n");
  if (waiting_.size() > most_waiting_) waiting_.pop_front();
  try {
    base::make_directories(folder_);
    while (!waiting_.empty()) {
      base::append_in_run(folder_, name_, waiting_.front());
      waiting_.pop_front();
    }
  } catch (const base::DataError&) {  // they wait for the next try
  }
}

LineReader::News LineReader::read(std::int64_t most_bytes) {
  constexpr std::size_t longest_line = std::size_t{16} << 20;
  News news;
  const std::optional<base::RunFile> file = base::RunFile::open(path_);
  if (!file) return news;
  const std::int64_t size = file->facts().bytes;
  bool skips_a_part = false;  // of a line, at the front
  if (inode_ != file->facts().inode || size < offset_) {
    news.begun_anew = offset_ > 0;
    inode_ = file->facts().inode;
    offset_ = 0;
    rest_.clear();
    in_long_line_ = false;
    if (tail_bytes_ > 0 && size > tail_bytes_) {
      offset_ = size - tail_bytes_;
      skips_a_part = true;
    }
  }
  const std::int64_t end = std::min<std::int64_t>(size, offset_ + most_bytes);
  while (offset_ < end) {
    const std::string bytes = file->text(offset_, std::min<std::int64_t>(end - offset_, 1 << 20));
    if (bytes.empty()) break;
    offset_ += static_cast<std::int64_t>(bytes.size());
    rest_ += bytes;
    if (rest_.size() > longest_line && rest_.find('\n') == std::string::npos) {
      rest_.clear();
      in_long_line_ = true;
    }
  }
  if (skips_a_part || in_long_line_) {
    const std::size_t newline = rest_.find('\n');
    in_long_line_ = in_long_line_ && newline == std::string::npos;
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

std::string log_line(double wall_seconds, const std::string& text) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} {}", fmt::localtime(static_cast<std::time_t>(wall_seconds)),
                     base::join(base::split(base::trim(text), '\n'), "\n  "));
}

}  // namespace troika::records

// A file of lines that grows while others read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troika::records {

// Appends, each line in one write call, so that several processes may write to one file. A disk that is full or fails ends no
// run: lines wait, at most `most_waiting`, the oldest go first. Threads: one.
class LineWriter {
 public:
  // `name` below a run's folder: "records/rank-00000.jsonl". Opens nothing; makes the folders with the first line.
  LineWriter(std::string folder, std::string name, std::size_t most_waiting = 1000)
      : folder_(std::move(folder)), name_(std::move(name)), most_waiting_(most_waiting) {}

  void append(const std::string& line);  // without newline

 private:
  const std::string folder_, name_;
  const std::size_t most_waiting_;
  std::deque<std::string> waiting_;
};

// Reads what has been added since the last call. A last line without newline waits until it is whole. Threads: one.
class LineReader {
 public:
  // `tail_bytes`: of what was there before the first look only so much is read, from the end; 0: all.
  explicit LineReader(std::string path, std::int64_t tail_bytes = 0)
      : path_(std::move(path)), tail_bytes_(tail_bytes) {}

  struct News {
    bool begun_anew = false;  // the file was replaced or cut: what was read before no longer counts
    std::vector<std::string> lines;
  };
  // Never throws: a file that is absent, cannot be read or is none (a pipe, a link) has nothing new. At most `most_bytes` at a
  // time; a line of more than 16 MiB is left out.
  News read(std::int64_t most_bytes = std::int64_t{64} << 20);

 private:
  const std::string path_;
  const std::int64_t tail_bytes_;
  std::uint64_t inode_ = 0;
  std::int64_t offset_ = 0;
  std::string rest_;
  bool in_long_line_ = false;
};

// RUN/run.log: the output of a run, in one file for all its attempts.

// "2025-03-01 12:00:00 text", local time; further lines of the text are indented. Without newline at the end.
std::string log_line(double wall_seconds, const std::string& text);

// Writes to a disk that may hang, from a background thread: the caller never waits.

// Jobs run in order. Threads: post() from any.
class BackgroundDisk {
 public:
  explicit BackgroundDisk(std::size_t most_waiting = 10000);
  ~BackgroundDisk();  // waits 2 s at most; a job that the disk keeps is left behind then
  BackgroundDisk(const BackgroundDisk&) = delete;
  BackgroundDisk& operator=(const BackgroundDisk&) = delete;

  void flush();  // waits until all that was posted has been done, 2 s at most

  // A job owns all that it uses, and throws nothing but base::Error, which is dropped. Where too many wait it is not taken.
  void post(std::function<void()> job);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace troika::records

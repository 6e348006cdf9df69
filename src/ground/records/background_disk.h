// Writes to a disk that may hang, from a background thread: the caller never waits.
#pragma once

#include <functional>
#include <memory>

namespace troika::records {

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

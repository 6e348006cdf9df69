// For tests: sees every call that changes the disk below a folder, can let one of them fail, and makes the folder that a crash
// of the process or of the machine would leave after any number of them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troika::checkpoint::testing_support {

// The fault that one of the calls has instead of doing its work.
struct DiskFault {
  enum class Kind { none, no_space, io_error, short_write } kind = Kind::none;
  std::size_t call = 0;  // which one, from 0
};

// The state after a crash. process: all that was done. machine_keeps_names: file content that was not synced is gone, names are
// there. machine_drops_names: names too, unless their folder was synced afterwards.
enum class Crash { process, machine_keeps_names, machine_drops_names };

// While one exists, the process's calls on paths below `root` are recorded. One at a time; any thread.
class RecordedDisk {
 public:
  explicit RecordedDisk(const std::string& root, const DiskFault& fault = {});
  ~RecordedDisk();
  RecordedDisk(const RecordedDisk&) = delete;
  RecordedDisk& operator=(const RecordedDisk&) = delete;

  void stop();  // what comes now is not recorded

  std::size_t calls() const;
  std::string describe(std::size_t call) const;  // "fsync step-00000020.partial/manifest.json.tmp.1.0"

  // Makes at `to` the folder that the crash after so many calls leaves.
  void make_after(std::size_t calls, Crash crash, const std::string& to) const;

  struct Recorder;

 private:
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace troika::checkpoint::testing_support

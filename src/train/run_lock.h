// One run at a time writes to a run folder.
#pragma once

#include <string>

namespace troika::train {

// Holds FOLDER/run.lock for its lifetime. The lock itself is the kernel's (an open file description's, which NFS servers keep
// too) and goes with its process, however that ends; the file says who has it: host, process, run, since when.
class RunLock {
 public:
  // `run` is alike in all processes of one run and in no other run: those share a folder on a common disk. ConfigError when
  // another run has it, naming host and process. On a file system without locks the file's word counts where its process is
  // one of this host, and nothing elsewhere.
  RunLock(const std::string& folder, const std::string& run);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int descriptor_ = -1;  // -1: another process of this run holds it
};

}  // namespace troika::train

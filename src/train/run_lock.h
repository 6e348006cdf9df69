// One run at a time writes to a run folder.
#pragma once

#include <string>

#include "records/folder_lock.h"

namespace troika::train {

// Holds FOLDER/run.lock for its lifetime, unless another process of this run does.
class RunLock {
 public:
  // `run` is alike in all processes of one run and in no other run: those share a folder on a common disk; `launch` is
  // rendezvous::Identity::launch. ConfigError when another run or launch has the folder, naming host and process.
  RunLock(const std::string& folder, const std::string& run, const std::string& launch);

 private:
  records::FolderLock lock_;
};

}  // namespace troika::train

// One run at a time writes to a run folder, and nowhere else.
#pragma once

#include <string>

#include "base/language.h"
#include "config/settings/settings.h"
#include "records/folder_lock.h"

namespace troika::train {

// Holds FOLDER/run.lock for its lifetime, unless another process of this run does.
class RunLock {
 public:
  // `run` is alike in all processes of one run and in no other run: those share a folder on a common disk; `launch` is
  // rendezvous::Identity::launch. ConfigError when another run or launch has the folder, naming host and process.
  RunLock(const std::string& folder, const std::string& run, const std::string& launch);

  // Why nobody can see from another host that it is held, as a note; empty where its file system keeps locks.
  base::Text note_of_missing_locks() const;

  // Looks whether the folder is still this run's. ConfigError naming the other run where one has, or had, written there since. A lock
  // file that was removed is made again, which the sentence that is returned says; empty where all is well.
  base::Text look();

 private:
  const std::string folder_;
  records::FolderLock lock_;
  records::LockHolder me_;
  bool holds_ = false;
};

// ConfigError naming the first thing in train.out that such a run writes to and that is a link or of another kind than Troika makes:
// what is written through a link, or removed behind it, is somebody else's. Links of other names, and to steps inside of checkpoints/,
// are let be.
void check_own_folder(const config::Settings& settings);

}  // namespace troika::train

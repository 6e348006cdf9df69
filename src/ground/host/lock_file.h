// A lock on a file, held by one process at a time, on whatever file system.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/language.h"

namespace troika::host {

// Called ten times a second while somebody else has it. `unseen`: "process 4711 on pi2" where only a file says so, of a process of
// another host, which may be gone; else nothing. May throw, which ends the waiting; may be empty.
using WhileWaiting = std::function<void(const base::Text& unseen)>;

// For file systems without locks: a file that names host, process and its start, and is there while the object is. One whose process
// was of this host and is gone counts as absent.
class ClaimFile {
 public:
  ClaimFile(std::string path, const WhileWaiting& while_waiting);  // waits; DataError when the disk refuses
  ~ClaimFile();
  ClaimFile(const ClaimFile&) = delete;
  ClaimFile& operator=(const ClaimFile&) = delete;

 private:
  const std::string path_;
};

// The kernel's lock on `path`, which is created when absent; where its file system keeps none, a ClaimFile at `path`.held.
class LockFile {
 public:
  explicit LockFile(const std::string& path, const WhileWaiting& while_waiting = {});  // waits; DataError when the disk refuses

 private:
  base::Descriptor file_;
  std::unique_ptr<ClaimFile> claim_;
};

}  // namespace troika::host

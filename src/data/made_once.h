// What several processes of a host need and one of them makes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/file.h"
#include "data/progress_board.h"

namespace troika::data {

// Gives what `open` finds. When that is nothing, the first process that comes makes it, under a lock at `path`.lock; the
// others wait and are told how far it is. `make` throws what it wants; `open` gives null for what is not there or
// damaged, and is called again afterwards. The folder of `path` is there.
template <class T>
std::shared_ptr<T> made_once(const std::string& path, const std::function<std::shared_ptr<T>()>& open,
                             const std::function<void(const OnProgress&)>& make, const OnProgress& on_progress) {
  if (auto found = open()) return found;
  const std::string board_path = path + ".progress";
  const base::FileLock lock(path + ".lock", [&] {
    const auto posted = posted_progress(board_path);
    if (posted && on_progress) on_progress(*posted);
  });
  if (auto found = open()) return found;
  ProgressBoard board(board_path);
  make([&](const Progress& progress) {
    board.post(progress);
    if (on_progress) on_progress(progress);
  });
  return open();
}

}  // namespace troika::data

// How far a long job over files is.
#pragma once

#include <cstdint>
#include <functional>

namespace troika::data {

struct Progress {
  std::int64_t done_bytes = 0;  // of the input
  std::int64_t total_bytes = 0;
  std::int64_t tokens = 0;  // written so far; 0 where none are
};

// Called on the thread that called the job, after each chunk of about 1 MiB. May be empty.
using OnProgress = std::function<void(const Progress&)>;

}  // namespace troika::data

// How far a long job over files is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace troika::data {

struct Progress {
  std::int64_t done_bytes = 0;  // of the input
  std::int64_t total_bytes = 0;
  std::int64_t tokens = 0;          // written so far; 0 where none are
  std::int64_t parts_taken_up = 0;  // chunks that an earlier process had finished
  std::string maker = "";           // who works, where another process does: "process 4711 on pi2"; else empty
};

// Called on the thread that called the job, after each chunk of about 1 MiB, or ten times a second while another process
// works. May be empty.
using OnProgress = std::function<void(const Progress&)>;

}  // namespace troika::data

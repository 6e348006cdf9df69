#include "monitor/watch.h"

#include <sys/stat.h>

namespace troika::monitor {
namespace {

// More rows than one refresh reads, so that the history misses none.
constexpr records::Kept kept_of_run{300'000, 16, 500};

}  // namespace

// A sample that host 0 gathers is written by host 0: the time of its file's change is by the clock of this folder.
std::map<int, double> heard_in(const records::RunReader& run) {
  std::map<int, double> heard;
  for (const auto& [rank, samples] : run.samples()) {
    struct stat facts {};
    if (!samples.empty() && ::stat(records::samples_path(run.folder(), rank).c_str(), &facts) == 0)
      heard[rank] = static_cast<double>(facts.st_mtim.tv_sec) + static_cast<double>(facts.st_mtim.tv_nsec) / 1e9;
  }
  return heard;
}

RunWatch::RunWatch(const std::string& folder) : run_(folder, kept_of_run) {}

View RunWatch::look(double now) {
  run_.refresh();
  history_.update(run_.steps(), run_.steps_read());
  return view_of({run_, history_, heard_in(run_), now});
}

}  // namespace troika::monitor

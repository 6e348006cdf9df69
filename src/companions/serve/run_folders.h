// Which runs and sweeps lie below the folder that is served.
#pragma once

#include <string>
#include <vector>

namespace troika::serve {

struct NamedFolder {
  std::string name;  // of the path below the folder that is served: "sweep/runs/a"; of that folder itself its last part
  std::string path;
};

struct RunFolders {
  std::vector<NamedFolder> runs, sweeps;  // each by name
};

// Four levels deep, without folders behind links, hidden ones and those whose names are no UTF-8 or hold control characters. A run
// has no runs inside. At most 10,000 folders are looked into.
RunFolders run_folders_below(const std::string& folder);

// Whether there is a run that may be read: its files of records are files and not links. Also one that is just being started.
bool is_served_run(const std::string& folder);

// Sweeps below the folder that is served, as what /api/sweeps answers.

// One that cannot be read is in the list, without rows.
std::string sweeps_json(const std::vector<NamedFolder>& sweeps);

// DataError for damaged files.
std::string sweep_json(const NamedFolder& sweep);

}  // namespace troika::serve

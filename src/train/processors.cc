#include "train/processors.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "comm/collectives.h"

namespace troika::train {

// x86 calls it "model name"; on ARM the kernel gives numbers for the maker and the part.
std::string processor_name() {
  std::string name, maker, part;
  try {
    for (const std::string& line : base::split(base::read_file("/proc/cpuinfo"), '\n')) {
      const auto colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string key = base::trim(line.substr(0, colon)), value = base::trim(line.substr(colon + 1));
      if (key == "model name" && name.empty()) name = value;
      if (key == "CPU implementer" && maker.empty()) maker = value;
      if (key == "CPU part" && part.empty()) part = value;
    }
  } catch (const base::DataError&) {  // no /proc here
  }
  if (!name.empty()) return name;
  return maker.empty() ? "unknown" : fmt::format("ARM {} {}", maker, part);
}

std::string mixed_processors(comm::Channel& world, const std::string& mine) {
  if (world.size() == 1) return "";
  const std::vector<std::string> all = comm::all_gather_text(world, mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0]) {
      return fmt::format(
          "rank 0 runs on '{}' and rank {} on '{}'; results may differ from a run on equal processors in the last bits",
          all[0], rank, all[rank]);
    }
  }
  return "";
}

}  // namespace troika::train

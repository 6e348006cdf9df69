#include "weights/replicated_folder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"

namespace troika::weights {

void refuse_missing_copies(base::Phrase what, const std::string& path, const std::vector<bool>& present,
                           comm::Channel& world) {
  const auto hosts = checkpoint::gather(world, [] { return base::host_name(); });
  for (std::size_t rank = 0; rank < present.size(); ++rank) {
    if (present[rank]) continue;
    throw base::ConfigError(
        base::say("there is no {} '{}' on rank {}'s host {}, but on others; copy it there, or use a disk that all "
                    "share",
                    base::say(what), path, rank, hosts[rank]));
  }
}

void refuse_different_copies(const std::string& path, const std::vector<std::string>& fingerprints,
                             comm::Channel& world) {
  const auto hosts = checkpoint::gather(world, [] { return base::host_name(); });
  for (std::size_t rank = 1; rank < fingerprints.size(); ++rank) {
    if (fingerprints[rank] == fingerprints[0]) continue;
    throw base::ConfigError(base::say(
        "the weights in '{}' on rank {}'s host {} (fingerprint {}) are not those on rank 0's host {} ({}); copy one "
        "folder to all hosts",
        path, rank, hosts[rank], fingerprints[rank], hosts[0], fingerprints[0]));
  }
}

}  // namespace troika::weights

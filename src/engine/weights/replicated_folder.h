// Folders of which every host has a copy under the same path.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/gather.h"
#include "comm/channel.h"

namespace troika::weights {

// Collective over `world`. ConfigError naming the first rank, and its host, that has no copy of `what` ("model folder")
// at `path`; `present`: which ranks have one.
void refuse_missing_copies(base::Phrase what, const std::string& path, const std::vector<bool>& present,
                           comm::Channel& world);

// Collective over `world`. ConfigError naming the first rank whose copy is not that of rank 0.
void refuse_different_copies(const std::string& path, const std::vector<std::string>& fingerprints,
                             comm::Channel& world);

// Collective over `world`: this rank's Source(path). Errors of its constructor on all ranks, and as of
// refuse_different_copies.
template <class Source>
std::unique_ptr<Source> open_replicated(const std::string& path, comm::Channel& world) {
  std::unique_ptr<Source> source;
  const auto fingerprints = checkpoint::gather(world, [&] {
    source = std::make_unique<Source>(path);
    return source->fingerprint();
  });
  refuse_different_copies(path, fingerprints, world);
  return source;
}

}  // namespace troika::weights

// A Hugging Face model folder as a source of weights; every host has a copy of it under the same path.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/gather.h"
#include "comm/channel.h"
#include "weights/model_source.h"
#include "weights/weights_folder.h"
#include "weights/weights_read.h"

namespace troika::weights {

// Collective over `world`; see open_model.
std::unique_ptr<ModelSource> open_folder_source(const std::string& path, comm::Channel& world);

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

// Compares every byte of the copies on different disks. Collective over `world`. `tensors`: of this rank's folder `path`; names, dtypes and shapes are equal on all ranks. Where all ranks
// see the same files, nothing is read. Else each copy is read and hashed once, by the ranks that see it together. ConfigError on all
// ranks naming tensor, file, bytes, rank and host of a copy that is not like most of them, or with as many of each, like rank 0's.
// DataError when a file cannot be read.
void refuse_other_contents(const std::string& path, const Assignment& tensors, comm::Channel& world);

}  // namespace troika::weights

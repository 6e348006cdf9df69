// Checkpoints: tensors by name and global index, written by every rank in parts, complete only when the manifest stands.
// Format: docs/formats/checkpoint.md. A folder `step-00000100/` holds
//   model/config.json, model/model-SSSSS-of-NNNNN.safetensors, model/model.safetensors.index.json   (Hugging Face names)
//   state/state-SSSSS-of-NNNNN.safetensors                            (adam_m.NAME, adam_v.NAME)
//   manifest.json                                                     (on world rank 0's host, last)
// Disks may be shared or not: every rank writes its own part under its own root; the manifest lists every part with host,
// size and xxHash; ranks exchange what they miss over the channel when loading. Nothing that is read ever executes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/channel.h"

namespace troika::checkpoint {

// Elements of a tensor that one rank holds, as indices into the flattened whole tensor:
// for i in [0, count): [offset + i * stride, offset + i * stride + run). A whole tensor is {0, numel, numel, 1}.
struct Region {
  std::int64_t offset = 0, run = 0, stride = 0, count = 1;
  std::int64_t elements() const { return run * count; }
};

// `data` is one-dimensional, fp32, contiguous, elements() long, any device; region elements in order.
struct Slice {
  std::string name;                  // Hugging Face name; optimizer state behind "adam_m." and "adam_v."
  std::vector<std::int64_t> shape;   // of the whole tensor
  Region region;
  at::Tensor data;
};

// What is saved besides tensors. All ranks pass equal values.
struct Facts {
  std::int64_t step = 0;               // optimizer steps done
  std::string settings_yaml;
  std::string model_config_json;       // config.json of the model folder
  std::map<std::string, std::string> extra;  // small named values: tokens seen, data fingerprint, ...
};

struct SaveRequest {
  std::string root;                 // OUT/checkpoints on this host
  Facts facts;
  std::vector<Slice> weights;       // what this rank writes; together the ranks cover every element exactly once
  std::vector<Slice> state;
  std::int64_t keep = 2;            // complete checkpoints kept, older ones are removed after the manifest stands
};

// Collective over `world`. Returns after the manifest is on disk (rank 0) and all ranks know it. On failure on any rank, all
// ranks throw and no manifest is written. DataError: disk full and the like, with path and cause.
void save(const SaveRequest& request, comm::Channel& world);

// What a checkpoint is, once found. `path` is its folder on this host (parts or manifest may be absent here).
struct Found {
  std::string path;
  Facts facts;
  std::vector<std::string> rejected;  // newer ones passed over, one sentence each (damaged part, missing part, no manifest)
};

// Collective. The newest complete checkpoint over all hosts' `root`s: manifest present somewhere, every part present
// somewhere with the right size and hash. nullopt when there is none at all. Same answer on all ranks.
std::optional<Found> find_newest(const std::string& root, comm::Channel& world);

// Collective. The checkpoint folder the user named; DataError when absent, incomplete or damaged, naming the part.
Found open_at(const std::string& path, comm::Channel& world);

// Collective. Fills every requested slice's `data`: from files on this host where present, else from the lowest rank that has the
// part, in bounded buffers. DataError when a name is unknown or a shape differs, naming both shapes.
void load(const Found& found, const std::vector<Slice>& wanted, comm::Channel& world);

}  // namespace troika::checkpoint

// Checkpoints: tensors by name and global index, written by every rank in parts, complete once the manifest
// is written. Format: docs/formats/checkpoint.md. A folder `step-00000100/` holds
//   model/model-SSSSS-of-NNNNN.safetensors    (Hugging Face names)
//   model/config.json, model/model.safetensors.index.json, model/tokenizer.json, ...   (on every disk)
//   state/state-SSSSS-of-NNNNN.safetensors    (adam_m.NAME, adam_v.NAME)
//   manifest.json                             (on every disk; on world rank 0's last of all files, then on the others)
// Disks may be shared or not: every rank writes its own part under its own root; the manifest lists every part with
// host, size and xxHash; ranks exchange what they miss over the channel when loading. Reading never executes
// anything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "checkpoint/copies.h"
#include "checkpoint/manifest.h"
#include "comm/channel.h"
#include "shape/region.h"
#include "tensor/tensor.h"

namespace troika::checkpoint {

using shape::element_count;
using shape::Region;

// `data` is one-dimensional, fp32 (or half precision, which save() widens and load() rounds to), contiguous, elements() long, any device;
// region elements in order.
struct Slice {
  std::string name;                 // Hugging Face name; optimizer state behind "adam_m." and "adam_v."
  std::vector<std::int64_t> shape;  // of the whole tensor
  Region region;
  tensor::Tensor data;
  std::function<void()> written = {};  // called by save() whenever another MiB of `data` is in the file; may be empty
};

// A file that goes into model/ as it is, on every disk. `content` must outlive the save; equal on all disks.
struct ModelFile {
  std::string name;  // "tokenizer.json"
  std::string_view content;
};

struct SaveRequest {
  std::string root;  // OUT/checkpoints on this host
  Facts facts;
  std::vector<Slice> weights;  // what this rank writes; together the ranks cover every element exactly once
  std::vector<Slice> state;
  std::vector<ModelFile> model_files;  // of the first rank of each disk; others may leave them out
  std::int64_t keep = 2;               // complete checkpoints kept, older ones are removed once the manifest is in place
  std::vector<std::int64_t> protect = {};  // steps that are kept besides
  Copies copies = {};                      // equal on all ranks
  // Where this rank writes the second copy of another's parts: the same slices as that one's.
  std::vector<Slice> weights_again = {}, state_again = {};
};

// Collective over `world`. Returns after the manifest is on every disk and then the second copies are. Parts are read back from the
// disk before they are listed. What people should know is the result, equal on all ranks: second copies that could not be made, disks
// without room for the next one. On failure on any rank, all ranks throw; unless what failed is a copy of the manifest, none is
// written; what has been is removed, before the DataError or, where the save ended otherwise, by the next one. DataError: disk full
// and the like, with path and cause. BugError: the slices of all ranks do not cover every element of every tensor exactly once.
// Memory: about 10 MiB besides the file system's cache, and 8 MiB for slices on a device. A checkpoint of the same step is replaced.
// An old one that cannot be removed is left for the next save to remove.
std::vector<base::Text> save(const SaveRequest& request, comm::Channel& world);

// A checkpoint that was found. `path` is its folder on this host (parts or manifest may be absent here).
struct Found {
  std::string path;
  Facts facts;
  std::vector<Part> parts;
  std::vector<base::Text>
      rejected;  // newer ones passed over, one sentence each (damaged part, missing part, no manifest)
};

// Collective. The newest complete checkpoint over all hosts' `root`s: manifest present somewhere, every part present
// somewhere with the right size and hash. nullopt when there is none; `rejected`, where given, is then set to what was
// passed over, without saves that provably never finished. Same answer on all ranks.
std::optional<Found> find_newest(const std::string& root, comm::Channel& world,
                                 std::vector<base::Text>* rejected = nullptr);

// Collective. The checkpoint folder the user named; DataError when absent, incomplete or damaged, naming the part.
Found open_at(const std::string& path, comm::Channel& world);

// Collective. Fills every requested slice's `data`: from files on this host where present, else from the lowest rank that has
// the part, in bounded buffers. DataError when a name is unknown or a shape differs, naming both shapes. A wanted region may be
// any part of a tensor and ranks may want the same elements. Slices are on the host or on one device, of fp32 or of halves, which are
// rounded once. Memory: 12 MiB besides mapped files, 16 MiB for slices on a device, and 16 MiB where they are halves.
void load(const Found& found, const std::vector<Slice>& wanted, comm::Channel& world);

// Collective. Fills `wanted` by calls of `load`, which fills fp32. Halves come in rounds of at most float_round_elements and are rounded;
// every rank makes as many calls as the one that makes most.
inline constexpr std::int64_t float_round_elements = 4 << 20;
void load_by_floats(const std::vector<Slice>& wanted, comm::Channel& world,
                    const std::function<void(const std::vector<Slice>&)>& load);

// Collective. `path` is a run folder (its newest complete checkpoint is meant), a checkpoints folder or one step's
// folder, on any of the hosts. DataError when there is none, or when it is incomplete, naming the part and the host
// that wrote it.
Found open_any(const std::string& path, comm::Channel& world);

}  // namespace troika::checkpoint

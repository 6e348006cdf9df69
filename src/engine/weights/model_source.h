// The source of a model's weights: a Hugging Face model folder, a run's folder, or an adapter beside one of these.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "comm/channel.h"
#include "config/settings/settings.h"
#include "weights/adapter_source.h"

namespace troika::weights {

class ModelSource : public Source {
 public:
  // The source's own settings: sizes and formulas, `path` set.
  virtual const config::ModelSettings& model() const = 0;
  // "fp32", "bf16", "fp16": the dtype that holds every bit of a folder's weights; of a checkpoint (which is fp32) that
  // of the folder its run began from, if there was one; of an adapter that of its base.
  virtual std::string dtype() const = 0;
  // The facts about the source that checkpoints of a run that begins here keep in Facts::extra (docs/formats/checkpoint.md).
  virtual std::map<std::string, std::string> facts() const = 0;

  // DataError naming every tensor of `model` that the source has not, or has in another shape. `model` may have fewer
  // layers than the source, then the first ones are meant. Every rank by itself; no tensor is read.
  virtual void check(const config::ModelSettings& model) const = 0;

  // Collective over `world`. Fills every slice's `data` (host or device; fp32, or halves, which are rounded once): each rank reads
  // only what it wants, memory-mapped, and what was read leaves its memory again. Errors as of check, on all ranks.
  virtual void load(const config::ModelSettings& model, const std::vector<checkpoint::Slice>& wanted,
                    comm::Channel& world) = 0;
};

// Collective over `world`. `path`: a folder with config.json and *.safetensors, or a GGUF file, of which every host has a copy; a
// checkpoint step-N, a checkpoints folder or a run's folder (its newest complete checkpoint), whose parts may lie on
// several hosts; or an adapter (adapter_source.h), which is added to its base while loading. `base`: the model beside
// the adapter, anything that open_model takes; "": the one that the adapter names.
// DataError if it is not one of these, or when its weights are not what its config.json describes; ConfigError naming
// the rank whose copy of a folder is missing or differs, when the base is not there, or when one is given and `path` is
// no adapter.
std::unique_ptr<ModelSource> open_model(const std::string& path, comm::Channel& world, const std::string& base = "");

// The weights at a path: a whole model, or an adapter with its base.
struct Weights {
  std::unique_ptr<ModelSource> model;
  std::unique_ptr<AdapterSource> adapter;
};

// Collective over `world`; errors as of open_model. The folder `model` of a checkpoint with an adapter is that
// checkpoint.
Weights open_weights(const std::string& path, comm::Channel& world);

// Collective over `world`. `base`: as of open_model. Opens what the adapter is on, which may be adapters again, and
// adds them up. ConfigError when the base is not there; DataError when the adapter is not one of its base, or its base
// is not that of its training and was not named by `base`.
std::unique_ptr<ModelSource> merge_with_base(std::unique_ptr<AdapterSource> adapter, const std::string& base,
                                             comm::Channel& world);

// An adapter added to the weights beside it: W + alpha / rank * B A, in fp32, while they are loaded. Any part of any tensor has the
// same bits, however the ranks cut it. Memory while loading: 64 MiB of the adapter, or one product's, in fp32. DataError when the adapter is not one of its base.
std::unique_ptr<ModelSource> make_merged_source(std::unique_ptr<ModelSource> base,
                                                std::unique_ptr<AdapterSource> adapter);

}  // namespace troika::weights

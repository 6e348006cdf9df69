// The initial state of a run: a checkpoint to resume from, else the weights at model.path, else random ones; and adapters
// beside them from lora.path.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "comm/channel.h"
#include "plan/plan.h"
#include "weights/adapter_source.h"
#include "weights/model_source.h"

namespace troika::train {

// The number of this attempt, and its launch; `launch` as in rendezvous::Identity, alike on all ranks.
struct Attempt {
  std::string launch;
  bool restarted = false;
};

struct InitialState {
  std::optional<checkpoint::Found> found;
  bool same_run = false;              // `found` was saved by this run in its own folder, not named by train.resume
  std::vector<base::Text> notes;     // on the model and adapter that are opened, a sentence each
  std::vector<base::Text> rejected;  // newer checkpoints that are passed over, one sentence each
  // Only where nothing is found, and beside a checkpoint of adapters, which has no other weights; checked against the
  // plan's model. With adapters: where they begin; null: they are new.
  std::unique_ptr<weights::ModelSource> source;
  std::unique_ptr<weights::AdapterSource> adapter;

  // The facts on this run in its checkpoints: the text of a config.json ("": of none), and of Facts::extra.
  std::string config_json;
  std::map<std::string, std::string> facts;
};

// Collective. Finds what train.resume asks for (never: a restarted attempt resumes what its own launch saved) and opens
// model.path where there is nothing to resume from; no tensor is read. DataError when checkpoints are there and none can be used, or the weights are not those of the plan's model, or
// not those beside which adapters of a run were trained. ConfigError when the checkpoint's run trained other parts or a
// model of another shape.
InitialState find_initial_state(const plan::Plan& plan, const Attempt& attempt, comm::Channel& world);

}  // namespace troika::train

// How a run saves its checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "checkpoint/copies.h"
#include "comm/channel.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

namespace troika::train {

struct Saving {
  // from_snapshot: what is saved is copied in memory and written while training runs. in_place: training waits.
  enum class Way { in_place, from_snapshot } way = Way::in_place;
  checkpoint::Copies copies;
  std::vector<base::Text> remarks;           // for people: what is otherwise than they may expect
  std::vector<std::int64_t> snapshot_bytes;  // per world rank; empty: in place
};

// Collective over `world`, before the first step: the same on all ranks. `free_bytes`: of host memory, for this rank, whose device
// says what it takes of that; -1: not known. Messages are timed only where they decide.
Saving decide_saving(const plan::Plan& plan, const tensor::Device& device, std::int64_t free_bytes, comm::Channel& world);

}  // namespace troika::train

// Between a rank's buffers and checkpoints.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "executor/stage_unit.h"

namespace troika::train {

struct Slices {
  std::vector<checkpoint::Slice> weights, state;
};

enum class Copies { owned, all };  // owned: without the tied copy, which another stage writes

Slices slices_of(const std::map<int, std::unique_ptr<executor::StageUnit>>& units, Copies copies);

}  // namespace troika::train

// What a rank knows of its machine, and what all know together.
#pragma once

#include <optional>
#include <string>

#include "comm/channel.h"
#include "config/settings.h"
#include "planner/machines.h"
#include "tensor/tensor.h"

namespace troika::train {

struct MachineHere {
  std::string file;  // planner::machine_file; "": none
  int local_rank = 0, local_size = 1;
  std::optional<planner::ThisMachine> machine;
  std::string why_none;  // where there is no `machine`

  bool probed() const { return machine && machine->rates == planner::ThisMachine::Rates::probed; }
};
// Of a rank on `device`, before anything large is in memory.
MachineHere find_machine(const std::string& file, int local_rank, int local_size, const tensor::Device& device);

// Collective: every rank whose host was never probed times a product of the model's widths, all at once, and rank 0 gets to
// know what all know; elsewhere nothing. `link`: between neighbours, as it was measured.
planner::RunMachines gather_machines(comm::Channel& world, const MachineHere& here, const config::ModelSettings& model,
                                     const schedule::Link& link);

}  // namespace troika::train

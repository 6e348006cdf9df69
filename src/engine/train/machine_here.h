// A rank's knowledge of its machine, and the common knowledge of all ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/channel.h"
#include "comm/rank_channels.h"
#include "config/settings/settings.h"
#include "planner/machines.h"
#include "schedule/simulate/simulator.h"
#include "tensor/streams.h"
#include "tensor/tensor.h"

namespace troika::train {

struct MachineHere {
  std::string file;  // planner::machine_file; "": none
  int local_rank = 0, local_size = 1;
  std::optional<planner::ThisMachine> machine;
  base::Text why_none;  // where there is no `machine`

  bool probed() const { return machine && machine->rates == planner::ThisMachine::Rates::probed; }
};
// The machine of a rank on `device`, before anything large is in memory.
MachineHere find_machine(const std::string& file, int local_rank, int local_size, const tensor::Device& device);

// Collective: every rank whose host was never probed times a product of the model's widths, all at once, and rank 0 gets to
// know what all know; elsewhere nothing. `link`: between neighbours, as it was measured.
planner::RunMachines gather_machines(comm::Channel& world, const MachineHere& here, const config::ModelSettings& model,
                                     const schedule::Link& link);

// How fast messages travel. Collective over a channel of at least two ranks. Every rank sends to the next and receives from the one before, all at
// once: small messages for the latency, 256 KiB for the rate. Returns the slowest, the same on every rank.
schedule::Link measure_link(comm::Channel& world);

// Collective over all ranks, at least two. The same by tensors of the streams' device, over the channels that carry a step's:
// stages and context by messages, replicas and tensor groups by exchanges. By the device's clock; 4 MiB for the rate, of which
// a link between devices takes longer than the start of a message.
schedule::Link measure_link(comm::RankChannels& channels, tensor::Streams& streams);

// Numbers of all ranks side by side. Collective: row r holds rank r's values, in double.
tensor::Tensor gathered(comm::Channel& world, const std::vector<double>& values);

}  // namespace troika::train

#include "train/machine_here.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "comm/collectives.h"
#include "host/cores.h"
#include "kernels/linear.h"
#include "tensor/accelerator.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troika::train {
namespace {

// A product of the model's widths, at most some ten milliseconds on one slow core.
planner::TimedProduct time_product(const config::ModelSettings& model) {
  constexpr std::int64_t largest_width = 1024, rows = 256;
  constexpr double seconds_to_time = 0.01;
  const std::int64_t width = std::min(largest_width, model.hidden), out = std::min(largest_width, model.ffn);
  const tensor::Tensor x = tensor::zeros({rows, width}), w = tensor::zeros({out, width});
  kernels::linear_forward(x, w);
  const double begin = base::monotonic_seconds();
  double seconds = 0, products = 0;
  while (seconds < seconds_to_time) {
    kernels::linear_forward(x, w);
    ++products;
    seconds = base::monotonic_seconds() - begin;
  }
  return {2.0 * static_cast<double>(rows * width * out), 4.0 * static_cast<double>(rows * (width + out) + width * out),
          seconds / products};
}

// What this rank sends of its host.
std::string tell(const MachineHere& here, const config::ModelSettings& model) {
  if (!here.machine) return here.local_rank == 0 ? planner::tell_no_machine(here.why_none) : "";
  const bool scales = !here.probed() && here.machine->cluster.hosts.front().computes_on_cores();
  const planner::TimedProduct product = scales ? time_product(model) : planner::TimedProduct{};
  return here.local_rank == 0 ? planner::tell_machine(*here.machine, here.local_size, product) : "";
}

}  // namespace

MachineHere find_machine(const std::string& file, int local_rank, int local_size, const tensor::Device& device) {
  MachineHere here{file, local_rank, local_size, {}, ""};
  const host::CoresOfLauncher cores;  // all ranks of the host together have them
  try {
    here.machine = device.is_cpu() ? planner::this_machine(file)
                                   : planner::accelerators_of_this_machine(device.accelerator().traits(device).name, local_size);
  } catch (const base::Error& error) {
    here.why_none = error.what();
  }
  return here;
}

planner::RunMachines gather_machines(comm::Channel& world, const MachineHere& here, const config::ModelSettings& model,
                                     const schedule::Link& link) {
  const std::string mine = tell(here, model);
  const auto told = world.size() == 1 ? std::vector<std::string>{mine} : comm::all_gather_text(world, mine);
  return world.rank() == 0 ? planner::machines_of_run(told, link) : planner::RunMachines{};
}

}  // namespace troika::train

#include "train/run_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "plan/plan.h"
#include "tensor/accelerator.h"
#include "train/choose_layout.h"
#include "train/fit_batch.h"
#include "train/measure_segments.h"
#include "train/product_choices.h"
#include "train/run_meeting.h"
#include "train/warm_up.h"

namespace troika::train {

Hardware find_hardware(const RankContext& context) {
  const config::Settings& s = context.resolved.settings;
  const rendezvous::Identity& me = context.identity;
  Machine machine = prepare_machine(context);
  const auto stated_device = config::word_or(s.train.device, config::DeviceKind::numbered);
  if (s.parallel.offload == config::Offload::host && machine.device.is_cpu() &&
      stated_device == config::DeviceKind::automatic)
    say(context,
        base::say("note: parallel.offload host changes nothing on a CPU; 'file' takes the state out of memory"));
  MachineHere here = find_machine(context.machine_file, me.local_rank, me.local_size, machine.device);
  return {std::move(machine), std::move(here)};
}

// parallel.stage_balance measured: rank 0 measures, and all cut the stages alike.
static config::Resolved with_measured_costs(Session& session, config::Resolved resolved, const plan::DataFacts& facts,
                                     const tensor::Device& device) {
  auto& parallel = resolved.settings.parallel;
  if (parallel.stage_balance != config::StageBalance::measured || resolved.settings.parallel.pp == 1) return resolved;
  session.at(0, records::Activity::measuring_segments);
  const std::string costs = session.collectives().broadcast_text("segment costs", [&] {
    return fmt::format("{:.6g}", fmt::join(measure_segments(resolved, facts, device), " "));
  });
  for (const std::string& word : base::split(costs, ' ')) {
    double seconds = 0;
    if (!base::parse_double(word, &seconds)) throw base::BugError("measured costs '" + costs + "' are no numbers");
    parallel.stage_costs.push_back(seconds);
  }
  parallel.stage_balance = config::ParallelSettings{}.stage_balance;
  return resolved;
}

config::Resolved agree_on_settings(Session& session, const RankContext& context,
                                   const std::optional<planner::Fixed>& open_layout, const RunData& data,
                                   const Hardware& hardware) {
  const Machine& machine = hardware.machine;
  const config::Resolved chosen =
      open_layout ? with_chosen_layout(session, context, *open_layout, hardware.here, data.facts) : context.resolved;
  session.at(0, records::Activity::agreeing);
  session.agree("settings", settings_facts(chosen.settings, data.fingerprint(), machine));
  config::Resolved resolved = decided(chosen, machine);
  if (machine.backend == config::Backend::nccl)
    resolved.ranks_per_host = ranks_of_each_host(session, context.identity);
  if (!machine.device.is_cpu())
    machine.device.accelerator().set_repeatable(config::repeatable(resolved.settings.parallel.reproducible));
  return resolved;
}

plan::Plan make_run_plan(Session& session, const RankContext& context, config::Resolved resolved, const RunData& data,
                         const Machine& machine) {
  resolved = with_measured_costs(session, std::move(resolved), data.facts, machine.device);
  resolved = with_fitting_batch(session, context, std::move(resolved), data.facts, machine);
  plan::Plan plan = plan::make_plan(std::move(resolved), data.facts);
  check_free_memory(context, plan, machine);
  check_messages(plan, machine);
  check_gpu_bits(context, plan, machine);
  session.agree("program", program_facts(plan));
  return plan;
}

void warm_device(Session& session, const RankContext& context, const plan::Plan& plan, const Machine& machine) {
  const auto pass_once = [&] {
    warm_up(plan, mesh::coordinate_of(plan.shape, context.identity.world_rank), machine.device);
  };
  if (context.resolved.settings.train.products == config::Products::measured) {
    session.at(0, records::Activity::measuring_products);
    choose_products(session, context, machine.device, pass_once);
  } else if (machine.backend == config::Backend::nccl && context.identity.world_size > 1) {
    session.at(0, records::Activity::warming_device);
    pass_once();
  }
}

Saving connect_run(Session& session, const RankContext& context, plan::Plan* plan, const Machine& machine,
                   Saves saves) {
  connect(session, context, plan->shape, machine);
  if (saves == Saves::no) return {};
  session.connect_savers();
  Saving saving = decide_saving(*plan, machine.device, free_host_bytes(context), *session.channels().saving);
  if (!saving.snapshot_bytes.empty()) plan::count_snapshots(plan, saving.snapshot_bytes);
  return saving;
}

}  // namespace troika::train

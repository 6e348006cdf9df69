// The stages of a run between its meeting and its first step: hardware, settings, plan, warm-up, groups. All are collective but
// find_hardware.
#pragma once

#include <optional>

#include "plan/plan.h"
#include "planner/search.h"
#include "train/machine_here.h"
#include "train/rank_context.h"
#include "train/run_data.h"
#include "train/saving.h"
#include "train/session.h"

namespace troika::train {

// What this rank computes with, and what is known of its machine.
struct Hardware {
  Machine machine;
  MachineHere here;
};
Hardware find_hardware(const RankContext& context);

// The settings that all ranks train with, with what was decided here written in. `open_layout`: parallel.layout auto; what is
// stated of the layout. ConfigError on every rank when settings, build or data differ between ranks.
config::Resolved agree_on_settings(Session& session, const RankContext& context,
                                   const std::optional<planner::Fixed>& open_layout, const RunData& data,
                                   const Hardware& hardware);

// The same on all ranks. ConfigError when a rank lacks the memory or the plan cannot run on this hardware.
plan::Plan make_run_plan(Session& session, const RankContext& context, config::Resolved resolved, const RunData& data,
                         const Machine& machine);

// Chooses products and loads kernels, while no message is under way.
void warm_device(Session& session, const RankContext& context, const plan::Plan& plan, const Machine& machine);

enum class Saves { no, yes };
// Builds the groups of the plan's ranks, and decides how the run saves its checkpoints, whose snapshots the plan then counts.
Saving connect_run(Session& session, const RankContext& context, plan::Plan* plan, const Machine& machine, Saves saves);

}  // namespace troika::train

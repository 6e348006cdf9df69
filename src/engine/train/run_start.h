// The stages of a run before its first step: folder, data, hardware, settings, plan, warm-up, groups. All are collective but
// find_hardware.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/samples.h"
#include "plan/plan.h"
#include "planner/search.h"
#include "records/run_state.h"
#include "train/machine_here.h"
#include "train/rank_context.h"
#include "train/run_lock.h"
#include "train/saver.h"
#include "train/session.h"

namespace troika::train {

// Collective. Locks the run's folder: the first rank of every host gets the lock, the others null, as do all without train.out.
// ConfigError when another run has it.
std::unique_ptr<RunLock> lock_folder(Session& session, const RankContext& context);

// Collective: host and process of every rank.
std::vector<records::RankPlace> places_of_ranks(Session& session);

// Collective. 0 where hosts have unlike numbers.
int ranks_of_each_host(Session& session, const rendezvous::Identity& me);

// The sizes of microbatches of an evaluation, each sample once and in order; null where all samples are full. `samples` must
// outlive it.
plan::SizesOf sizes_of_evaluation(const data::Samples& samples);

// Those of a training, and where they are larger of the evaluations beside it; `valid` may be null.
plan::SizesOf sizes_of_run(std::shared_ptr<const data::Samples> samples, std::shared_ptr<const data::Samples> valid,
                           const config::Settings& settings);

// The data that a run trains and evaluates on.
struct RunData {
  std::shared_ptr<const data::Samples> samples, valid;  // valid: null without data.valid and data.valid_share
  std::vector<data::SourcePart> valid_sources;
  plan::DataFacts facts;
  config::DataSettings read;  // as the settings say, with the run's own tokenizer and chat template

  std::string fingerprint() const;
};

// Not collective; see open_data (rank_context.h). ConfigError without data.train.
RunData open_run_data(const RankContext& context);

// The data of samples that are in memory, of a vocabulary of `vocab` tokens.
RunData data_of(std::shared_ptr<const data::Samples> samples, std::int64_t vocab, const config::Settings& settings);

// The hardware that this rank computes with, and what is known of its machine.
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

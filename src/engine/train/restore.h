// Sets the parameters and optimizer state that a rank answers for from what a run starts with.
#pragma once

#include <functional>
#include <string>

#include "executor/executor.h"
#include "plan/plan.h"
#include "train/initial_state.h"

namespace troika::train {

// References must outlive the call.
struct RestoreTarget {
  const plan::Plan& plan;
  const executor::Place& place;
  const executor::Units& units;
  tensor::Ledger& ledger;
  comm::Channel& world;
  std::function<void(const base::Text&)> note;  // for people
};

// Empty when a resumed run has the bits of one that was not interrupted, as far as settings decide it, or when
// parallel.reproducible is off; else a sentence that says what differs. ConfigError where `bits` is asked for.
base::Text differences_from(const checkpoint::Found& found, const config::Settings& now);

// Collective: from the checkpoint that `initial` has, else from its weights and adapters, else random values by the seed.
// Executor::publish_parameters makes them everybody's.
void restore_parameters(const InitialState& initial, const RestoreTarget& target);

// Collective: what is trained, with its optimizer state, as the checkpoint has it.
void restore_trained(const checkpoint::Found& found, const RestoreTarget& target);

}  // namespace troika::train

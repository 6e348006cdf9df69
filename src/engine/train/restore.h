// Sets the parameters and optimizer state that a rank answers for from what a run starts with.
#pragma once

#include <cstdint>
#include <functional>

#include "base/language.h"
#include "config/settings/settings.h"
#include "executor/executor.h"
#include "plan/plan.h"
#include "train/initial_state.h"

namespace troika::train {

// References must outlive the call.
struct RestoreTarget {
  const plan::Plan& plan;
  const executor::Place& place;
  const executor::Units& units;
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

// Where in the data a run is.
struct DataPosition {
  std::int64_t seen = 0;     // samples, over all epochs
  std::int64_t samples = 0;  // in an epoch

  bool within_epoch() const { return samples > 0 && seen % samples != 0; }
};

// ConfigError where the samples come in another order from the middle of an epoch on: some of it would be seen twice, and some never.
void refuse_other_order(const config::Settings& saved, const config::Settings& now, const DataPosition& at);

// The changes of learning rate, optimizer, dropout and order: a sentence with both values of each, or nothing. Steps of
// warm-up and decay count where train.steps is the same, which they follow from.
base::Text changed_settings(const config::Settings& saved, const config::Settings& now);

// "the global batch was 4 and is 8: 2 of 6 steps remain", or nothing.
base::Text changed_batch(const config::Settings& saved, const config::Settings& now, std::int64_t done,
                         std::int64_t steps);

// The steps of the whole run where its epochs decide, `done` of them made: what is left of the epochs is cut into steps of
// today's global batch.
std::int64_t steps_of_epochs(double epochs, const DataPosition& at, std::int64_t done, std::int64_t global_batch);

}  // namespace troika::train

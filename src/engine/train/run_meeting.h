// The first stage of a run: its ranks meet, the folder is theirs, and each knows where the others are.
#pragma once

#include <memory>
#include <vector>

#include "records/run_state.h"
#include "train/rank_context.h"
#include "train/run_lock.h"
#include "train/session.h"

namespace troika::train {

// Collective. Locks the run's folder: the first rank of every host gets the lock, the others null, as do all without train.out.
// ConfigError when another run has it.
std::unique_ptr<RunLock> lock_folder(Session& session, const RankContext& context);

// Collective: host and process of every rank.
std::vector<records::RankPlace> places_of_ranks(Session& session);

// Collective. 0 where hosts have unlike numbers.
int ranks_of_each_host(Session& session, const rendezvous::Identity& me);

}  // namespace troika::train

#include "launch/worker_end.h"

#include "base/host_name.h"

namespace troika::launch {

records::Party party_of(const host::Worker& worker) {
  return {worker.plan.world_rank, -1, base::host_name(), worker.process.pid()};
}

records::Incident end_of(const host::Worker& worker, std::int64_t memory_kills) {
  records::Incident end;
  end.kind = worker.signal == 0 ? records::IncidentKind::rank_exited : records::IncidentKind::rank_killed;
  end.who = party_of(worker);
  end.exit_code = worker.exit_code;
  end.signal = worker.signal;
  end.count = memory_kills;
  return end;
}

}  // namespace troika::launch

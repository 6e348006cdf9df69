#include "config/micro_batch.h"

#include <algorithm>

#include "config/batch_quantities.h"

namespace troika::config {
namespace {

Batch batch_of(Batch solved, std::int64_t micro, std::int64_t microbatches_per_rank, std::int64_t dp) {
  solved.micro = micro;
  solved.microbatches_per_rank = microbatches_per_rank;
  solved.microbatches = microbatches_per_rank * dp;
  solved.global = micro * solved.microbatches;
  return solved;
}

}  // namespace

std::vector<Batch> batch_candidates(const BatchSettings& stated, const Batch& solved, std::int64_t dp) {
  std::vector<Batch> batches;
  if (!stated.find_micro_batch_size) return batches;
  if (!states(stated, BatchQuantity::total)) {
    for (std::int64_t power = 1; power <= most_free_micro_batch; power *= 2) {
      batches.push_back(batch_of(solved, power, solved.microbatches_per_rank, dp));
      if (power > 1 && power < most_free_micro_batch)
        batches.push_back(batch_of(solved, power / 2 * 3, solved.microbatches_per_rank, dp));
    }
    return batches;
  }
  const std::int64_t per_rank = solved.micro * solved.microbatches_per_rank;
  for (std::int64_t micro = 1; micro <= std::min(per_rank, most_micro_batch); ++micro) {
    if (per_rank % micro == 0 && per_rank / micro % stated.accumulation == 0)
      batches.push_back(batch_of(solved, micro, per_rank / micro, dp));
  }
  return batches;
}

Batch solve_open_batch(const BatchSettings& stated, std::int64_t dp, Findings* findings) {
  Findings tried = *findings;
  const Batch batch = solve_batch(stated, dp, &tried);
  const bool is_open = stated.find_micro_batch_size && states(stated, BatchQuantity::total);
  if (tried.errors.size() == findings->errors.size() || !is_open) {
    *findings = std::move(tried);
    return batch;
  }
  BatchSettings open = stated;
  clear(&open, BatchQuantity::micro);
  clear(&open, BatchQuantity::microbatches);
  return solve_batch(open, dp, findings);
}

BatchSettings pinned(const Batch& batch) {
  BatchSettings settings;
  settings.seq_len = batch.seq_len;
  settings.micro_batch_size = batch.micro;
  settings.global_batch_size = batch.global;
  settings.microbatches = batch.microbatches_per_rank;
  return settings;
}

Resolved with_batch(Resolved resolved, const Batch& batch) {
  resolved.batch = batch;
  resolved.batch_candidates.clear();
  resolved.settings.batch = pinned(batch);
  return resolved;
}

}  // namespace troika::config

// The batch arithmetic of resolve.h: from the settings of section batch, in whichever of them they are stated, to the three quantities of a run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/language.h"
#include "config/resolve.h"
#include "config/settings/settings.h"

namespace troika::config {

// The results of a check, one sentence each.
struct Findings {
  std::vector<base::Text> errors;
  std::vector<base::Text> notes;
};

// Solves the three quantities for `dp` ranks. On an error (in `findings`) the result is not meaningful.
// All numbers of `settings` and dp are at least 1.
Batch solve_batch(const BatchSettings& settings, std::int64_t dp, Findings* findings);

// The same where the shares of the data-parallel ranks say how many microbatches a step has (parallel.shares).
Batch solve_batch_of_shares(const BatchSettings& settings, const std::vector<std::int64_t>& shares, Findings* findings);

// "48 and 64 are the nearest that are", the multiples of `unit` around `value` ("8 is the nearest that is").
base::Text nearest_multiples(std::int64_t value, std::int64_t unit);

// solve_batch; with find_micro_batch_size, sequences per forward and microbatches that contradict the stated sequences
// per step are left out.
Batch solve_open_batch(const BatchSettings& stated, std::int64_t dp, Findings* findings);

// With find_micro_batch_size the batches that a run may choose from, ascending by micro. Where sequences per step are stated they stay, so these are all
// divisors up to most_micro_batch that leave a multiple of `accumulation` microbatches; else the microbatches of
// `solved` stay, and the sizes are 1, 2, 3, 4, 6, 8, 12, ... up to most_free_micro_batch. Empty without it.
std::vector<Batch> batch_candidates(const BatchSettings& stated, const Batch& solved, std::int64_t dp);
inline constexpr std::int64_t most_free_micro_batch = 4096, most_micro_batch = 65536;

// The same sequences of a step in microbatches of another size.
Batch with_micro(Batch batch, std::int64_t micro, std::int64_t dp);

// The three quantities in their plain spelling, so that every way to ask for one run prints the same.
BatchSettings pinned(const Batch& batch);

// The run with this batch, in its settings too; the question is answered then.
Resolved with_batch(Resolved resolved, const Batch& batch);

enum class BatchQuantity {
  micro,         // sequences in one forward pass
  microbatches,  // per data-parallel rank and step
  total,         // sequences per step
};

// A setting that states one of them.
struct BatchSpelling {
  std::string_view name;
  BatchQuantity quantity;
  enum class Per { step, round } per;  // round: it counts one accumulation round, so `accumulation` multiplies it
  std::optional<std::int64_t> BatchSettings::*member;
};

// Where two spellings of one quantity are given, the first is taken and the other must agree.
inline constexpr std::array<BatchSpelling, 6> batch_spellings{{
    {"micro_batch_size", BatchQuantity::micro, BatchSpelling::Per::step, &BatchSettings::micro_batch_size},
    {"microbatches", BatchQuantity::microbatches, BatchSpelling::Per::step, &BatchSettings::microbatches},
    {"num_microbatches", BatchQuantity::microbatches, BatchSpelling::Per::round, &BatchSettings::num_microbatches},
    {"batch_size", BatchQuantity::total, BatchSpelling::Per::round, &BatchSettings::batch_size},
    {"global_batch_size", BatchQuantity::total, BatchSpelling::Per::step, &BatchSettings::global_batch_size},
    {"total_batch_size", BatchQuantity::total, BatchSpelling::Per::step, &BatchSettings::total_batch_size},
}};

bool states(const BatchSettings& settings, BatchQuantity quantity);
void clear(BatchSettings* settings, BatchQuantity quantity);  // all its spellings; not accumulation

// A number with its name, as in "dp 2".
using Factor = std::pair<std::string, std::int64_t>;

// A quantity as it is stated.
struct StatedNumber {
  std::string name;  // of the setting
  std::int64_t value = 0;
  BatchSpelling::Per per = BatchSpelling::Per::step;
  std::vector<Factor> scale;  // of a total: what a rank's sequences are multiplied by (dp; seq_len and dp; nothing)

  std::int64_t positions() const { return scale.size() > 1 ? scale.front().second : 1; }  // of a sequence, as the total counts
};

struct BatchQuantities {
  std::int64_t rounds = 1;  // accumulation; the microbatches of a rank and step are a multiple of it
  std::optional<std::int64_t> micro;
  std::optional<StatedNumber> microbatches;
  std::vector<StatedNumber> totals;

  std::int64_t rounds_of(const StatedNumber& stated) const {
    return stated.per == BatchSpelling::Per::round ? rounds : 1;
  }
};

// Errors, in `findings`: microbatches in two spellings that differ, or not a multiple of accumulation.
BatchQuantities quantities_of(const BatchSettings& settings, std::int64_t dp, Findings* findings);

// Products saturate.
std::int64_t times(std::int64_t a, std::int64_t b);
std::int64_t divide_up(std::int64_t a, std::int64_t b);  // of at least 1
std::int64_t product_of(const std::vector<Factor>& factors);

// "micro_batch_size 16 x dp 2 = 32", every factor named.
std::string all_factors(const std::vector<Factor>& factors);

}  // namespace troika::config

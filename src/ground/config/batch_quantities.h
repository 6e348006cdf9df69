// The batch of a run as three quantities, in whichever of the settings of section batch they are stated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace troika::config {

struct Findings;

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
std::int64_t product_of(const std::vector<Factor>& factors);

// "micro_batch_size 16 x dp 2 = 32", every factor named.
std::string all_factors(const std::vector<Factor>& factors);

}  // namespace troika::config

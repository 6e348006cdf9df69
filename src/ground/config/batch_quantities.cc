#include "config/batch_quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/say.h"
#include "base/text.h"
#include "config/batch.h"

namespace troika::config {
namespace {

std::vector<Factor> scale_of(const BatchSpelling& spelling, const BatchSettings& settings, std::int64_t dp) {
  if (spelling.member == &BatchSettings::global_batch_size) return {{"dp", dp}};
  if (spelling.member == &BatchSettings::total_batch_size) return {{"seq_len", settings.seq_len}, {"dp", dp}};
  return {};
}

void check_microbatches(const BatchQuantities& quantities, const BatchSettings& s, Findings* findings) {
  if (!quantities.microbatches) return;
  const std::vector<Factor> by_rounds{{"num_microbatches", s.num_microbatches.value_or(1)},
                                      {"accumulation", s.accumulation}};
  if (s.microbatches && s.num_microbatches && *s.microbatches != product_of(by_rounds)) {
    findings->errors.push_back(base::say("batch.microbatches {} is not {}: leave one of them out", *s.microbatches, all_factors(by_rounds)));
  } else if (s.microbatches && *s.microbatches % s.accumulation != 0) {
    findings->errors.push_back(base::say("batch.microbatches {} is not a multiple of accumulation {}: {}", *s.microbatches, s.accumulation,
                                         nearest_multiples(*s.microbatches, s.accumulation)));
  }
}

}  // namespace

bool states(const BatchSettings& settings, BatchQuantity quantity) {
  return std::any_of(batch_spellings.begin(), batch_spellings.end(), [&](const BatchSpelling& spelling) {
    return spelling.quantity == quantity && (settings.*spelling.member).has_value();
  });
}

void clear(BatchSettings* settings, BatchQuantity quantity) {
  for (const BatchSpelling& spelling : batch_spellings) {
    if (spelling.quantity == quantity) (settings->*spelling.member).reset();
  }
}

BatchQuantities quantities_of(const BatchSettings& settings, std::int64_t dp, Findings* findings) {
  BatchQuantities quantities;
  quantities.rounds = settings.accumulation;
  for (const BatchSpelling& spelling : batch_spellings) {
    const std::optional<std::int64_t>& value = settings.*spelling.member;
    if (!value) continue;
    StatedNumber stated{std::string(spelling.name), *value, spelling.per, scale_of(spelling, settings, dp)};
    if (spelling.quantity == BatchQuantity::micro) {
      quantities.micro = value;
    } else if (spelling.quantity == BatchQuantity::total) {
      quantities.totals.push_back(std::move(stated));
    } else if (!quantities.microbatches) {
      quantities.microbatches = std::move(stated);
    }
  }
  check_microbatches(quantities, settings, findings);
  return quantities;
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

std::int64_t product_of(const std::vector<Factor>& factors) {
  std::int64_t product = 1;
  for (const auto& factor : factors) product = times(product, factor.second);
  return product;
}

std::string all_factors(const std::vector<Factor>& factors) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : factors) parts.push_back(fmt::format("{} {}", name, value));
  return fmt::format("{} = {}", base::join(parts, " x "), product_of(factors));
}

}  // namespace troika::config

#include "config/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/text.h"

namespace troika::config {
namespace {

constexpr std::int64_t default_batch_size = 16;
constexpr std::int64_t default_microbatches = 4;
constexpr std::int64_t most_tokens = std::int64_t{1} << 50;

using Factor = std::pair<std::string, std::int64_t>;

std::int64_t times(std::int64_t a, std::int64_t b) {  // saturates
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

std::int64_t product_of(const std::vector<Factor>& factors) {
  std::int64_t product = 1;
  for (const auto& factor : factors) product = times(product, factor.second);
  return product;
}

// "micro_batch_size 16 x seq_len 2048 x dp 2 = 65536"; factors of 1 are left out.
std::string spell(const std::vector<Factor>& factors, std::int64_t product) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : factors) {
    if (value != 1) parts.push_back(fmt::format("{} {}", name, value));
  }
  const std::string text = base::join(parts, " x ");
  return parts.size() > 1 || product != product_of(factors) ? fmt::format("{} = {}", text, product) : text;
}

// One stated spelling of the sequences per step. sequences per rank and step x numerator = value x denominator.
struct Total {
  std::string name;
  std::int64_t value;
  std::vector<Factor> scale;  // global: dp; total: seq_len x dp; batch_size: none
  std::int64_t rounds;        // batch_size: accumulation; else 1
};

class Solver {
 public:
  Solver(const BatchSettings& settings, std::int64_t dp, Findings* findings)
      : s_(settings), dp_(dp), findings_(findings) {}

  Batch solve() {
    collect();
    const std::size_t before = findings_->errors.size();
    if (number_) compare_numbers();
    if (findings_->errors.size() != before) return {};
    if (!micro_ && !number_ && totals_.empty()) {
      take_defaults();
    } else if (totals_.empty()) {
      fill_without_total();
    } else {
      fill_from(totals_.front());
    }
    if (findings_->errors.size() != before) return {};
    for (const auto& total : totals_) compare(total);
    return finish();
  }

 private:
  void collect() {
    micro_ = s_.micro_batch_size;
    if (s_.microbatches) {
      number_ = s_.microbatches;
    } else if (s_.num_microbatches) {
      number_ = times(*s_.num_microbatches, s_.accumulation);
    }
    if (s_.batch_size) totals_.push_back({"batch_size", *s_.batch_size, {}, s_.accumulation});
    if (s_.global_batch_size) totals_.push_back({"global_batch_size", *s_.global_batch_size, {{"dp", dp_}}, 1});
    if (s_.total_batch_size) {
      totals_.push_back({"total_batch_size", *s_.total_batch_size, {{"seq_len", s_.seq_len}, {"dp", dp_}}, 1});
    }
  }

  void take_defaults() {
    micro_ = default_batch_size / default_microbatches;
    number_ = times(default_microbatches, s_.accumulation);
  }

  void fill_without_total() {
    if (!number_) number_ = s_.accumulation;
    if (micro_) return;
    const std::int64_t rounds = s_.num_microbatches ? *s_.num_microbatches : *number_;
    micro_ = std::max<std::int64_t>(1, default_batch_size / rounds);
    if (*micro_ * rounds != default_batch_size) {
      findings_->notes.push_back(
          fmt::format("the default batch_size of {} does not divide into {} microbatches, so each has {}",
                      default_batch_size, rounds, sequences(*micro_)));
    }
  }

  static bool is_accumulation(const Factor& factor) { return factor.first == "accumulation"; }

  // The factors that the sequences per rank and step must be a multiple of.
  std::vector<Factor> needed(const Total& total) const {
    const Factor rounds{"accumulation", s_.accumulation};
    if (micro_) return {{"micro_batch_size", *micro_}, rounds};
    if (!number_) return {rounds};
    if (!s_.microbatches) return {{"num_microbatches", *s_.num_microbatches}, rounds};
    return {{"microbatches", *number_}};
  }

  void fill_from(const Total& total) {
    if (micro_ && number_) return;
    std::vector<Factor> factors = needed(total);
    std::int64_t unit = product_of(factors);
    if (total.name == "batch_size") {
      unit /= std::gcd(unit, total.rounds);
      if (factors.front().first == "microbatches") factors = {{"microbatches / accumulation", unit}};
      factors.erase(std::remove_if(factors.begin(), factors.end(), is_accumulation), factors.end());
    }
    factors.insert(factors.begin() + (factors.empty() ? 0 : 1), total.scale.begin(), total.scale.end());
    unit = times(unit, product_of(total.scale));
    if (total.value % unit != 0) return refuse(total, factors, unit);
    const std::int64_t per_rank = times(total.value / product_of(total.scale), total.rounds);
    if (micro_) {
      number_ = per_rank / *micro_;
    } else if (number_) {
      micro_ = per_rank / *number_;
    } else {
      choose_number(total, per_rank / s_.accumulation);
    }
  }

  void refuse(const Total& total, const std::vector<Factor>& factors, std::int64_t unit) {
    findings_->errors.push_back(fmt::format("batch.{} {}{} is not a multiple of {}: {}", total.name, total.value,
                                            total.name == "total_batch_size" ? " tokens" : "", spell(factors, unit),
                                            nearest_multiples(total.value, unit)));
  }

  // `round`: sequences per rank and accumulation round.
  void choose_number(const Total& total, std::int64_t round) {
    std::int64_t number = std::min(default_microbatches, round);
    while (round % number != 0) --number;
    micro_ = round / number;
    number_ = times(number, s_.accumulation);
    if (number == default_microbatches) return;
    findings_->notes.push_back(
        fmt::format("batch.{} {} does not divide into the default of {} microbatches, so it is {} of {}", total.name,
                    total.value, default_microbatches, number, sequences(*micro_)));
  }

  void compare(const Total& total) {
    const std::int64_t per_rank = times(*micro_, *number_);
    const std::int64_t scale = product_of(total.scale);
    if (times(total.value, total.rounds) == times(per_rank, scale)) return;
    std::vector<Factor> factors{{"micro_batch_size", *micro_}, {"microbatches", *number_}};
    factors.insert(factors.end(), total.scale.begin(), total.scale.end());
    std::string rounds = total.rounds > 1 ? fmt::format(" x accumulation {}", total.rounds) : "";
    findings_->errors.push_back(fmt::format("batch.{} {}{} is not {}: leave one of them out, and it is derived",
                                            total.name, total.value, rounds,
                                            all_factors(factors, times(per_rank, scale))));
  }

  static std::string all_factors(const std::vector<Factor>& factors, std::int64_t product) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : factors) parts.push_back(fmt::format("{} {}", name, value));
    return fmt::format("{} = {}", base::join(parts, " x "), product);
  }

  void compare_numbers() {
    const std::int64_t rounds = s_.accumulation;
    if (s_.microbatches && s_.num_microbatches && *s_.microbatches != times(*s_.num_microbatches, rounds)) {
      findings_->errors.push_back(
          fmt::format("batch.microbatches {} is not {}: leave one of them out", *s_.microbatches,
                      all_factors({{"num_microbatches", *s_.num_microbatches}, {"accumulation", rounds}},
                                  times(*s_.num_microbatches, rounds))));
    } else if (*number_ % rounds != 0) {
      findings_->errors.push_back(fmt::format("batch.microbatches {} is not a multiple of accumulation {}: {}",
                                              *number_, rounds, nearest_multiples(*number_, rounds)));
    }
  }

  Batch finish() {
    Batch batch;
    batch.micro = *micro_;
    batch.microbatches_per_rank = *number_;
    batch.microbatches = times(*number_, dp_);
    batch.global = times(batch.microbatches, *micro_);
    batch.seq_len = s_.seq_len;
    if (times(batch.global, s_.seq_len) > most_tokens) {
      findings_->errors.push_back(
          fmt::format("batch: micro_batch_size {} x microbatches {} x dp {} x seq_len {} is more than "
                      "2^50 tokens per step: give a smaller one",
                      *micro_, *number_, dp_, s_.seq_len));
    }
    return batch;
  }

  static std::string sequences(std::int64_t count) {
    return fmt::format("{} sequence{}", count, count == 1 ? "" : "s");
  }

  const BatchSettings& s_;
  std::int64_t dp_;
  Findings* findings_;
  std::optional<std::int64_t> micro_;
  std::optional<std::int64_t> number_;  // microbatches per rank and step
  std::vector<Total> totals_;
};

}  // namespace

Batch solve_batch(const BatchSettings& settings, std::int64_t dp, Findings* findings) {
  return Solver(settings, dp, findings).solve();
}

std::string nearest_multiples(std::int64_t value, std::int64_t unit) {
  const std::int64_t below = value / unit * unit;
  const std::int64_t above = below > std::numeric_limits<std::int64_t>::max() - unit ? below : below + unit;
  if (below == 0) return fmt::format("{} is the nearest that is", above);
  return fmt::format("{} and {} are the nearest that are", below, above);
}

}  // namespace troika::config

#include "config/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/say.h"
#include "base/text.h"

namespace troika::config {
namespace {

constexpr std::int64_t default_batch_size = 16;
constexpr std::int64_t default_microbatches = 4;
constexpr std::int64_t most_tokens = std::int64_t{1} << 50;

// "micro_batch_size 16 x seq_len 2048 x dp 2 = 65536"; factors of 1 are left out.
std::string spell_unit(const std::vector<Factor>& factors) {
  std::vector<Factor> named;
  for (const Factor& factor : factors) {
    if (factor.second != 1) named.push_back(factor);
  }
  if (named.size() > 1) return all_factors(named);
  return named.empty() ? "" : fmt::format("{} {}", named.front().first, named.front().second);
}

// From what is stated to sequences in one forward and microbatches per rank and step.
class BatchSolver {
 public:
  BatchSolver(BatchQuantities stated, Findings* findings)
      : stated_(std::move(stated)), findings_(findings), micro_(stated_.micro) {
    if (stated_.microbatches) number_ = times(stated_.microbatches->value, stated_.rounds_of(*stated_.microbatches));
  }

  void solve() {
    const std::size_t before = findings_->errors.size();
    if (!micro_ && !number_ && stated_.totals.empty()) {
      take_defaults();
    } else if (stated_.totals.empty()) {
      fill_without_total();
    } else {
      fill_from(stated_.totals.front());
    }
    if (findings_->errors.size() != before) return;
    for (const StatedNumber& total : stated_.totals) compare(total);
  }

  // Sequences of a step.
  std::int64_t global(std::int64_t dp) const { return uneven_total_.value_or(times(times(microbatches(), dp), micro())); }

  std::int64_t micro() const { return micro_.value_or(1); }
  std::int64_t microbatches() const { return number_.value_or(1); }

 private:
  void take_defaults() {
    micro_ = default_batch_size / default_microbatches;
    number_ = times(default_microbatches, stated_.rounds);
  }

  void fill_without_total() {
    if (!number_) number_ = stated_.rounds;
    if (micro_) return;
    const std::int64_t count = stated_.microbatches->value;
    micro_ = std::max<std::int64_t>(1, default_batch_size / count);
    if (*micro_ * count != default_batch_size) {
      findings_->notes.push_back(
          base::say("the default batch_size of {} does not divide into {} microbatches, so each has {}", default_batch_size, count,
                    base::counted_text(*micro_, "sequence")));
    }
  }

  // The factors of which the number of a rank's sequences must be a multiple, per round or per step as the total counts.
  std::vector<Factor> unit_of(const StatedNumber& total) const {
    const bool in_rounds = total.per == BatchSpelling::Per::round;
    const Factor rounds{"accumulation", stated_.rounds};
    std::vector<Factor> unit;
    if (!micro_ && number_ && stated_.microbatches->per == BatchSpelling::Per::step) {
      if (!in_rounds) return {{"microbatches", *number_}};
      return {{"microbatches / accumulation", *number_ / stated_.rounds}};
    }
    if (micro_) {
      unit.emplace_back("micro_batch_size", *micro_);
    } else if (number_) {
      unit.emplace_back(stated_.microbatches->name, stated_.microbatches->value);
    }
    if (!in_rounds) unit.push_back(rounds);
    return unit;
  }

  void fill_from(const StatedNumber& total) {
    if (micro_ && number_) return;
    std::vector<Factor> unit = unit_of(total);
    unit.insert(unit.begin() + (unit.empty() ? 0 : 1), total.scale.begin(), total.scale.end());
    if (total.value % product_of(unit) != 0) return may_be_uneven(total) ? distribute(total) : refuse(total, unit);
    const std::int64_t per_rank = times(total.value / product_of(total.scale), stated_.rounds_of(total));
    if (micro_) {
      number_ = per_rank / *micro_;
    } else if (number_) {
      micro_ = per_rank / *number_;
    } else {
      choose_number(total, per_rank / stated_.rounds);
    }
  }

  void refuse(const StatedNumber& total, const std::vector<Factor>& unit) {
    const bool in_tokens = total.scale.size() > 1;
    findings_->errors.push_back(base::say("batch.{} {}{} is not a multiple of {}: {}", total.name, total.value,
                                          in_tokens ? base::say(" tokens") : base::Text{}, spell_unit(unit),
                                          nearest_multiples(total.value, product_of(unit))));
  }

  // The total is of all ranks, and nothing determines how many microbatches each has.
  bool may_be_uneven(const StatedNumber& total) const {
    return !number_ && stated_.rounds == 1 && !total.scale.empty() && total.value % total.positions() == 0;
  }

  // The step's last microbatch may be smaller, and some ranks have fewer than others.
  void distribute(const StatedNumber& total) {
    const std::int64_t sequences = total.value / total.positions(), dp = product_of(total.scale) / total.positions();
    if (!micro_) micro_ = std::max<std::int64_t>(1, sequences / times(default_microbatches, dp));
    number_ = divide_up(divide_up(sequences, *micro_), dp);
    uneven_total_ = sequences;
  }

  // `round`: sequences per rank and accumulation round.
  void choose_number(const StatedNumber& total, std::int64_t round) {
    std::int64_t number = std::min(default_microbatches, round);
    while (round % number != 0) --number;
    micro_ = round / number;
    number_ = times(number, stated_.rounds);
    if (number == default_microbatches) return;
    findings_->notes.push_back(
        base::say("batch.{} {} does not divide into the default of {} microbatches, so there are {} of {}", total.name, total.value,
                  default_microbatches, number, base::counted_text(*micro_, "sequence")));
  }

  void compare(const StatedNumber& total) {
    if (uneven_total_ && total.value == times(*uneven_total_, total.positions())) return;
    std::vector<Factor> factors{{"micro_batch_size", *micro_}, {"microbatches", *number_}};
    factors.insert(factors.end(), total.scale.begin(), total.scale.end());
    const std::int64_t rounds = stated_.rounds_of(total);
    if (times(total.value, rounds) == product_of(factors)) return;
    findings_->errors.push_back(base::say("batch.{} {}{} is not {}: leave one of them out, and it is derived", total.name, total.value,
                                          rounds > 1 ? base::say(" x accumulation {}", rounds) : base::Text{},
                                          all_factors(factors)));
  }

  const BatchQuantities stated_;
  Findings* findings_;
  std::optional<std::int64_t> micro_;
  std::optional<std::int64_t> number_;        // microbatches per rank and step
  std::optional<std::int64_t> uneven_total_;  // sequences of a step that are not micro_ x number_ x dp
};

}  // namespace

namespace {

// The number of sequences in a microbatch follows from their lengths; the step has the sequences that are stated.
void fill_by_tokens(const BatchSettings& settings, BatchQuantities* stated, Findings* findings) {
  if (stated->micro || stated->microbatches || settings.find_micro_batch_size)
    findings->errors.push_back(base::say("batch.tokens_per_microbatch decides how many sequences a microbatch has: omit micro_batch_size, microbatches, num_microbatches and find_micro_batch_size"));
  if (stated->totals.empty())
    findings->errors.push_back(base::say("batch.tokens_per_microbatch does not set the sequences of a step: add --global-batch-size"));
  stated->micro = 1;
}

}  // namespace

Batch solve_batch(const BatchSettings& settings, std::int64_t dp, Findings* findings) {
  const std::size_t before = findings->errors.size();
  BatchQuantities stated = quantities_of(settings, dp, findings);
  if (settings.tokens_per_microbatch) fill_by_tokens(settings, &stated, findings);
  if (findings->errors.size() != before) return {};
  BatchSolver solver(std::move(stated), findings);
  solver.solve();
  if (findings->errors.size() != before) return {};
  Batch batch;
  batch.micro = solver.micro();
  batch.microbatches_per_rank = solver.microbatches();
  batch.microbatches = times(batch.microbatches_per_rank, dp);
  batch.global = solver.global(dp);
  batch.seq_len = settings.seq_len;
  batch.tokens_per_microbatch = settings.tokens_per_microbatch.value_or(0);
  if (batch.tokens_per_microbatch == 0 && !batch.is_even()) {
    const std::vector<Factor> unit{{"micro_batch_size", batch.micro}, {"dp", dp}};
    const auto told = dp > 1 ? base::Phrase("a step of {} is not a multiple of {}: some ranks compute less of it than others ({})")
                             : base::Phrase("a step of {} is not a multiple of {}: its last microbatch is smaller ({})");
    findings->notes.push_back(base::say(told, base::counted_text(batch.global, "sequence"), spell_unit(unit),
                                        nearest_multiples(batch.global, product_of(unit))));
  }
  if (times(batch.global, batch.seq_len) > most_tokens) {
    findings->errors.push_back(
        base::say("batch: micro_batch_size {} x microbatches {} x dp {} x seq_len {} is more than 2^50 positions per step: give a smaller one", batch.micro, batch.microbatches_per_rank, dp, batch.seq_len));
  }
  return batch;
}

namespace {

// The settings that contradict the shares, each of which is the number of microbatches of one rank.
std::vector<std::string> beside_shares(const BatchSettings& settings, const BatchQuantities& stated) {
  std::vector<std::string> names;
  if (stated.microbatches) names.push_back("batch." + stated.microbatches->name);
  if (stated.rounds != 1) names.emplace_back("batch.accumulation");
  if (settings.batch_size) names.emplace_back("batch.batch_size");
  if (settings.find_micro_batch_size) names.emplace_back("batch.find_micro_batch_size");
  if (settings.tokens_per_microbatch) names.emplace_back("batch.tokens_per_microbatch");
  return names;
}

}  // namespace

Batch solve_batch_of_shares(const BatchSettings& settings, const std::vector<std::int64_t>& shares,
                            Findings* findings) {
  const std::size_t before = findings->errors.size();
  const BatchQuantities stated = quantities_of(settings, 1, findings);
  for (const std::string& name : beside_shares(settings, stated)) {
    findings->errors.push_back(base::say("{} and parallel.shares both set the number of sequences of a rank: omit one of them; use micro_batch_size and global_batch_size with shares", name));
  }
  Batch batch;
  batch.microbatches = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  batch.microbatches_per_rank = *std::max_element(shares.begin(), shares.end());
  batch.seq_len = settings.seq_len;
  batch.micro = stated.micro.value_or(default_batch_size / default_microbatches);
  for (const StatedNumber& total : stated.totals) {
    std::vector<Factor> unit{{"sum(parallel.shares)", batch.microbatches}};
    if (total.name == "total_batch_size") unit.emplace_back("seq_len", settings.seq_len);
    if (stated.micro) unit.emplace_back("micro_batch_size", *stated.micro);
    const std::int64_t product = product_of(unit);
    if (stated.micro ? total.value != product : total.value % product != 0) {
      findings->errors.push_back(base::say(stated.micro ? base::Phrase("batch.{} {} is not {}") : base::Phrase("batch.{} {} is not a multiple of {}"),
                                           total.name, total.value, all_factors(unit)));
    } else if (!stated.micro) {
      batch.micro = total.value / product;
    }
  }
  batch.global = times(batch.microbatches, batch.micro);
  if (findings->errors.size() == before && times(batch.global, batch.seq_len) > most_tokens)
    findings->errors.push_back(base::say("batch: parallel.shares result in more than 2^50 positions per step: give smaller ones"));
  return batch;
}

base::Text nearest_multiples(std::int64_t value, std::int64_t unit) {
  const std::int64_t below = value / unit * unit;
  const std::int64_t above = below > std::numeric_limits<std::int64_t>::max() - unit ? below : below + unit;
  if (below == 0) return base::say("{} is the nearest multiple", above);
  return base::say("{} and {} are the nearest multiples", below, above);
}

Batch with_micro(Batch batch, std::int64_t micro, std::int64_t dp) {
  batch.micro = micro;
  batch.microbatches_per_rank = divide_up(divide_up(batch.global, micro), dp);
  batch.microbatches = batch.microbatches_per_rank * dp;
  return batch;
}

namespace {

// With as many microbatches as before.
Batch of_sequences(Batch batch, std::int64_t micro, std::int64_t dp) {
  batch.global = micro * batch.microbatches;
  return with_micro(batch, micro, dp);
}

}  // namespace

std::vector<Batch> batch_candidates(const BatchSettings& stated, const Batch& solved, std::int64_t dp) {
  std::vector<Batch> batches;
  if (!stated.find_micro_batch_size) return batches;
  if (!states(stated, BatchQuantity::total)) {
    for (std::int64_t power = 1; power <= most_free_micro_batch; power *= 2) {
      batches.push_back(of_sequences(solved, power, dp));
      if (power > 1 && power < most_free_micro_batch) batches.push_back(of_sequences(solved, power / 2 * 3, dp));
    }
    return batches;
  }
  const bool even = solved.global % dp == 0;
  const std::int64_t per_rank = divide_up(solved.global, dp);
  for (std::int64_t micro = 1; micro <= std::min(per_rank, most_micro_batch); ++micro) {
    if (!even || (per_rank % micro == 0 && per_rank / micro % stated.accumulation == 0))
      batches.push_back(with_micro(solved, micro, dp));
  }
  return batches;
}

Batch solve_open_batch(const BatchSettings& stated, std::int64_t dp, Findings* findings) {
  Findings tried = *findings;
  const Batch batch = solve_batch(stated, dp, &tried);
  const bool is_open = stated.find_micro_batch_size && states(stated, BatchQuantity::total);
  if (!is_open || (tried.errors.size() == findings->errors.size() && batch.is_even())) {
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
  settings.global_batch_size = batch.global;
  if (batch.tokens_per_microbatch > 0) {
    settings.tokens_per_microbatch = batch.tokens_per_microbatch;
  } else {
    settings.micro_batch_size = batch.micro;
    if (batch.is_even()) settings.microbatches = batch.microbatches_per_rank;
  }
  return settings;
}

Resolved with_batch(Resolved resolved, const Batch& batch) {
  resolved.batch = batch;
  resolved.batch_candidates.clear();
  resolved.settings.batch = pinned(batch);
  return resolved;
}

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

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a - 1) / b + 1; }

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

#include "plan/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/say.h"
#include "base/units.h"

namespace troika::plan {
namespace {

constexpr std::int64_t first_bin = 16;  // no finer below

double real(std::int64_t number) { return static_cast<double>(number); }

double ratio(double padded, double computed) { return computed > 0 ? padded / computed : 1; }

// From the bin of the shortest to that of the longest.
std::vector<records::SampleLengths::Bin> bins_of(const std::vector<std::int64_t>& samples_of_length) {
  std::vector<records::SampleLengths::Bin> bins{{0, first_bin, 0}};
  for (std::size_t length = 0; length < samples_of_length.size(); ++length) {
    const std::int64_t up_to = bins.back().up_to;
    if (static_cast<std::int64_t>(length) > up_to) bins.push_back({up_to, 2 * up_to, 0});
    bins.back().samples += samples_of_length[length];
  }
  bins.erase(bins.begin(), std::find_if(bins.begin(), bins.end(), [](const auto& bin) { return bin.samples > 0; }));
  return bins;
}

}  // namespace

LengthCount::LengthCount(std::int64_t samples, std::int64_t seq_len, const PositionCosts& costs) : costs_(costs) {
  lengths_.samples = samples;
  lengths_.seq_len = seq_len;
}

void LengthCount::add_sample(const std::vector<std::int64_t>& sequences) {
  std::int64_t tokens = 0;
  for (const std::int64_t length : sequences) tokens += length;
  ++lengths_.counted;
  lengths_.sequences += static_cast<std::int64_t>(sequences.size());
  lengths_.tokens += tokens;
  const auto at = static_cast<std::size_t>(tokens);
  if (at >= samples_of_length_.size()) samples_of_length_.resize(at + 1);
  ++samples_of_length_[at];
}

void LengthCount::add_padded(const std::vector<OfSample>& samples, std::int64_t length, Computed* to) const {
  for (const OfSample& sample : samples) {
    const double behind = real(length - sample.tokens);
    const double squares = sample.sequences > 1 ? sample.squares + behind * behind : real(length) * real(length);
    to->positions += real(length);
    to->work += costs_.of(real(length), squares);
  }
}

void LengthCount::add_microbatch(const std::vector<shape::Sequence>& microbatch, std::int64_t targets) {
  std::vector<OfSample> samples;
  std::int64_t tokens = 0, longest = 0;
  for (std::size_t i = 0; i < microbatch.size(); ++i) {
    if (i == 0 || microbatch[i].sample != microbatch[i - 1].sample) samples.emplace_back();
    OfSample& sample = samples.back();
    sample.tokens += microbatch[i].length;
    sample.squares += real(microbatch[i].length) * real(microbatch[i].length);
    ++sample.sequences;
    tokens += microbatch[i].length;
    longest = std::max(longest, sample.tokens);
  }
  lengths_.least_tokens = microbatches_ == 0 ? tokens : std::min(lengths_.least_tokens, tokens);
  lengths_.most_tokens = std::max(lengths_.most_tokens, tokens);
  ++microbatches_;
  computed_.positions += real(tokens);
  computed_.targets += real(targets);
  lengths_.most_targets = std::max(lengths_.most_targets, targets);
  for (const OfSample& sample : samples) computed_.squares += sample.squares;
  computed_.work += costs_.of(microbatch);
  add_padded(samples, longest, &to_longest_);
  add_padded(samples, std::max(longest, lengths_.seq_len), &to_seq_len_);
}

// The length that so many percent of the samples do not exceed.
std::int64_t LengthCount::quantile(std::int64_t percent) const {
  std::int64_t below = 0;
  for (std::size_t length = 0; length < samples_of_length_.size(); ++length) {
    below += samples_of_length_[length];
    if (100 * below >= percent * lengths_.counted) return static_cast<std::int64_t>(length);
  }
  return 0;
}

records::SampleLengths LengthCount::result() const {
  records::SampleLengths all = lengths_;
  if (all.counted > 0) {
    all.shortest = std::find_if(samples_of_length_.begin(), samples_of_length_.end(), [](std::int64_t n) { return n > 0; }) -
                   samples_of_length_.begin();
    all.longest = static_cast<std::int64_t>(samples_of_length_.size()) - 1;
    all.median = quantile(50);
    all.p90 = quantile(90);
    all.bins = bins_of(samples_of_length_);
  }
  if (microbatches_ > 0) {
    all.mean_tokens = computed_.positions / real(microbatches_);
    all.mean_targets = computed_.targets / real(microbatches_);
    all.mean_squares = computed_.squares / real(microbatches_);
  }
  all.longest_positions = ratio(to_longest_.positions, computed_.positions);
  all.longest_work = ratio(to_longest_.work, computed_.work);
  all.full_positions = ratio(to_seq_len_.positions, computed_.positions);
  all.full_work = ratio(to_seq_len_.work, computed_.work);
  return all;
}

SizesOf sizes_of(const records::SampleLengths& lengths) {
  return [lengths](const config::Batch& batch, int cp, std::int64_t) {
    shape::MicrobatchSizes sizes = full_sizes(batch, cp);
    sizes.most_rows.assign(static_cast<std::size_t>(cp), (lengths.most_tokens + cp - 1) / cp);
    sizes.longest = lengths.longest;
    sizes.positions = lengths.mean_tokens;
    sizes.squares = lengths.mean_squares;
    sizes.most_with_loss = lengths.most_targets > 0 ? lengths.most_targets : lengths.most_tokens;
    sizes.with_loss = lengths.most_targets > 0 ? lengths.mean_targets : lengths.mean_tokens;
    sizes.even = sizes.even_evaluated = lengths.least_tokens == lengths.most_tokens;
    if (batch.tokens_per_microbatch > 0 && lengths.mean_tokens > 0)
      sizes.in_step = std::max<std::int64_t>(1, std::llround(real(batch.global) * lengths.mean() / lengths.mean_tokens));
    sizes.microbatches = real(sizes.in_step);
    return sizes;
  };
}

base::Text describe_samples(const records::SampleLengths& l) {
  const base::Text samples = base::counted_text(l.samples, "sample");
  if (l.shortest == l.longest) return base::say("{} of {}", samples, base::counted_text(l.longest, "token"));
  return base::say("{} of {} to {} tokens (median {})", samples, l.shortest, l.longest, l.median);
}

base::Text describe_microbatches(const records::SampleLengths& l) {
  constexpr double told = 1.005;  // padding below is none
  const base::Text tokens = l.least_tokens == l.most_tokens
                                ? base::say("a microbatch has {}", base::counted_text(l.most_tokens, "token"))
                                : base::say("a microbatch has {} to {} tokens, {:.0f} on average", l.least_tokens, l.most_tokens, l.mean_tokens);
  if (l.longest_positions >= told)
    return base::say("{}; padded to its longest sample it would compute {:.2f} times as many", tokens, l.longest_positions);
  if (l.full_positions >= told)
    return base::say("{}; padded to {} it would compute {:.2f} times as many", tokens, l.seq_len, l.full_positions);
  return tokens;
}

namespace {

constexpr int bar_columns = 40;

std::string histogram(const records::SampleLengths& l, base::Language language) {
  std::int64_t most = 1;
  for (const auto& bin : l.bins) most = std::max(most, bin.samples);
  std::string text;
  for (const auto& bin : l.bins) {
    const auto columns = static_cast<std::size_t>((bin.samples * bar_columns + most - 1) / most);
    text += fmt::format("    {:>8} - {:<8}{:<{}} {}\n", bin.above + 1, std::min(bin.up_to, std::max(l.longest, bin.above + 1)),
                        std::string(columns, '#'), bar_columns,
                        base::say("{} ({:.1f} %)", bin.samples, 100 * real(bin.samples) / real(l.counted)).in(language));
  }
  return text;
}

base::Text packing_line(const records::SampleLengths& l) {
  if (l.packed()) return base::say("packed: {} in {}", base::counted_text(l.sequences, "sequence"), base::counted_text(l.counted, "sample"));
  return base::say("packing would make about {} samples of them: fewer steps, as many tokens", l.if_packed());
}

}  // namespace

std::string lengths_text(const records::SampleLengths& l, base::Language language) {
  std::vector<base::Text> before{base::say("lengths: {}", describe_samples(l))};
  if (l.counted < l.samples) before.push_back(base::say("counted on {} evenly spaced samples", l.counted));
  before.push_back(base::say("{:.1f} tokens on average, 90 % of them at most {}; seq_len {}", l.mean(), l.p90, l.seq_len));
  std::vector<base::Text> behind{
      base::say("microbatches: {} to {} tokens, {:.0f} on average, without padding", l.least_tokens, l.most_tokens, l.mean_tokens),
      base::say("padded to the longest sample: {:.2f} times the positions, {:.2f} times the work", l.longest_positions, l.longest_work),
      base::say("padded to {}: {:.2f} times the positions, {:.2f} times the work", l.seq_len, l.full_positions, l.full_work), packing_line(l)};
  std::string text;
  for (const base::Text& line : before) text += "  " + line.in(language) + "\n";
  text += histogram(l, language);
  for (const base::Text& line : behind) text += "  " + line.in(language) + "\n";
  return text;
}

}  // namespace troika::plan

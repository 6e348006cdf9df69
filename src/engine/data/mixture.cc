#include "data/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "base/say.h"

namespace troika::data {
namespace {

double size_of(const MixtureSource& source) { return static_cast<double>(source.samples->samples()); }

// Samples of the whole epoch when source i, with its share of the weights, is used up in it.
double epoch_of(const MixtureSource& source, double weights) { return size_of(source) * weights / source.weight; }

// How many samples of each source an epoch holds, before rounding.
std::vector<double> parts_of(const std::vector<MixtureSource>& sources, Mix mix) {
  double weights = 0, first = INFINITY, last = 0;
  for (const MixtureSource& source : sources) weights += source.weight;
  if (weights == 0) return std::vector<double>(sources.size());
  for (const MixtureSource& source : sources) {
    if (source.weight == 0) continue;
    first = std::min(first, epoch_of(source, weights));
    last = std::max(last, epoch_of(source, weights));
  }
  std::vector<double> parts;
  for (const MixtureSource& source : sources) {
    const double share = source.weight == 0 ? 0 : source.weight / weights;
    parts.push_back(mix == Mix::concat  ? source.weight * size_of(source)
                    : mix == Mix::under ? share * first
                                        : share * last);
  }
  return parts;
}

}  // namespace

MixtureSamples::MixtureSamples(std::vector<MixtureSource> sources, Mix mix, std::uint64_t seed)
    : sources_(std::move(sources)), seed_(base::Philox(seed, "data mixture").bits(0)), first_{0} {
  for (const MixtureSource& source : sources_) {
    if (!(source.weight >= 0))
      throw base::ConfigError(base::say("data.weights holds {:g}, but weights must be 0 or more; 0 leaves a source out", source.weight));
    if (source.samples->seq_len() != seq_len())
      throw base::BugError(fmt::format("samples of {} and of {}", seq_len(), source.samples->seq_len()));
  }
  for (const double part : parts_of(sources_, mix)) first_.push_back(first_.back() + std::llround(part));
  if (samples() > 0) return;
  throw base::ConfigError(base::say("with these data.weights, data.train has no samples left; the nearest that works: 1 for each"));
}

MixtureSamples::SourceSample MixtureSamples::source_of(std::int64_t sample) const {
  if (sample < 0 || sample >= samples())
    throw base::BugError(fmt::format("sample {} requested of a mixture of {}", sample, samples()));
  SourceSample at;
  while (sample >= first_[at.source + 1]) ++at.source;
  const std::int64_t size = sources_[at.source].samples->samples(), i = sample - first_[at.source];
  const std::int64_t whole = samples_of(at.source) / size * size;
  at.sample = i % size;
  if (i < whole) return at;
  const std::uint64_t key = base::Philox(seed_, "subset").bits(at.source);
  at.sample = static_cast<std::int64_t>(
      base::permute(static_cast<std::uint64_t>(i - whole), static_cast<std::uint64_t>(size), key));
  return at;
}

void MixtureSamples::read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const {
  const SourceSample at = source_of(sample);
  sources_[at.source].samples->read(at.sample, inputs, targets);
}

std::vector<std::int64_t> MixtureSamples::lengths(std::int64_t sample) const {
  const SourceSample at = source_of(sample);
  return sources_[at.source].samples->lengths(at.sample);
}

std::int64_t MixtureSamples::targets(std::int64_t sample) const {
  const SourceSample at = source_of(sample);
  return sources_[at.source].samples->targets(at.sample);
}

std::vector<std::int64_t> MixtureSamples::document_starts(std::int64_t sample) const {
  const SourceSample at = source_of(sample);
  return sources_[at.source].samples->document_starts(at.sample);
}

bool MixtureSamples::are_full() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const MixtureSource& source) { return source.samples->are_full(); });
}

std::string MixtureSamples::fingerprint() const {
  std::string all = fmt::format("mixture {}", seed_);
  for (std::size_t i = 0; i < sources_.size(); ++i)
    all += fmt::format(" {} {}", samples_of(i), sources_[i].samples->fingerprint());
  return base::hash_bytes(all);
}

namespace {

// Numbers [0, size) in `stretches`, of each of which one is chosen.
class Choice {
 public:
  Choice(std::int64_t size, std::int64_t stretches, std::uint64_t seed)
      : size_(size), stretches_(stretches), random_(seed, "validation part") {}

  std::int64_t chosen(std::int64_t stretch) const {
    const auto length = static_cast<std::uint64_t>(begin(stretch + 1) - begin(stretch));
    return begin(stretch) + static_cast<std::int64_t>(random_.bits(static_cast<std::uint64_t>(stretch)) % length);
  }

  // The i-th number that is not chosen.
  std::int64_t other(std::int64_t i) const {
    std::int64_t low = 0, high = stretches_;  // of the stretches, `low` begins at or before it, `high` after it
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (begin(middle) - middle <= i ? low : high) = middle;
    }
    const std::int64_t number = i + low;
    return number < chosen(low) ? number : number + 1;
  }

  std::int64_t stretches() const { return stretches_; }
  std::int64_t others() const { return size_ - stretches_; }

 private:
  std::int64_t begin(std::int64_t stretch) const {
    const std::int64_t length = size_ / stretches_, longer = size_ % stretches_;
    return stretch * length + std::min(stretch, longer);
  }

  std::int64_t size_, stretches_;
  base::Philox random_;
};

enum class Part { training, validation };

class Subset final : public Samples {
 public:
  Subset(std::shared_ptr<const Samples> all, const Choice& choice, Part part, std::uint64_t seed)
      : all_(std::move(all)), choice_(choice), part_(part), seed_(seed) {}

  std::int64_t samples() const override { return part_ == Part::validation ? choice_.stretches() : choice_.others(); }
  std::int64_t seq_len() const override { return all_->seq_len(); }
  void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override {
    all_->read(number(sample), inputs, targets);
  }
  std::vector<std::int64_t> document_starts(std::int64_t sample) const override {
    return all_->document_starts(number(sample));
  }
  std::vector<std::int64_t> lengths(std::int64_t sample) const override { return all_->lengths(number(sample)); }
  std::int64_t targets(std::int64_t sample) const override { return all_->targets(number(sample)); }
  bool are_full() const override { return all_->are_full(); }
  std::string fingerprint() const override {
    return base::hash_bytes(fmt::format("{} {} of {} by {}", part_ == Part::validation ? "validation" : "training",
                                        choice_.stretches(), all_->fingerprint(), seed_));
  }

 private:
  std::int64_t number(std::int64_t sample) const {
    if (sample < 0 || sample >= samples())
      throw base::BugError(fmt::format("sample {} requested of a part with {}", sample, samples()));
    return part_ == Part::validation ? choice_.chosen(sample) : choice_.other(sample);
  }

  const std::shared_ptr<const Samples> all_;
  const Choice choice_;
  const Part part_;
  const std::uint64_t seed_;
};

std::int64_t spare(std::int64_t size) { return std::max<std::int64_t>(size - 1, 0); }

std::int64_t wanted_of(std::int64_t all, std::int64_t most, double share, const std::string& sources) {
  const double exact = share < 1 ? share * static_cast<double>(all) : share;
  const auto wanted = static_cast<std::int64_t>(std::clamp(std::round(exact), 1.0, 9e15));
  if (wanted <= most) return wanted;
  throw base::ConfigError(base::say(
      "data.valid_share {:g} takes {} samples for evaluation, but data.train '{}' has {}, and each source must keep one: {}",
      share, wanted, sources, all,
      most > 0 ? base::say("the maximum is {}", most) : base::say("one source must have at least 2")));
}

}  // namespace

std::vector<std::int64_t> validation_counts(const std::vector<std::int64_t>& sizes, double share,
                                            const std::string& sources) {
  std::int64_t all = 0, most = 0, before = 0, given = 0;
  for (const std::int64_t size : sizes) all += size, most += spare(size);
  const std::int64_t wanted = wanted_of(all, most, share, sources);
  std::vector<std::int64_t> counts;
  for (const std::int64_t size : sizes) {
    before += size;
    const double until = static_cast<double>(wanted) * (static_cast<double>(before) / static_cast<double>(all));
    counts.push_back(std::min(std::llround(until) - given, static_cast<long long>(spare(size))));
    given += counts.back();
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {  // what the last ones could not give
    const std::int64_t more = std::min(wanted - given, spare(sizes[i]) - counts[i]);
    counts[i] += more;
    given += more;
  }
  return counts;
}

Split split(std::shared_ptr<const Samples> all, std::int64_t count, std::uint64_t seed) {
  if (count < 1 || count >= all->samples())
    throw base::BugError(fmt::format("{} of {} samples for validation", count, all->samples()));
  const Choice choice(all->samples(), count, seed);
  return {std::make_shared<const Subset>(all, choice, Part::training, seed),
          std::make_shared<const Subset>(all, choice, Part::validation, seed)};
}

}  // namespace troika::data

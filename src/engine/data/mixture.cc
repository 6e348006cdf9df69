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
    if (!(source.weight >= 0)) {
      throw base::ConfigError(base::say("data.weights holds {:g}, but weights must be 0 or more; 0 leaves a source out", source.weight));
    }
    if (source.samples->seq_len() != seq_len())
      throw base::BugError(fmt::format("samples of {} and of {}", seq_len(), source.samples->seq_len()));
    if (source.samples->documents() == shape::Documents::apart) documents_ = shape::Documents::apart;
  }
  for (const double part : parts_of(sources_, mix)) first_.push_back(first_.back() + std::llround(part));
  if (samples() > 0) return;
  throw base::ConfigError(base::say("with these data.weights no sample is left of data.train; the nearest that works: 1 for each"));
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

std::vector<std::int64_t> MixtureSamples::document_starts(std::int64_t sample) const {
  const SourceSample at = source_of(sample);
  const Samples& source = *sources_[at.source].samples;
  if (source.documents() != documents_) return {};
  return source.document_starts(at.sample);
}

std::string MixtureSamples::fingerprint() const {
  std::string all = fmt::format("mixture {}", seed_);
  for (std::size_t i = 0; i < sources_.size(); ++i)
    all += fmt::format(" {} {}", samples_of(i), sources_[i].samples->fingerprint());
  return base::hash_bytes(all);
}

}  // namespace troika::data

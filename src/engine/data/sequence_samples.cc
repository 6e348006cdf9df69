#include "data/sequence_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/file.h"

namespace troika::data {

namespace {

using Index = std::vector<std::int64_t>;

std::int64_t& at(Index& values, std::int64_t i) { return values[static_cast<std::size_t>(i)]; }

// The bins that have room left, by how much.
class OpenBins {
 public:
  explicit OpenBins(std::int64_t room) : bins_(static_cast<std::size_t>(room) + 1) {}

  void add(std::int64_t bin, std::int64_t left) {
    if (left == 0) return;
    bins_[static_cast<std::size_t>(left)].push_back(bin);
    lefts_.insert(left);
  }

  struct Taken {
    std::int64_t bin = -1, left = 0;  // -1: none has room
  };
  Taken take_fullest(std::int64_t length) {
    const auto found = lefts_.lower_bound(length);
    if (found == lefts_.end()) return {};
    const std::int64_t left = *found;
    Index& bins = bins_[static_cast<std::size_t>(left)];
    const Taken taken{bins.back(), left};
    bins.pop_back();
    if (bins.empty()) lefts_.erase(found);
    return taken;
  }

 private:
  std::vector<Index> bins_;       // by the room left
  std::set<std::int64_t> lefts_;  // for which there are bins
};

// The numbers of `values`, sorted by them, equal ones ascending. Values from 0 to `highest`.
Index sorted_numbers(const Index& values, std::int64_t highest) {
  Index place(static_cast<std::size_t>(highest) + 2), sorted(values.size());
  for (const std::int64_t value : values) ++at(place, value + 1);
  std::partial_sum(place.begin(), place.end(), place.begin());
  for (std::size_t i = 0; i < values.size(); ++i) at(sorted, at(place, values[i])++) = static_cast<std::int64_t>(i);
  return sorted;
}

// Bins renamed in the order in which they first appear.
void number_by_first_member(Index& bin_of, std::int64_t bins) {
  Index name(static_cast<std::size_t>(bins), -1);
  std::int64_t next = 0;
  for (std::int64_t& bin : bin_of) {
    if (at(name, bin) < 0) at(name, bin) = next++;
    bin = at(name, bin);
  }
}

}  // namespace

std::vector<std::int64_t> pack(const std::vector<std::int64_t>& lengths, std::int64_t room) {
  Index fill_up(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) fill_up[i] = room - lengths[i];
  OpenBins open(room);
  std::int64_t bins = 0;
  Index bin_of(lengths.size());
  for (const std::int64_t i : sorted_numbers(fill_up, room)) {
    OpenBins::Taken taken = open.take_fullest(lengths[static_cast<std::size_t>(i)]);
    if (taken.bin < 0) taken = {bins++, room};
    at(bin_of, i) = taken.bin;
    open.add(taken.bin, taken.left - lengths[static_cast<std::size_t>(i)]);
  }
  number_by_first_member(bin_of, bins);
  return bin_of;
}

SequenceSamples::SequenceSamples(WithTargets taught, std::int64_t seq_len, Packing packing)
    : taught_(std::move(taught)), seq_len_(seq_len), packing_(packing) {
  if (taught_.targets == 0) throw base::BugError("samples of which no position has a target");
  Index lengths(static_cast<std::size_t>(taught_.sequences->count()));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t length = taught_.sequences->length(static_cast<std::int64_t>(i));
    lengths[i] = std::min(seq_len, length);
    tokens_ += lengths[i];
    truncated_ += length > seq_len ? 1 : 0;
  }
  if (packing == Packing::none) return;
  const Index bin_of = pack(lengths, seq_len);
  const std::int64_t bins = *std::max_element(bin_of.begin(), bin_of.end()) + 1;
  order_ = sorted_numbers(bin_of, bins);
  first_.assign(static_cast<std::size_t>(bins) + 1, 0);
  for (const std::int64_t bin : bin_of) ++at(first_, bin + 1);
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

std::int64_t SequenceSamples::samples() const {
  return packing_ == Packing::none ? taught_.sequences->count() : static_cast<std::int64_t>(first_.size()) - 1;
}

std::int64_t SequenceSamples::kept(std::int64_t sequence) const {
  return std::min(seq_len_, taught_.sequences->length(sequence));
}

std::vector<std::int64_t> SequenceSamples::sequences_of(std::int64_t sample) const {
  if (sample < 0 || sample >= samples())
    throw base::BugError(fmt::format("sample {} requested of {}", sample, samples()));
  if (packing_ == Packing::none) return {sample};
  const auto i = static_cast<std::size_t>(sample);
  return {order_.begin() + first_[i], order_.begin() + first_[i + 1]};
}

void SequenceSamples::read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const {
  std::int64_t t = 0;
  for (const std::int64_t sequence : sequences_of(sample)) {
    read_cut(*taught_.sequences, sequence, kept(sequence), inputs + t, targets + t);
    t += kept(sequence);
  }
}

std::int64_t SequenceSamples::targets(std::int64_t sample) const {
  std::int64_t sum = 0;
  for (const std::int64_t sequence : sequences_of(sample)) sum += taught_.of_sequence[static_cast<std::size_t>(sequence)];
  return sum;
}

std::vector<std::int64_t> SequenceSamples::lengths(std::int64_t sample) const {
  std::vector<std::int64_t> lengths = sequences_of(sample);
  for (std::int64_t& sequence : lengths) sequence = kept(sequence);
  return lengths;
}

std::string SequenceSamples::fingerprint() const {
  return base::hash_bytes(fmt::format("{} {} {}", packing_ == Packing::none ? "padded" : "packed", seq_len_, taught_.sequences->fingerprint()));
}

double SequenceSamples::fill() const {
  return static_cast<double>(tokens_) / (static_cast<double>(samples()) * static_cast<double>(seq_len_));
}

}  // namespace troika::data

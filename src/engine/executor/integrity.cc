#include "executor/integrity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/cause.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/text.h"
#include "comm/collectives.h"
#include "kernels/flat.h"
#include "tensor/operations.h"

namespace troika::executor {
namespace {

std::uint32_t sum_of(const tensor::Tensor& flat, const shape::Range& range) {
  return static_cast<std::uint32_t>(tensor::value_of(kernels::bits_sum(flat.narrow(0, range.begin, range.count))));
}

std::vector<std::uint32_t> sums_by_slot(const Bucket& bucket) {
  std::vector<std::uint32_t> sums;
  for (const Bucket::HeldSlot& part : bucket.held_slots()) sums.push_back(sum_of(bucket.own_values(), part.elements));
  return sums;
}

std::uint32_t total(const std::vector<std::uint32_t>& sums) {
  std::uint32_t sum = 0;
  for (const std::uint32_t one : sums) sum += one;
  return sum;
}

// The expected sums of this rank's range of the values: as the optimizer wrote it, or as it is before there was a step.
std::vector<std::uint32_t> written_sums(Bucket& bucket) {
  std::vector<std::uint32_t> sums = bucket.optimizer().value_sums();
  return sums.empty() ? sums_by_slot(bucket) : sums;
}

const std::string& name_of(const Bucket& bucket, std::size_t held_slot) {
  return bucket.layout().slots[bucket.held_slots()[held_slot].slot].info.name;
}

// By replica.
std::vector<std::vector<std::uint32_t>> numbers_of_all(comm::Channel& replicas, const std::vector<std::uint32_t>& mine) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const std::string& text : comm::all_gather_text(replicas, fmt::format("{}", fmt::join(mine, " ")))) {
    std::vector<std::uint32_t>& numbers = all.emplace_back();
    std::int64_t number = 0;
    for (const std::string& word : base::split(text, ' '))
      if (base::parse_int(word, &number)) numbers.push_back(static_cast<std::uint32_t>(number));
  }
  return all;
}

}  // namespace

optimizer::Checksums checksums_for(config::OnOff stated, const tensor::Device& device) {
  const bool on = stated == config::OnOff::on || (stated == config::OnOff::automatic && device.is_cpu());
  return on ? optimizer::Checksums::on : optimizer::Checksums::off;
}

Integrity::Integrity(const mesh::Shape& shape, int world_rank, const Units& units, comm::Channel& replicas)
    : shape_(shape), world_rank_(world_rank), replicas_(replicas) {
  for (const auto& [segment, unit] : units)
    for (Bucket* bucket : unit->buckets()) buckets_.push_back(bucket);
}

void Integrity::begin_step(std::int64_t step) {
  step_ = step;
  for (const int content : {0, 1}) {
    sent_[content] = 0;
    received_[content].clear();
  }
}

void Integrity::fail(const base::Text& what) const {
  throw base::PeerError(
      base::say("{}, detected in step {}; nothing from this step was saved: test this host's memory (memtester), or exclude the host, and resume from the last checkpoint",
                what, step_),
      base::Cause::changed_bits);
}

// An odd factor for each microbatch, so that two that change places are noticed and no bit is lost.
static std::int64_t weighed(int microbatch, const tensor::Tensor& tensor) {
  return (2 * std::int64_t{microbatch} + 1) * static_cast<std::int64_t>(tensor::value_of(kernels::bits_sum(tensor)));
}

void Integrity::sent(StageMessage content, int microbatch, const tensor::Tensor& tensor) {
  sent_[static_cast<int>(content)] += weighed(microbatch, tensor);
}

void Integrity::received(StageMessage content, int microbatch, int pp_rank, const tensor::Tensor& tensor) {
  mesh::Coordinate from = mesh::coordinate_of(shape_, world_rank_);
  from.pp = pp_rank;
  received_[static_cast<int>(content)][mesh::world_rank_of(shape_, from)] += weighed(microbatch, tensor);
}

// One bucket per step, in turn; the same one on all replicas. Null where replicas do not keep each other's values.
Bucket* Integrity::replicated_bucket_of_step() const {
  Bucket* bucket = buckets_[static_cast<std::size_t>(step_) % buckets_.size()];
  return bucket->is_trained() && bucket->keeps_others_values() ? bucket : nullptr;
}

// No update reads them.
void Integrity::check_frozen(const Bucket& bucket) {
  const std::vector<std::uint32_t> now = sums_by_slot(bucket);
  const std::vector<std::uint32_t>& known = fixed_.try_emplace(&bucket, now).first->second;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] == known[i]) continue;
    fail(base::say("the values of {} on rank {} ({}) were silently corrupted in memory", name_of(bucket, i), world_rank_,
                   base::host_name()));
  }
}

std::vector<Bucket*> Integrity::trained_buckets() const {
  std::vector<Bucket*> trained;
  std::copy_if(buckets_.begin(), buckets_.end(), std::back_inserter(trained),
               [](const Bucket* bucket) { return bucket->is_trained(); });
  return trained;
}

// The sum of the values that all replicas should hold alike: those of ZeRO 0.
std::int64_t Integrity::state_sum() const {
  std::uint64_t sum = 0;
  for (Bucket* bucket : trained_buckets()) {
    if (bucket->holds_range()) continue;
    for (const std::uint32_t one : written_sums(*bucket)) sum = (sum ^ one) * 0x100000001b3ULL;
  }
  return static_cast<std::int64_t>(sum);
}

void Integrity::tell(StepFacts* facts) {
  for (const int content : {activations, gradients}) {
    facts->add_checksum(world_rank_, content, sent_[content]);
    for (const auto& [sender, sum] : received_[content]) facts->add_checksum(sender, content, -sum);
  }
  const Bucket& of_step = *buckets_[static_cast<std::size_t>(step_) % buckets_.size()];
  if (!of_step.is_trained()) check_frozen(of_step);
  facts->add_checksum(world_rank_, state, state_sum());
  if (Bucket* shared = replicated_bucket_of_step(); shared != nullptr) {
    const shape::Range all{0, shared->layout().elements};
    facts->add_checksum(world_rank_, own_values, total(written_sums(*shared)));
    facts->add_checksum(world_rank_, all_values, sum_of(shared->values(ReadBy::own_segment), all));
  }
}

void Integrity::compare(const StepFacts& facts) {
  compare_messages(facts);
  compare_state(facts);
  compare_values(facts);
}

void Integrity::compare_messages(const StepFacts& facts) const {
  for (int rank = 0; rank < shape_.world(); ++rank) {
    for (const int content : {activations, gradients}) {
      if (facts.checksum(rank, content) == 0) continue;
      fail(content == activations ? base::say("activations that rank {} sent to the next stage arrived corrupted: they changed in transit or in the memory of one of the two hosts",
                                              rank)
                                  : base::say("activation gradients that rank {} sent to the previous stage arrived corrupted: they changed in transit or in the memory of one of the two hosts",
                                              rank));
    }
  }
}

void Integrity::compare_state(const StepFacts& facts) const {
  const std::vector<int> ranks = mesh::replicas_of(shape_, world_rank_);
  for (const int rank : ranks)
    if (facts.checksum(rank, state) != facts.checksum(ranks.front(), state)) name_different_state();
}

void Integrity::compare_values(const StepFacts& facts) const {
  if (replicated_bucket_of_step() == nullptr) return;
  const std::vector<int> ranks = mesh::replicas_of(shape_, world_rank_);
  std::uint32_t written = 0;
  for (const int rank : ranks) written += static_cast<std::uint32_t>(facts.checksum(rank, own_values));
  for (const int rank : ranks)
    if (static_cast<std::uint32_t>(facts.checksum(rank, all_values)) != written) name_different_values();
}

// Every replica's sums of every slot; the first slot that differs, and who differs from most.
void Integrity::name_different_state() const {
  const std::vector<int> ranks = mesh::replicas_of(shape_, world_rank_);
  for (Bucket* bucket : trained_buckets()) {
    if (bucket->holds_range()) continue;
    const auto sums = numbers_of_all(replicas_, written_sums(*bucket));
    for (std::size_t slot = 0; slot < sums.front().size(); ++slot) {
      std::map<std::uint32_t, std::vector<int>> holders;
      for (std::size_t replica = 0; replica < sums.size(); ++replica)
        holders[sums[replica].at(slot)].push_back(ranks[replica]);
      if (holders.size() == 1) continue;
      const auto fewest = std::min_element(holders.begin(), holders.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
      if (2 * fewest->second.size() == ranks.size())
        fail(
            base::say("ranks {} have different values of {}, though their updates were equal: the memory or processor of one of their hosts is faulty",
                      fmt::join(ranks, ", "), name_of(*bucket, slot)));
      fail(base::say("rank {} has different values of {} than the {} other replicas: its memory or processor is faulty",
                     fmt::join(fewest->second, ", "), name_of(*bucket, slot), ranks.size() - fewest->second.size()));
    }
  }
  fail(base::say("replicas have different parameters"));
}

// Every owner's sums of its slots beside every rank's own sums of all.
void Integrity::name_different_values() const {
  Bucket& bucket = *replicated_bucket_of_step();
  const std::vector<int> ranks = mesh::replicas_of(shape_, world_rank_);
  const std::size_t slots = bucket.layout().slots.size();
  std::vector<std::uint32_t> mine(2 * slots);  // as written, by its owners; as found here
  const std::vector<std::uint32_t> written = written_sums(bucket);
  const std::vector<Bucket::HeldSlot> held = bucket.held_slots();
  for (std::size_t i = 0; i < held.size(); ++i) mine[held[i].slot] = written[i];
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const shape::Slot& one = bucket.layout().slots[slot];
    mine[slots + slot] = sum_of(bucket.values(ReadBy::own_segment), {one.offset, one.elements()});
  }
  const auto all = numbers_of_all(replicas_, mine);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    std::uint32_t expected = 0;
    for (const auto& numbers : all) expected += numbers.at(slot);
    for (std::size_t replica = 0; replica < all.size(); ++replica) {
      if (all[replica].at(slots + slot) == expected) continue;
      fail(base::say(
          "the values of {} that rank {} computes with differ from those that their owners wrote: they changed in its memory or in transit",
          bucket.layout().slots[slot].info.name, ranks[replica]));
    }
  }
  fail(base::say("replicas compute with different parameters"));
}

void Integrity::report(const Bucket& bucket, const optimizer::StateFault& fault) const {
  fail(base::say("{} of {} on rank {} ({}) changed silently in memory", base::say(base::Phrase(fault.what)),
                 name_of(bucket, fault.stretch), world_rank_, base::host_name()));
}

void Integrity::check_state() const {
  for (Bucket* bucket : trained_buckets()) {
    const auto fault = bucket->optimizer().find_fault();
    if (fault) report(*bucket, *fault);
  }
}

}  // namespace troika::executor

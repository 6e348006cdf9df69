#include "executor/step_facts.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "comm/collectives.h"
#include "executor/message_tags.h"
#include "optimizer/optimizer.h"
#include "tensor/operations.h"

namespace troika::executor {

static std::int64_t bits_of(double value) {
  std::int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

StepFacts::StepFacts(const FactCounts& counts, const std::vector<std::string>& parameter_names)
    : counts_(counts),
      names_(parameter_names),
      losses_(static_cast<std::size_t>(counts.microbatches) * static_cast<std::size_t>(counts.cp)),
      largest_(names_.size()),
      values_(2 * losses_ + names_.size() * static_cast<std::size_t>(counts.tp) +
              static_cast<std::size_t>(counts.world) + 2),
      checksums_(static_cast<std::size_t>(counts.world) * static_cast<std::size_t>(counts.checksums)) {}

void StepFacts::add_checksum(int world_rank, int which, std::int64_t value) {
  std::int64_t& sum = checksums_.at(static_cast<std::size_t>(world_rank * counts_.checksums + which));
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
}

std::int64_t StepFacts::checksum(int world_rank, int which) const {
  return checksums_.at(static_cast<std::size_t>(world_rank * counts_.checksums + which));
}

std::size_t StepFacts::loss_at(int microbatch, int cp_rank) const {
  return static_cast<std::size_t>(microbatch) * static_cast<std::size_t>(counts_.cp) +
         static_cast<std::size_t>(cp_rank);
}

std::size_t StepFacts::square_at(std::size_t parameter, int tp_rank) const {
  return 2 * losses_ + parameter * static_cast<std::size_t>(counts_.tp) + static_cast<std::size_t>(tp_rank);
}

double StepFacts::number(std::size_t index) const {
  double value = 0;
  std::memcpy(&value, &values_[index], sizeof value);
  return value;
}

void StepFacts::set_requests(const Requests& requests) {
  values_[values_.size() - 2] = requests.stop;
  values_[values_.size() - 1] = requests.save;
}

Requests StepFacts::requests() const { return {values_[values_.size() - 2], values_[values_.size() - 1]}; }

void StepFacts::set_loss(int microbatch, int cp_rank, const kernels::LossSum& loss) {
  const std::size_t at = loss_at(microbatch, cp_rank);
  values_.at(at) = bits_of(loss.loss);
  values_.at(losses_ + at) = loss.tokens;
}

void StepFacts::set_squares(int tp_rank, const std::map<std::string, double>& squares_by_name) {
  for (const auto& [name, squares] : squares_by_name) values_[square_at(index_of(name), tp_rank)] = bits_of(squares);
}

std::size_t StepFacts::index_of(const std::string& parameter) const {
  const auto found = std::lower_bound(names_.begin(), names_.end(), parameter);
  if (found == names_.end() || *found != parameter) throw base::BugError("no such parameter: " + parameter);
  return static_cast<std::size_t>(found - names_.begin());
}

void StepFacts::note_largest(const std::string& parameter, kernels::MagnitudeBits largest) {
  std::int64_t& known = largest_[index_of(parameter)];
  known = std::max<std::int64_t>(known, largest);
}

std::vector<kernels::MagnitudeBits> StepFacts::largest_gradients() const { return {largest_.begin(), largest_.end()}; }

void StepFacts::set_memory(int world_rank, std::int64_t bytes) {
  values_.at(square_at(names_.size(), 0) + static_cast<std::size_t>(world_rank)) = bytes;
}

std::int64_t StepFacts::largest_memory() const {
  return *std::max_element(values_.begin() + static_cast<std::ptrdiff_t>(square_at(names_.size(), 0)),
                           values_.end() - 1);
}

void StepFacts::exchange(comm::Channel& world) {
  const auto own = static_cast<std::ptrdiff_t>(values_.size());
  values_.insert(values_.end(), checksums_.begin(), checksums_.end());
  comm::combine_integers(world, values_, largest_);
  std::copy(values_.begin() + own, values_.end(), checksums_.begin());
  values_.resize(static_cast<std::size_t>(own));
}

std::vector<double> StepFacts::losses() const {
  std::vector<double> losses;
  for (int m = 0; m < counts_.microbatches; ++m) {
    double loss = number(loss_at(m, 0));
    for (int c = 1; c < counts_.cp; ++c) loss += number(loss_at(m, c));
    losses.push_back(loss);
  }
  return losses;
}

double StepFacts::loss_sum() const {
  const std::vector<double> all = losses();
  return std::accumulate(all.begin(), all.end(), 0.0);
}

std::int64_t StepFacts::tokens() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < losses_; ++i) sum += values_[losses_ + i];
  return sum;
}

double StepFacts::gradient_norm() const {
  std::vector<double> squares;
  for (std::size_t p = 0; p < names_.size(); ++p) {
    double square = number(square_at(p, 0));
    for (int t = 1; t < counts_.tp; ++t) square += number(square_at(p, t));
    squares.push_back(square);
  }
  return optimizer::norm_of(squares);
}

namespace {

// A copy of the table is counted where the embedding is.
std::vector<const Bucket*> counted(const Units& units) {
  std::vector<const Bucket*> all;
  for (const auto& [segment, unit] : units)
    for (const Bucket* bucket : unit->trained())
      if (bucket != unit->table_copy.get()) all.push_back(bucket);
  return all;
}

// By replica; only on replica 0.
std::vector<tensor::Tensor> squares_of_replicas(const Units& units, const tensor::Tensor& mine, comm::Channel& replicas,
                                                const sharding::OnWait& on_wait) {
  if (replicas.size() == 1) return {mine};
  const double begin = on_wait.begins();
  std::vector<tensor::Tensor> all;
  const std::uint32_t tag = replica_tag(ReplicaMessage::squares, 0, ReadBy::own_segment);
  if (replicas.rank() != 0) {
    if (mine.elements() > 0) replicas.send(mine, 0, tag).wait();
  } else {
    all.push_back(mine);
    std::vector<comm::Transfer> transfers;
    for (int r = 1; r < replicas.size(); ++r) {
      std::int64_t count = 0;
      for (const Bucket* bucket : counted(units)) count += bucket->sum().plan().chunks_of(r).count;
      all.push_back(tensor::empty({count}, tensor::Dtype::fp64));
      if (count > 0) transfers.push_back(replicas.recv(all.back(), r, tag));
    }
    for (comm::Transfer& transfer : transfers) transfer.wait();
  }
  on_wait.ended(begin);
  return all;
}

}  // namespace

tensor::Tensor own_squares(const Units& units) {
  std::vector<tensor::Tensor> squares;
  for (const Bucket* bucket : counted(units)) squares.push_back(bucket->sum().squares());
  return squares.empty() ? tensor::empty({0}, tensor::Dtype::fp64) : tensor::cat(squares);
}

std::map<std::string, double> gradient_squares(const Units& units, const tensor::Tensor& own, comm::Channel& replicas,
                                               int tp_rank, const sharding::OnWait& on_wait) {
  const auto by_replica = squares_of_replicas(units, own, replicas, on_wait);
  std::map<std::string, double> by_name;
  if (replicas.rank() != 0) return by_name;
  std::vector<std::int64_t> used(by_replica.size());
  for (const Bucket* bucket : counted(units)) {
    const shape::ShardPlan& plan = bucket->sum().plan();
    std::vector<double> chunks;
    for (std::size_t r = 0; r < by_replica.size(); ++r) {
      const double* const begin = by_replica[r].data<double>() + used[r];
      const std::int64_t count = plan.chunks_of(static_cast<int>(r)).count;
      chunks.insert(chunks.end(), begin, begin + count);
      used[r] += count;
    }
    for (std::size_t part = 0; part < bucket->layout().slots.size(); ++part) {
      const shape::Slot& slot = bucket->layout().slots[part];
      if (slot.first_holder == tp_rank) by_name[slot.info.name] += optimizer::square_of_part(plan, part, chunks);
    }
  }
  return by_name;
}

}  // namespace troika::executor

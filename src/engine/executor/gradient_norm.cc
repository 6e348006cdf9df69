#include "executor/gradient_norm.h"

#include "base/clock.h"
#include "executor/message_tags.h"
#include "optimizer/optimizer.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::executor {
namespace {

// A copy of the table is counted where the embedding is.
std::vector<const Bucket*> counted(const Units& units) {
  std::vector<const Bucket*> all;
  for (const auto& [segment, unit] : units) {
    for (const Bucket* bucket : unit->trained()) {
      if (bucket != unit->table_copy.get()) all.push_back(bucket);
    }
  }
  return all;
}

// By replica; only on replica 0.
std::vector<tensor::Tensor> squares_of_replicas(const Units& units, const tensor::Tensor& mine, comm::Channel& replicas,
                                                const Bucket::OnWait& on_wait) {
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
                                               int tp_rank, const Bucket::OnWait& on_wait) {
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

#include "plan/microbatch_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "config/batch.h"
#include "shape/operation_costs.h"
#include "shape/layout.h"

namespace troika::plan {

shape::MicrobatchSizes full_sizes(const config::Batch& batch, int cp) {
  const std::int64_t samples = batch.tokens_per_microbatch > 0 ? std::clamp<std::int64_t>(batch.tokens_per_microbatch / batch.seq_len, 1, batch.global) : batch.micro;
  shape::MicrobatchSizes sizes;
  for (int rank = 0; rank < cp; ++rank)
    sizes.most_rows.push_back(samples * shape::sequence_chunks(batch.seq_len, rank, cp).count());
  sizes.longest = batch.seq_len;
  sizes.in_step = config::divide_up(batch.global, samples);
  sizes.microbatches = static_cast<double>(sizes.in_step);
  sizes.positions = static_cast<double>(batch.global * batch.seq_len) / sizes.microbatches;  // the last one may be smaller
  sizes.squares = sizes.positions * static_cast<double>(batch.seq_len);
  sizes.most_with_loss = samples * batch.seq_len;
  sizes.with_loss = sizes.positions;
  return sizes;
}

double PositionCosts::of(const std::vector<shape::Sequence>& microbatch) const {
  double sum = 0;
  for (const shape::Sequence& sequence : microbatch) {
    const auto length = static_cast<double>(sequence.length);
    sum += of(length, length * length);
  }
  return sum;
}

double PositionCosts::attention(double positions, double squares) const {
  return pair * squares + pair_in_window * shape::seen_pairs(window, positions, squares);
}

PositionCosts position_costs(const config::ModelSettings& model) {
  PositionCosts costs;
  costs.position = static_cast<double>(model.hidden) * static_cast<double>(model.vocab);
  costs.window = static_cast<double>(model.sliding_window);
  for (int segment = 1; segment <= model.layers; ++segment) {
    const shape::BlockKind kind = shape::block_kind(model, segment);
    for (const shape::Product& product : shape::block_products(model, kind)) costs.position += product.weights();
    if (!kind.attends()) continue;
    (shape::window_of(model, kind) > 0 ? costs.pair_in_window : costs.pair) += static_cast<double>(model.heads * model.head_dim);
  }
  return costs;
}

namespace {

// The ranks' microbatches while they are distributed.
class Shares {
 public:
  Shares(const schedule::ProgramShape& shape, const std::vector<double>& costs) : costs_(costs) {
    for (int rank = 0; rank < shape.dp; ++rank) {
      const int room = shape.shares.empty() ? shape.microbatches / shape.dp : shape.shares[static_cast<std::size_t>(rank)];
      ranks_.push_back({{}, room, static_cast<double>(room), 0});
    }
  }

  void add_longest_first() {
    std::vector<int> order(costs_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return cost(a) > cost(b); });
    for (const int microbatch : order) {
      Rank* best = nullptr;
      for (Rank& rank : ranks_) {
        if (static_cast<int>(rank.held.size()) == rank.room) continue;
        if (best == nullptr || (rank.load + cost(microbatch)) / rank.speed < (best->load + cost(microbatch)) / best->speed) best = &rank;
      }
      best->held.push_back(microbatch);
      best->load += cost(microbatch);
    }
  }

  // Moves of one microbatch and exchanges of two, from the rank that ends last, while one makes both ends earlier.
  void even_out() {
    double load = 0, speed = 0;
    for (const Rank& rank : ranks_) {
      load += rank.load;
      speed += rank.speed;
    }
    const double even_enough = 1.001 * load / speed;
    constexpr int most_exchanges = 64;
    for (int left = most_exchanges; left > 0 && last().end() > even_enough && improve(); --left) continue;
  }

  // By the program's microbatches. Each rank computes its largest first, as those that it meets in exchanges of each microbatch do;
  // absent ones come before them, because reductions begin behind the rank's last.
  std::vector<int> reads() const {
    std::vector<int> reads;
    for (const Rank& rank : ranks_) {
      std::vector<int> held = rank.held;
      std::sort(held.begin(), held.end(), [&](int a, int b) { return cost(a) != cost(b) ? cost(a) > cost(b) : a < b; });
      reads.insert(reads.end(), static_cast<std::size_t>(rank.room) - held.size(), no_microbatch);
      reads.insert(reads.end(), held.begin(), held.end());
    }
    return reads;
  }

 private:
  struct Rank {
    std::vector<int> held;
    int room;
    double speed, load;
    double end() const { return load / speed; }
  };

  double cost(int microbatch) const { return costs_[static_cast<std::size_t>(microbatch)]; }

  Rank& last() {
    return *std::max_element(ranks_.begin(), ranks_.end(), [](const Rank& a, const Rank& b) { return a.end() < b.end(); });
  }

  bool improve() {
    Rank* const last = &this->last();
    double best = last->end();
    Rank* other = nullptr;
    std::size_t give = 0, take = 0;
    for (Rank& rank : ranks_) {
      if (&rank == last) continue;
      for (std::size_t g = 0; g < last->held.size(); ++g) {
        for (std::size_t t = 0; t <= rank.held.size(); ++t) {
          const bool moves = t == rank.held.size();
          if (moves && static_cast<int>(rank.held.size()) == rank.room) continue;
          const double change = cost(last->held[g]) - (moves ? 0 : cost(rank.held[t]));
          const double end = std::max((last->load - change) / last->speed, (rank.load + change) / rank.speed);
          if (change <= 0 || end >= best * (1 - 1e-6)) continue;
          best = end;
          other = &rank;
          give = g;
          take = t;
        }
      }
    }
    if (other == nullptr) return false;
    const int given = last->held[give];
    last->load -= cost(given);
    other->load += cost(given);
    if (take == other->held.size()) {
      last->held.erase(last->held.begin() + static_cast<std::ptrdiff_t>(give));
      other->held.push_back(given);
      return true;
    }
    last->load += cost(other->held[take]);
    other->load -= cost(other->held[take]);
    std::swap(last->held[give], other->held[take]);
    return true;
  }

  const std::vector<double>& costs_;
  std::vector<Rank> ranks_;
};

bool are_equal(const std::vector<double>& costs) {
  return std::all_of(costs.begin(), costs.end(), [&](double cost) { return cost == costs.front(); });
}

}  // namespace

std::vector<int> distribute(const schedule::ProgramShape& program, const std::vector<double>& costs) {
  if (static_cast<int>(costs.size()) == program.microbatches && are_equal(costs)) {
    std::vector<int> all(costs.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  if (static_cast<int>(costs.size()) > program.microbatches)
    throw base::BugError(fmt::format("a step of {} microbatches in a program with room for {}", costs.size(), program.microbatches));
  Shares shares(program, costs);
  shares.add_longest_first();
  shares.even_out();
  return shares.reads();
}

}  // namespace troika::plan

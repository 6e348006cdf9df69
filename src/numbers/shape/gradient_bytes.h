// The bytes that a GradientSum (sharding/gradient_sum.h) holds, from numbers alone: the same calls in the same order give
// what its ledger counts. A third part of a packed message (sharding/packed_message.h) is not in them.
#pragma once

#include <cstdint>
#include <vector>

#include "shape/shard_plan.h"
#include "shape/sum_shape.h"

namespace troika::shape {

class GradientBytes {
 public:
  // For the rank at shape.place; leaves are written in pieces of at most so many elements.
  GradientBytes(const ShardPlan& plan, const SumShape& shape, std::int64_t largest_piece);

  std::int64_t held() const;

  // Each call of GradientSum; what some of them hold for a moment has a call of its own before.
  void open();       // the largest piece
  void open_rows();  // of a leaf that is written by rows, without pieces
  void make_sum();   // before close: the sum that the first leaf is added to
  void close();
  void pack();  // before start_reduce: the most while ranges are packed
  void start_reduce();
  bool reducing() const { return reducing_; }
  void add_up();      // before make_range: the most while ranges of others are here
  void make_range();  // before finish_reduce
  void finish_reduce();
  void receive_other();  // before include_other: the sums of a tied table that cross
  void include_other();
  void make_total();  // before total
  void total();
  void make_whole();  // before start_gather
  void start_gather();
  void reset();

 private:
  bool stays_in_place() const;
  bool adds_integers() const;

  const SumShape shape_;
  const std::int64_t elements_, own_, largest_piece_;
  std::vector<std::int64_t> others_;  // elements of the other ranges, in the order in which they are packed
  bool piece_ = false, converts_ = false, leaf_ = false, sending_ = false, reducing_ = false;
  // Bytes of an element: of the sum of own leaves, of the range that is reduced; 0: none.
  std::int64_t sum_ = 0, range_ = 0;
  std::int64_t packed_ = 0, incoming_ = 0, crossing_ = 0;  // bytes of messages, packed or plain
  std::int64_t block_ = 0;
  bool total_ = false, whole_ = false;
};

// Sent by the rank at shape.place, without second and third parts of packed messages: in one reduction of a buffer, in one
// gather of its totals, and to the other stage of a tied table.
std::int64_t reduce_bytes_sent(const ShardPlan& plan, const SumShape& shape);
std::int64_t gather_bytes_sent(const ShardPlan& plan, const SumShape& shape);
std::int64_t tied_bytes_sent(const ShardPlan& plan, const SumShape& shape);

}  // namespace troika::shape

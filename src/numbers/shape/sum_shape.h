// The rank that adds up each gradient of a step. A leaf is the summand that one backward adds to the gradient of one buffer: there
// is one for every microbatch, context-parallel rank, and use of a tied table. All leaves of a tensor are rounded to one grid and
// added as integers, so the sum has the same bits for any order, any split over ranks and any way of sharing
// (docs/reproducibility.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace troika::shape {

// The position of a rank among the ranks that hold the same parameters.
struct ReplicaPlace {
  int dp = 1, cp = 1, dp_rank = 0, cp_rank = 0;

  int count() const { return dp * cp; }
  int index() const { return cp_rank * dp + dp_rank; }  // rank in the replicas' channel
};

// at_end: a rank adds up its own leaves, whole, and shares the sum out once. each_leaf: every leaf is reduce-scattered at
// once, and owners add up their range (ZeRO 2, 3).
enum class Reduction { at_end, each_leaf };

// The part of the sum that every replica has in the end: its range, or all of it (ZeRO 0).
enum class Result { range, whole };

// integers: on the grid. floats: in fp32, in an order that is not the same in every layout. any_order: nor in every run.
enum class Addition { integers, floats, any_order };

// How integers of a sum travel to another rank. packed: losslessly in fewer bits, for links that are slower than a
// processor packs. plain: as they are, between devices that move their memory themselves. added: as they are, and added up on the
// way (comm::Channel::reduce_scatter): whatever ranks share out becomes integers before, or stays fp32 where any order will do.
enum class Travel { packed, plain, added };

// How a replica receives the other replicas' leaves of its range where every leaf is reduced at once. together: all beside what
// follows, each but one in memory of its own. in_turn: one after the other, in the leaf's memory.
enum class Receives { together, in_turn };

struct SumShape {
  ReplicaPlace place;
  std::vector<std::int64_t> shares{1};  // microbatches of a step by dp rank
  Reduction reduction = Reduction::at_end;
  Result result = Result::range;
  Addition addition = Addition::integers;
  Travel travel = Travel::packed;
  Receives receives = Receives::together;
  int uses = 1, uses_here = 1;  // of the buffer's values by segments, each with a leaf; on this stage's ranks

  std::int64_t microbatches() const { return std::accumulate(shares.begin(), shares.end(), std::int64_t{0}); }
  std::int64_t leaves_of(int replica) const {
    return shares.at(static_cast<std::size_t>(replica % place.dp)) * uses_here;
  }
  std::int64_t own_leaves() const { return leaves_of(place.index()); }
  std::int64_t all_leaves() const { return microbatches() * place.cp * uses; }

  // Two numbers have one sum: no grid is needed where there are no more.
  bool in_floats() const {
    if (travel == Travel::added) return addition == Addition::any_order;
    return addition != Addition::integers || all_leaves() <= 2;
  }
  // A replica's leaves add up to fp32, not integers, before they are shared out: a single leaf, which the grid leaves exact in fp32.
  bool adds_in_floats(int replica) const {
    return reduction == Reduction::each_leaf || addition != Addition::integers || all_leaves() <= 2 || leaves_of(replica) == 1;
  }
  // And they are shared out so.
  bool shares_floats(int replica) const { return travel == Travel::added ? in_floats() : adds_in_floats(replica); }
  // A replica's range becomes the sum where its own leaf lies: all leaves are there at once, and no other stage adds
  // integers to them.
  bool sums_in_place() const;
  // The sum is kept in fp32 once it is complete: no other leaf and no other stage adds to it.
  bool ends_in_floats() const {
    if (reduction == Reduction::each_leaf && travel != Travel::added)
      return in_floats() || (own_leaves() == 1 && uses == uses_here);
    return in_floats() || sums_in_place();
  }
};

// Between devices that move their memory themselves, with so many of these replicas on each of their hosts. Sent straight to its owner,
// a share crosses a host's border from each of the host's replicas; added on the way, a sum crosses it once, as integers or in fp32.
inline Travel travel_between_devices(const SumShape& shape, int on_each_host) {
  bool floats = true;
  for (int r = 0; r < shape.place.count(); ++r) floats = floats && shape.adds_in_floats(r);
  const std::int64_t replicas = shape.place.count(), elsewhere = std::max<std::int64_t>(0, replicas - on_each_host);
  const std::int64_t of_share = floats ? 4 : 8, of_sum = shape.addition == Addition::any_order ? 4 : 8;
  return on_each_host * elsewhere * of_share > of_sum * replicas ? Travel::added : Travel::plain;
}

// Elements that are added up at a time where a range is summed in place: what stays in a core's cache, or keeps a device busy.
constexpr std::int64_t sum_block(Travel travel) { return std::int64_t{1} << (travel == Travel::packed ? 16 : 22); }

inline bool SumShape::sums_in_place() const {
  if (reduction == Reduction::each_leaf) return false;
  for (int replica = 0; replica < place.count(); ++replica) {
    if (!shares_floats(replica)) return false;
  }
  return in_floats() || uses == uses_here;
}

// Words of 64 bits in the message that carries so many integers of a sum to another rank. Packed: 42 bits of each, where
// the sums of trainings take 36 to 40, and what a short range takes besides. The buffers it is packed and received in have
// room for 46 bits.
inline std::int64_t message_words(std::int64_t integers) { return integers == 0 ? 0 : (integers * 21 + 31) / 32 + 8; }
inline std::int64_t packed_words(std::int64_t integers) { return integers == 0 ? 0 : (integers * 23 + 31) / 32 + 32; }
inline std::int64_t message_words(Travel travel, std::int64_t integers) {
  return travel == Travel::packed ? message_words(integers) : integers;
}
inline std::int64_t buffer_words(Travel travel, std::int64_t integers) {
  return travel == Travel::packed ? packed_words(integers) : integers;
}

// Leaves of magnitudes below 2^exponent become integers g * 2^grid_shift, and the sum of all of them stays below 2^61.
inline int grid_shift(const SumShape& shape, int exponent) {
  int bits = 0;
  while ((std::int64_t{1} << bits) < shape.all_leaves()) ++bits;
  return 61 - bits - exponent;
}

}  // namespace troika::shape

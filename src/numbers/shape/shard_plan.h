// How a flat buffer is sharded over the ranks that hold it: contiguous ranges of whole chunks, so that the squares
// of the gradient norm, which are summed chunk by chunk, are the same whoever owns which range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/choices.h"
#include "shape/layout.h"
#include "shape/region.h"

namespace troika::shape {

// Where an optimizer keeps its state. device: on the parameters' device. host: in host memory, copied to the device and back around each step (on a CPU
// that is the same place). file: in a nameless file under `folder`; pages come and go with the step.
struct StatePlace {
  enum class Kind { device, host, file } kind = Kind::device;
  std::string folder;  // of file
};

// Between which elements of a buffer one replica's share ends and the next begins. by_range: at any chunk of the gradient
// norm, for optimizers that update an element from its own gradient and state.
enum class Division { by_range };

// An fp32 tensor as long as the parameters.
struct StateBuffer {
  std::string_view name;   // in checkpoints, before a dot and the parameter's name
  std::string_view title;  // for people
};

// Bytes are of one parameter; `element`: its bytes as forward and backward read it, beside fewer than 4 an fp32 master copy is
// kept.
struct OptimizerShape {
  std::vector<StateBuffer> buffers;
  Division division = Division::by_range;

  int tensors(std::int64_t element) const { return static_cast<int>(buffers.size()) + (element == 4 ? 0 : 1); }
  std::int64_t bytes(std::int64_t element) const { return 4 * std::int64_t{tensors(element)}; }
  std::int64_t saved_bytes() const { return 4 * (1 + count()); }  // in a checkpoint, with the parameter
  // Read and written by an update: of gradient, parameter and buffers all but the gradient are written too.
  std::int64_t update_bytes(std::int64_t element) const { return 4 * (3 + 2 * count()) + (element == 4 ? 0 : element); }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(buffers.size()); }
};

OptimizerShape shape_of(config::Optimizer optimizer);

// Elements whose squares the gradient norm adds up first.
inline constexpr std::int64_t norm_chunk = 4096;

// A chunk is up to norm_chunk consecutive elements of one part (one named tensor) of the buffer, counted from the part's
// begin. A value of a few numbers per part, however large the buffer; the same on every rank.
class ShardPlan {
 public:
  // `part_elements`: the parts of the buffer in order.
  ShardPlan(const std::vector<std::int64_t>& part_elements, int replicas, Division division = Division::by_range);

  int replicas() const { return static_cast<int>(first_chunk_.size()) - 1; }
  std::int64_t elements() const { return part_begin_.back(); }
  std::int64_t chunks() const { return part_first_chunk_.back(); }

  std::size_t parts() const { return part_begin_.size() - 1; }
  Range part(std::size_t index) const {
    return {part_begin_.at(index), part_begin_.at(index + 1) - part_begin_[index]};
  }

  // visit(part, its first element counted from of.begin, how many of it) for the parts that `of` has elements of.
  template <class Visit>
  void visit_parts(const Range& of, Visit visit) const {
    for (std::size_t index = 0; index < parts(); ++index) {
      const Range here = common(of, part(index));
      if (here.count > 0) visit(index, here.begin - of.begin, here.count);
    }
  }

  Range elements_of(int replica) const;  // about elements / replicas; may be empty
  Range chunks_of(int replica) const;
  Range chunks_of_part(std::size_t part) const;

  bool operator==(const ShardPlan& other) const {
    return part_begin_ == other.part_begin_ && first_chunk_ == other.first_chunk_;
  }

 private:
  std::int64_t begin_of_chunk(std::int64_t chunk) const;   // its first element; of chunks(): elements()
  std::int64_t nearest_chunk(std::int64_t element) const;  // whose begin is nearest, the lower of two
  std::int64_t nearest_boundary(std::int64_t element, Division division) const;  // the chunk behind it

  std::vector<std::int64_t> part_begin_ = {0};        // element offsets; one more: the end
  std::vector<std::int64_t> part_first_chunk_ = {0};  // one more: the end
  std::vector<std::int64_t> first_chunk_;             // by replica; one more: the end
};

// How the flat buffers of a layout are sharded over their replicas: by slots.
ShardPlan shard_plan(const SegmentLayout& layout, int replicas, Division division);

}  // namespace troika::shape

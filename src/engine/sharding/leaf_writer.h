// Where a backward writes one leaf (shape/sum_shape.h) of a flat gradient, piece by piece, so that a piece can be added to a
// sum and forgotten before the next is computed. What no piece covers is zero. The pieces of one parameter come in their order
// in the buffer, without gaps from its first element on; every leaf has the same pieces.
#pragma once

#include <utility>
#include <vector>

#include "shape/layout.h"
#include "shape/region.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::sharding {

class LeafWriter {
 public:
  virtual ~LeafWriter() = default;
  // Flat, fp32, uninitialised: these elements of the gradient, at least one, to be written before close(). Each element
  // once per leaf.
  virtual tensor::Tensor open(const shape::Range& range) = 0;
  // The same for what can be added where it is made: the sum's own elements to add to, where no leaf has to be there by itself.
  virtual tensor::Destination open_sum(const shape::Range& range) { return {open(range)}; }
  virtual void close() = 0;  // what is open is written, and its tensors are let go
  // Opens, writes and closes elements that are there already, of any shape.
  virtual void write(const shape::Range& range, const tensor::Tensor& x);
  // Opens, writes and closes a whole parameter, a matrix of which only the rows that row_r (int64, ascending, each once) names
  // are not zero: x_rD. Undefined where x_rD has all rows.
  virtual void write_rows(const shape::Range& parameter, const tensor::Tensor& row_r, const tensor::Tensor& x_rD);

 protected:
  // Whether the rows are the whole matrix. A GPU names every row (kernels/vocabulary.h), and is spared the indices.
  static bool are_all_rows(const shape::Range& parameter, const tensor::Tensor& x_rD) {
    return x_rD.elements() == parameter.count;
  }
};

// Into a tensor of the whole gradient.
class FlatLeaf final : public LeafWriter {
 public:
  explicit FlatLeaf(tensor::Tensor flat) : flat_(std::move(flat)) {}
  tensor::Tensor open(const shape::Range& range) override;
  void close() override {}
  void finish();  // zeros where no piece was

  const std::vector<shape::Range>& pieces() const { return pieces_; }  // as they were opened

 private:
  const tensor::Tensor flat_;
  std::vector<shape::Range> pieces_;
};

// Keeps pieces of another writer open until close_all(), to change them when all are written: all but those whose slots this rank
// alone holds or finds whole.
class HeldLeaf final : public LeafWriter {
 public:
  HeldLeaf(LeafWriter& writer, const shape::SegmentLayout& layout) : writer_(writer), layout_(layout) {}  // both outlive it
  tensor::Tensor open(const shape::Range& range) override;
  tensor::Destination open_sum(const shape::Range& range) override;
  void write(const shape::Range& range, const tensor::Tensor& x) override;
  void close() override {}
  tensor::Tensor elements(const shape::Range& range) const;  // within one piece
  void close_all();

 private:
  struct Piece {
    shape::Range range;
    tensor::Tensor elements;
  };
  bool holds(const shape::Range& range) const;

  LeafWriter& writer_;
  const shape::SegmentLayout& layout_;
  std::vector<Piece> pieces_;
};

}  // namespace troika::sharding

#include "tensor/upload.h"

#include <fmt/format.h>

#include "base/error.h"

namespace troika::tensor {

void Upload::copy(const Tensor& to, const std::function<void(void* piece)>& fill) {
  if (to.bytes() > piece_bytes) throw base::BugError(fmt::format("a piece of {} bytes is brought to a device", to.bytes()));
  if (streams_ == nullptr) {
    streams_ = make_streams(to.device());
    for (std::int64_t i = 0; i < pieces; ++i) pieces_.push_back({streams_->new_host_tensor({piece_bytes}, Dtype::uint8), {}});
  }
  Piece& piece = pieces_[next_];
  next_ = (next_ + 1) % pieces_.size();
  await(piece.read, [] {});
  fill(piece.memory.data());
  streams_->wait(in_lane, streams_->record(compute_lane));  // which may have used the memory until now
  streams_->copy(in_lane, to.view({to.elements()}).bits_as(Dtype::uint8), piece.memory.narrow(0, 0, to.bytes()));
  piece.read = streams_->record(in_lane);
  streams_->wait(compute_lane, piece.read);
}

}  // namespace troika::tensor

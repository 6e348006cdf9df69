#include "tensor/upload.h"

#include <fmt/format.h>

#include <algorithm>

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

// The device may still write to the buffers: the next use of their memory is queued behind the compute lane.
Download::~Download() {
  try {
    for (const Buffer& buffer : buffers_)
      if (streams_ != nullptr) streams_->wait(compute_lane, buffer.filled);
  } catch (const base::Error&) {  // a device that has failed writes no more
  }
}

void Download::start(const Device& device) {
  if (streams_ != nullptr) return;
  streams_ = make_streams(device);
  for (Buffer& buffer : buffers_) buffer.memory = streams_->new_host_tensor({buffer_bytes}, Dtype::uint8);
}

void Download::fill(Buffer& buffer, const std::vector<Tensor>& tensors, Position& position) {
  buffer.parts.clear();
  std::int64_t filled = 0;
  bool copies = false;
  for (; position.tensor < tensors.size(); ++position.tensor, position.element = 0) {
    const Tensor& from = tensors[position.tensor];
    const std::int64_t rest = from.elements() - position.element, width = base::bytes_of(from.dtype());
    if (rest == 0) continue;
    const std::int64_t count = std::min(rest, (buffer_bytes - filled) / width);
    if (count == 0) break;
    Tensor piece = from.narrow(0, position.element, count);
    if (!from.is_cpu()) {
      start(from.device());
      if (!copies) streams_->wait(out_lane, streams_->record(compute_lane));
      copies = true;
      const Tensor room(buffer.memory.memory(), filled, from.dtype(), {count}, {1});
      streams_->copy(out_lane, room, piece);
      piece = room;
    }
    buffer.parts.push_back({position.tensor, piece});
    filled += (count * width + 63) / 64 * 64;
    if (count < rest || filled >= buffer_bytes) {
      position.element += count;
      break;
    }
  }
  buffer.filled = copies ? streams_->record(out_lane) : Event();
}

void Download::read(const std::vector<Tensor>& tensors,
                    const std::function<void(std::size_t tensor, const Tensor& piece)>& read) {
  Position position;
  fill(buffers_[0], tensors, position);
  for (int now = 0; !buffers_[now].parts.empty(); now = 1 - now) {
    fill(buffers_[1 - now], tensors, position);
    await(buffers_[now].filled, check_);
    for (const Part& part : buffers_[now].parts) read(part.tensor, part.piece);
  }
}

}  // namespace troika::tensor

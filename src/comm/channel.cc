#include "comm/channel.h"

namespace troika::comm {

GatherMessages::GatherMessages(const std::vector<tensor::Tensor>& parts, int rank, std::uint32_t tag) {
  const int size = static_cast<int>(parts.size());
  const tensor::Tensor& own = parts[static_cast<std::size_t>(rank)];
  for (int i = 1; i < size; ++i) {
    const int from = (rank + size - i) % size, to = (rank + i) % size;
    const tensor::Tensor& other = parts[static_cast<std::size_t>(from)];
    if (other.elements() > 0) in.push_back({other, from, tag});
    if (own.elements() > 0) out.push_back({own, to, tag});
  }
}

}  // namespace troika::comm

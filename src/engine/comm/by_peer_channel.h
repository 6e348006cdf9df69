// One channel over two.
#pragma once

#include <functional>
#include <memory>

#include "comm/channel.h"

namespace troika::comm {

// Some peers are reached over one backend, the others over another. Both are of one group. `is_near`: whether a rank of the group is reached over the first; alike at both ends.
std::unique_ptr<Channel> by_peer(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far,
                                 std::function<bool(int rank)> is_near);

// Tensors in host memory go over one backend, tensors on a device over another. Both are of one group. Messages of the two never meet each other.
std::unique_ptr<Channel> by_device(std::unique_ptr<Channel> host, std::unique_ptr<Channel> device);

}  // namespace troika::comm

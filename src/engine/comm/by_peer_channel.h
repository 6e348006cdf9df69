// One channel over two: some peers are reached over one backend, the others over another.
#pragma once

#include <functional>
#include <memory>

#include "comm/channel.h"

namespace troika::comm {

// Both are of one group. `is_near`: whether a rank of the group is reached over the first; alike at both ends.
std::unique_ptr<Channel> by_peer(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far,
                                 std::function<bool(int rank)> is_near);

}  // namespace troika::comm

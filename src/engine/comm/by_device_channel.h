// One channel over two: tensors in host memory go over one backend, tensors on a device over another.
#pragma once

#include <memory>

#include "comm/channel.h"

namespace troika::comm {

// Both are of one group. Messages of the two never meet each other.
std::unique_ptr<Channel> by_device(std::unique_ptr<Channel> host, std::unique_ptr<Channel> device);

}  // namespace troika::comm

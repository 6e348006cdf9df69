// The channel of a group of one. Any send or recv is a BugError.
#pragma once

#include <memory>
#include <string>

#include "comm/channel.h"

namespace troika::comm {

std::unique_ptr<Channel> make_self_channel(const std::string& name);

}  // namespace troika::comm

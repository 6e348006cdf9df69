// For tests: a channel that goes wrong on purpose.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/channel.h"

namespace troika::comm {

struct Fault {
  enum class Kind {
    drop,     // a send is taken and never delivered; a recv never gets its message
    delay,    // the message is posted `seconds` late (the call blocks for that long)
    fail,     // the wait throws
    kill,     // from here on this rank is dead: its peers see it leave, its own calls throw
    corrupt,  // one bit in the middle of what is received arrives flipped
    silent,   // from here on this rank neither sends nor receives, as a stopped process; its waits last to the deadline
  };
  Kind kind = Kind::drop;
  std::int64_t message = 0;  // which one: sends and recvs of this rank are counted together, from 0
  double seconds = 0;
};

// `deadline_seconds` ends the waits that would otherwise last for ever.
std::unique_ptr<Channel> faulty(std::unique_ptr<Channel> inner, std::vector<Fault> faults, double deadline_seconds);

}  // namespace troika::comm

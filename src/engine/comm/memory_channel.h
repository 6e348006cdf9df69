// Channels between ranks of one host over their memory: the sender posts a description to the receiver's mailbox
// (mailbox.h), and the receiver copies the bytes from the sender's memory, once; small messages are part of the
// description. There is no extra thread: messages move while a rank waits, and nothing moves before its receive is
// posted. Waiting ranks sleep.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/channel.h"

namespace troika::comm {

struct MemorySettings {
  double wait_seconds = 120;  // as TcpSettings
  double spin_seconds = 0;    // how long a wait looks before it sleeps; worth it where every rank has a core
};

class MemoryLinks;

// One per rank, of its thread, but for abort(). Outlived by its channels.
class MemoryTransport {
 public:
  // Called alike by all ranks of a memory_neighbourhood (mailbox.h): each gives a text, and gets those of all by world rank.
  // `what` names it, once.
  using GatherTexts = std::function<std::map<int, std::string>(const std::string& what, const std::string& mine)>;

  // Collective over the ranks of the neighbourhood: finds out who can reach whom. Where memory is not to be had it reaches
  // nobody; that is no error.
  MemoryTransport(int world_rank, const GatherTexts& gather_texts, const MemorySettings& settings);

  // Alike at both ends.
  bool reaches(int world_rank) const;
  bool reaches_all(const std::vector<int>& world_ranks) const;  // but itself
  int neighbours() const;                                       // how many it reaches
  bool reaches_any(const std::vector<int>& world_ranks) const;  // likewise

  // As TcpTransport::group, but not collective. BugError for messages to ranks that it does not reach.
  std::unique_ptr<Channel> group(const std::string& name, const std::vector<int>& world_ranks);

 private:
  const std::shared_ptr<MemoryLinks> links_;
  std::map<std::string, int> built_;  // groups by name, so that no two are one channel
};

}  // namespace troika::comm

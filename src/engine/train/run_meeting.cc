#include "train/run_meeting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/text.h"
#include "train/own_folder.h"

namespace troika::train {

static std::unique_ptr<RunLock> lock_of(const RankContext& context, const std::string& run) {
  const config::Settings& s = context.resolved.settings;
  check_own_folder(s);
  auto lock = std::make_unique<RunLock>(s.train.out, run, context.identity.launch);
  if (const base::Text note = lock->note_of_missing_locks(); !note.empty()) say(context, base::say("note: {}", note));
  return lock;
}

// Rank 0 comes first, so that others of its run find it there.
std::unique_ptr<RunLock> lock_folder(Session& session, const RankContext& context) {
  const std::string& out = context.resolved.settings.train.out;
  std::unique_ptr<RunLock> lock;
  const std::string run = session.collectives().broadcast_text("run", [&] {
    const std::string name =
        base::hash_bytes(fmt::format("{} {} {:.9f}", base::host_name(), ::getpid(), base::wall_seconds()));
    if (!out.empty()) lock = lock_of(context, name);
    return name;
  });
  if (!out.empty() && lock == nullptr && context.identity.local_rank == 0) lock = lock_of(context, run);
  return lock;
}

std::vector<records::RankPlace> places_of_ranks(Session& session) {
  std::vector<records::RankPlace> places;
  for (const std::string& text :
       session.collectives().all_gather_text("places", fmt::format("{} {}", ::getpid(), base::host_name()))) {
    const std::size_t space = text.find(' ');
    std::int64_t pid = 0;
    base::parse_int(text.substr(0, space), &pid);
    records::RankPlace place;
    place.rank = static_cast<int>(places.size());
    place.host = text.substr(space + 1);
    place.pid = static_cast<int>(pid);
    places.push_back(place);
  }
  return places;
}

int ranks_of_each_host(Session& session, const rendezvous::Identity& me) {
  const std::string here = std::to_string(me.local_size);
  const std::vector<std::string> all = session.collectives().all_gather_text("ranks of hosts", here);
  return std::count(all.begin(), all.end(), here) == me.world_size ? me.local_size : 0;
}

}  // namespace troika::train

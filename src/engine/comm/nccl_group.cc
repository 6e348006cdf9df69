#include "comm/nccl_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "records/incident.h"

namespace troika::comm {

// How often the store is asked: whether a peer has left, while one is waited for; and whether it has come.
static constexpr double look_seconds = 0.25;
static constexpr double meet_seconds = 1e-3;

// The sender's end (of exchanges, the first rank's) makes the id, the others look for it.
bool NcclGroup::exchange_id(const std::string& at, const GroupRank& member, nccl::UniqueId* id) {
  std::string value;
  if (member.rank == 0) {
    if (api->get_unique_id(id) != nccl::Result::success) {
      throw base::PeerError(
          base::say("NCCL {} created no id: {}", nccl::version_text(api->version), api->get_last_error(nullptr)));
    }
    store->set(at, std::string(id->bytes, sizeof id->bytes));
    return true;
  }
  if (!store->try_get(at, &value)) return false;
  if (value.size() != sizeof id->bytes)
    throw base::PeerError(
        base::say("an NCCL id in the store has {} bytes instead of {}", value.size(), sizeof id->bytes));
  std::memcpy(id->bytes, value.data(), value.size());
  return true;
}

std::shared_ptr<Communicator> NcclGroup::open(const nccl::UniqueId& id, const GroupRank& member, int max_ctas) {
  const auto communicator = std::make_shared<Communicator>(api, id, member, max_ctas);
  all->keep(this, communicator);
  return communicator;
}

Link::Meet NcclGroup::meeting(Edge edge) {
  const int peer = edge.peer;
  std::string at = key("exchanges");
  GroupRank member{rank, static_cast<int>(world_ranks.size())};
  int max_ctas = settings.ctas.exchange;
  if (edge.direction != Direction::exchange) {
    const bool sends = edge.direction == Direction::send;
    member = {sends ? 0 : 1, 2};
    max_ctas = settings.ctas.message;
    at = key(fmt::format("edge/{}-{}/{}", sends ? rank : peer, sends ? peer : rank, edge.message_class));
  }
  return [this, at, member, max_ctas, next = 0.0]() mutable -> std::shared_ptr<Communicator> {
    const double now = base::monotonic_seconds();
    nccl::UniqueId id{};
    if (now < next || !exchange_id(at, member, &id)) {
      next = std::max(next, now + meet_seconds);
      return nullptr;
    }
    return open(id, member, max_ctas);
  };
}

Link& NcclGroup::link(Edge edge) {
  auto& found = links_[edge];
  if (found == nullptr) found = std::make_unique<Link>(*streams, meeting(edge));
  return *found;
}

LinkOrder NcclGroup::order(int peer, Direction direction) const {
  LinkOrder sum{0, 0};
  for (const auto& [edge, link] : links_) {
    if (edge.peer != peer || edge.direction != direction) continue;
    sum.messages += link->order().messages;
    sum.digest ^= link->order().digest;
  }
  return sum;
}

LinkTaskPtr NcclGroup::post(Edge edge, const Operation& operation, std::vector<tensor::Tensor> tensors,
                            Communicator::Call call) {
  const auto task = std::make_shared<LinkTask>();
  task->operation = operation;
  task->tensors = std::move(tensors);
  task->call = std::move(call);
  task->ready = streams->record(tensor::compute_lane);
  task->posted_at = base::monotonic_seconds();
  if (!why_failed().empty()) return task;  // its wait tells
  all->progress();
  link(edge).add(task);
  link(edge).launch();
  return task;
}

void NcclGroup::progress() {
  for (auto& [edge, link] : links_) {
    if (!link->settled()) link->progress();
  }
}

bool NcclGroup::idle() {
  return std::all_of(links_.begin(), links_.end(), [](const auto& at) { return at.second->oldest() == nullptr; });
}

void NcclGroup::check() {
  all->progress();
  LinkTaskPtr oldest;
  for (auto& [edge, link] : links_) {
    check(*link);
    const LinkTaskPtr task = link->oldest();
    if (task != nullptr && (oldest == nullptr || task->posted_at < oldest->posted_at)) oldest = task;
  }
  if (oldest != nullptr) return check(*oldest);
  const base::Text ended = why_failed();
  if (!ended.empty()) throw base::PeerError(base::say("group '{}' failed: {}", name, ended));
}

void NcclGroup::check(Link& link) {
  base::Text cause;
  Operation operation;
  if (link.failed(&cause, &operation) && why_failed().empty()) fail(operation, cause);
}

void NcclGroup::check(const LinkTask& oldest) {
  const base::Text ended = why_failed();
  if (!ended.empty()) fail(oldest.operation, ended);
  const double now = base::monotonic_seconds();
  if (now - oldest.posted_at > settings.timeout_seconds) {
    fail(oldest.operation, base::say("it did not finish within {:g} s", settings.timeout_seconds));
  }
  if (now - std::max(looked_at_, oldest.posted_at) < look_seconds) return;
  looked_at_ = now;
  const base::Text left = who_left();
  if (!left.empty()) fail(oldest.operation, left);
}

// Asks the members, since the peer of one waits for the next.
base::Text NcclGroup::who_left() {
  try {
    const std::vector<std::string> gone = store->keys(key("left/"));
    std::string why;
    return !gone.empty() && store->try_get(gone.front(), &why) ? records::parse_incident(why).words : base::Text{};
  } catch (const base::PeerError& error) {
    return base::text_of(error);
  }
}

void NcclGroup::leave(const base::Text& why) {
  try {
    store->set(key(fmt::format("left/{:06}", world_rank(rank))), to_json(records::told(why)));
  } catch (const base::Error&) {  // without a store nobody could read it
  }
}

void NcclGroup::fail(const Operation& operation, const base::Text& cause) {
  if (all->end(after_failure(cause)).empty()) leave(base::say("rank {} has given up: {}", world_rank(rank), cause));
  throw base::PeerError(failure_text(operation, name, cause));
}

base::Text NcclGroup::why_failed() { return closed_ ? channel_closed() : all->why_failed(); }

void NcclGroup::close() {
  closed_ = true;
  if (all->idle()) {
    for (const auto& communicator : all->take(this)) communicator->destroy();
  } else {
    all->end(base::say("the channel of group '{}' was closed", name));
  }
  leave(base::say("rank {} has left", world_rank(rank)));
}

void NcclGroups::progress() {
  for (const auto& weak : open_) {
    if (const auto group = weak.lock()) group->progress();
  }
}

bool NcclGroups::idle() {
  return std::all_of(open_.begin(), open_.end(), [](const auto& weak) {
    const auto group = weak.lock();
    return group == nullptr || group->idle();
  });
}

void NcclGroups::keep(const NcclGroup* owner, const std::shared_ptr<Communicator>& communicator) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_.empty()) return communicators_[owner].push_back(communicator);
  }
  Communicator::abort({communicator}, abort_seconds_);
}

std::vector<std::shared_ptr<Communicator>> NcclGroups::take(const NcclGroup* owner) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(communicators_[owner], {});
}

base::Text NcclGroups::end(const base::Text& reason) {
  base::Text before;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    before = failure_;
    if (failure_.empty()) failure_ = reason;
  }
  const std::lock_guard<std::mutex> lock_aborting(aborting_);
  std::vector<std::shared_ptr<Communicator>> open;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [owner, communicators] : std::exchange(communicators_, {}))
      open.insert(open.end(), communicators.begin(), communicators.end());
  }
  Communicator::abort(open, abort_seconds_);
  return before;
}

base::Text NcclGroups::why_failed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

}  // namespace troika::comm

#include "train/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"
#include "comm/collectives.h"
#include "rendezvous/socket.h"
#include "rendezvous/failure_monitor.h"
#include "rendezvous/launcher_peer.h"
#include "rendezvous/notice_judges.h"
#include "rendezvous/ticker.h"

namespace troika::train {

namespace {

rendezvous::SaveJudge judge_of_this_rank(double heartbeat_seconds) {
  rendezvous::SaveJudge judge;
  judge.joined(0, {base::host_name(), "", ::getpid(), 0, heartbeat_seconds});
  return judge;
}

// Watches the saves of a rank that is alone, whom no monitor hears. Both outlive it.
class OwnSaveWatch {
 public:
  OwnSaveWatch(const RankActivity& rank_activity, Notices& notices, double heartbeat_seconds)
      : judge_(judge_of_this_rank(heartbeat_seconds)), ticker_(1.0, [this, &rank_activity, &notices] {
          rendezvous::Heartbeat beat;
          beat.save = rank_activity.save();
          judge_.heard(0, beat);
          for (const records::Incident& notice : judge_.judge()) notices.hear(notice);
          return true;
        }) {}

 private:
  rendezvous::SaveJudge judge_;  // of the ticker's thread
  rendezvous::Ticker ticker_;    // last: its thread uses the members above
};

}  // namespace

struct Session::Links {
  std::unique_ptr<rendezvous::StoreServer> server;  // where no launcher of ours hosts one
  std::unique_ptr<rendezvous::FailureMonitor> failure_monitor;
  std::unique_ptr<rendezvous::StoreClient> client;
  std::atomic<bool> announced{false};  // this process is its rank, and speaks for it

  std::mutex publishing;  // guards the next
  std::unique_ptr<rendezvous::StoreClient> publisher;

  std::unique_ptr<rendezvous::HeartbeatClient> heartbeat;
  std::unique_ptr<OwnSaveWatch> own_saves;  // of a rank that is alone
};

Session::Session(const rendezvous::Identity& identity, const config::CommSettings& settings,
                 Notices::Listener on_notice)
    : identity_(identity),
      settings_(settings),
      rank_activity_(std::make_unique<RankActivity>()),
      notices_(std::move(on_notice)),
      links_(std::make_unique<Links>()),
      groups_(identity, settings, *rank_activity_),
      collectives_(std::in_place, identity_, nullptr, *rank_activity_->wait_mark()) {}

// First what has a thread, which uses the groups.
Session::~Session() {
  links_->heartbeat.reset();
  links_->own_saves.reset();
}

void Session::join() {
  if (identity_.world_size == 1) {
    links_->own_saves = std::make_unique<OwnSaveWatch>(*rank_activity_, notices_, settings_.heartbeat_seconds);
    return;
  }
  if (identity_.hosts_store) {
    links_->server = std::make_unique<rendezvous::StoreServer>(identity_.store_port, rendezvous::reach_of(identity_),
                                                               rendezvous::access_of(identity_),
                                                               rendezvous::StoreLimits::of(identity_.world_size));
    links_->failure_monitor = std::make_unique<rendezvous::FailureMonitor>(identity_);
  }
  links_->client = std::make_unique<rendezvous::StoreClient>(identity_, settings_.join_seconds);
  collectives_.emplace(identity_, links_->client.get(), *rank_activity_->wait_mark());
  rendezvous::announce(*links_->client, identity_, settings_.heartbeat_seconds);
  links_->announced = true;
  links_->heartbeat = std::make_unique<rendezvous::HeartbeatClient>(identity_, heartbeats());
  rank_activity_->on_arrival([heartbeat = links_->heartbeat.get()] { heartbeat->beat(); });
  const comm::WaitMark::Scope waiting(rank_activity_->wait_mark().get(), comm::WaitMark::others);
  rendezvous::await_all(*links_->client, identity_, settings_.join_seconds);
}

rendezvous::Heartbeats Session::heartbeats() {
  rendezvous::Heartbeats heartbeats;
  heartbeats.limit_seconds = settings_.heartbeat_seconds;
  heartbeats.stand_limit_seconds = settings_.timeout_seconds;
  heartbeats.place = [this] { return rank_activity_->place(); };
  heartbeats.pace = [this] { return rank_activity_->pace(); };
  heartbeats.on_failure = [this](const records::Incident& failure) { groups_.abort(said(failure)); };
  heartbeats.save = [this] { return rank_activity_->save(); };
  heartbeats.on_notice = [this](const records::Incident& notice) { notices_.hear(notice); };
  return heartbeats;
}

void Session::agree(const std::string& what, const rendezvous::Facts& facts) {
  if (identity_.world_size == 1) return;
  const comm::WaitMark::Scope waiting(rank_activity_->wait_mark().get(), comm::WaitMark::others);
  rendezvous::agree(*links_->client, identity_, what, facts, comm::store_patience_seconds);
}

void Session::finish() {
  if (identity_.world_size == 1) return;
  comm::barrier(*groups_.channels().world);
  links_->heartbeat->done();
  if (identity_.hosts_store) rendezvous::await_all_done(*links_->client, identity_, settings_.heartbeat_seconds);
}

void Session::publish(const std::string& name, const std::string& text) const {
  if (!links_->announced) return;
  constexpr double patience = 2;
  const std::lock_guard<std::mutex> lock(links_->publishing);
  try {
    if (links_->publisher == nullptr) {
      links_->publisher = std::make_unique<rendezvous::StoreClient>(identity_, patience);
      links_->publisher->set_deadline(patience);
    }
    links_->publisher->set(rendezvous::key_of(identity_, name), text);
  } catch (const base::Error&) {
    links_->publisher.reset();
  }
}

base::Text Session::status() const {
  const records::Place place = rank_activity_->place();
  base::Text at = place.step < 0
                      ? base::say("rank {} is at its start", identity_.world_rank)
                      : base::say("rank {} is at {}", identity_.world_rank, records::said_with_seconds(place));
  if (place.waits_for >= 0)
    at = base::say("{}, waiting for rank {}", at, place.waits_for);
  else if (place.waits_for != records::waits_for_nobody)
    at = base::say("{}, waiting for others", at);
  std::vector<base::Text> clauses{at};
  if (const rendezvous::Save save = rank_activity_->save(); save.step >= 0)
    clauses.push_back(base::say("the checkpoint of step {} is being written to '{}', the last piece {:.0f} s ago",
                                save.step, save.folder, save.seconds));
  if (identity_.world_size == 1) return base::join(clauses, "; ", "；");
  const base::Text notice = notices_.last();
  clauses.push_back(notice.empty() ? base::say("no rank has fallen behind so far") : base::say("last heartbeat: {}", notice));
  return base::lines({base::join(clauses, "; ", "；"), last_operations()});
}

static constexpr double last_wait_seconds = 3;  // of the rank that hosts the store, for others that fail as well

// Writes what failed where the failure monitor and the launcher read it. False when the store is gone.
static bool tell(rendezvous::StoreClient& client, const rendezvous::Identity& identity,
                 const rendezvous::FailureReport& own) {
  try {
    client.set_deadline(2);
    client.set(rendezvous::key_of(identity, fmt::format("failed/{:06}", identity.world_rank)),
               rendezvous::to_text(own));
    return true;
  } catch (const base::Error&) {
    return false;
  }
}

// Over another connection when that one is broken: the network may be there again.
static bool tell_in_any_case(std::unique_ptr<rendezvous::StoreClient>& client, const rendezvous::Identity& identity,
                             const rendezvous::FailureReport& own) {
  if (tell(*client, identity, own)) return true;
  constexpr double wait_seconds = 3;
  try {
    client = std::make_unique<rendezvous::StoreClient>(identity, wait_seconds);
  } catch (const base::Error&) {
    return false;
  }
  return tell(*client, identity, own);
}

// "" when there is none, or nobody to ask.
static base::Text failure_told_by(rendezvous::StoreClient& client, const rendezvous::Identity& identity) {
  try {
    client.set_deadline(2);
    rendezvous::FailureReport report;
    return rendezvous::read_failure_report(client, identity, &report) ? report.said() : base::Text{};
  } catch (const base::Error&) {
    return {};
  }
}

// A broken connection says nothing about who broke it: the failure report does, and it may come a moment later. It is read before
// this rank tells of its own end, which may be what the rank that hosts the store has waited for to leave.
FailureCause Session::fail(const rendezvous::FailureReport& own) {
  FailureCause cause;
  if (!links_->announced) return cause;
  rendezvous::HeartbeatClient* const heartbeat = links_->heartbeat.get();
  cause.failure = failure_told_by(*links_->client, identity_);
  const bool told = tell_in_any_case(links_->client, identity_, own);
  if (!told && cause.failure.empty()) {
    const base::Text stopped = rendezvous::stopped_launcher(identity_);
    cause.failure =
        base::say("{} at {} no longer answers: {}",
                  identity_.source == rendezvous::Identity::Source::troika_launch ? base::say("the launcher of host 0")
                                                                                 : base::say("rank 0"),
                  rendezvous::endpoint_text(identity_.master_address, identity_.store_port),
                  stopped.empty() ? base::say("its process ended, or its host is down or off the network") : stopped);
    return cause;
  }
  if (told && heartbeat != nullptr && cause.failure.empty()) {
    heartbeat->failed(own);
    cause.failure = heartbeat->failure_report();
    for (int i = 0; own.exit_code == base::exit_peer_lost && cause.failure.empty() && i < 50; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      cause.failure = heartbeat->failure_report();
    }
  }
  cause.launcher_tells = told && identity_.source == rendezvous::Identity::Source::troika_launch;
  if (identity_.hosts_store) rendezvous::await_all_done(*links_->client, identity_, last_wait_seconds);
  return cause;
}

// By a connection of its own: the others may be in use.
void Session::leave(const base::Text& why) const {
  if (!links_->announced) return;
  try {
    rendezvous::StoreClient client(identity_, 1);
    const bool told = tell(client, identity_, {base::exit_interrupted, why});
    if (told && identity_.hosts_store) rendezvous::await_all_done(client, identity_, 1);
  } catch (const base::Error&) {  // nobody is left to tell
  }
}

void Notices::hear(const records::Incident& notice) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = said(notice);
  }
  {
    const std::lock_guard<std::mutex> lock(listening_);
    if (second_) second_(notice);
  }
  if (first_) first_(notice);
}

void Notices::also_tell(Listener listener) {
  const std::lock_guard<std::mutex> lock(listening_);
  second_ = std::move(listener);
}

base::Text Notices::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

}  // namespace troika::train

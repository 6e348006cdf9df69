#include "train/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "comm/by_device_channel.h"
#include "comm/by_peer_channel.h"
#include "comm/collectives.h"
#include "comm/mailbox.h"
#include "comm/memory_channel.h"
#include "comm/self_channel.h"
#include "comm/tcp_channel.h"
#include "executor/message_tags.h"
#include "host/cores.h"
#include "rendezvous/address.h"
#include "rendezvous/failure_monitor.h"
#include "rendezvous/failure_report.h"
#include "rendezvous/join.h"
#include "rendezvous/save_judge.h"
#include "rendezvous/stopped_rank.h"
#include "rendezvous/ticker.h"
#include "sharding/ring.h"
#include "train/backend.h"

namespace troika::train {

static constexpr char saving_group[] = "saving";
static constexpr double connect_seconds = 120;  // for each group
static constexpr double last_wait_seconds = 3;  // of the rank that hosts the store, for others that fail as well
// Before there are groups others may still tokenize or measure; a failure report ends the wait when one of them fails.
static constexpr double patience_seconds = 7 * 24 * 3600.0;

struct Session::Links {
  std::unique_ptr<rendezvous::StoreServer> server;  // where no launcher of ours hosts one
  std::unique_ptr<rendezvous::FailureMonitor> failure_monitor;
  std::unique_ptr<rendezvous::StoreClient> client;
  std::atomic<bool> announced{false};  // this process is its rank, and speaks for it
  std::unique_ptr<comm::TcpTransport> transport;
  std::unique_ptr<comm::MemoryTransport> memory;  // null: not used
  std::shared_ptr<tensor::Streams> streams;       // null: tensors on devices pass through host memory
  std::unique_ptr<comm::NcclTransport> nccl;
  std::shared_ptr<comm::FlightLog> flights = std::make_shared<comm::FlightLog>(64);

  std::mutex mutex;  // guards what stands below
  std::vector<comm::Channel*> open;
  std::string failure;
  std::string notice;  // the last one heard

  std::mutex listening;  // guards the next
  std::function<void(const records::Incident& notice)> listener;

  std::mutex publishing;  // guards the next
  std::unique_ptr<rendezvous::StoreClient> publisher;

  std::unique_ptr<rendezvous::HeartbeatClient> heartbeat;  // last: its thread uses what stands above
  rendezvous::SaveJudge own_saves;                         // of a rank that is alone, by its thread:
  std::unique_ptr<rendezvous::Ticker> own_watch;

  void end(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex);
    failure = text;
    for (comm::Channel* channel : open) channel->abort(text);
  }

  void opened(comm::Channel& channel) {
    const std::lock_guard<std::mutex> lock(mutex);
    open.push_back(&channel);
    if (!failure.empty()) channel.abort(failure);
  }

  void closed() {
    const std::lock_guard<std::mutex> lock(mutex);
    open.clear();
  }
};

Session::Session(const rendezvous::Identity& identity, const config::CommSettings& settings,
                 std::function<void(const records::Incident& notice)> on_notice)
    : identity_(identity),
      settings_(settings),
      on_notice_(std::move(on_notice)),
      whereabouts_(std::make_unique<Whereabouts>()),
      traffic_(std::make_shared<comm::Traffic>(identity.world_size)),
      links_(std::make_unique<Links>()) {}

// There is no monitor that hears of it.
void Session::watch_own_saves() {
  links_->own_saves.joined(0, {base::host_name(), "", ::getpid(), 0, settings_.heartbeat_seconds});
  links_->own_watch = std::make_unique<rendezvous::Ticker>(1.0, [this] {
    rendezvous::Heartbeat beat;
    beat.save = whereabouts_->save();
    links_->own_saves.heard(0, beat);
    for (const records::Incident& notice : links_->own_saves.judge()) hear(notice);
    return true;
  });
}

void Session::join() {
  if (identity_.world_size == 1) return watch_own_saves();
  if (identity_.hosts_store) {
    links_->server = std::make_unique<rendezvous::StoreServer>(identity_.store_port, rendezvous::reach_of(identity_),
                                                               rendezvous::access_of(identity_),
                                                               rendezvous::StoreLimits::of(identity_.world_size));
    links_->failure_monitor = std::make_unique<rendezvous::FailureMonitor>(identity_);
  }
  links_->client = std::make_unique<rendezvous::StoreClient>(identity_, settings_.join_seconds);
  rendezvous::announce(*links_->client, identity_, settings_.heartbeat_seconds);
  links_->announced = true;
  links_->heartbeat = std::make_unique<rendezvous::HeartbeatClient>(identity_, heartbeats());
  whereabouts_->on_arrival([heartbeat = links_->heartbeat.get()] { heartbeat->beat(); });
  const comm::WaitMark::Scope waiting(whereabouts_->wait_mark().get(), comm::WaitMark::others);
  rendezvous::await_all(*links_->client, identity_, settings_.join_seconds);
}

rendezvous::Heartbeats Session::heartbeats() {
  rendezvous::Heartbeats heartbeats;
  heartbeats.limit_seconds = settings_.heartbeat_seconds;
  heartbeats.stand_limit_seconds = settings_.timeout_seconds;
  heartbeats.place = [this] { return whereabouts_->place(); };
  heartbeats.pace = [this] { return whereabouts_->pace(); };
  heartbeats.on_failure = [links = links_.get()](const records::Incident& failure) { links->end(english(failure)); };
  heartbeats.save = [this] { return whereabouts_->save(); };
  heartbeats.on_notice = [this](const records::Incident& notice) { hear(notice); };
  return heartbeats;
}

void Session::hear(const records::Incident& notice) {
  {
    const std::lock_guard<std::mutex> lock(links_->mutex);
    links_->notice = english(notice);
  }
  {
    const std::lock_guard<std::mutex> lock(links_->listening);
    if (links_->listener) links_->listener(notice);
  }
  if (on_notice_) on_notice_(notice);
}

Session::~Session() {
  links_->heartbeat.reset();
  links_->own_watch.reset();
  links_->closed();
  channels_ = {};
}

void Session::agree(const std::string& what, const rendezvous::Facts& facts) {
  if (identity_.world_size == 1) return;
  const comm::WaitMark::Scope waiting(whereabouts_->wait_mark().get(), comm::WaitMark::others);
  rendezvous::agree(*links_->client, identity_, what, facts, patience_seconds);
}

// Over memory where all ranks are reached so, over TCP, or over both.
std::unique_ptr<comm::Channel> Session::between_hosts(const std::string& name, const std::vector<int>& ranks) {
  const comm::MemoryTransport* const memory = links_->memory.get();
  const bool is_saving = name == saving_group;  // used by a thread of its own
  if (memory == nullptr || is_saving || !memory->reaches_any(ranks)) return links_->transport->group(name, ranks);
  std::unique_ptr<comm::Channel> near = links_->memory->group(name, ranks);
  if (memory->reaches_all(ranks)) return near;
  std::set<int> reached;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (memory->reaches(ranks[rank])) reached.insert(static_cast<int>(rank));
  return comm::by_peer(std::move(near), links_->transport->group(name, ranks),
                       [reached](int rank) { return reached.count(rank) > 0; });
}

std::unique_ptr<comm::Channel> Session::open(const std::string& name, const std::vector<int>& ranks,
                                             const comm::NcclEdges* edges, std::shared_ptr<comm::WaitMark> mark) {
  if (ranks.size() == 1) return comm::make_self_channel(name);
  std::unique_ptr<comm::Channel> channel = between_hosts(name, ranks);
  comm::NcclChannel* between_devices = nullptr;
  if (edges != nullptr && links_->nccl != nullptr) {
    std::unique_ptr<comm::NcclChannel> device = links_->nccl->group(name, ranks);
    between_devices = device.get();
    channel = comm::by_device(std::move(channel), std::move(device));
  }
  channel = comm::logged(std::move(channel), links_->flights, std::move(mark), traffic_, ranks);
  links_->opened(*channel);
  if (between_devices != nullptr) comm::connect(*between_devices, *edges, links_->streams->device());
  return channel;
}

namespace {

// Neighbours along a ring: each rank sends to the next one.
struct Neighbours {
  explicit Neighbours(const mesh::Shape& shape, mesh::Axis axis, int world_rank) {
    const int size = shape.extent(axis), rank = mesh::coordinate_of(shape, world_rank).along(axis);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
  }
  int next = 0, last = 0;
};

comm::NcclEdges edges_between_stages(const mesh::Shape& shape, int world_rank) {
  const auto [next, last] = Neighbours(shape, mesh::Axis::pp, world_rank);
  constexpr auto activation = static_cast<std::uint32_t>(executor::StageMessage::activation);
  constexpr auto gradient = static_cast<std::uint32_t>(executor::StageMessage::gradient);
  return {{{next, activation}, {last, gradient}}, {{last, activation}, {next, gradient}}, comm::Exchanges::no};
}

comm::NcclEdges edges_of_ring(const mesh::Shape& shape, int world_rank) {
  const auto [next, last] = Neighbours(shape, mesh::Axis::cp, world_rank);
  constexpr std::uint32_t keys = comm::message_class(sharding::Ring::keys_tag), gradients = comm::message_class(sharding::Ring::gradients_tag);
  return {{{next, keys}, {next, gradients}}, {{last, keys}, {last, gradients}}, comm::Exchanges::no};
}

}  // namespace

void Session::connect_memory() {
  if (settings_.shared_memory == config::OnOff::off) return;
  const auto gather = [this, near = comm::memory_neighbourhood()](const std::string& what, const std::string& mine) {
    return gather_among(what, near, mine);
  };
  constexpr double spin_seconds = 3e-5;  // a message's way
  const bool spins = host::usable_cores() >= identity_.local_size;
  links_->memory = std::make_unique<comm::MemoryTransport>(
      identity_.world_rank, gather,
      comm::MemorySettings{std::numeric_limits<double>::infinity(), spins ? spin_seconds : 0});
  if (settings_.shared_memory != config::OnOff::on || identity_.local_size == 1) return;
  if (links_->memory->neighbours() + 1 < identity_.local_size)
    throw base::ConfigError(
        fmt::format("rank {} can read the memory of {} of the {} other ranks of its host: they run as other users, in "
                    "other containers, or "
                    "the kernel forbids it; without comm.shared_memory on they use TCP",
                    identity_.world_rank, links_->memory->neighbours(), identity_.local_size - 1));
}

void Session::connect_world() {
  if (channels_.world != nullptr) return;
  if (identity_.world_size > 1) {
    links_->transport = std::make_unique<comm::TcpTransport>(
        identity_, comm::TcpSettings{settings_.interface, connect_seconds, std::numeric_limits<double>::infinity()});
  }
  if (identity_.world_size > 1) connect_memory();
  std::vector<int> everyone;
  for (int rank = 0; rank < identity_.world_size; ++rank) everyone.push_back(rank);
  channels_.world = open("world", everyone, nullptr, whereabouts_->wait_mark());
}

void Session::connect(const mesh::Shape& shape, std::shared_ptr<tensor::Streams> streams) {
  const int me = identity_.world_rank;
  connect_world();
  if (shape.world() > 1 && streams != nullptr) {
    links_->streams = streams;
    comm::NcclSettings over_nccl;
    over_nccl.library = nccl_library();
    over_nccl.timeout_seconds = settings_.timeout_seconds;
    over_nccl.ctas = {static_cast<int>(settings_.message_ctas), static_cast<int>(settings_.exchange_ctas)};
    links_->nccl = std::make_unique<comm::NcclTransport>(identity_, over_nccl, std::move(streams));
  }
  const auto along = [&](mesh::Axis axis, const comm::NcclEdges& edges) {
    return open(mesh::group_name(shape, axis, me), mesh::group_of(shape, axis, me), &edges, whereabouts_->wait_mark());
  };
  const comm::NcclEdges exchanges{{}, {}, comm::Exchanges::yes};
  channels_.pp = along(mesh::Axis::pp, edges_between_stages(shape, me));
  channels_.tp = along(mesh::Axis::tp, exchanges);
  channels_.cp = along(mesh::Axis::cp, edges_of_ring(shape, me));
  channels_.replicas =
      open(mesh::replicas_name(shape, me), mesh::replicas_of(shape, me), &exchanges, whereabouts_->wait_mark());
}

void Session::connect_savers() {
  std::vector<int> everyone;
  for (int rank = 0; rank < identity_.world_size; ++rank) everyone.push_back(rank);
  channels_.saving = open(saving_group, everyone, nullptr, whereabouts_->saver_mark());
}

// What a rank or the store has said, of which only Troika's own processes know the form.
template <class Read>
static auto read_told(const std::string& what, const Read& read) {
  try {
    return read();
  } catch (const nlohmann::json::exception&) {
    throw base::PeerError(fmt::format(
        "what the ranks told each other of '{}' is malformed: what answers at the store's address is not this launch's "
        "store, or a rank is damaged",
        what));
  }
}

// Rank 0 collects what all say and tells it in one piece, so that n ranks ask n times and not n^2.
std::vector<std::string> Session::all_gather_text(const std::string& what, const std::string& mine) {
  if (identity_.world_size == 1) return {mine};
  const auto said_by = [&](int rank) { return fmt::format("said/{}/{:06}", what, rank); };
  links_->client->set(rendezvous::key_of(identity_, said_by(identity_.world_rank)), mine);
  const std::string all = broadcast_text(what, [&] {
    const comm::WaitMark::Scope waiting(whereabouts_->wait_mark().get(), comm::WaitMark::others);
    std::vector<std::string> texts;
    for (int rank = 0; rank < identity_.world_size; ++rank)
      texts.push_back(rendezvous::await_key(*links_->client, identity_, said_by(rank), patience_seconds));
    return nlohmann::json(texts).dump();
  });
  return read_told(what, [&] { return nlohmann::json::parse(all).get<std::vector<std::string>>(); });
}

// Rank 0 sorts what all say.
std::map<int, std::string> Session::gather_among(const std::string& what, const std::string& group,
                                                 const std::string& mine) {
  const auto key = [&](const std::string& name) { return rendezvous::key_of(identity_, name); };
  const auto said_by = [&](int rank) { return fmt::format("said/{}/{:06}", what, rank); };
  links_->client->set(key(said_by(identity_.world_rank)), nlohmann::json{group, mine}.dump());
  const comm::WaitMark::Scope waiting(whereabouts_->wait_mark().get(), comm::WaitMark::others);
  const auto told_to = [&](const std::string& to) { return fmt::format("told/{}/{}", what, base::hash_bytes(to)); };
  if (identity_.world_rank == 0) {
    std::map<std::string, nlohmann::json> groups;
    for (int rank = 0; rank < identity_.world_size; ++rank) {
      const std::string text = rendezvous::await_key(*links_->client, identity_, said_by(rank), patience_seconds);
      const auto said = read_told(what, [&] { return nlohmann::json::parse(text).get<std::array<std::string, 2>>(); });
      groups[said[0]].push_back({rank, said[1]});
    }
    for (const auto& [of, texts] : groups) links_->client->set(key(told_to(of)), texts.dump());
  }
  const std::string told = rendezvous::await_key(*links_->client, identity_, told_to(group), patience_seconds);
  return read_told(what, [&] {
    std::map<int, std::string> all;
    for (const auto& one : nlohmann::json::parse(told)) all[one.at(0)] = one.at(1);
    return all;
  });
}

std::string Session::broadcast_text(const std::string& what, const std::function<std::string()>& text) {
  if (identity_.world_size == 1) return text();
  if (identity_.world_rank == 0) links_->client->set(rendezvous::key_of(identity_, "told/" + what), text());
  const comm::WaitMark::Scope waiting(whereabouts_->wait_mark().get(),
                                      identity_.world_rank == 0 ? comm::WaitMark::nobody : 0);
  return rendezvous::await_key(*links_->client, identity_, "told/" + what, patience_seconds);
}

void Session::finish() {
  if (identity_.world_size == 1) return;
  comm::barrier(*channels_.world);
  links_->heartbeat->done();
  if (identity_.hosts_store) rendezvous::await_all_done(*links_->client, identity_, settings_.heartbeat_seconds);
}

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
static std::string failure_told_by(rendezvous::StoreClient& client, const rendezvous::Identity& identity) {
  try {
    client.set_deadline(2);
    rendezvous::FailureReport report;
    return rendezvous::read_failure_report(client, identity, &report) ? report.text() : "";
  } catch (const base::Error&) {
    return "";
  }
}

// A broken connection says nothing about who broke it: the failure report does, and it may come a moment later. It is read before
// this rank tells of its own end, which may be what the rank that hosts the store has waited for to leave.
Session::Cause Session::fail(const rendezvous::FailureReport& own) {
  Cause cause;
  if (!links_->announced) return cause;
  cause.failure = failure_told_by(*links_->client, identity_);
  const bool told = tell_in_any_case(links_->client, identity_, own);
  if (!told && cause.failure.empty()) {
    const std::string stopped = rendezvous::stopped_launcher(identity_);
    cause.failure = fmt::format(
        "{} at {} does not answer any more: {}",
        identity_.source == rendezvous::Identity::Source::troika_launch ? "the launcher of host 0" : "rank 0",
        rendezvous::endpoint_text(identity_.master_address, identity_.store_port),
        stopped.empty() ? "its process ended, or its host is gone or off the network" : stopped);
    return cause;
  }
  if (told && links_->heartbeat != nullptr && cause.failure.empty()) {
    links_->heartbeat->failed(own);
    cause.failure = links_->heartbeat->failure_report();
    for (int i = 0; own.exit_code == base::exit_peer_lost && cause.failure.empty() && i < 50; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      cause.failure = links_->heartbeat->failure_report();
    }
  }
  cause.launcher_tells = told && identity_.source == rendezvous::Identity::Source::troika_launch;
  if (identity_.hosts_store) rendezvous::await_all_done(*links_->client, identity_, last_wait_seconds);
  return cause;
}

// By a connection of its own: the others may be in use.
void Session::leave(const std::string& why) const {
  if (!links_->announced) return;
  try {
    rendezvous::StoreClient client(identity_, 1);
    const bool told = tell(client, identity_, {base::exit_interrupted, why});
    if (told && identity_.hosts_store) rendezvous::await_all_done(client, identity_, 1);
  } catch (const base::Error&) {  // nobody is left to tell
  }
}

void Session::also_tell(std::function<void(const records::Incident& notice)> listener) {
  const std::lock_guard<std::mutex> lock(links_->listening);
  links_->listener = std::move(listener);
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

std::string Session::status() const {
  const records::Place place = whereabouts_->place();
  std::string text = fmt::format("rank {} is at {}", identity_.world_rank,
                                 place.step < 0 ? "its start" : records::said_with_seconds(place).english);
  if (place.waits_for != records::waits_for_nobody)
    text += place.waits_for < 0 ? ", waiting for others" : fmt::format(", waiting for rank {}", place.waits_for);
  if (const rendezvous::Save save = whereabouts_->save(); save.step >= 0)
    text += fmt::format("; the checkpoint of step {} is being written to '{}', the last piece {:.0f} s ago", save.step,
                        save.folder, save.seconds);
  if (identity_.world_size == 1) return text;
  {
    const std::lock_guard<std::mutex> lock(links_->mutex);
    text += links_->notice.empty() ? "; no rank was behind so far" : "; last heard: " + links_->notice;
  }
  return text + "\n" + last_operations();
}

std::string Session::last_operations() const {
  return identity_.world_size == 1 ? "" : links_->flights->report(identity_.world_rank);
}

}  // namespace troika::train

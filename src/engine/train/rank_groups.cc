#include "train/session.h"

#include <limits>
#include <set>

#include "base/error.h"
#include "base/say.h"
#include "comm/mailbox.h"
#include "comm/channel.h"
#include "executor/message_tags.h"
#include "host/cores.h"
#include "sharding/ring.h"
#include "train/rank_device.h"

namespace troika::train {

static constexpr char saving_group[] = "saving";
static constexpr double connect_seconds = 120;  // for each group

RankGroups::RankGroups(const rendezvous::Identity& identity, const config::CommSettings& settings,
                       const RankActivity& rank_activity)
    : identity_(identity),
      settings_(settings),
      rank_activity_(rank_activity),
      traffic_(std::make_shared<comm::Traffic>(identity.world_size)) {}

RankGroups::~RankGroups() {
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.clear();
}

void RankGroups::abort(const base::Text& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failure_ = text;
  for (comm::Channel* channel : open_) channel->abort(text);
}

base::Text RankGroups::last_operations() const {
  return identity_.world_size == 1 ? base::Text{} : flights_->report(identity_.world_rank);
}

void RankGroups::opened(comm::Channel& channel) {
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.push_back(&channel);
  if (!failure_.empty()) channel.abort(failure_);
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

// Over memory where all ranks are reached so, over TCP, or over both.
std::unique_ptr<comm::Channel> RankGroups::between_hosts(const std::string& name, const std::vector<int>& ranks) {
  const comm::MemoryTransport* const memory = memory_.get();
  const bool is_saving = name == saving_group;  // used by a thread of its own
  if (memory == nullptr || is_saving || !memory->reaches_any(ranks)) return transport_->group(name, ranks);
  std::unique_ptr<comm::Channel> near = memory_->group(name, ranks);
  if (memory->reaches_all(ranks)) return near;
  std::set<int> reached;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (memory->reaches(ranks[rank])) reached.insert(static_cast<int>(rank));
  return comm::by_peer(std::move(near), transport_->group(name, ranks),
                       [reached](int rank) { return reached.count(rank) > 0; });
}

std::unique_ptr<comm::Channel> RankGroups::open(const std::string& name, const std::vector<int>& ranks,
                                                const comm::NcclEdges* edges, std::shared_ptr<comm::WaitMark> mark) {
  if (ranks.size() == 1) return comm::make_self_channel(name);
  std::unique_ptr<comm::Channel> channel = between_hosts(name, ranks);
  comm::NcclChannel* between_devices = nullptr;
  if (edges != nullptr && nccl_ != nullptr) {
    std::unique_ptr<comm::NcclChannel> device = nccl_->group(name, ranks);
    between_devices = device.get();
    channel = comm::by_device(std::move(channel), std::move(device));
  }
  channel = comm::logged(std::move(channel), flights_, std::move(mark), traffic_, ranks);
  opened(*channel);
  if (between_devices != nullptr) comm::connect(*between_devices, *edges, streams_->device());
  return channel;
}

void RankGroups::connect_world(const comm::StoreCollectives& store) {
  if (channels_.world != nullptr) return;
  if (identity_.world_size > 1) {
    transport_ = std::make_unique<comm::TcpTransport>(
        identity_, comm::TcpSettings{settings_.interface, connect_seconds, std::numeric_limits<double>::infinity()});
  }
  if (identity_.world_size > 1) connect_memory(store);
  std::vector<int> everyone;
  for (int rank = 0; rank < identity_.world_size; ++rank) everyone.push_back(rank);
  channels_.world = open("world", everyone, nullptr, rank_activity_.wait_mark());
}

void RankGroups::connect_memory(const comm::StoreCollectives& store) {
  if (settings_.shared_memory == config::OnOff::off) return;
  const auto gather = [&store, near = comm::memory_neighbourhood()](const std::string& what, const std::string& mine) {
    return store.gather_among(what, near, mine);
  };
  constexpr double spin_seconds = 3e-5;  // a message's way
  const bool spins = host::usable_cores() >= identity_.local_size;
  memory_ = std::make_unique<comm::MemoryTransport>(
      identity_.world_rank, gather,
      comm::MemorySettings{std::numeric_limits<double>::infinity(), spins ? spin_seconds : 0});
  if (settings_.shared_memory != config::OnOff::on || identity_.local_size == 1) return;
  if (memory_->neighbours() + 1 < identity_.local_size)
    throw base::ConfigError(
        base::say("rank {} can read the memory of only {} of the {} other ranks on its host: they run as other users, in other containers, or the kernel forbids it; without comm.shared_memory on they use TCP",
                    identity_.world_rank, memory_->neighbours(), identity_.local_size - 1));
}

void RankGroups::connect(const mesh::Shape& shape, std::shared_ptr<tensor::Streams> streams,
                         const comm::StoreCollectives& store) {
  const int me = identity_.world_rank;
  connect_world(store);
  if (shape.world() > 1 && streams != nullptr) {
    streams_ = streams;
    comm::NcclSettings over_nccl;
    over_nccl.library = nccl_library();
    over_nccl.timeout_seconds = settings_.timeout_seconds;
    over_nccl.ctas = {static_cast<int>(settings_.message_ctas), static_cast<int>(settings_.exchange_ctas)};
    nccl_ = std::make_unique<comm::NcclTransport>(identity_, over_nccl, std::move(streams));
  }
  const auto along = [&](mesh::Axis axis, const comm::NcclEdges& edges) {
    return open(mesh::group_name(shape, axis, me), mesh::group_of(shape, axis, me), &edges, rank_activity_.wait_mark());
  };
  const comm::NcclEdges exchanges{{}, {}, comm::Exchanges::yes};
  channels_.pp = along(mesh::Axis::pp, edges_between_stages(shape, me));
  channels_.tp = along(mesh::Axis::tp, exchanges);
  channels_.cp = along(mesh::Axis::cp, edges_of_ring(shape, me));
  channels_.replicas =
      open(mesh::replicas_name(shape, me), mesh::replicas_of(shape, me), &exchanges, rank_activity_.wait_mark());
}

void RankGroups::connect_savers() {
  std::vector<int> everyone;
  for (int rank = 0; rank < identity_.world_size; ++rank) everyone.push_back(rank);
  channels_.saving = open(saving_group, everyone, nullptr, rank_activity_.saver_mark());
}

}  // namespace troika::train

#include "comm/nccl_channel.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <thread>
#include <utility>

#include "base/error.h"
#include "comm/nccl_group.h"
#include "rendezvous/store.h"

namespace troika::comm {

// The tag by which the lanes of a class connect.
static std::uint32_t connect_tag(std::uint32_t message_class) { return message_class << 29 | 0x1ffffe00; }

namespace {

class NcclTransfer final : public Transfer::Body {
 public:
  NcclTransfer(std::shared_ptr<NcclGroup> group, NcclGroup::Edge edge, LinkTaskPtr task)
      : group_(std::move(group)), edge_(edge), task_(std::move(task)) {}
  ~NcclTransfer() override {
    // Dropped, the tensor stays with the link until the device has passed the message.
    if (task_ == nullptr || std::uncaught_exceptions() > 0 || !group_->why_failed().empty()) return;
    try {
      wait();
    } catch (const base::Error&) {  // the next wait on this channel tells
    }
  }
  void wait() override {
    const LinkTaskPtr task = std::move(task_);
    await_launch(*task);
    if (task->state == LinkTask::State::launched) group_->streams->wait(tensor::compute_lane, task->done);
    task->state = LinkTask::State::awaited;  // also for the other messages of an exchange
    group_->check(group_->link(edge_));
    throw_if_failed(*task);
    task->tensors.clear();
  }

 private:
  void throw_if_failed(const LinkTask& task) {
    const base::Text ended = group_->why_failed();
    if (!ended.empty()) group_->fail(task.operation, ended);
  }
  // Once the edge is connected this is a matter of microseconds; before, of the peer's first use of it.
  void await_launch(const LinkTask& task) {
    for (double pause_seconds = 10e-6;; pause_seconds = std::min(pause_seconds * 1.5, 1e-3)) {
      throw_if_failed(task);
      group_->all->progress();
      if (task.state >= LinkTask::State::launched) return;
      group_->check();
      std::this_thread::sleep_for(std::chrono::duration<double>(pause_seconds));
    }
  }

  std::shared_ptr<NcclGroup> group_;
  const NcclGroup::Edge edge_;
  LinkTaskPtr task_;
};

}  // namespace

NcclChannel::NcclChannel(std::shared_ptr<NcclGroup> group) : group_(std::move(group)) {}
NcclChannel::~NcclChannel() { group_->close(); }

int NcclChannel::rank() const { return group_->rank; }
int NcclChannel::size() const { return static_cast<int>(group_->world_ranks.size()); }
const std::string& NcclChannel::name() const { return group_->name; }
void NcclChannel::check() { group_->check(); }
void NcclChannel::abort(const base::Text& reason) { group_->all->end(reason); }

Transfer NcclChannel::send(const tensor::Tensor& tensor, int to, std::uint32_t tag) {
  check_operation(tensor, rank(), size(), to, tag);
  const NcclGroup::Edge edge{to, Direction::send, message_class(tag)};
  const auto call = [stream = group_->link(edge).stream(), data = tensor.data(), bytes = tensor.bytes()](
                        const nccl::Api& api, nccl::Comm* comm) {
    return api.send(data, bytes, nccl::DataType::uint8, 1, comm, stream);
  };
  const Operation operation{Direction::send, tensor.bytes(), group_->world_rank(to), tag};
  return Transfer(std::make_unique<NcclTransfer>(group_, edge, group_->post(edge, operation, {tensor}, call)));
}

Transfer NcclChannel::recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) {
  check_operation(tensor, rank(), size(), from, tag);
  const NcclGroup::Edge edge{from, Direction::recv, message_class(tag)};
  const auto call = [stream = group_->link(edge).stream(), data = tensor.data(), bytes = tensor.bytes()](
                        const nccl::Api& api, nccl::Comm* comm) {
    return api.recv(data, bytes, nccl::DataType::uint8, 0, comm, stream);
  };
  const Operation operation{Direction::recv, tensor.bytes(), group_->world_rank(from), tag};
  return Transfer(std::make_unique<NcclTransfer>(group_, edge, group_->post(edge, operation, {tensor}, call)));
}

namespace {

struct Part {
  void* data;
  std::size_t bytes;
  int peer;
};

std::vector<Part> parts_of(const std::vector<Message>& messages) {
  std::vector<Part> parts;
  for (const Message& message : messages) {
    if (message.tensor.bytes() > 0)
      parts.push_back({message.tensor.data(), static_cast<std::size_t>(message.tensor.bytes()), message.peer});
  }
  return parts;
}

nccl::Result move(const nccl::Api& api, nccl::Comm* comm, nccl::Stream stream, const std::vector<Part>& in,
                  const std::vector<Part>& out) {
  for (const Part& part : in) {
    const nccl::Result result = api.recv(part.data, part.bytes, nccl::DataType::uint8, part.peer, comm, stream);
    if (result != nccl::Result::success) return result;
  }
  for (const Part& part : out) {
    const nccl::Result result = api.send(part.data, part.bytes, nccl::DataType::uint8, part.peer, comm, stream);
    if (result != nccl::Result::success) return result;
  }
  return nccl::Result::success;
}

// All of one task.
std::vector<Transfer> transfers_of(const std::shared_ptr<NcclGroup>& group, NcclGroup::Edge edge,
                                   const LinkTaskPtr& task, std::size_t count) {
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < count; ++i) transfers.emplace_back(std::make_unique<NcclTransfer>(group, edge, task));
  return transfers;
}

// The edge for a group's exchanges, gathers and sums.
NcclGroup::Edge exchanges_of(const NcclGroup& group) { return {group.rank, Direction::exchange, 0}; }

using OfRoot =
    std::function<nccl::Result(const nccl::Api& api, const Part& part, nccl::Comm* comm, nccl::Stream stream)>;

// One operation of all ranks for each part, whose root is the part's rank, in the order of the roots.
LinkTaskPtr post_by_root(NcclGroup& group, const std::vector<tensor::Tensor>& parts, std::uint32_t tag,
                         const OfRoot& of_root) {
  const NcclGroup::Edge edge = exchanges_of(group);
  const int size = static_cast<int>(parts.size());
  Operation operation{Direction::exchange, 0, 0, tag};
  std::vector<Part> by_root;
  for (int root = 0; root < size; ++root) {
    const tensor::Tensor& part = parts[static_cast<std::size_t>(root)];
    check_operation(part, group.rank, size, root == group.rank ? (root + 1) % size : root, tag);
    operation.bytes += part.bytes();
    if (part.bytes() > 0) by_root.push_back({part.data(), static_cast<std::size_t>(part.bytes()), root});
  }
  const auto call = [stream = group.link(edge).stream(), by_root, of_root](const nccl::Api& api, nccl::Comm* comm) {
    nccl::Result result = nccl::Result::success;
    for (const Part& part : by_root) {
      if (result == nccl::Result::success) result = of_root(api, part, comm, stream);
    }
    return result;
  };
  return group.post(edge, operation, parts, call);
}

}  // namespace

std::vector<Transfer> NcclChannel::exchange(const std::vector<Message>& in, const std::vector<Message>& out) {
  const NcclGroup::Edge edge = exchanges_of(*group_);
  Operation operation{Direction::exchange, 0, 0, 0};
  std::vector<tensor::Tensor> tensors;
  for (const auto* messages : {&in, &out}) {
    for (const Message& message : *messages) {
      check_operation(message.tensor, rank(), size(), message.peer, message.tag);
      operation.bytes += message.tensor.bytes();
      operation.tag = message.tag;
      tensors.push_back(message.tensor);
    }
  }
  const std::size_t messages = tensors.size();
  const auto call = [stream = group_->link(edge).stream(), receives = parts_of(in), sends = parts_of(out)](
                        const nccl::Api& api, nccl::Comm* comm) { return move(api, comm, stream, receives, sends); };
  return transfers_of(group_, edge, group_->post(edge, operation, std::move(tensors), call), messages);
}

std::vector<Transfer> NcclChannel::gather(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) {
  const LinkTaskPtr task = post_by_root(
      *group_, parts, tag, [](const nccl::Api& api, const Part& part, nccl::Comm* comm, nccl::Stream stream) {
        return api.broadcast(part.data, part.data, part.bytes, nccl::DataType::uint8, part.peer, comm, stream);
      });
  const GatherMessages messages(parts, rank(), tag);
  return transfers_of(group_, exchanges_of(*group_), task, messages.in.size() + messages.out.size());
}

Transfer NcclChannel::reduce_scatter(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) {
  const bool floats = parts.at(0).dtype() == tensor::Dtype::fp32;
  const auto type = floats ? nccl::DataType::fp32 : nccl::DataType::int64;
  const std::size_t of_each = floats ? sizeof(float) : sizeof(std::int64_t);
  const LinkTaskPtr task =
      post_by_root(*group_, parts, tag,
                   [type, of_each](const nccl::Api& api, const Part& part, nccl::Comm* comm, nccl::Stream stream) {
                     return api.reduce(part.data, part.data, part.bytes / of_each, type, nccl::Operator::sum, part.peer,
                                       comm, stream);
                   });
  return Transfer(std::make_unique<NcclTransfer>(group_, exchanges_of(*group_), task));
}

void NcclChannel::prove_order(Channel& world) {
  constexpr std::uint32_t order_tag = 0x1ffffe01;
  const auto row = [](std::vector<std::int64_t>& rows, int peer) {
    return tensor::borrow(rows.data() + 2 * peer, {2}, tensor::Dtype::int64);
  };
  std::vector<std::int64_t> sent_to_peers, sent_to_me(2 * group_->world_ranks.size());
  for (int peer = 0; peer < size(); ++peer) {
    const LinkOrder order = group_->order(peer, Direction::send);
    sent_to_peers.insert(sent_to_peers.end(), {order.messages, static_cast<std::int64_t>(order.digest)});
  }
  std::vector<Transfer> transfers;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    transfers.push_back(world.recv(row(sent_to_me, peer), group_->world_rank(peer), order_tag));
    transfers.push_back(world.send(row(sent_to_peers, peer), group_->world_rank(peer), order_tag));
  }
  for (Transfer& transfer : transfers) transfer.wait();
  for (int peer = 0; peer < size(); ++peer) {
    const std::int64_t* const sent = sent_to_me.data() + 2 * peer;
    const LinkOrder received = group_->order(peer, Direction::recv);
    if (peer == rank() || (sent[0] == received.messages && sent[1] == static_cast<std::int64_t>(received.digest)))
      continue;
    throw base::BugError(
        fmt::format("in group '{}' rank {} of {} sent {} messages to rank {}, which received {} {}; NCCL pairs them by "
                    "order, so the step programs must post both in one order",
                    name(), peer, size(), sent[0], rank(), received.messages,
                    sent[0] == received.messages ? "in another order of tags or sizes" : "of them"));
  }
}

void connect(NcclChannel& channel, const NcclEdges& edges, const tensor::Device& device) {
  const int ranks = channel.size(), next = (channel.rank() + 1) % ranks, last = (channel.rank() + ranks - 1) % ranks;
  const auto count = static_cast<std::int64_t>(edges.to.size() + edges.from.size()) + 2 + ranks;
  const tensor::Tensor bytes = tensor::zeros({count}, tensor::TensorType(tensor::Dtype::uint8, device));
  std::int64_t used = 0;
  const auto byte = [&] { return bytes.narrow(0, used++, 1); };
  std::vector<Transfer> transfers;
  if (edges.exchanges == Exchanges::yes) {
    transfers = channel.exchange({{byte(), last, connect_tag(0)}}, {{byte(), next, connect_tag(0)}});
    std::vector<tensor::Tensor> parts;
    while (static_cast<int>(parts.size()) < ranks) parts.push_back(byte());
    for (Transfer& transfer : channel.gather(parts, connect_tag(0))) transfers.push_back(std::move(transfer));
    const tensor::Tensor numbers = tensor::zeros({ranks}, tensor::TensorType(tensor::Dtype::int64, device));
    for (int rank = 0; rank < ranks; ++rank) parts[static_cast<std::size_t>(rank)] = numbers.narrow(0, rank, 1);
    transfers.push_back(channel.reduce_scatter(parts, connect_tag(0)));
  }
  for (const NcclEdge& from : edges.from)
    transfers.push_back(channel.recv(byte(), from.peer, connect_tag(from.message_class)));
  for (const NcclEdge& to : edges.to) transfers.push_back(channel.send(byte(), to.peer, connect_tag(to.message_class)));
  for (Transfer& transfer : transfers) transfer.wait();
}

struct NcclTransport::Impl {
  rendezvous::Identity identity;
  NcclSettings settings;
  std::shared_ptr<const nccl::Api> api;
  std::shared_ptr<rendezvous::StoreClient> store;
  std::shared_ptr<tensor::Streams> streams;
  std::shared_ptr<NcclGroups> groups;
  std::map<std::string, int> built;  // groups by name, so that no key is used twice
};

NcclTransport::NcclTransport(const rendezvous::Identity& identity, const NcclSettings& settings,
                             std::shared_ptr<tensor::Streams> streams)
    : impl_(std::make_unique<Impl>()) {
  impl_->identity = identity;
  impl_->settings = settings;
  impl_->groups = std::make_shared<NcclGroups>(settings.abort_seconds);
  impl_->api = nccl::load(settings.library);
  impl_->store = std::make_shared<rendezvous::StoreClient>(identity, settings.connect_seconds);
  impl_->streams = std::move(streams);
  ::prctl(PR_SET_TIMERSLACK,
          1);  // of this thread: its short sleeps are no longer than they say, instead of 50 us longer
}

NcclTransport::~NcclTransport() = default;

std::unique_ptr<NcclChannel> NcclTransport::group(const std::string& name, const std::vector<int>& world_ranks) {
  const auto me = std::find(world_ranks.begin(), world_ranks.end(), impl_->identity.world_rank);
  if (me == world_ranks.end() || world_ranks.size() < 2) {
    throw base::BugError(fmt::format("rank {} builds group '{}' of {} ranks over NCCL without being in it with another",
                                     impl_->identity.world_rank, name, world_ranks.size()));
  }
  const std::string key_prefix = fmt::format("nccl/{}/{}/", name, impl_->built[name]++);
  const auto group = std::make_shared<NcclGroup>(
      NcclGroupParts{impl_->groups, name, world_ranks, static_cast<int>(me - world_ranks.begin()), impl_->settings,
                     impl_->identity, key_prefix, impl_->api, impl_->store, impl_->streams});
  impl_->groups->add(group);
  return std::make_unique<NcclChannel>(group);
}

}  // namespace troika::comm

#include "comm/channel_test_support.h"

#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "comm/rank_channels.h"
#include "comm/mailbox.h"
#include "comm/nccl_test_support.h"
#include "comm/threads_channel_test_support.h"
#include "rendezvous/store.h"

namespace troika::comm {

// Holds the store server for as long as one of the channels lives.
class WithServer : public Channel {
 public:
  WithServer(std::shared_ptr<rendezvous::StoreServer> server, std::unique_ptr<Channel> inner)
      : server_(std::move(server)), inner_(std::move(inner)) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    return inner_->send(tensor, to, tag);
  }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return inner_->recv(tensor, from, tag);
  }
  std::vector<Transfer> exchange(const std::vector<Message>& in, const std::vector<Message>& out) override {
    return inner_->exchange(in, out);
  }
  std::vector<Transfer> gather(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    return inner_->gather(parts, tag);
  }
  Transfer reduce_scatter(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    return inner_->reduce_scatter(parts, tag);
  }
  void check() override { inner_->check(); }
  void abort(const base::Text& reason) override { inner_->abort(reason); }

 private:
  std::shared_ptr<rendezvous::StoreServer> server_;
  std::unique_ptr<Channel> inner_;
};

static std::vector<std::unique_ptr<Channel>> make_tcp_channels(int size, double deadline_seconds) {
  const auto server = std::make_shared<rendezvous::StoreServer>(0);
  std::vector<std::unique_ptr<Channel>> channels(static_cast<std::size_t>(size));
  std::vector<std::thread> ranks;
  std::vector<int> members;
  for (int rank = 0; rank < size; ++rank) members.push_back(rank);
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      rendezvous::Identity me;
      me.world_rank = rank;
      me.world_size = size;
      me.store_port = server->port();
      TcpTransport transport(me, {"", 60, deadline_seconds});
      channels[static_cast<std::size_t>(rank)] =
          std::make_unique<WithServer>(server, transport.group("world", members));
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return channels;
}

// A text of each of `size` threads, for all of them.
class TextExchange {
 public:
  explicit TextExchange(std::size_t size) : size_(size) {}
  std::map<int, std::string> gather(const std::string& what, int rank, const std::string& mine) {
    std::unique_lock<std::mutex> lock(mutex_);
    auto& texts = said_[what];
    texts[rank] = mine;
    changed_.notify_all();
    changed_.wait(lock, [&] { return texts.size() == size_; });
    return texts;
  }

 private:
  const std::size_t size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::map<int, std::string>> said_;
};

bool memory_can_be_read() {
  const std::uint64_t written = 42;
  std::uint64_t read = 0;
  return read_memory(::getpid(), reinterpret_cast<std::uint64_t>(&written), sizeof read, &read) && read == written;
}

std::vector<std::unique_ptr<Channel>> make_memory_channels(int size, double deadline_seconds) {
  TextExchange exchange(static_cast<std::size_t>(size));
  std::vector<std::unique_ptr<Channel>> channels(static_cast<std::size_t>(size));
  std::vector<int> members;
  for (int rank = 0; rank < size; ++rank) members.push_back(rank);
  std::vector<std::thread> ranks;
  for (const int rank : members) {
    ranks.emplace_back([&, rank] {
      const auto gather = [&](const std::string& what, const std::string& mine) {
        return exchange.gather(what, rank, mine);
      };
      MemoryTransport transport(rank, gather, {deadline_seconds});
      if (transport.reaches_all(members)) channels[static_cast<std::size_t>(rank)] = transport.group("world", members);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return channels;
}

std::vector<Backend> all_backends() {
  const auto threads = [](int size, double deadline_seconds) {
    return make_thread_channels(size, "world", deadline_seconds);
  };
  const auto with_log = [threads](int size, double deadline_seconds) {
    auto channels = threads(size, deadline_seconds);
    for (auto& channel : channels) channel = logged(std::move(channel), std::make_shared<FlightLog>(16));
    return channels;
  };
  const auto over_nccl = [](int size, double deadline_seconds) {
    NcclRanks ranks = make_nccl_ranks(size, {deadline_seconds});
    std::vector<std::unique_ptr<Channel>> channels;
    for (auto& channel : ranks.channels) {
      channels.push_back(std::make_unique<WithServer>(ranks.server, std::move(channel)));
    }
    return channels;
  };
  const auto near_and_far = [](int size, double deadline_seconds) {
    auto channels = make_tcp_channels(size, deadline_seconds), near = make_memory_channels(size, deadline_seconds);
    for (std::size_t rank = 0; rank < channels.size(); ++rank) {
      const auto is_near = [rank](int peer) { return (static_cast<int>(rank) + peer) % 2 == 0; };
      channels[rank] = by_peer(std::move(near[rank]), std::move(channels[rank]), is_near);
    }
    return channels;
  };
  return {{"threads", Pairing::by_tag, threads},
          {"logged", Pairing::by_tag, with_log},
          {"tcp", Pairing::by_tag, make_tcp_channels},
          {"memory", Pairing::by_tag, make_memory_channels},
          {"memory_and_tcp", Pairing::by_tag, near_and_far},
          {"nccl", Pairing::by_order, over_nccl}};
}

void run_ranks(std::vector<std::unique_ptr<Channel>>& channels, const std::function<void(Channel&)>& body) {
  std::vector<std::exception_ptr> errors(channels.size());
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < channels.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        body(*channels[rank]);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

}  // namespace troika::comm

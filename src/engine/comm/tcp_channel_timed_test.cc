// Has the machine to itself: how soon groups are rebuilt after a loss.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "comm/collectives.h"
#include "comm/rank_channels.h"
#include "rendezvous/store.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {

rendezvous::Identity identity(int rank, int port) {
  rendezvous::Identity me;
  me.world_rank = rank;
  me.world_size = 8;
  me.store_port = port;
  return me;
}

TEST(TcpChannel, GroupsAreEndedAndBuiltAgainWithinHalfASecondOfALoss) {
  constexpr int size = 8;
  const rendezvous::StoreServer server(0);
  std::vector<std::unique_ptr<TcpTransport>> transports(size);
  for (int rank = 0; rank < size; ++rank)
    transports[static_cast<std::size_t>(rank)] = std::make_unique<TcpTransport>(identity(rank, server.port()), TcpSettings{"", 20, std::numeric_limits<double>::infinity()});
  for (int lost = 0; lost < 100; ++lost) {
    std::vector<std::unique_ptr<Channel>> channels(size);
    std::vector<std::thread> ranks;
    std::atomic<double> slowest{0};
    for (int rank = 0; rank < size; ++rank) {
      ranks.emplace_back([&, rank] {
        const double before = base::monotonic_seconds();
        const auto world = transports[static_cast<std::size_t>(rank)]->group("world", {0, 1, 2, 3, 4, 5, 6, 7});
        const double built = base::monotonic_seconds() - before;
        for (double seen = slowest; built > seen && !slowest.compare_exchange_weak(seen, built);) {
        }
        barrier(*world);
        if (rank == lost % size) return;  // its connections go with it
        const tensor::Tensor tensor = tensor::zeros({1000}, tensor::Dtype::uint8);
        EXPECT_THROW(world->recv(tensor, lost % size, 1).wait(), base::PeerError);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_LT(slowest, 0.5);
  }
}

}  // namespace
}  // namespace troika::comm

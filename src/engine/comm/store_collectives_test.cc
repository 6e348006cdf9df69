#include "comm/store_collectives.h"

#include <gmock/gmock.h>

#include <thread>

namespace troika::comm {
namespace {
using testing::ElementsAre;
using testing::Pair;

// Each of `world` ranks as a thread of its own, with a client of one store.
void on_ranks(int world, const std::function<void(const StoreCollectives& store, int rank)>& body) {
  const rendezvous::StoreServer server(0);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank)
    ranks.emplace_back([&, rank] {
      rendezvous::Identity me;
      me.world_rank = rank;
      me.world_size = world;
      me.store_port = server.port();
      rendezvous::StoreClient client(me, 20);
      WaitMark mark(WaitMark::Of::this_thread);
      body(StoreCollectives(me, &client, mark), rank);
    });
  for (std::thread& rank : ranks) rank.join();
}

TEST(StoreCollectives, AllRanksGetTheTextsOfAllByRankAndThatOfRank0) {
  on_ranks(3, [](const StoreCollectives& store, int rank) {
    const auto all = store.all_gather_text("names", "rank\n" + std::to_string(rank));
    EXPECT_THAT(all, ElementsAre("rank\n0", "rank\n1", "rank\n2"));
    const auto text = [rank] {
      EXPECT_EQ(rank, 0) << "only rank 0 makes it";
      return std::string("of rank 0");
    };
    EXPECT_EQ(store.broadcast_text("text", text), "of rank 0");
  });
}

TEST(StoreCollectives, RanksThatNameTheSameGroupGetTheTextsOfThatGroup) {
  on_ranks(3, [](const StoreCollectives& store, int rank) {
    const auto mine = store.gather_among("cards", rank == 1 ? "here" : "there", std::to_string(rank));
    if (rank == 1) {
      EXPECT_THAT(mine, ElementsAre(Pair(1, "1")));
    } else {
      EXPECT_THAT(mine, ElementsAre(Pair(0, "0"), Pair(2, "2")));
    }
  });
}

TEST(StoreCollectives, ARankThatIsAloneNeedsNoStore) {
  WaitMark mark(WaitMark::Of::this_thread);
  const StoreCollectives store(rendezvous::Identity(), nullptr, mark);
  EXPECT_THAT(store.all_gather_text("names", "mine"), ElementsAre("mine"));
  EXPECT_EQ(store.broadcast_text("text", [] { return std::string("mine"); }), "mine");
}

}  // namespace
}  // namespace troika::comm

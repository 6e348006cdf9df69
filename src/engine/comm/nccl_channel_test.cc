#include "comm/nccl_channel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "comm/channel_test_support.h"
#include "comm/nccl_test_support.h"
#include "comm/threads_channel_test_support.h"
#include "tensor/operations.h"

namespace troika::comm {
namespace {
using tensor::Dtype;
using tensor::ForgottenWait;
using tensor::Tensor;
using ::testing::HasSubstr;

Tensor longs(std::int64_t count, std::int64_t value) {
  return tensor::full({count}, static_cast<double>(value), Dtype::int64);
}

// A program that every rank knows: messages in one global order, so each rank that posts its own in that order can
// never wait in a circle.
struct RandomMessage {
  int from = 0, to = 0;
  std::int64_t count = 0;
};
struct RandomProgram {
  int ranks = 0;
  std::vector<RandomMessage> messages;
};

RandomProgram draw_program(std::uint64_t seed) {
  std::mt19937_64 drawn(seed);
  RandomProgram program;
  program.ranks = 2 + static_cast<int>(drawn() % 3);
  const auto ranks = static_cast<std::uint64_t>(program.ranks);
  for (std::uint64_t left = 10 + drawn() % 30; left > 0; --left) {
    RandomMessage message;
    message.from = static_cast<int>(drawn() % ranks);
    message.to = static_cast<int>((static_cast<std::uint64_t>(message.from) + 1 + drawn() % (ranks - 1)) % ranks);
    message.count = static_cast<std::int64_t>(drawn() % 200);
    program.messages.push_back(message);
  }
  return program;
}

// All that a rank computes and sends depends on everything it has received. Transfers are waited for late, after a drawn number of
// others, and every buffer is written over as soon as that is allowed.
class RandomRank {
 public:
  RandomRank(const RandomProgram& program, Channel& channel, std::uint64_t seed)
      : program_(program), channel_(channel), drawn_(seed), state_(longs(200, 1 + channel.rank())) {}

  std::vector<std::int64_t> run() {
    for (std::size_t i = 0; i < program_.messages.size(); ++i) {
      const RandomMessage& message = program_.messages[i];
      const auto tag = static_cast<std::uint32_t>(i);
      if (message.from == channel_.rank()) {
        const Tensor out = longs(message.count, 0);
        const auto* const state = state_.data<std::int64_t>();
        std::transform(state, state + message.count, out.data<std::int64_t>(),
                       [i](std::int64_t x) { return 3 * x + static_cast<std::int64_t>(i); });
        under_way_.push_back({channel_.send(out, message.to, tag), out, false});
      } else if (message.to == channel_.rank()) {
        const Tensor in = longs(message.count, 5);
        include(in);  // reads the buffer before the message may write it
        under_way_.push_back({channel_.recv(in, message.from, tag), in, true});
      }
      while (under_way_.size() > drawn_() % 6) finish_one();
    }
    while (!under_way_.empty()) finish_one();
    return {state_.data<std::int64_t>(), state_.data<std::int64_t>() + state_.elements()};
  }

 private:
  struct UnderWay {
    Transfer transfer;
    Tensor buffer;
    bool received;
  };
  void include(const Tensor& buffer) {
    auto* const state = state_.data<std::int64_t>();
    const auto* const read = buffer.data<std::int64_t>();
    for (std::int64_t i = 0; i < buffer.elements(); ++i) state[i] = (31 * state[i] + read[i]) % 1000003;
  }
  void finish_one() {
    UnderWay first = std::move(under_way_.front());
    under_way_.erase(under_way_.begin());
    first.transfer.wait();
    if (first.received) include(first.buffer);
    first.buffer.fill(-7);
  }

  const RandomProgram& program_;
  Channel& channel_;
  std::mt19937_64 drawn_;
  Tensor state_;
  std::vector<UnderWay> under_way_;
};

using Results = std::vector<std::vector<std::int64_t>>;

TEST(NcclChannel, RandomProgramsHaveTheResultsOfTheThreadsChannelHoweverLateTheDevicesAre) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomProgram program = draw_program(seed);
    Results expected(static_cast<std::size_t>(program.ranks)), got(expected.size());
    auto threads = make_thread_channels(program.ranks, "world", 20);
    run_ranks(threads, [&](Channel& channel) {
      expected[static_cast<std::size_t>(channel.rank())] = RandomRank(program, channel, seed).run();
    });
    NcclRanks ranks = make_nccl_ranks(program.ranks, {20, seed});
    run_nccl_ranks(ranks, [&](NcclChannel& channel) {
      got[static_cast<std::size_t>(channel.rank())] = RandomRank(program, channel, seed).run();
    });
    ASSERT_EQ(got, expected) << "seed " << seed;
  }
}

// Ranks 0 and 1 with a connected edge from 0 to 1, which has carried one message; of the rank named, the wait of this
// kind that its second message makes is left out.
NcclRanks with_forgotten_wait(int forgetful_rank, ForgottenWait kind) {
  NcclRanksOptions options;
  options.streams = [=](int rank, std::shared_ptr<tensor::FakeStreams> device) -> std::shared_ptr<tensor::Streams> {
    if (rank != forgetful_rank) return device;
    return tensor::forgetful(device, kind, 1);
  };
  NcclRanks ranks = make_nccl_ranks(2, options);
  run_nccl_ranks(ranks, [](NcclChannel& channel) {
    const NcclEdges of_sender{{{1}}, {}}, of_receiver{{}, {{0}}};
    connect(channel, channel.rank() == 0 ? of_sender : of_receiver, tensor::Device());
  });
  return ranks;
}

Tensor received_over(NcclRanks& ranks) {
  const Tensor out = longs(4, 3), in = longs(4, 0);
  run_nccl_ranks(ranks, [&](NcclChannel& channel) {
    if (channel.rank() == 0)
      channel.send(out, 1, 1).wait();
    else
      channel.recv(in, 0, 1).wait();
  });
  return in;
}

TEST(NcclChannel, ASendThatDoesNotWaitForTheComputeLaneSendsPoison) {
  NcclRanks ranks = with_forgotten_wait(0, ForgottenWait::of_another_lane);
  EXPECT_TRUE(tensor::equal(received_over(ranks), longs(4, -1)));
  EXPECT_TRUE(tensor::equal(received_over(ranks), longs(4, 3)));
}

TEST(NcclChannel, ARecvThatDoesNotWaitForTheComputeLaneReceivesPoison) {
  NcclRanks ranks = with_forgotten_wait(1, ForgottenWait::of_another_lane);
  EXPECT_TRUE(tensor::equal(received_over(ranks), longs(4, -1)));
  EXPECT_TRUE(tensor::equal(received_over(ranks), longs(4, 3)));
}

TEST(NcclChannel, WithoutTheComputeLanesWaitForASendItsBufferIsWrittenOverTooEarly) {
  NcclRanks ranks = with_forgotten_wait(0, ForgottenWait::of_compute_lane);
  const Tensor out = longs(4, 3), in = longs(4, 0);
  ranks.channels[0]->send(out, 1, 1).wait();
  out.fill(8);
  ranks.channels[1]->recv(in, 0, 1).wait();
  EXPECT_TRUE(tensor::equal(in, longs(4, 8)));
}

TEST(NcclChannel, WithoutTheComputeLanesWaitForARecvItsBufferIsReadTooEarly) {
  NcclRanks ranks = with_forgotten_wait(1, ForgottenWait::of_compute_lane);
  const Tensor out = longs(4, 3), in = longs(4, 0);
  Transfer sending = ranks.channels[0]->send(out, 1, 1);
  ranks.channels[1]->recv(in, 0, 1).wait();
  EXPECT_TRUE(tensor::equal(in, longs(4, -1)));
  sending.wait();
  EXPECT_TRUE(tensor::equal(in, longs(4, 3)));
}

TEST(NcclChannel, PostingNeverWaitsForAPeerThatHasNotUsedTheEdgeYet) {
  NcclRanks ranks = make_nccl_ranks(2);
  std::vector<Tensor> out, in;
  std::vector<std::vector<Transfer>> transfers(2);
  const auto channel = [&](int rank) { return ranks.channels[static_cast<std::size_t>(rank)].get(); };
  const auto of_rank = [&](int rank) -> auto& { return transfers[static_cast<std::size_t>(rank)]; };
  for (int i = 0; i < 3; ++i) {  // by one thread: a post that waited would wait for ever
    for (int rank = 0; rank < 2; ++rank) {
      out.push_back(longs(5, 10 * i + rank));
      of_rank(rank).push_back(channel(rank)->send(out.back(), 1 - rank, 1));
    }
  }
  for (int i = 0; i < 3; ++i) {
    for (int rank = 0; rank < 2; ++rank) {
      in.push_back(longs(5, 0));
      of_rank(rank).push_back(channel(rank)->recv(in.back(), 1 - rank, 1));
    }
  }
  run_nccl_ranks(ranks, [&](NcclChannel& mine) {
    for (Transfer& transfer : of_rank(mine.rank())) transfer.wait();
  });
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(tensor::equal(in[static_cast<std::size_t>(i)], longs(5, 10 * (i / 2) + 1 - i % 2))) << i;
  }
}

TEST(NcclChannel, ATransferThatIsDroppedWithoutAWaitIsOrderedAllTheSame) {
  NcclRanks ranks = make_nccl_ranks(2);
  run_nccl_ranks(ranks, [](NcclChannel& channel) {
    const Tensor tensor = longs(3, channel.rank() == 0 ? 4 : 0);
    if (channel.rank() == 0) {
      channel.send(tensor, 1, 1);
    } else {
      channel.recv(tensor, 0, 1);
      EXPECT_TRUE(tensor::equal(tensor, longs(3, 4)));
    }
  });
}

// A random exchange: who sends how much to whom, the same on all ranks.
struct RandomExchange {
  RandomExchange(int ranks, std::uint64_t seed) : count(static_cast<std::size_t>(ranks)) {
    std::mt19937_64 drawn(seed);
    for (auto& row : count) {
      for (int to = 0; to < ranks; ++to) row.push_back(static_cast<std::int64_t>(drawn() % 3 * (drawn() % 50)));
    }
  }
  std::vector<std::vector<std::int64_t>> count;  // [from][to]; may be 0: then there is no message
};

TEST(NcclChannel, ExchangesAreDoneInTheirOrderBesideMessagesHoweverLateTheDevicesAre) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const int ranks_count = 2 + static_cast<int>(seed % 3);
    NcclRanks ranks = make_nccl_ranks(ranks_count, {20, seed});
    run_nccl_ranks(ranks, [&](NcclChannel& channel) {
      const int me = channel.rank(), left = (me + ranks_count - 1) % ranks_count, right = (me + 1) % ranks_count;
      for (std::uint64_t round = 0; round < 5; ++round) {
        const RandomExchange drawn(ranks_count, 10 * seed + round);
        const auto value = [&](int from, int to) { return static_cast<std::int64_t>(1000 * round) + 10 * from + to; };
        std::vector<Message> in, out;
        for (int peer = 0; peer < ranks_count; ++peer) {
          const auto p = static_cast<std::size_t>(peer), m = static_cast<std::size_t>(me);
          if (peer == me) continue;
          if (drawn.count[p][m] > 0) in.push_back({longs(drawn.count[p][m], 0), peer, 1});
          if (drawn.count[m][p] > 0) out.push_back({longs(drawn.count[m][p], value(me, peer)), peer, 1});
        }
        const Tensor beside_out = longs(3, me), beside_in = longs(3, -5);
        Transfer receiving = channel.recv(beside_in, left, 2), sending = channel.send(beside_out, right, 2);
        std::vector<Transfer> transfers = channel.exchange(in, out);
        ASSERT_EQ(transfers.size(), in.size() + out.size());
        for (Transfer& transfer : transfers) transfer.wait();
        for (const Message& message : in)
          EXPECT_TRUE(tensor::equal(message.tensor, longs(message.tensor.elements(), value(message.peer, me))));
        for (const Message& message : out) message.tensor.fill(-7);
        receiving.wait();
        sending.wait();
        EXPECT_TRUE(tensor::equal(beside_in, longs(3, left)));
      }
    });
  }
}

TEST(NcclChannel, AnExchangeThatDoesNotWaitForTheComputeLaneMovesPoison) {
  NcclRanksOptions options;
  options.streams = [](int rank, std::shared_ptr<tensor::FakeStreams> device) -> std::shared_ptr<tensor::Streams> {
    return rank == 0 ? device
                     : std::shared_ptr<tensor::Streams>(tensor::forgetful(device, ForgottenWait::of_another_lane, 1));
  };
  NcclRanks ranks = make_nccl_ranks(2, options);
  for (const std::int64_t expected : {3, -1, 3}) {
    const Tensor in = longs(4, 0);
    run_nccl_ranks(ranks, [&](NcclChannel& channel) {
      const Tensor out = longs(4, 3), other = longs(4, 0);
      const int peer = 1 - channel.rank();
      for (Transfer& transfer : channel.exchange({{channel.rank() == 0 ? in : other, peer, 1}}, {{out, peer, 1}}))
        transfer.wait();
    });
    EXPECT_TRUE(tensor::equal(in, longs(4, expected)));
  }
}

TEST(NcclChannel, ConnectsEdgesAndExchangesBeforeTheFirstStep) {
  NcclRanks ranks = make_nccl_ranks(3);
  run_nccl_ranks(ranks, [](NcclChannel& channel) {
    connect(channel, {{{(channel.rank() + 1) % 3}}, {{(channel.rank() + 2) % 3}}, Exchanges::yes}, tensor::Device());
  });
  std::vector<std::vector<Transfer>> transfers;
  std::vector<Tensor> in;
  for (int rank = 0; rank < 3; ++rank) {  // by one thread: nothing is left that waits for a peer
    in.push_back(longs(2, 0));
    transfers.push_back(ranks.channels[static_cast<std::size_t>(rank)]->exchange(
        {{in.back(), (rank + 2) % 3, 1}}, {{longs(2, rank), (rank + 1) % 3, 1}}));
  }
  for (auto& of_rank : transfers) {
    for (Transfer& transfer : of_rank) transfer.wait();
  }
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_TRUE(tensor::equal(in[static_cast<std::size_t>(rank)], longs(2, (rank + 2) % 3)));
}

TEST(NcclChannel, AGatherHandsEachPartToNcclOnceWhateverTheNumberOfRanks) {
  NcclRanks ranks = make_nccl_ranks(4);
  const int before = asked_broadcasts();
  run_nccl_ranks(ranks, [](NcclChannel& channel) {
    std::vector<Tensor> parts;
    for (std::int64_t rank = 0; rank < 4; ++rank) parts.push_back(longs(5 * rank, rank == channel.rank() ? rank : 0));
    for (Transfer& transfer : channel.gather(parts, 1)) transfer.wait();
    for (std::int64_t rank = 0; rank < 4; ++rank)
      EXPECT_TRUE(tensor::equal(parts[static_cast<std::size_t>(rank)], longs(5 * rank, rank)));
  });
  EXPECT_EQ(asked_broadcasts() - before, 4 * 3);  // by each rank, of the parts that are not empty
}

TEST(NcclChannel, ASumHandsEachPartToNcclOnceWhateverTheNumberOfRanks) {
  NcclRanks ranks = make_nccl_ranks(4);
  const int before = asked_sums();
  run_nccl_ranks(ranks, [](NcclChannel& channel) {
    std::vector<Tensor> parts;
    for (std::int64_t rank = 0; rank < 4; ++rank) parts.push_back(longs(5 * rank, 10 * channel.rank() + rank));
    channel.reduce_scatter(parts, 1).wait();
    const int me = channel.rank();
    EXPECT_TRUE(tensor::equal(parts[static_cast<std::size_t>(me)], longs(5 * me, 60 + 4 * me)));
  });
  EXPECT_EQ(asked_sums() - before, 4 * 3);  // by each rank, of the parts that are not empty
}

TEST(NcclChannel, MessagesTakeFewThreadBlocksAndExchangesMore) {
  NcclRanks ranks = make_nccl_ranks(3);
  run_nccl_ranks(ranks, [](NcclChannel& channel) {
    connect(channel, {{{(channel.rank() + 1) % 3}}, {{(channel.rank() + 2) % 3}}, Exchanges::yes}, tensor::Device());
  });
  EXPECT_EQ(asked_max_ctas(2), 4);
  EXPECT_EQ(asked_max_ctas(3), 16);
}

TEST(NcclChannel, MessagesOfTwoClassesPassEachOther) {
  NcclRanks ranks = make_nccl_ranks(2);
  run_nccl_ranks(ranks, [](NcclChannel& channel) {
    constexpr std::uint32_t first = 1, second = 1u << 29;
    const Tensor a = longs(2, channel.rank() == 0 ? 1 : 0), b = longs(2, channel.rank() == 0 ? 2 : 0);
    if (channel.rank() == 0) {
      Transfer one = channel.send(a, 1, first), two = channel.send(b, 1, second);
      two.wait();
      one.wait();
    } else {
      channel.recv(b, 0, second).wait();
      channel.recv(a, 0, first).wait();
      EXPECT_TRUE(tensor::equal(a, longs(2, 1)) && tensor::equal(b, longs(2, 2)));
    }
  });
}

TEST(NcclChannel, SeveralGroupsOfOneNameAndMembersDoNotMeetEachOther) {
  NcclRanks ranks = make_nccl_ranks(2);
  std::vector<std::unique_ptr<NcclChannel>> again;
  for (auto& transport : ranks.transports) again.push_back(transport->group("world", {0, 1}));
  run_nccl_ranks(ranks, [&](NcclChannel& channel) {
    const auto rank = static_cast<std::size_t>(channel.rank());
    const Tensor first = longs(2, rank == 0 ? 1 : 0), second = longs(2, rank == 0 ? 2 : 0);
    Transfer one = rank == 0 ? channel.send(first, 1, 1) : again[rank]->recv(second, 0, 1);
    Transfer two = rank == 0 ? again[rank]->send(second, 1, 1) : channel.recv(first, 0, 1);
    one.wait();
    two.wait();
    EXPECT_TRUE(tensor::equal(first, longs(2, 1)) && tensor::equal(second, longs(2, 2)));
  });
}

TEST(NcclChannel, ProvesThatTheOrderOfRecvsIsThatOfSends) {
  NcclRanks ranks = make_nccl_ranks(2);
  auto control = make_thread_channels(2, "control", 20);
  std::vector<std::string> told(2);
  const auto send_two = [&](std::uint32_t first_sent, std::uint32_t first_received) {
    run_nccl_ranks(ranks, [&](NcclChannel& channel) {
      const Tensor a = longs(2, 1), b = longs(2, 2);
      const bool sends = channel.rank() == 0;
      const std::uint32_t first = sends ? first_sent : first_received;
      Transfer one = sends ? channel.send(a, 1, first) : channel.recv(a, 0, first);
      Transfer two = sends ? channel.send(b, 1, 3 - first) : channel.recv(b, 0, 3 - first);
      one.wait();
      two.wait();
      const auto rank = static_cast<std::size_t>(channel.rank());
      try {
        channel.prove_order(*control[rank]);
      } catch (const base::BugError& error) {
        told[rank] = error.what();
      }
    });
  };
  send_two(1, 1);
  EXPECT_EQ(told, std::vector<std::string>(2));
  send_two(1, 2);
  EXPECT_EQ(told[0], "");
  EXPECT_THAT(told[1],
              HasSubstr("rank 0 of 2 sent 4 messages to rank 1, which received 4 in another order of tags or sizes"));
}

}  // namespace
}  // namespace troika::comm

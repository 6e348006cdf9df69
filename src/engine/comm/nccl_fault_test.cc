#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "comm/nccl_test_support.h"
#include "tensor/operations.h"

namespace troika::comm {
namespace {
using base::monotonic_seconds;
using tensor::Dtype;
using tensor::Tensor;
using ::testing::AllOf;
using ::testing::HasSubstr;

Tensor eight_bytes() { return tensor::zeros({8}, Dtype::uint8); }

template <class Error>
std::string text_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no failure";
}

// Ranks whose edges in both directions are connected: from here on no thread waits for a peer.
NcclRanks connected(int size, double deadline_seconds) {
  NcclRanks ranks = make_nccl_ranks(size, {deadline_seconds});
  run_nccl_ranks(ranks, [&](NcclChannel& channel) {
    std::vector<NcclEdge> peers;
    for (int peer = 0; peer < channel.size(); ++peer) {
      if (peer != channel.rank()) peers.push_back({peer});
    }
    connect(channel, {peers, peers, Exchanges::yes}, tensor::Device());
  });
  return ranks;
}

// As the host does that waits for a result which never comes.
std::string failure_while_awaiting(NcclChannel& channel) {
  class Never : public tensor::Event::Body {
    bool passed() override { return false; }
  };
  return text_of<base::PeerError>(
      [&] { tensor::await(tensor::Event(std::make_shared<Never>()), [&] { channel.check(); }); });
}

TEST(NcclLibrary, OneThatIsMissingIsNamedWithTheRemedy) {
  EXPECT_THAT(text_of<base::ConfigError>([] { nccl::load("/nowhere/libnccl.so.2"); }),
              AllOf(HasSubstr("cannot load NCCL: /nowhere/libnccl.so.2"), HasSubstr("pip install nvidia-nccl")));
}

TEST(NcclLibrary, OneWithoutAFunctionIsRefusedByTheFunctionsName) {
  EXPECT_THAT(text_of<base::ConfigError>([] { nccl::load("libm.so.6"); }),
              HasSubstr("'libm.so.6' has no function ncclGetVersion"));
}

TEST(NcclLibrary, OneThatIsTooOldIsRefusedWithBothVersions) {
  EXPECT_THAT(text_of<base::ConfigError>([] { nccl::load(nccl_too_old()); }),
              HasSubstr("is NCCL 2.21.5, but versions from 2.28.0 to 2.99 are needed"));
}

TEST(NcclChannelFault, APeerThatNeverPostsIsNamedByCheckWithinTheDeadline) {
  NcclRanks ranks = connected(2, 0.5);
  const Tensor first = eight_bytes(), second = eight_bytes();
  const double before = monotonic_seconds();
  Transfer in = ranks.channels[0]->recv(first, 1, 7), out = ranks.channels[0]->send(second, 1, 8);
  EXPECT_EQ(failure_while_awaiting(*ranks.channels[0]),
            "recv of 8 B from rank 1 (tag 0x7) in group 'world' failed: it did not finish within 0.5 s");
  EXPECT_GT(monotonic_seconds() - before, 0.4);
  EXPECT_LT(monotonic_seconds() - before, 2);
  EXPECT_THAT(text_of<base::PeerError>([&] { out.wait(); }), HasSubstr("an earlier transfer failed"));
  // The peer hears of it from the store.
  EXPECT_THAT(text_of<base::PeerError>([&] { ranks.channels[1]->recv(first, 0, 8).wait(); }),
              HasSubstr("rank 0 has given up: it did not finish within 0.5 s"));
}

TEST(NcclChannelFault, APeerThatNeverUsesTheEdgeIsNamedTooByCheckAndByWait) {
  NcclRanks ranks = make_nccl_ranks(2, {0.3});
  const Tensor tensor = eight_bytes();
  Transfer in = ranks.channels[0]->recv(tensor, 1, 7);
  EXPECT_THAT(failure_while_awaiting(*ranks.channels[0]), HasSubstr("recv of 8 B from rank 1 (tag 0x7)"));
  EXPECT_THAT(text_of<base::PeerError>([&] { ranks.channels[1]->send(tensor, 0, 9).wait(); }),
              HasSubstr("send of 8 B to rank 0 (tag 0x9)"));
}

TEST(NcclChannelFault, ARankThatStaysAwayFromAnExchangeIsNamedByCheckWithinTheDeadline) {
  NcclRanks ranks = connected(3, 0.5);
  const Tensor in = eight_bytes(), out = eight_bytes();
  const auto transfers = ranks.channels[0]->exchange({{in, 2, 5}}, {{out, 1, 5}});
  EXPECT_EQ(failure_while_awaiting(*ranks.channels[0]),
            "exchange of 16 B (tag 0x5) in group 'world' failed: it did not finish within 0.5 s");
}

TEST(NcclChannelFault, AnAbortFromAnotherThreadEndsADeviceThatStandsAndAHostThatAwaits) {
  for (const bool host_awaits : {false, true}) {
    NcclRanks ranks = connected(2, 20);
    const Tensor tensor = eight_bytes();
    Transfer in = ranks.channels[0]->recv(tensor, 1, 7);
    std::atomic<bool> waiting{false};
    std::thread guard([&] {
      while (!waiting) std::this_thread::yield();
      ranks.channels[0]->abort(base::verbatim("rank 1 is dead, says the guard"));
    });
    waiting = true;
    const double before = monotonic_seconds();
    EXPECT_THAT(host_awaits ? failure_while_awaiting(*ranks.channels[0]) : text_of<base::PeerError>([&] { in.wait(); }),
                AllOf(HasSubstr("group 'world'"), HasSubstr("failed: rank 1 is dead, says the guard")));
    EXPECT_LT(monotonic_seconds() - before, 2);
    guard.join();
    EXPECT_THAT(text_of<base::PeerError>([&] { ranks.channels[0]->check(); }), HasSubstr("rank 1 is dead"));
    EXPECT_THAT(text_of<base::PeerError>([&] { ranks.channels[0]->send(tensor, 1, 8).wait(); }),
                HasSubstr("send of 8 B to rank 1 (tag 0x8) in group 'world' failed: rank 1 is dead"));
  }
}

// Over connected edges between two ranks.
std::vector<std::unique_ptr<NcclChannel>> connected_pair(NcclRanks& ranks, const std::string& name) {
  std::vector<std::unique_ptr<NcclChannel>> channels;
  for (auto& transport : ranks.transports) channels.push_back(transport->group(name, {0, 1}));
  run_nccl_ranks(ranks, [&](NcclChannel& world) {
    const NcclEdge peer{1 - world.rank()};
    connect(*channels[static_cast<std::size_t>(world.rank())], {{peer}, {peer}}, tensor::Device());
  });
  return channels;
}

TEST(NcclChannelFault, AnAbortWhileMessagesOfSeveralGroupsStandEndsThemTogether) {
  NcclRanksOptions options;
  options.abort_seconds = 10;
  NcclRanks ranks = make_nccl_ranks(2, options);
  const auto others = connected_pair(ranks, "others"), third = connected_pair(ranks, "third");
  const Tensor a = eight_bytes(), b = eight_bytes(), c = eight_bytes();
  Transfer one = others[0]->recv(a, 1, 7), two = third[0]->recv(b, 1, 7), three = third[0]->send(c, 1, 8);
  const double before = monotonic_seconds();
  others[0]->abort(base::verbatim("the guard wanted it"));
  EXPECT_LT(monotonic_seconds() - before, 5);
  for (Transfer* transfer : {&one, &two, &three})
    EXPECT_THAT(text_of<base::PeerError>([&] { transfer->wait(); }), HasSubstr("failed: the guard wanted it"));
}

TEST(NcclChannelFault, ADeadlineEndsAnAbortThatNcclDoesNotEndItself) {
  NcclRanksOptions options;
  options.abort_seconds = 0.2;
  NcclRanks ranks = make_nccl_ranks(2, options);
  std::vector<std::unique_ptr<NcclTransport>>
      beside;  // of the same devices: what is there is not this transport's to abort
  for (int rank = 0; rank < 2; ++rank)
    beside.push_back(make_nccl_transport(ranks, rank, ranks.devices[static_cast<std::size_t>(rank)], options));
  ranks.transports.swap(beside);
  const auto others = connected_pair(ranks, "others");
  ranks.transports.swap(beside);
  const auto own = connected_pair(ranks, "own");
  const Tensor a = eight_bytes(), b = eight_bytes();
  Transfer one = others[0]->recv(a, 1, 7), two = own[0]->recv(b, 1, 7);
  own[0]->abort(base::verbatim("the guard wanted it"));
  EXPECT_THAT(text_of<base::PeerError>([&] { two.wait(); }), HasSubstr("failed: the guard wanted it"));
  others[0]->abort(base::verbatim("the guard wanted that, too"));
  EXPECT_THAT(text_of<base::PeerError>([&] { one.wait(); }), HasSubstr("failed: the guard wanted that, too"));
}

TEST(NcclChannelFault, AbortsAtAnyMomentEndEveryRankWithoutAHang) {
  for (int moment = 0; moment < 30; ++moment) {
    NcclRanks ranks = make_nccl_ranks(3, {20, static_cast<std::uint64_t>(moment)});
    std::atomic<int> sent{0};
    std::thread guard([&] {
      while (sent < 2 * moment) std::this_thread::yield();
      for (auto& channel : ranks.channels) channel->abort(base::verbatim("the guard wanted it"));
    });
    run_nccl_ranks(ranks, [&](NcclChannel& channel) {
      const std::string text = text_of<base::PeerError>([&] {
        for (;;) {
          const Tensor out = eight_bytes(), in = eight_bytes();
          Transfer receiving = channel.recv(in, (channel.rank() + 2) % 3, 1);
          channel.send(out, (channel.rank() + 1) % 3, 1).wait();
          receiving.wait();
          ++sent;
        }
      });
      EXPECT_THAT(text, HasSubstr("the guard wanted it"));
    });
    guard.join();
  }
}

TEST(NcclChannelFault, SizesThatDifferAreAnErrorOfBothSides) {
  NcclRanks ranks = connected(2, 20);
  std::vector<std::string> texts(2);
  run_nccl_ranks(ranks, [&](NcclChannel& channel) {
    const Tensor tensor = tensor::zeros({8 + channel.rank()}, Dtype::uint8);
    const auto rank = static_cast<std::size_t>(channel.rank());
    Transfer transfer = rank == 0 ? channel.send(tensor, 1, 3) : channel.recv(tensor, 0, 3);
    texts[rank] = text_of<base::PeerError>([&] {
      transfer.wait();
      channel.check();
    });
  });
  EXPECT_THAT(texts[0], AllOf(HasSubstr("send of 8 B to rank 1 (tag 0x3)"), HasSubstr("NCCL 2.28.9: invalid usage")));
  EXPECT_THAT(texts[1], AllOf(HasSubstr("recv of 9 B from rank 0 (tag 0x3)"), HasSubstr("NCCL 2.28.9: invalid usage")));
}

TEST(NcclChannelFault, AnExceptionDropsTransfersAndKeepsTheirTensorsForTheDevice) {
  NcclRanks ranks = connected(2, 20);
  const Tensor out = tensor::full({4}, 6, Dtype::int64);
  std::weak_ptr<const tensor::Memory> kept;
  EXPECT_THROW(
      {
        const Tensor in = tensor::zeros({4}, Dtype::int64);
        kept = in.memory();
        const Transfer transfer = ranks.channels[1]->recv(in, 0, 1);
        throw std::runtime_error("something else");
      },
      std::runtime_error);
  EXPECT_FALSE(kept.expired());
  ranks.channels[0]->send(out, 1, 1).wait();
  const auto memory = kept.lock();
  ASSERT_NE(memory, nullptr);
  const Tensor in(memory, 0, Dtype::int64, {4}, {1});
  EXPECT_TRUE(tensor::equal(in, out));
}

TEST(NcclTransport, RefusesGroupsWithoutThisRankAndOfOne) {
  NcclRanks ranks = make_nccl_ranks(2);
  EXPECT_THROW(ranks.transports[0]->group("other", {1}), base::BugError);
  EXPECT_THROW(ranks.transports[0]->group("self", {0}), base::BugError);
}

}  // namespace
}  // namespace troika::comm

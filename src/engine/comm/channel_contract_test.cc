#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "comm/channel.h"
#include "comm/channel_test_support.h"
#include "comm/collectives.h"
#include "tensor/operations.h"

namespace troika::comm {
namespace {
using base::monotonic_seconds;
using tensor::Dtype;
using tensor::Tensor;
using ::testing::HasSubstr;

class ChannelContract : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    const bool by_memory = GetParam().name.find("memory") != std::string::npos;
    ASSERT_TRUE(!by_memory || memory_can_be_read()) << "process_vm_readv does not work here";
  }
  std::vector<std::unique_ptr<Channel>> make(int size, double deadline_seconds = 20) {
    return GetParam().make(size, deadline_seconds);
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, ChannelContract, ::testing::ValuesIn(all_backends()),
                         [](const auto& backend) { return backend.param.name; });

Tensor filled(std::int64_t count, std::int64_t first) {
  return tensor::range(count, Dtype::int64, static_cast<double>(first));
}

TEST_P(ChannelContract, MovesEveryTypeAsBytes) {
  auto channels = make(2);
  for (int i = 0; i < base::dtype_count; ++i) {
    const auto type = static_cast<Dtype>(i);
    run_ranks(channels, [&](Channel& channel) {
      const Tensor sent = filled(24, 0).to(type).reshape({2, 3, 4});
      if (channel.rank() == 0) {
        channel.send(sent, 1, 7).wait();
      } else {
        const Tensor got = tensor::zeros({2, 3, 4}, type);
        channel.recv(got, 0, 7).wait();
        EXPECT_TRUE(tensor::equal(got, sent)) << name_of(type);
      }
    });
  }
}

TEST_P(ChannelContract, MovesEmptyAndLargeMessages) {
  auto channels = make(2);
  for (const std::int64_t count : {0, 1, 2 * 1024 * 1024}) {
    run_ranks(channels, [&](Channel& channel) {
      const Tensor mine = filled(count, channel.rank()), other = tensor::zeros({count}, Dtype::int64);
      Transfer in = channel.recv(other, 1 - channel.rank(), 1);
      Transfer out = channel.send(mine, 1 - channel.rank(), 1);
      out.wait();
      in.wait();
      EXPECT_TRUE(tensor::equal(other, filled(count, 1 - channel.rank())));
    });
  }
}

TEST_P(ChannelContract, MatchesTagsInAnyOrderAndOneTagInPostingOrder) {
  auto channels = make(2);
  const std::vector<std::uint32_t> sent = {1, 2, 3, 3, 3};
  const bool any_order = GetParam().pairing == Pairing::by_tag;
  const std::vector<std::uint32_t> received = any_order ? std::vector<std::uint32_t>{3, 2, 3, 1, 3} : sent;
  const std::vector<std::int64_t> expected = any_order ? std::vector<std::int64_t>{2000, 1000, 3000, 0, 4000}
                                                       : std::vector<std::int64_t>{0, 1000, 2000, 3000, 4000};
  run_ranks(channels, [&](Channel& channel) {
    std::vector<Tensor> tensors;
    std::vector<Transfer> transfers;
    if (channel.rank() == 0) {
      for (const std::uint32_t tag : sent) {
        tensors.push_back(filled(100, 1000 * static_cast<std::int64_t>(tensors.size())));
        transfers.push_back(channel.send(tensors.back(), 1, tag));
      }
      for (auto& transfer : transfers) transfer.wait();
      return;
    }
    for (const std::uint32_t tag : received) {
      tensors.push_back(tensor::zeros({100}, Dtype::int64));
      transfers.push_back(channel.recv(tensors.back(), 0, tag));
    }
    for (std::size_t i = 5; i-- > 0;) transfers[i].wait();
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(*tensors[i].data<std::int64_t>(), expected[i]);
  });
}

TEST_P(ChannelContract, ASendDoesNotCompleteBeforeItsReceiveIsPosted) {
  auto channels = make(2);
  std::atomic<bool> posted{false};
  run_ranks(channels, [&](Channel& channel) {
    const Tensor tensor = filled(4, 0), token = tensor::zeros({1}, Dtype::uint8);
    if (channel.rank() == 0) {
      Transfer first = channel.send(tensor, 1, 1);
      channel.recv(token, 1, 2).wait();  // the peer is now about to post
      first.wait();
      EXPECT_TRUE(posted);
    } else {
      channel.send(token, 0, 2).wait();
      posted = true;
      channel.recv(tensor, 0, 1).wait();
    }
  });
}

TEST_P(ChannelContract, GathersPartsInPlaceInOneOrderWithExchanges) {
  for (const int size : {2, 3, 4}) {
    auto channels = make(size);
    run_ranks(channels, [&](Channel& channel) {
      const int me = channel.rank(), right = (me + 1) % size, left = (me + size - 1) % size;
      const auto count_of = [](std::int64_t round, int rank) {
        return (round + rank) % 4 * 50;
      };  // of one some are empty
      for (std::int64_t round = 0; round < 6; ++round) {
        std::vector<Tensor> parts;
        for (int rank = 0; rank < size; ++rank)
          parts.push_back(rank == me ? filled(count_of(round, rank), 100 * round + rank)
                                     : tensor::zeros({count_of(round, rank)}, Dtype::int64));
        const Tensor in = tensor::zeros({3}, Dtype::int64);
        std::vector<Transfer> gathering = channel.gather(parts, 5);
        for (Transfer& transfer : channel.exchange({{in, left, 5}}, {{filled(3, me), right, 5}})) transfer.wait();
        for (Transfer& transfer : gathering) transfer.wait();
        EXPECT_TRUE(tensor::equal(in, filled(3, left)));
        for (int rank = 0; rank < size; ++rank)
          EXPECT_TRUE(
              tensor::equal(parts[static_cast<std::size_t>(rank)], filled(count_of(round, rank), 100 * round + rank)));
      }
    });
  }
}

TEST_P(ChannelContract, AddsPartsUpInPlaceInOneOrderWithExchanges) {
  for (const int size : {2, 3, 4}) {
    auto channels = make(size);
    run_ranks(channels, [&](Channel& channel) {
      const int me = channel.rank(), right = (me + 1) % size, left = (me + size - 1) % size;
      const auto count_of = [](std::int64_t round, int rank) {
        return (round + rank) % 4 * 50;
      };  // of one some are empty
      for (std::int64_t round = 0; round < 6; ++round) {
        std::vector<Tensor> parts;
        for (int rank = 0; rank < size; ++rank) parts.push_back(filled(count_of(round, rank), 1000 * me + rank));
        const Tensor in = tensor::zeros({3}, Dtype::int64);
        Transfer adding = channel.reduce_scatter(parts, 5);
        for (Transfer& transfer : channel.exchange({{in, left, 5}}, {{filled(3, me), right, 5}})) transfer.wait();
        adding.wait();
        EXPECT_TRUE(tensor::equal(in, filled(3, left)));
        const Tensor sum = tensor::zeros({count_of(round, me)}, Dtype::int64);
        for (int rank = 0; rank < size; ++rank) tensor::add(sum, filled(count_of(round, me), 1000 * rank + me));
        EXPECT_TRUE(tensor::equal(parts[static_cast<std::size_t>(me)], sum));
        for (int rank = 0; rank < size; ++rank)
          parts[static_cast<std::size_t>(rank)] = tensor::full({count_of(round, rank)}, 0.25 + me, Dtype::fp32);
        channel.reduce_scatter(parts, 5).wait();
        EXPECT_TRUE(
            tensor::equal(parts[static_cast<std::size_t>(me)],
                          tensor::full({count_of(round, me)}, 0.25 * size + size * (size - 1) / 2, Dtype::fp32)));
      }
    });
  }
}

TEST_P(ChannelContract, GathersAndExchangesUnevenParts) {
  auto channels = make(3);
  run_ranks(channels, [&](Channel& channel) {
    const int me = channel.rank();
    std::vector<Tensor> outs, to, from;
    for (int r = 0; r < 3; ++r) {
      outs.push_back(tensor::zeros({r * 5}, Dtype::int64));
      to.push_back(filled(me * r, 100 * me + 10 * r));
      from.push_back(tensor::zeros({me * r}, Dtype::int64));
    }
    all_gather(channel, filled(me * 5, me * 100), outs);
    all_to_all(channel, to, from);
    for (int r = 0; r < 3; ++r) {
      EXPECT_TRUE(tensor::equal(outs[static_cast<std::size_t>(r)], filled(r * 5, r * 100)));
      EXPECT_TRUE(tensor::equal(from[static_cast<std::size_t>(r)], filled(me * r, 100 * r + 10 * me)));
    }
  });
}

TEST_P(ChannelContract, SumsIntegersExactlyAndSharesTexts) {
  auto channels = make(3);
  run_ranks(channels, [&](Channel& channel) {
    std::vector<std::int64_t> values = {channel.rank(), INT64_MAX, -1};
    sum_integers(channel, values);
    EXPECT_EQ(values, (std::vector<std::int64_t>{3, INT64_MAX - 2, -3}));
    const std::vector<std::string> texts = {"", "one\0two", std::string(100000, 'x')};
    EXPECT_EQ(all_gather_text(channel, texts[static_cast<std::size_t>(channel.rank())]), texts);
    const Tensor shared = channel.rank() == 1 ? filled(9, 5) : tensor::zeros({9}, Dtype::int64);
    broadcast(channel, shared, 1);
    EXPECT_TRUE(tensor::equal(shared, filled(9, 5)));
    for (int i = 0; i < 20; ++i) barrier(channel);
  });
}

TEST_P(ChannelContract, CombinesSumsAndMaximaOfAnyNumberOfRanks) {
  for (int size = 2; size <= 7; ++size) {
    auto channels = make(size);
    run_ranks(channels, [&](Channel& channel) {
      const std::int64_t rank = channel.rank(), ranks = channel.size();
      std::vector<std::int64_t> sums{rank, INT64_MAX}, maxima{rank, -rank, rank == 1 ? 1000 : 0};
      combine_integers(channel, sums, maxima);
      EXPECT_EQ(sums[0], ranks * (ranks - 1) / 2);
      EXPECT_EQ(maxima, (std::vector<std::int64_t>{ranks - 1, 0, 1000}));
    });
  }
}

TEST_P(ChannelContract, FindsTheOffsetOfAClock) {
  auto channels = make(3);
  run_ranks(channels, [&](Channel& channel) {
    const double skew = 7.5 * channel.rank();
    const double offset = clock_offset_seconds(channel, 20, [skew] { return monotonic_seconds() + skew; });
    EXPECT_NEAR(offset, -skew, 0.005);
  });
}

// The text with which `wait` ends, and how long it took.
std::string failure_of(const std::function<void()>& wait, double* seconds) {
  const double before = monotonic_seconds();
  std::string text = "no failure";
  try {
    wait();
  } catch (const base::PeerError& error) {
    text = error.what();
  }
  *seconds = monotonic_seconds() - before;
  return text;
}

TEST_P(ChannelContract, AbortFromAnotherThreadEndsEveryWait) {
  auto channels = make(2);
  Channel& channel = *channels[0];
  const Tensor a = filled(8, 0), b = filled(8, 0), c = filled(8, 0);
  Transfer in = channel.recv(a, 1, 1), out = channel.send(b, 1, 2), unwaited = channel.recv(c, 1, 3);
  std::atomic<bool> waiting{false};
  std::thread other([&] {
    while (!waiting) std::this_thread::yield();
    channel.abort(base::verbatim("rank 1 is dead, says the guard"));
  });
  waiting = true;
  double seconds = 0;
  EXPECT_THAT(failure_of([&] { in.wait(); }, &seconds),
              HasSubstr("recv of 64 B from rank 1 (tag 0x1) in group 'world' failed: rank 1 is dead"));
  EXPECT_LT(seconds, 1);
  EXPECT_THAT(failure_of([&] { out.wait(); }, &seconds),
              HasSubstr("send of 64 B to rank 1 (tag 0x2) in group 'world' failed: rank 1 is dead"));
  EXPECT_LT(seconds, 1);
  EXPECT_THAT(failure_of([&] { channel.send(b, 1, 9).wait(); }, &seconds), HasSubstr("rank 1 is dead"));
  other.join();
  failure_of([&] { unwaited = Transfer(); }, &seconds);
  EXPECT_LT(seconds, 1);
}

TEST_P(ChannelContract, ADeadlineThatPassesIsAPeerError) {
  auto channels = make(2, 0.5);
  double seconds = 0;
  const Tensor tensor = filled(8, 0);
  EXPECT_THAT(failure_of([&] { channels[0]->recv(tensor, 1, 1).wait(); }, &seconds), HasSubstr("within 0.5 s"));
  EXPECT_GT(seconds, 0.4);
  EXPECT_LT(seconds, 3);
  EXPECT_NE(failure_of([&] { channels[0]->send(tensor, 1, 1).wait(); }, &seconds), "no failure");
  EXPECT_LT(seconds, 0.3);
}

TEST_P(ChannelContract, APeerThatLeavesEndsTheWait) {
  auto channels = make(3);
  const Tensor tensor = filled(8, 0), other = filled(8, 0);
  Transfer in = channels[0]->recv(tensor, 1, 1), later = channels[0]->recv(filled(8, 0), 2, 1);
  channels[1].reset();
  double seconds = 0;
  EXPECT_NE(failure_of([&] { in.wait(); }, &seconds), "no failure");
  EXPECT_LT(seconds, 1);
  EXPECT_NE(failure_of([&] { later.wait(); }, &seconds), "no failure");  // though rank 2 is there
  EXPECT_LT(seconds, 1);
  EXPECT_NE(failure_of([&] { channels[2]->send(other, 1, 1).wait(); }, &seconds), "no failure");
  EXPECT_LT(seconds, 1);
}

TEST_P(ChannelContract, AnExceptionDoesNotWaitForMessagesUnderWay) {
  auto channels = make(2);
  const Tensor tensor = filled(8, 0);
  const double before = monotonic_seconds();
  EXPECT_THROW(
      {
        const Transfer in = channels[0]->recv(tensor, 1, 1);
        const Transfer out = channels[0]->send(tensor, 1, 2);
        throw std::runtime_error("something else");
      },
      std::runtime_error);
  EXPECT_LT(monotonic_seconds() - before, 1);
}

TEST_P(ChannelContract, RefusesWhatItCannotSend) {
  auto channels = make(2);
  const Tensor matrix = tensor::zeros({4, 4});
  EXPECT_THROW(channels[0]->send(matrix.t(), 1, 1), base::BugError);
  EXPECT_THROW(channels[0]->send(matrix, 0, 1), base::BugError);
  EXPECT_THROW(channels[0]->send(matrix, 2, 1), base::BugError);
  EXPECT_THROW(channels[0]->send(matrix, 1, tag_limit), base::BugError);
}

}  // namespace
}  // namespace troika::comm

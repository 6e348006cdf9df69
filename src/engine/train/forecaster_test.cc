#include "train/forecaster.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <thread>

#include "base/file.h"
#include "comm/rank_channels.h"
#include "comm/traffic.h"
#include "machine/calibration.h"
#include "machine/cluster.h"
#include "machine/profiles.h"
#include "tensor/libtorch_test_support.h"
#include "train/fake_devices_test_support.h"
#include "train/machine_here.h"
#include "train/thread_ranks_test_support.h"

namespace troika::train {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Link, IsMeasuredAlikeOnEveryRank) {
  constexpr double bytes_per_second = 1.25e6, latency_seconds = 0.002;
  auto channels = comm::make_thread_channels(3, "world", 30, {bytes_per_second, latency_seconds});
  std::vector<schedule::Link> links(3);
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < 3; ++r) ranks.emplace_back([&, r] { links[r] = measure_link(*channels[r]); });
  for (auto& rank : ranks) rank.join();
  for (const schedule::Link& link : links) {
    EXPECT_EQ(link.latency_seconds, links[0].latency_seconds);
    EXPECT_EQ(link.bytes_per_second, links[0].bytes_per_second);
  }
  EXPECT_GE(links[0].latency_seconds, 0.9 * latency_seconds);
  EXPECT_LT(links[0].bytes_per_second, 1.2 * bytes_per_second);
  EXPECT_GT(links[0].bytes_per_second, 0.3 * bytes_per_second);
}

std::int64_t sent_bytes(const comm::Traffic& traffic) {
  std::int64_t bytes = 0;
  for (const comm::Traffic::Count& count : traffic.counts()) bytes += count.sent_bytes;
  return bytes;
}

TEST(Link, OfDevicesIsMeasuredOverTheChannelsThatCarryTheirTensors) {
  mesh::Shape shape;
  shape.pp = 2;
  shape.dp = 2;
  FakeDevices devices(shape.world(), 7);
  std::vector<comm::RankChannels> channels = devices.channels(shape);
  std::vector<std::shared_ptr<comm::Traffic>> by_host, by_device;
  for (comm::RankChannels& of_rank : channels) {
    by_host.push_back(std::make_shared<comm::Traffic>(shape.world()));
    by_device.push_back(std::make_shared<comm::Traffic>(shape.world()));
    const auto counted = [](std::unique_ptr<comm::Channel>* channel, const std::shared_ptr<comm::Traffic>& traffic) {
      const std::vector<int> ranks = (*channel)->size() == 4 ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{0, 1};
      *channel = comm::logged(std::move(*channel), std::make_shared<comm::FlightLog>(8),
                              std::make_shared<comm::WaitMark>(comm::WaitMark::Of::this_thread), traffic, ranks);
    };
    counted(&of_rank.world, by_host.back());
    counted(&of_rank.pp, by_device.back());
    counted(&of_rank.replicas, by_device.back());
  }
  std::vector<schedule::Link> links(channels.size());
  on_rank_threads(std::move(channels), [&](comm::RankChannels& of_rank, int rank) {
    links[static_cast<std::size_t>(rank)] = measure_link(of_rank, *devices.streams(rank));
  });
  for (std::size_t rank = 0; rank < links.size(); ++rank) {
    EXPECT_EQ(links[rank].latency_seconds, links[0].latency_seconds);
    EXPECT_EQ(links[rank].bytes_per_second, links[0].bytes_per_second);
    EXPECT_GT(links[rank].bytes_per_second, 0);
    EXPECT_LT(sent_bytes(*by_host[rank]), 16384);
    EXPECT_GT(sent_bytes(*by_device[rank]), 2 * (4 << 20)) << "between stages and between replicas";
  }
}

// A training on threads, each with its core of one host.
class Forecasts : public testing::Test {
 protected:
  std::string said_by(int world, config::Settings s) {
    const auto stream = small_corpus(folder_.path());
    std::FILE* screen = std::tmpfile();
    train_on_threads(s, world, *stream, [&](Surroundings& surroundings, int rank) {
      if (rank == 0) surroundings.listeners.screen = screen;
      surroundings.machine = find_machine(file_, rank, world, tensor::Device());
    });
    std::string text(static_cast<std::size_t>(std::ftell(screen)), '\0');
    std::rewind(screen);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), screen), text.size());
    std::fclose(screen);
    return text;
  }
  config::Settings settings(std::int64_t steps) const {
    config::Settings s = small_settings(folder_.path());
    s.train.steps = steps;
    return s;
  }

  const TemporaryFolder folder_;
  std::string file_;  // of the machine; none
};

TEST_F(Forecasts, AreSaidBeforeTheFirstAndAfterTheLastStep) {
  config::Settings s = settings(3);
  s.parallel.pp = 2;
  const std::string text = said_by(2, s);
  EXPECT_THAT(text, AllOf(HasSubstr("link    "), HasSubstr(", this run"), HasSubstr("scaled to a matrix product here"),
                          HasSubstr("predicted "), HasSubstr("measured  "), HasSubstr("times of 2 steps")));
  EXPECT_THAT(text, Not(HasSubstr("learnt ")));
}

TEST_F(Forecasts, OfOneRankCompareWhatItTook) {
  const std::string text = said_by(1, settings(3));
  EXPECT_THAT(text, AllOf(HasSubstr("predicted "), HasSubstr("measured  "), Not(HasSubstr("layouts "))));
}

TEST_F(Forecasts, SayWhyThereIsNone) {
  file_ = folder_.path() + "/machine.yaml";
  base::write_file_atomic(file_, "hosts: [\n");
  EXPECT_THAT(said_by(1, settings(2)), HasSubstr("note: no time prediction for this run: "));
}

TEST_F(Forecasts, TeachAMachineThatWasProbed) {
  file_ = folder_.path() + "/machine.yaml";
  machine::Cluster cluster = planner::this_machine("").cluster;
  cluster.hosts.front().rates = cluster.hosts.front().rates.times(1000);  // so much too fast that every run tells
  cluster.hosts.front().alone = cluster.hosts.front().alone.times(1000);
  base::write_file_atomic(file_, machine::to_yaml(cluster));
  config::Settings s = settings(8);
  s.batch.micro_batch_size = 16;
  s.batch.global_batch_size = 512;
  const std::string text = said_by(1, s);
  ASSERT_THAT(text, AllOf(HasSubstr("learnt    "), HasSubstr("why       computing took ")));
  const machine::Calibration calibration = machine::read_calibration(file_);
  EXPECT_EQ(calibration.runs(), 1);
  EXPECT_GT(calibration.compute.at(config::Precision::fp32).seconds, 2);
  EXPECT_THAT(source_of(planner::this_machine(file_).cluster.hosts.front()).english, HasSubstr("calibrated by 1 run here"));
}

}  // namespace
}  // namespace troika::train

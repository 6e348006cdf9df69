// A fault at any one message of a small run: it ends on every rank, with an error of the right kind, and what is resumed has the
// bits of a run without faults.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "base/file.h"
#include "comm/faulty_channel_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using comm::Fault;
using Member = std::unique_ptr<comm::Channel> comm::RankChannels::*;

constexpr double deadline_seconds = 0.3;  // of waits that would last for ever

class MessageFaults : public testing::Test {
 protected:
  MessageFaults() {
    runs_.settings.model.layers = 4;
    runs_.settings.train.steps = 3;
    runs_.settings.checkpoint.every = 1;
    runs_.settings.batch.global_batch_size = 4;
  }

  MakeChannels with_fault(std::size_t rank, Member member, const Fault& fault) const {
    return [=](const mesh::Shape& shape) {
      auto channels = thread_channels(shape, {}, deadline_seconds);
      auto& channel = channels[rank].*member;
      channel = comm::faulty(std::move(channel), {fault}, deadline_seconds);
      return channels;
    };
  }

  // False when the run has not so many messages there.
  bool try_one(const std::string& layout, std::size_t rank, Member member, const Fault& fault, const Rows& want,
               const std::string& what) {
    runs_.channels = with_fault(rank, member, fault);
    const std::string name = "run";
    base::remove_tree(runs_.folder(name));
    bool failed = false;
    try {
      runs_.train(name, layout);
    } catch (const base::PeerError&) {
      failed = true;
    }
    runs_.channels = {};
    if (!failed && fault.kind != Fault::Kind::delay && fault.kind != Fault::Kind::drop) return false;
    expect_equal_rows(runs_.train(name, layout), want, what);
    return failed || fault.kind == Fault::Kind::delay;
  }

  // Every `stride`th message of every channel and rank.
  void expect_all_end(const std::string& layout, const std::vector<Fault::Kind>& kinds, std::int64_t stride) {
    const Rows want = runs_.train("want " + layout, layout);
    config::Settings s = runs_.settings;
    const int world = apply_layout(layout, &s);
    const std::pair<const char*, Member> members[] = {{"world", &comm::RankChannels::world},
                                                      {"pp", &comm::RankChannels::pp},
                                                      {"replicas", &comm::RankChannels::replicas},
                                                      {"tp", &comm::RankChannels::tp}};
    for (int rank = 0; rank < world; ++rank) {
      for (const auto& [name, member] : members) {
        for (const Fault::Kind kind : kinds) {
          constexpr std::int64_t most = 400;
          for (std::int64_t message = rank % stride; message < most; message += stride) {
            const std::string what = fmt::format("{}: rank {}, {}, message {}, fault {}", layout, rank, name, message,
                                                 static_cast<int>(kind));
            const bool happened =
                try_one(layout, static_cast<std::size_t>(rank), member, {kind, message, 0.01}, want, what);
            if (happened) ++happened_;
            if (!happened || (kind == Fault::Kind::delay && message > 4 * stride)) break;
          }
        }
      }
    }
  }

  LayoutRuns runs_;
  int happened_ = 0;
};

TEST_F(MessageFaults, AtSomeMessagesEndTheRunAndWhatIsResumedHasItsBits) {
  expect_all_end("dp 2 pp 2", {Fault::Kind::drop, Fault::Kind::kill}, 311);
  EXPECT_GT(happened_, 5);
}

const std::vector<Fault::Kind> every_kind{Fault::Kind::drop, Fault::Kind::delay, Fault::Kind::fail, Fault::Kind::kill,
                                          Fault::Kind::silent};

class FullMessageFaults : public MessageFaults {};

TEST_F(FullMessageFaults, AtMoreMessagesEndTheRunAndWhatIsResumedHasItsBits) {
  expect_all_end("dp 2 pp 2", {Fault::Kind::drop, Fault::Kind::kill}, 149);
  EXPECT_GT(happened_, 10);
}

TEST_F(FullMessageFaults, AtEveryMessageEndTheRunAndWhatIsResumedHasItsBits) {
  for (const char* layout : {"dp 2 pp 2 zero 2", "pp 3", "tp 2 dp 2", "dp 3 zero 3"})
    expect_all_end(layout, every_kind, 1);
  EXPECT_GT(happened_, 500);
}

}  // namespace
}  // namespace troika::train

// NCCL pairs messages by order: a program whose ranks post them in different orders is found by the first step of every attempt,
// whatever it computed.
#include <gmock/gmock.h>

#include <utility>

#include "base/error.h"
#include "train/evaluation_test_support.h"
#include "train/fake_devices_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using Member = std::unique_ptr<comm::Channel> comm::RankChannels::*;

// Counts proofs, and receives under other tags than its peers send: over NCCL the same messages meet all the same.
class Relabelled final : public comm::Channel {
 public:
  Relabelled(std::unique_ptr<comm::Channel> inner, std::uint32_t other, int* proofs)
      : inner_(std::move(inner)), other_(other), proofs_(proofs) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  comm::Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    return inner_->send(tensor, to, tag);
  }
  comm::Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return inner_->recv(tensor, from, tag ^ other_);
  }
  std::vector<comm::Transfer> exchange(const std::vector<comm::Message>& in,
                                       const std::vector<comm::Message>& out) override {
    return inner_->exchange(in, out);
  }
  std::vector<comm::Transfer> gather(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    return inner_->gather(parts, tag);
  }
  comm::Transfer reduce_scatter(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    return inner_->reduce_scatter(parts, tag);
  }
  void check() override { inner_->check(); }
  void prove_order(comm::Channel& world) override {
    ++*proofs_;
    inner_->prove_order(world);
  }
  void abort(const base::Text& reason) override { inner_->abort(reason); }

 private:
  const std::unique_ptr<comm::Channel> inner_;
  const std::uint32_t other_;
  int* const proofs_;
};

class MessageOrder : public testing::Test {
 protected:
  MessageOrder() {
    runs_.settings.model.layers = 2;
    runs_.settings.batch.global_batch_size = 2;
    runs_.settings.train.steps = 3;
    runs_.settings.comm.backend = config::Backend::nccl;
  }

  MakeChannels relabelling(FakeDevices& devices, std::size_t rank, Member member, std::uint32_t other) {
    return [this, &devices, rank, member, other](const mesh::Shape& shape) {
      std::vector<comm::RankChannels> all = devices.channels(shape);
      all[rank].*member = std::make_unique<Relabelled>(std::move(all[rank].*member), other, &proofs_);
      return all;
    };
  }

  // The failure of a run in which rank 0 receives under other tags.
  std::string failure_of(const std::string& layout, Member member, std::uint32_t other) {
    proofs_ = 0;
    config::Settings parsed = runs_.settings;
    FakeDevices devices(apply_layout(layout, &parsed), 1);
    runs_.channels = relabelling(devices, 0, member, other);
    try {
      runs_.train(layout + std::to_string(other), layout, [&](Surroundings& surroundings, int rank) {
        surroundings.streams = devices.streams(rank);
        if (rank == 0) surroundings.hooks.on_step = [this](std::int64_t step, double) { last_step_ = step; };
      });
    } catch (const base::BugError& error) {
      return error.what();
    }
    return "";
  }

  LayoutRuns runs_;
  int proofs_ = 0;
  std::int64_t last_step_ = 0;
};

constexpr std::uint32_t another_microbatch = 1 << 10;

TEST_F(MessageOrder, IsProvedBetweenStagesByTheFirstStep) {
  EXPECT_THAT(failure_of("pp 2", &comm::RankChannels::pp, another_microbatch),
              testing::AllOf(testing::HasSubstr("rank 1 of 2 sent"), testing::HasSubstr("in another order of tags")));
  EXPECT_LE(last_step_, 1);
}

TEST_F(MessageOrder, IsProvedOnTheRingOfContextParallelismByTheFirstStep) {
  EXPECT_THAT(failure_of("cp 3", &comm::RankChannels::cp, another_microbatch),
              testing::HasSubstr("in another order of tags"));
}

TEST_F(MessageOrder, IsProvedOnceAnAttempt) {
  for (const auto& [layout, member] : {std::pair{"pp 2", &comm::RankChannels::pp}, {"cp 2", &comm::RankChannels::cp},
                                       {"tp 2", &comm::RankChannels::tp}, {"dp 2", &comm::RankChannels::replicas}}) {
    EXPECT_EQ(failure_of(layout, member, 0), "") << layout;
    EXPECT_EQ(proofs_, 1) << layout;
    EXPECT_EQ(last_step_, 3) << layout;
  }
}

TEST_F(MessageOrder, OfAnEvaluationIsProvedBeforeItsResult) {
  runs_.settings.comm.backend = config::Backend::automatic;
  runs_.settings.train.steps = 1;
  runs_.train("trained", "dp 1");
  runs_.settings.comm.backend = config::Backend::nccl;
  const auto samples = samples_of_varied_lengths(runs_.folder("samples"), runs_.settings.batch.seq_len);
  config::Settings s = runs_.settings;
  s.train.out = runs_.folder("evaluated");
  const plan::Plan plan = evaluation_plan_for(s, apply_layout("pp 2", &s), *samples);
  FakeDevices devices(2, 1);
  const Evaluating evaluating{relabelling(devices, 1, &comm::RankChannels::pp, another_microbatch),
                              [&](int rank) { return devices.streams(rank); }};
  try {
    evaluate_on_threads(plan, runs_.folder("trained"), *samples, {}, evaluating);
    ADD_FAILURE() << "no failure";
  } catch (const base::BugError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("in another order of tags"));
  }
}

}  // namespace
}  // namespace troika::train

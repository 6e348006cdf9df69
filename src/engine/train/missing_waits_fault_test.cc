// Waits between the lanes of a device that are left out on purpose: each changes what comes out, so a wait that is
// missing in the code would be seen by the runs on late devices (programs_parity_test.cc).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>

#include "train/fake_devices_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {
using tensor::ForgottenWait;

class MissingWait : public ::testing::Test {
 protected:
  MissingWait() {
    runs_.settings.model.layers = 2;
    runs_.settings.batch.global_batch_size = 2;
    runs_.settings.train.steps = 2;
  }

  Rows run(const std::string& name, const std::string& layout, std::uint64_t seed,
           const std::optional<PlantedFault>& fault) {
    config::Settings parsed = runs_.settings;
    FakeDevices devices(apply_layout(layout, &parsed), seed, fault);
    runs_.settings.comm.backend = config::Backend::nccl;
    runs_.channels = [&](const mesh::Shape& shape) { return devices.channels(shape); };
    return runs_.train(name, layout,
                       [&](Surroundings& surroundings, int rank) {
                         surroundings.streams = devices.streams(rank);
                         if (fault && fault->world_rank == rank) surroundings.hooks.on_begin = [&] { devices.steps_begin(); };
                       });
  }

  // In one of some runs whose devices are late in different ways: a message may be there in time without any wait.
  bool is_found(const std::string& layout, const PlantedFault& fault) {
    const Rows expected = run(layout + " whole", layout, 0, std::nullopt);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      if (is_found_in_a_process(layout, seed, fault, expected)) return true;
    }
    return false;
  }

 private:
  // Memory that is used too early may end the process, so the run has one of its own.
  bool is_found_in_a_process(const std::string& layout, std::uint64_t seed, const PlantedFault& fault,
                             const Rows& expected) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) _exit(differs(layout, seed, fault, expected) ? 1 : 0);
    int status = 0;
    waitpid(child, &status, 0);
    return status != 0;
  }

  bool differs(const std::string& layout, std::uint64_t seed, const PlantedFault& fault, const Rows& expected) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) return true;
    mallopt(M_PERTURB,
            0x5A);  // else memory that is read too early may hold what an earlier run left there, which is right
    try {
      const Rows rows = run(fmt::format("{} planted {}", layout, seed), layout, seed, fault);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (rows.at(i).loss_bits != expected[i].loss_bits || rows[i].grad_norm != expected[i].grad_norm) return true;
      }
      return false;
    } catch (const std::exception&) {
      return true;
    }
  }

  LayoutRuns runs_;
};

TEST_F(MissingWait, OfAGradientThatIsSharedOutBeforeItIsComputed) {
  EXPECT_TRUE(is_found("dp 2 zero 1", {0, ForgottenWait::of_another_lane, 0}));
}

TEST_F(MissingWait, OfAnActivationThatIsSentBeforeItIsComputed) {
  EXPECT_TRUE(is_found("pp 2", {0, ForgottenWait::of_another_lane, 0}));
}

TEST_F(MissingWait, OfAnActivationThatIsReadBeforeItArrives) {
  EXPECT_TRUE(is_found("pp 2", {1, ForgottenWait::of_compute_lane, 0}));
}

TEST_F(MissingWait, OfParametersThatAreReadBeforeTheyAreGathered) {
  EXPECT_TRUE(is_found("dp 2 zero 3", {1, ForgottenWait::of_compute_lane, 0}));
}

TEST_F(MissingWait, OfOptimizerStateThatIsSteppedBeforeItArrives) {
  EXPECT_TRUE(is_found("offload host", {0, ForgottenWait::of_compute_lane, 0}));
}

TEST_F(MissingWait, OfOptimizerStateThatGoesBackBeforeItIsStepped) {
  EXPECT_TRUE(is_found("offload host", {0, ForgottenWait::of_another_lane, 1}));
}

TEST_F(MissingWait, IsNotFoundWhereNoneIsMissing) {
  EXPECT_FALSE(is_found("dp 2 pp 2 zero 1 offload host", {0, ForgottenWait::of_compute_lane, 1 << 30}));
}

}  // namespace
}  // namespace troika::train

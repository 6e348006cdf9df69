// Runs that compute on GPUs and pass messages by NCCL, both stand-ins, have in every layout the bits that they have over host
// memory, those of one GPU where a layout cuts no sum, and the losses of processors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

#include "comm/nccl_test_support.h"
#include "train/gpus_over_nccl_test_support.h"

namespace troika::train {
namespace {

class GpuLayouts : public GpusOverNccl {
 protected:
  void expect_the_losses_of_others(std::initializer_list<const char*> layouts) {
    const Rows alone = over_host_memory("alone", ""), cpu = on_processors("cpu", "");
    for (const std::string layout : layouts) {
      SCOPED_TRACE(layout);
      const Rows rows = over_nccl("nccl " + layout, layout);
      const bool cuts_sums = layout.find("tp") != std::string::npos || layout.find("cp") != std::string::npos;
      expect_equal_rows(rows, cuts_sums ? over_host_memory("host " + layout, layout) : alone, layout);
      ASSERT_EQ(rows.size(), cpu.size());
      for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(rows[i].loss, cpu[i].loss, 1e-5 * cpu[i].loss);
    }
  }
  // On two hosts.
  void expect_sums_on_the_way_in(const char* layout, int ranks) {
    runs_.settings.batch.global_batch_size = 2 * ranks;
    ranks_per_host_ = ranks / 2;
    const int before = comm::asked_sums();
    expect_the_losses_of_others({layout});
    EXPECT_GT(comm::asked_sums(), before);
    ranks_per_host_ = 0;
  }
};

TEST_F(GpuLayouts, HaveTheLossesOfOneGpuAndOfProcessors) {
  runs_.settings.model.layers = 2;
  runs_.settings.train.steps = 1;
  runs_.settings.batch.global_batch_size = 2;
  expect_the_losses_of_others({"file pp 2 zb-h1", "dp 2 zero 3", "tp 2", "cp 3"});
}

TEST_F(GpuLayouts, HaveTheSameLossesWhereSumsAreAddedOnTheWayBetweenHosts) {
  runs_.settings.model.layers = 2;
  runs_.settings.train.steps = 1;
  expect_sums_on_the_way_in("dp 6 zero 1", 6);
}

class FullGpuLayouts : public GpuLayouts {};

TEST_F(FullGpuLayouts, OfEverySchedule) {
  for (const bool tied : {false, true}) {
    runs_.settings.model.tie_embeddings = tied;
    expect_the_losses_of_others({"pp 2", "pp 2 gpipe", "pp 2 zb-h1", "pp 2 interleaved 2", "pp 4", "pp 4 gpipe", "pp 4 zb-h1", "pp 3",
                                 "pp 3 zb-h1 recompute full", "pp 2 interleaved 2 recompute selective", "file pp 2 interleaved 2",
                                 "file pp 4 zb-h1", "file pp 3 gpipe", "file dp 2 pp 2 zero 3"});
  }
}

TEST_F(FullGpuLayouts, OfEveryWayToShareReplicas) {
  for (const int zero : {0, 1, 2, 3})
    for (const char* layout : {"dp 2", "dp 4", "dp 2 pp 2 overlap off", "dp 2 pp 2 zb-h1"})
      expect_the_losses_of_others({fmt::format("{} zero {}", layout, zero).c_str()});
  runs_.settings.batch.global_batch_size = 3;
  for (const int zero : {0, 3}) expect_the_losses_of_others({fmt::format("dp 3 zero {}", zero).c_str()});
  expect_sums_on_the_way_in("dp 6 zero 0", 6);
  expect_sums_on_the_way_in("dp 10 zero 3", 10);
  runs_.settings.batch.global_batch_size = 12;
  ranks_per_host_ = 3;
  for (const auto promise : {config::Reproducible::layout, config::Reproducible::off}) {
    runs_.settings.parallel.reproducible = promise;
    const Rows rows = over_nccl("in fp32", "dp 6 zero 2"), cpu = on_processors("cpu", "");
    for (std::size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(rows.at(i).loss, cpu[i].loss, 1e-5 * cpu[i].loss);
  }
}

TEST_F(FullGpuLayouts, OfSplitTensors) {
  expect_the_losses_of_others({"tp 2", "tp 2 plain", "tp 3", "tp 4", "pp 2 tp 2", "dp 2 tp 2 zero 3", "dp 2 pp 2 tp 2 zero 1"});
}

TEST_F(FullGpuLayouts, OfSplitPositions) {
  expect_the_losses_of_others({"cp 2", "cp 3", "cp 4", "pp 2 cp 2 zb-h1", "dp 2 cp 2 zero 2", "dp 2 cp 3 zero 1", "pp 2 cp 4",
                               "dp 2 pp 2 cp 2 zero 3 interleaved 2"});
}

TEST_F(FullGpuLayouts, OfSplitTensorsAndPositions) {
  expect_the_losses_of_others({"tp 2 cp 2", "tp 2 cp 3", "pp 2 tp 2 cp 2"});
}

TEST_F(FullGpuLayouts, OfEveryAxis) { expect_the_losses_of_others({"dp 2 pp 2 tp 2 cp 2 zero 2 zb-h1"}); }

}  // namespace
}  // namespace troika::train

#include "bench/report.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "shape/layout.h"

namespace troika::bench {
namespace {

config::ModelSettings small_model() {
  config::ModelSettings m;
  m.hidden = 32, m.layers = 3, m.heads = 4, m.kv_heads = 2, m.head_dim = 8, m.ffn = 64, m.vocab = 100;
  return m;
}

StepReport report() {
  StepReport r;
  r.parameters = 1000;
  r.batch = 4;
  r.seq_len = 16;
  r.step_seconds = {9, 2, 1, 4};
  r.work = {2e9, 1e9};
  r.rates = {4e9, 2e9};
  return r;
}

TEST(StepWork, OfATiedModelCountsEveryParameter) {
  const config::ModelSettings m = small_model();
  const auto parameters = static_cast<double>(shape::parameter_count(m));
  const StepWork work = work_of(m, {}, 28, 5, 16);
  EXPECT_EQ(work.flops, 6 * parameters * 5 * 16 + 3 * 2 * 3 * 4 * 8 * 16.0 * 16 * 5);
  EXPECT_EQ(work.update_bytes, 28 * parameters);
}

TEST(StepWork, OfHalfPrecisionWritesTheRoundedParameterToo) {
  const config::ModelSettings m = small_model();
  const StepWork work = work_of(m, {}, 30, 5, 16);
  EXPECT_EQ(work.flops, work_of(m, {}, 28, 5, 16).flops);
  EXPECT_EQ(work.update_bytes, 30 * static_cast<double>(shape::parameter_count(m)));
}

TEST(StepWork, OfAnUntiedModelDoesNotMultiplyTheEmbedding) {
  config::ModelSettings tied = small_model(), untied = small_model();
  untied.tie_embeddings = false;
  EXPECT_EQ(work_of(untied, {}, 28, 5, 16).flops, work_of(tied, {}, 28, 5, 16).flops);
  EXPECT_EQ(work_of(untied, {}, 28, 5, 16).update_bytes - work_of(tied, {}, 28, 5, 16).update_bytes,
            28 * 100 * 32);
}

TEST(StepWork, OfGpt2DoesNotMultiplyThePositions) {
  config::ModelSettings m = small_model();
  m.architecture = config::Family::gpt2, m.kv_heads = m.heads, m.max_positions = 16;
  const StepWork few = work_of(m, {}, 28, 5, 16);
  m.max_positions = 64;
  EXPECT_EQ(work_of(m, {}, 28, 5, 16).flops, few.flops);
  EXPECT_EQ(work_of(m, {}, 28, 5, 16).update_bytes - few.update_bytes, 28 * 48 * 32);
}

TEST(StepWork, OfWhatIsFrozenHasNoGradientsOfWeightsAndNoUpdate) {
  const config::ModelSettings m = small_model();
  const auto rows = 5 * 16.0, table = 100 * 32.0, attention = 2 * 4 * 8 * 16.0 * 16 * 5;
  const double block = 32 * 8 * 4 + 2 * 32 * 8 * 2 + 32 * 8 * 4 + 3 * 32 * 64 + 2 * 32 + 2 * 8, norm = 32;
  shape::Trained adapted;
  adapted.segments.assign(5, false);
  adapted.lora.rank = 2;
  adapted.lora.targets = "q_proj";
  const double adapter = 2 * (32 + 32);
  const StepWork lora = work_of(m, adapted, 30, 5, 16);
  EXPECT_EQ(lora.update_bytes, 30 * 3 * adapter);
  EXPECT_EQ(lora.flops, 2 * rows * (2 * (3 * block + norm + table) + 3 * 3 * adapter) + 3 * 3 * attention);
  shape::Trained last;
  last.segments = {false, false, false, true, false};
  const StepWork one = work_of(m, last, 28, 5, 16);
  EXPECT_EQ(one.update_bytes, 28 * block);
  EXPECT_EQ(one.flops, 2 * rows * ((1 + 1 + 3) * block + 2 * (norm + table)) + (1 + 1 + 3) * attention);
}

TEST(StepReport, LeavesTheFirstStepOutOfTheMedian) {
  EXPECT_EQ(report().median_seconds(), 2);
  EXPECT_EQ(report().tokens_per_second(), 32);
  EXPECT_EQ(ideal_seconds(report().work, report().rates), 1);
  EXPECT_EQ(report().share_of_ideal(), 0.5);
}

TEST(StepReport, IsOneLineOfJson) {
  const std::string line = to_json(report());
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = base::parse_json(line, "the report");
  EXPECT_EQ(json["step_seconds"], 2);
  EXPECT_EQ(json["steps"], 4);
  EXPECT_EQ(json["share_of_ideal"], 0.5);
  EXPECT_THAT(to_text(report(), base::Language::english),
              testing::HasSubstr("2.0000 s, median of 3 after one warm-up step (1.0000 to 4.0000)"));
}

TEST(StepReport, OfADeviceSetsTheHostsTimeAndItsMemoryBesideThePlan) {
  StepReport r = report();
  EXPECT_THAT(to_json(r), testing::Not(testing::HasSubstr("device")));
  r.device = base::verbatim("a GPU");
  r.queued_seconds = {9, 0.25, 0.5, 0.25};
  r.awaited_seconds = {0, 1.75, 0.5, 3.75};
  r.device_used_peak_bytes = 3 << 20, r.device_reserved_peak_bytes = 4 << 20, r.planned_bytes = 2 << 20;
  const auto json = base::parse_json(to_json(r), "the report");
  EXPECT_EQ(json["queued_seconds"], 0.25);
  EXPECT_EQ(json["awaited_seconds"], 1.75);
  EXPECT_EQ(json["device_used_peak_bytes"], 3 << 20);
  EXPECT_THAT(to_text(r, base::Language::english),
              testing::HasSubstr("0.2500 s until a step is queued, then 1.7500 s until the device finishes it"));
  EXPECT_THAT(to_text(r, base::Language::english),
              testing::HasSubstr("3.00 MiB allocated at most, 4.00 MiB reserved, 2.00 MiB planned; a GPU"));
}

}  // namespace

namespace {
using testing::HasSubstr;

TEST(KernelTable, SetsOperationsBesideTheMachine) {
  const MachineRates rates{2e9, 1e9};
  const std::vector<MeasuredOperation> rows{{base::verbatim("product"), "M 1", 3, 4e6, 1e3, 0.004},
                                            {base::verbatim("copy"), "M 2", 1, 0, 1e6, 0.002}};
  EXPECT_EQ(rows[0].ideal_seconds(rates), 0.002);
  EXPECT_EQ(rows[1].ideal_seconds(rates), 0.001);
  const std::string table = to_table(rows, rates, base::Language::english);
  EXPECT_THAT(table, HasSubstr("1.0 GF/s"));
  EXPECT_THAT(table, HasSubstr("0.5 GB/s"));
  EXPECT_THAT(table, HasSubstr("all of a step: 14.000 ms, ideal 7.000 ms (50 %)"));
  EXPECT_THAT(to_csv(rows, rates), HasSubstr("\"product\",M 1,3,4000.000,1,GF/s,2000.000,0.5,12\n"));
}

TEST(KernelTable, OfADeviceSaysWhatIsMovedAndMultipliedAndHowLongTheHostTakes) {
  const MachineRates rates{2e14, 1e12};
  const std::vector<MeasuredOperation> rows{{base::verbatim("product"), "M 1", 3, 4e11, 1e6, 0.004, 0.0005},
                                            {base::verbatim("copy"), "M 2", 1, 0, 1e9, 0.002, 0.0001}};
  const std::string table = to_device_table(rows, rates, base::verbatim("h100"), base::Language::english);
  EXPECT_THAT(table, HasSubstr("4000.0    500.0       1.0     400.0 100.0 TFLOP/s     2000.0   50 %     12.000"));
  EXPECT_THAT(table, HasSubstr("500 GB/s"));
  EXPECT_THAT(table, HasSubstr("all of a step: 14.000 ms, queued in 1.600 ms, ideal 7.000 ms (50 %) at 200.0 TFLOP/s"));
  EXPECT_THAT(table, HasSubstr(" and 1000 GB/s (h100)"));
  EXPECT_THAT(to_device_csv(rows, rates), HasSubstr("\"copy\",M 2,1,2000.000,100.000,1000000000,0,1000.000,0.5,2\n"));
}

}  // namespace

}  // namespace troika::bench

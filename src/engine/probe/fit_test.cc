#include "probe/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "shape/operation_costs.h"
#include "shape/shard_plan.h"

namespace troika::probe {
namespace {

std::vector<TimedKernel> made_up_kernels() {
  std::vector<TimedKernel> kernels;
  for (const auto precision : {config::Precision::fp32, config::Precision::bf16})
    for (const auto& list : {product_kernels(precision), block_kernels(precision), attention_kernels(precision), stream_kernels(precision, 1 << 22)})
      kernels.insert(kernels.end(), list.begin(), list.end());
  const std::vector<TimedKernel> calls = call_kernels();
  kernels.insert(kernels.end(), calls.begin(), calls.end());
  return kernels;
}

machine::Rates made_up_rates() {
  machine::Rates rates;
  rates.fp32 = {80e9, 12e9, 0.4, 5e9};
  rates.bf16 = {210e9, 9e9, 0.7, 3e9};
  rates.between_bytes_per_second = 15e9;
  rates.stream_bytes_per_second = 7e9;
  rates.call_seconds = 3e-6;
  return rates;
}

TEST(Fit, FindsTheRatesOfAMachineThatFollowsTheModel) {
  const std::vector<TimedKernel> kernels = made_up_kernels();
  const machine::Rates truth = made_up_rates();
  std::vector<double> seconds;
  for (const TimedKernel& kernel : kernels) seconds.push_back(predicted_seconds(truth, kernel));
  const machine::Rates found = fit_rates(kernels, seconds);
  const auto expect_equal = [](double a, double b) { EXPECT_NEAR(a / b, 1, 1e-6); };
  expect_equal(found.fp32.flops_per_second, truth.fp32.flops_per_second);
  expect_equal(found.fp32.bytes_per_second, truth.fp32.bytes_per_second);
  expect_equal(found.bf16.flops_per_second, truth.bf16.flops_per_second);
  expect_equal(found.bf16.bytes_per_second, truth.bf16.bytes_per_second);
  for (const auto precision : {config::Precision::fp32, config::Precision::bf16}) {
    const machine::PrecisionRates &got = found.products(precision), &want = truth.products(precision);
    expect_equal(got.attention_share, want.attention_share);
    expect_equal(got.attention_bytes_per_second, want.attention_bytes_per_second);
  }
  EXPECT_EQ(found.fp16.attention_share, found.bf16.attention_share);
  expect_equal(found.between_bytes_per_second, truth.between_bytes_per_second);
  expect_equal(found.stream_bytes_per_second, truth.stream_bytes_per_second);
  expect_equal(found.call_seconds, truth.call_seconds);
  EXPECT_EQ(found.fp16.flops_per_second, 0);
  for (const auto kind :
       {KernelKind::product, KernelKind::attention, KernelKind::between, KernelKind::stream, KernelKind::call})
    EXPECT_LT(errors_of(found, kernels, seconds, kind).largest, 1e-6);
}

TEST(Fit, NamesTheKernelThatIsPredictedWorst) {
  std::vector<TimedKernel> kernels = made_up_kernels();
  const machine::Rates rates = made_up_rates();
  std::vector<double> seconds;
  for (const TimedKernel& kernel : kernels) seconds.push_back(predicted_seconds(rates, kernel));
  seconds[4] *= 2;
  const FitErrors errors = errors_of(rates, kernels, seconds, KernelKind::product);
  EXPECT_NEAR(errors.largest, 0.5, 1e-9);
  EXPECT_EQ(errors.worst.english, kernels[4].name.english + " fp32");
  EXPECT_NEAR(errors.median, 0, 1e-9);
}

// The planner counts the same bytes for one block of a model, so rates found here are rates of its bytes.
TEST(TimedKernels, OfABlockCountWhatTheCostModelCounts) {
  config::ModelSettings model;  // qwen3-tiny, as the small one of block_kernels
  model.vocab = 4096;
  for (const auto precision : {config::Precision::fp32, config::Precision::bf16}) {
    shape::MicrobatchShape microbatch{shape::MicrobatchRows::equal(4, 256)};
    microbatch.precision = precision;
    double between = 0, attention_bytes = 0, attention_flops = 0;
    for (const shape::OperationCost& row : shape::block_operations(model, shape::block_kind(model, 1), microbatch)) {
      if (row.operation == shape::Operation::attention) {
        attention_bytes += row.work.bytes;
        attention_flops += row.work.flops;
      } else if (row.work.flops == 0) {
        between += row.work.bytes;
      }
    }
    double loss = 0;
    for (const shape::OperationCost& row : shape::outer_operations(model, microbatch))
      if (row.operation == shape::Operation::cross_entropy || row.operation == shape::Operation::logits_dtype)
        loss += row.work.bytes;
    double timed = 0, timed_loss = 0, timed_attention_bytes = 0, timed_attention_flops = 0;
    const auto layers = static_cast<double>(model.layers);
    for (const TimedKernel& kernel : block_kernels(precision)) {
      if (kernel.name.english.find(" D 256 ") == std::string::npos) continue;
      if (kernel.kind == KernelKind::attention) {
        timed_attention_bytes += kernel.calls / layers * kernel.work.bytes;
        timed_attention_flops += kernel.calls / layers * kernel.work.flops;
      } else {
        (kernel.name.english.rfind("cross entropy", 0) == 0 ? timed_loss : timed) += kernel.calls * kernel.work.bytes;
      }
    }
    EXPECT_NEAR(timed / layers, between, 1e-6 * between);
    EXPECT_NEAR(timed_loss, loss, 1e-6 * loss);
    EXPECT_NEAR(timed_attention_bytes, attention_bytes, 1e-6 * attention_bytes);
    EXPECT_NEAR(timed_attention_flops, attention_flops, 1e-6 * attention_flops);
  }
}

TEST(TimedKernels, OfGradientsAndOptimizerCountWhatTheCostModelCounts) {
  for (const auto precision : {config::Precision::fp32, config::Precision::bf16}) {
    shape::SumShape four;
    four.shares = {4};
    const shape::OptimizerShape adamw = shape::shape_of(config::Optimizer::adamw);
    const double counted = shape::total(shape::update_operations({{1000, four}}, adamw.update_bytes(config::bytes_of(precision)))).bytes;
    double timed = 0;
    for (const TimedKernel& kernel : stream_kernels(config::Precision::fp32, 1000))
      if (kernel.name.english.rfind("adamw", 0) != 0) timed += kernel.calls * kernel.work.bytes;
    for (const TimedKernel& kernel : stream_kernels(precision, 1000))
      if (kernel.name.english.rfind("adamw", 0) == 0) timed += kernel.calls * kernel.work.bytes;
    EXPECT_NEAR(timed, counted, 1e-9 * counted);
  }
}

TEST(TimedKernels, ComputeOnTheProcessorAndAreTimed) {
  for (const TimedKernel& kernel : kernels_of(tensor::Device())) {
    if (kernel.work.flops > 1e8 || kernel.kind == KernelKind::stream) continue;  // keeps the test short
    const KernelBody body = kernel.prepare(tensor::Device());
    EXPECT_GT(seconds_of_call(body, tensor::Device(), Clock::wall, 0), 0) << kernel.name.english;
  }
}

}  // namespace

namespace {

TEST(LeastSquares, FindMadeUpCoefficientsExactlyThoughTheyDifferByTwelveOrders) {
  const std::vector<double> truth{5e-6, 1 / 80e9, 1 / 12e9};
  std::vector<Equation> equations;
  for (const double M : {64.0, 256.0, 1024.0, 2048.0}) {
    for (const double K : {128.0, 512.0, 4096.0}) {
      const std::vector<double> terms{1, 2 * M * K * 512, 4 * (M * K + K * 512 + M * 512)};
      equations.push_back({terms, terms[0] * truth[0] + terms[1] * truth[1] + terms[2] * truth[2]});
    }
  }
  const std::vector<double> x = non_negative_least_squares(equations);
  for (std::size_t j = 0; j < truth.size(); ++j) EXPECT_NEAR(x[j] / truth[j], 1, 1e-8) << j;
}

TEST(LeastSquares, GiveNoNegativeCoefficientWhereThatWouldFitBetter) {
  // Without the bound x = (2, -1).
  const std::vector<Equation> equations{{{1, 0.5}, 1.5}, {{1, 1}, 1}, {{2, 3}, 1}};
  const std::vector<double> x = non_negative_least_squares(equations);
  EXPECT_GT(x[0], 0);
  EXPECT_EQ(x[1], 0);
}

TEST(LeastSquares, WeighErrorsByTheValueSoThatSmallOnesCount) {
  // One unknown, two measurements that contradict each other: relative errors of 1/x and 2/x meet in the middle.
  const std::vector<double> x = non_negative_least_squares({{{1}, 1}, {{1000}, 2000}});
  EXPECT_NEAR(x[0], (1 + 0.5) / (1 + 0.25), 1e-12);
}

TEST(LeastSquares, LeaveAnUnknownThatNoEquationHasAtZero) {
  EXPECT_EQ(non_negative_least_squares({{{2, 0}, 4}, {{3, 0}, 6}}), (std::vector<double>{2, 0}));
}

TEST(LeastSquares, RefuseRowsOfDifferentLengths) {
  EXPECT_THROW(non_negative_least_squares({{{1, 2}, 1}, {{1}, 1}}), base::BugError);
}

}  // namespace

}  // namespace troika::probe

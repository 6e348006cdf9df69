#include "commands/roofline/roofline.h"

#include <gmock/gmock.h>

#include <array>

#include "base/error.h"
#include "base/text.h"
#include "commands/roofline/arguments.h"
#include "commands/roofline/pytorch_kernels.h"
#include "config/presets.h"

namespace troika::commands {
namespace {
using shape::Operation;
using shape::Pass;
using testing::AllOf;
using testing::HasSubstr;

const plan::DeviceRates h200 = plan::find_device_rates("h200");

std::string report_of(Words words) {
  words.insert(words.begin(), {"bench", "roofline"});
  return roofline_report(call_of(words));
}

std::string refusal_of_roofline(const Words& words) {
  try {
    report_of(words);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "";
}

// Bytes of one token, of all calls in a block.
double token_bytes(const std::string& preset, Operation operation, Pass pass, PyTorchMode mode) {
  const config::ModelSettings model = config::find_preset(preset);
  shape::MicrobatchShape microbatch;
  microbatch.T = 1000;
  microbatch.precision = config::Precision::bf16;
  const PyTorchStep step{model, 1000, 4};
  for (const auto& row : shape::block_operations(model, shape::block_kind(model, 1), microbatch)) {
    if (row.operation == operation && row.pass == pass) return bytes_of(step, pytorch_kernels(step, row, mode)) / 1000;
  }
  ADD_FAILURE() << "no such operation";
  return 0;
}

TEST(PyTorchKernels, OfNormsAreTheirListsAddedUp) {
  const double D = 4096;
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::add_norm, Pass::forward, PyTorchMode::eager),
            2 * (6 + 6 + 8 + 4 + 8 + 6 + 4) * D);
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::add_norm, Pass::backward, PyTorchMode::eager), 2 * 98 * D);
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::add_norm, Pass::forward, PyTorchMode::compiled), 16 * D);
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::add_norm, Pass::backward, PyTorchMode::compiled), 24 * D);
  EXPECT_EQ(token_bytes("gpt2-124m", Operation::add_norm, Pass::forward, PyTorchMode::eager), 20 * 768);
  EXPECT_EQ(token_bytes("gpt2-124m", Operation::add_norm, Pass::backward, PyTorchMode::eager), 32 * 768);
}

TEST(PyTorchKernels, OfRotationAndActivationAreTheirListsAddedUp) {
  const double heads = 5120, F = 12288;  // queries and keys
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::rotation, Pass::forward, PyTorchMode::eager), 56 * heads);
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::rotation, Pass::backward, PyTorchMode::eager), 122 * heads);
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::rotation, Pass::backward, PyTorchMode::compiled), 10 * heads);
  EXPECT_EQ(token_bytes("llama3-8b", Operation::rotation, Pass::forward, PyTorchMode::eager), 20 * heads);
  EXPECT_EQ(token_bytes("llama3-8b", Operation::rotation, Pass::backward, PyTorchMode::eager), 30 * heads);
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::activation, Pass::forward, PyTorchMode::eager), 10 * F);
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::activation, Pass::backward, PyTorchMode::eager), 18 * F);
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::activation, Pass::backward, PyTorchMode::compiled), 10 * F);
}

TEST(PyTorchKernels, OfApartProjectionsReadTheirInputEachTime) {
  const double D = 4096, qkv = 6144, weights = 2 * D * qkv / 1000;
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::qkv_product, Pass::forward, PyTorchMode::eager),
            2 * (3 * D + qkv) + weights);
  EXPECT_EQ(token_bytes("qwen3-8b", Operation::qkv_product, Pass::input_gradient, PyTorchMode::eager),
            2 * (3 * D + qkv) + weights + 12 * D);
  EXPECT_EQ(token_bytes("gpt2-124m", Operation::qkv_product, Pass::forward, PyTorchMode::eager),
            2 * 4 * 768.0 + 2 * 768 * 2304 / 1000.0);
}

TEST(PyTorchKernels, OfAdamWInForeachAre86BytesForAWeight) {
  const config::ModelSettings model = config::find_preset("gpt2-124m");
  const PyTorchStep step{model, 1, 1};
  const shape::OperationCost adamw{Operation::adamw, Pass::both, {}};
  const double P = static_cast<double>(shape::parameter_count(model));
  EXPECT_EQ(bytes_of(step, pytorch_kernels(step, adamw, PyTorchMode::eager)), 86 * P);
  EXPECT_EQ(bytes_of(step, pytorch_kernels(step, adamw, PyTorchMode::compiled)), 34 * P);
}

TEST(PyTorchKernels, OfAnEagerOperationNeverTakeLessThanCompiled) {
  for (const char* preset : {"qwen3-0.6b", "gpt2-124m", "llama3-8b", "qwen2.5-0.5b"}) {
    const config::ModelSettings model = config::find_preset(preset);
    shape::MicrobatchShape microbatch;
    microbatch.T = 1024;
    microbatch.precision = config::Precision::bf16;
    const PyTorchStep step{model, 1024, 2};
    for (const auto& row : shape::block_operations(model, shape::block_kind(model, 1), microbatch)) {
      EXPECT_GE(seconds_of(step, pytorch_kernels(step, row, PyTorchMode::eager), h200),
                seconds_of(step, pytorch_kernels(step, row, PyTorchMode::compiled), h200))
          << preset;
    }
  }
}

// The number in a column of a row of a table; 0 where there is none.
double cell(const std::string& row, std::size_t column) {
  double value = 0;
  base::parse_double(base::trim(base::split(row, '|').at(column)), &value);
  return value;
}

TEST(Roofline, SumsAreThoseOfTheRowsAboveThem) {
  const std::string text = report_of({"--model.preset", "qwen3-8b", "--seq-len", "4096", "--micro-batch-size", "1"});
  std::array<double, 11> sums{};
  int tables = 0, rows = 0;
  for (const std::string& line : base::split(text, '\n')) {
    if (line.rfind("| ", 0) != 0 || line.rfind("| operation", 0) == 0) continue;
    const bool is_sum = line.rfind("| **sum**", 0) == 0;
    rows += is_sum ? 0 : 1;
    for (const std::size_t column : {3, 4, 5, 7, 8, 9, 10}) {
      if (is_sum) {
        EXPECT_NEAR(cell(line, column), sums.at(column), 0.05 * (rows + 1)) << line;
      }
      sums.at(column) = is_sum ? 0 : sums.at(column) + cell(line, column);
    }
    if (is_sum) rows = 0, ++tables;
  }
  EXPECT_EQ(tables, 3);
}

TEST(Roofline, PrintsTheStatedShapeAndTheDevice) {
  const std::string text = report_of(
      {"--model.preset", "qwen3-8b", "--seq-len", "4096", "--micro-batch-size", "1", "--global-batch-size", "2"});
  EXPECT_THAT(text, AllOf(HasSubstr("qwen3-8b, bf16, 1 x 4096 tokens in a micro-batch, 2 micro-batches in a step"),
                          HasSubstr("h200: 790 TFLOP/s, 4.3 TB/s (measured"), HasSubstr("| add + RMSNorm, two"),
                          HasSubstr("| AdamW"), HasSubstr("A step of 36 blocks")));
  EXPECT_THAT(report_of({"--model.preset", "gpt2-124m", "--tflops", "100", "--terabytes", "2", "--seq-len", "512"}),
              AllOf(HasSubstr("on stated: 100 TFLOP/s, 2 TB/s (given by flags)"), HasSubstr("| LayerNorm"),
                    HasSubstr("| biases")));
}

TEST(Roofline, ListsPyTorchsKernels) {
  EXPECT_THAT(report_of({"--model.preset", "qwen3-0.6b", "--seq-len", "512", "--kernels"}),
              AllOf(HasSubstr("| SwiGLU | forward | silu 4F, mul 6F | silu and mul 6F |"),
                    HasSubstr("2 x (to fp32 6D, pow 8D, mean 4D, mul 8D, to bf16 6D, mul by the weight 4D")));
}

TEST(Roofline, RefusesFp32AndAnUnknownDevice) {
  EXPECT_THAT(refusal_of_roofline({"--model.preset", "qwen3-0.6b", "--precision.compute", "fp32"}),
              HasSubstr("--precision.compute bf16"));
  EXPECT_THAT(refusal_of_roofline({"--model.preset", "qwen3-0.6b", "--device-rates", "h2000"}),
              HasSubstr("did you mean h200"));
}

}  // namespace
}  // namespace troika::commands

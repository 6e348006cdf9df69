// Runs on GPUs that are stand-ins (tests/gpu) beside runs on the CPU: losses, layouts, the name of a failing device.
#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "commands/train/program_test_support.h"

namespace troika::commands {
namespace {
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* stand_in_program = TROIKA_BINARY_DIR "/troika-stand-in";

class GpuRuns : public ::testing::Test {
 protected:
  Words train(const std::string& device, const std::string& out, const Words& more = {}) const {
    return Words{stand_in_program, "train", "--device", device, "--train.out", folder_ / out, "--data.train", corpus_, "--model.hidden",
                 "32", "--model.layers", "2", "--model.heads", "2", "--seq-len", "32", "--micro-batch-size", "2", "--global-batch-size",
                 "4", "--train.steps", "3"} +
           more;
  }
  static Variables stand_ins(Variables more = {}) {
    more["LD_LIBRARY_PATH"] = TROIKA_BINARY_DIR "/tests/gpu/libraries";
    return more;
  }
  Rows rows_of(const std::string& device, const std::string& out, const Words& more = {}) const {
    const End end = run(train(device, out, more), stand_ins());
    EXPECT_EQ(end.code, 0) << end.output;
    return read_rows(folder_ / out);
  }
  void expect_the_cpus_losses(const std::string& name, const Words& more, double tolerance) const {
    const Rows cpu = rows_of("cpu", name + "-cpu", more), gpu = rows_of("cuda", name, more);
    ASSERT_EQ(gpu.size(), cpu.size()) << name;
    for (std::size_t i = 0; i < gpu.size(); ++i) EXPECT_NEAR(gpu[i].loss, cpu[i].loss, tolerance) << name << " step " << i + 1;
  }

  const Folder folder_;
  const std::string corpus_ = write_corpus(folder_);
};

TEST_F(GpuRuns, HaveTheLossesOfTheCpu) {
  expect_the_cpus_losses("fp32", {"--fp32", "--model.kv-heads", "1", "--recompute", "full"}, 1e-6);
  EXPECT_EQ(rows_of("cuda", "unstated").back().loss, rows_of("cuda", "stated", {"--bf16", "--reproducible", "layout"}).back().loss)
      << "the defaults of GPUs";
}

class FullGpuRuns : public GpuRuns {};

TEST_F(FullGpuRuns, HaveTheLossesOfTheCpu) {
  expect_the_cpus_losses("gpt2", {"--fp32", "--model.architecture", "gpt2", "--data.packing", "true"}, 1e-6);
  expect_the_cpus_losses("bf16", {"--bf16", "--parallel.offload", "host"}, 1e-3);
}

TEST_F(GpuRuns, SayWhyTheirAttentionIsByProducts) {
  const auto said = [&](const Words& more, const Variables& variables = {}) {
    const End end = run(train("cuda", "said", more + Words{"--train.resume", "never", "--train.steps", "1"}), stand_ins(variables));
    EXPECT_EQ(end.code, 0) << end.output;
    const std::size_t at = end.output.find("attention uses chunked matrix products: ");
    return at == std::string::npos ? "" : end.output.substr(at, end.output.find('\n', at) - at);
  };
  EXPECT_EQ(said({"--bf16"}), "") << "cuDNN computes heads of width 16";
  EXPECT_THAT(said({"--bf16", "--model.head-dim", "12"}), HasSubstr("multiples of 8 up to 256 on this GPU, not 12"));
  EXPECT_THAT(said({"--fp32"}), HasSubstr("cuDNN does not support attention in fp32"));
  std::string records;
  for (int i = 0; i < 40; ++i) records += R"({"instruction": "Say it", "output": "It is said."})" "\n";
  base::write_file_atomic(folder_ / "records.jsonl", records);
  EXPECT_EQ(said({"--bf16", "--data.train", folder_ / "records.jsonl", "--chat-template", "alpaca", "--data.packing", "true", "--seq-len", "256",
                  "--micro-batch-size", "1", "--global-batch-size", "1"}),
            "")
      << "each sequence of a sample by itself";
  EXPECT_THAT(said({"--bf16"}, {{"TROIKA_STAND_IN_CUDNN", "91001"}}), HasSubstr("is cuDNN 9.10.1, but 9.10.2 or later is needed"));
  EXPECT_THAT(said({"--bf16", "--seq-len", "33"}, {{"TROIKA_STAND_IN_CUDNN", "91002"}}), HasSubstr("a multiple of 128 keys, not 33"));
}

TEST_F(GpuRuns, HaveEqualBitsInEveryLayoutThatCutsNoSum) {
  const Words same{"--bf16", "--reproducible", "run"};
  const Rows alone = rows_of("cuda", "alone", same);
  for (const Words& layout : {Words{"--dp", "2", "--zero", "3"}, Words{"--pp", "2"}}) {
    const int port = free_port();
    const std::string out = layout[0].substr(2);
    std::vector<std::unique_ptr<Program>> ranks;
    for (int rank = 0; rank < 2; ++rank)
      ranks.push_back(std::make_unique<Program>(train("cuda", out, same + Words{"--comm.backend", "gloo"} + layout),
                                                stand_ins(as_torchrun(rank, 2, port))));
    for (const auto& rank : ranks) {
      const End end = rank->wait();
      EXPECT_EQ(end.code, 0) << end.output;
    }
    expect_rows(read_rows(folder_ / out), alone, out);
  }
}

// The stand-in's algorithms add in different orders; 1 is the fastest.
class GpuProducts : public GpuRuns {
 protected:
  std::string kept(const std::string& out) const { return base::read_file(folder_ / out + "/products.txt"); }
  // As if another machine had chosen the third algorithm of each kind.
  void keep_the_third(const std::string& out, std::string text) const {
    for (std::size_t at = 0; (at = text.find(first_, at)) != std::string::npos;) text[at + first_.size() - 1] = '2';
    base::make_directories(folder_ / out);
    base::write_file_atomic(folder_ / out + "/products.txt", text);
  }
  static bool equal(const Rows& a, const Rows& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) { return x.loss == y.loss && x.grad_norm == y.grad_norm; });
  }
  const Words measured_{"--fp32", "--train.products", "measured", "--reproducible", "run"};
  const std::string first_ = " = 0000000000000001";
};

TEST_F(GpuProducts, HaveTheAlgorithmsThatTheRunHasMeasuredAndKept) {
  const Rows recommended = rows_of("cuda", "recommended", {"--fp32", "--reproducible", "run"});
  const Rows fastest = rows_of("cuda", "fastest", measured_);
  EXPECT_FALSE(equal(fastest, recommended));
  EXPECT_THAT(kept("fastest"), HasSubstr("Stand-in GPU, cuBLASLt 12.9.1: fp32 "));
  EXPECT_THAT(kept("fastest"), HasSubstr(first_));
  expect_rows(rows_of("cuda", "again", measured_), fastest, "measured alike");

  keep_the_third("third", kept("fastest"));
  const Words saving = measured_ + Words{"--checkpoint.every", "1", "--checkpoint.keep", "4"};
  const Rows third = rows_of("cuda", "third", saving);
  EXPECT_FALSE(equal(third, fastest)) << "what is kept is taken, not measured";
  expect_rows(rows_of("cuda", "third", saving + Words{"--train.resume", folder_ / "third/checkpoints/step-00000001"}), third, "resumed");
}

using FullGpuProducts = GpuProducts;

TEST_F(FullGpuProducts, AreThoseOfTheLowestRankOnAll) {
  const Rows alone = rows_of("cuda", "alone", measured_);
  const int port = free_port();
  std::vector<std::unique_ptr<Program>> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    Variables variables = stand_ins(as_torchrun(rank, 2, port));
    variables["TROIKA_STAND_IN_FASTEST"] = std::to_string(1 + rank);
    ranks.push_back(std::make_unique<Program>(train("cuda", "two", measured_ + Words{"--dp", "2", "--comm.backend", "gloo"}), variables));
  }
  for (const auto& rank : ranks) {
    const End end = rank->wait();
    EXPECT_EQ(end.code, 0) << end.output;
  }
  expect_rows(read_rows(folder_ / "two"), alone, "two ranks that measure differently");
  EXPECT_EQ(kept("two"), kept("alone"));
}

TEST_F(GpuProducts, OfAnotherVersionOfTheLibraryAreMeasuredAnewWithANote) {
  rows_of("cuda", "moved", measured_);
  const std::string before = kept("moved");
  const End end = run(train("cuda", "moved", measured_ + Words{"--train.resume", "never"}), stand_ins({{"TROIKA_STAND_IN_BLAS", "130002"}}));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("bits may differ"));
  EXPECT_THAT(kept("moved"), AllOf(HasSubstr(before), HasSubstr("cuBLASLt 13.0.2: ")));
}

const Words bench_shape{"--device", "cuda", "--seconds", "0", "--model.hidden", "32", "--model.layers", "1", "--model.heads", "2",
                        "--model.head-dim", "16", "--model.ffn", "64", "--model.vocab", "64", "--seq-len", "16",
                        "--micro-batch-size", "1"};

TEST_F(GpuRuns, AreMeasuredByTheDevicesClockAndItsMemory) {
  const std::string csv = folder_ / "kernels.csv";
  const Words kernel_words{stand_in_program, "bench", "kernels", "--csv", csv, "--device-rates", "h100"};
  const End kernels = run(kernel_words + bench_shape, stand_ins());
  ASSERT_EQ(kernels.code, 0) << kernels.output;
  EXPECT_THAT(kernels.output, HasSubstr("at 989.0 TFLOP/s and 3350 GB/s (h100)"));
  const std::string rows = base::read_file(csv);
  for (const char* operation : {"embedding backward", "norm and rope q backward", "linear down dW", "attention backward",
                                "swiglu forward", "output loss, both passes", "squares", "adamw"})
    EXPECT_THAT(rows, HasSubstr(std::string("\"") + operation + "\","));
  EXPECT_THAT(rows, HasSubstr(",1000.000,")) << "the stand-in says 1 ms of a kernel";
  const Words step{stand_in_program, "bench", "step", "--json", "--steps", "2", "--lora.rank", "2"};
  const End of_step = run(step + bench_shape, stand_ins());
  ASSERT_EQ(of_step.code, 0) << of_step.output;
  for (const char* key : {"\"device\":\"Stand-in GPU", "\"queued_seconds\":", "\"awaited_seconds\":",
                          "\"device_used_peak_bytes\":", "\"device_reserved_peak_bytes\":"})
    EXPECT_THAT(of_step.output, HasSubstr(key));
}

// As "batch   a microbatch of 4 was computed: tensors take 912.4 KiB of the GPU at most, ..." has it.
double bytes_behind(const std::string& text, const std::string& words) {
  const auto at = text.find(words);
  if (at == std::string::npos) return 0;
  const std::string number = text.substr(at + words.size(), 20);
  const double unit = number.find(" MiB") < number.find(" of") ? 1 << 20 : number.find(" KiB") < number.find(" of") ? 1 << 10 : 0;
  return std::stod(number) * unit;
}

TEST_F(GpuRuns, TakeTheMicrobatchThatTheDeviceHasComputed) {
  const Words find{"--find-micro-batch-size", "true", "--seq-len", "256"};  // whole multiples of the rows that a GPU fills up to
  const auto found = [&](const std::string& out, const Variables& more) {
    const End end = run(train("cuda", out, find), stand_ins(more));
    EXPECT_EQ(end.code, 0) << end.output;
    return end.output;
  };
  const std::string alone = found("alone", {});
  EXPECT_THAT(alone, HasSubstr("batch   a microbatch of 4 was computed: "));
  EXPECT_THAT(alone, HasSubstr("global 4 = micro 4 x 1 microbatch"));
  const double taken = bytes_behind(alone, "tensors use at most ");
  ASSERT_GT(taken, 0) << alone;
  const double workspace = 32 << 20, all = std::int64_t{4} << 30;  // of cuBLASLt; the stand-in's memory
  const auto others = static_cast<std::int64_t>(all - workspace - 0.97 * taken);
  const std::string shared = found("shared", {{"TROIKA_STAND_IN_OTHERS_BYTES", std::to_string(others)}});
  EXPECT_THAT(shared, HasSubstr("batch   micro batch 4 fits"));
  EXPECT_THAT(shared, HasSubstr("batch   a microbatch of 4 does not fit after all: rank 0's GPU cannot allocate the "));
  EXPECT_THAT(shared, HasSubstr("; trying 2\n"));
  EXPECT_THAT(shared, HasSubstr("batch   a microbatch of 2 was computed: "));
  EXPECT_THAT(shared, HasSubstr("global 4 = micro 2 x 2 microbatches"));
  EXPECT_EQ(read_rows(folder_ / "shared").size(), 3U);
}

TEST_F(GpuRuns, OverALibraryOfMessagesThatIsTooOldGoOverTcpAndSayWhy) {
  const std::string packages = folder_ / "environment/lib/python3.12/site-packages/nvidia/nccl/lib";
  base::make_directories(packages);
  ASSERT_EQ(::symlink(TROIKA_BINARY_DIR "/libcomm_nccl_too_old.so", (packages + "/libnccl.so.2").c_str()), 0);
  const int port = free_port();
  std::vector<std::unique_ptr<Program>> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    Variables variables = stand_ins(as_torchrun(rank, 2, port));
    variables["VIRTUAL_ENV"] = folder_ / "environment";
    ranks.push_back(std::make_unique<Program>(train("cuda", "over-tcp", {"--dp", "2"}), variables));
  }
  std::string said;
  for (const auto& rank : ranks) {
    const End end = rank->wait();
    EXPECT_EQ(end.code, 0) << end.output;
    said += end.output;
  }
  EXPECT_THAT(said, HasSubstr("note: messages between GPUs use TCP, through host memory, which is slower than NCCL: '" +
                              packages + "/libnccl.so.2' is NCCL 2.21.5, but versions from 2.28.0 to 2.99 are needed: install "
                                         "NCCL 2.28 or later"));
  EXPECT_THAT(base::read_file(folder_ / "over-tcp/logs/rank-00001.log"), HasSubstr("messages between devices: TCP, through host memory"));
  EXPECT_EQ(read_rows(folder_ / "over-tcp").size(), 3U);
}

TEST_F(GpuRuns, HaveTheMemoryOfTheirDeviceBesideThePlan) {
  const Rows rows = rows_of("cuda", "memory", {"--train.steps", "1"});
  ASSERT_EQ(rows.size(), 1U);
  const auto& told = rows.front().extra;
  EXPECT_GT(told.at("gpu_allocated_peak_bytes"), 1 << 20);
  EXPECT_GE(told.at("gpu_reserved_peak_bytes"), told.at("gpu_allocated_peak_bytes"));
  EXPECT_GT(told.at("gpu_planned_bytes"), std::int64_t{1} << 30);
  EXPECT_THAT(base::read_file(folder_ / "memory/logs/rank-00000.log"), HasSubstr("GPU memory: "));
}

TEST_F(GpuRuns, ComputeOnTheProcessorWhereNoCardIsNewEnough) {
  const End end = run(train("auto", "old", {"--train.steps", "1"}), stand_ins({{"TROIKA_STAND_IN_CAPABILITY", "75"}}));
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("memory  largest rank "));
  EXPECT_EQ(end.output.find("of its GPU"), std::string::npos) << end.output;
}

TEST_F(GpuRuns, SayWhatTheDeviceLacks) {
  const auto refusal = [&](const Variables& more) { return run(train("cuda", "refused"), stand_ins(more)); };
  const End full = refusal({{"TROIKA_STAND_IN_BYTES", std::to_string(20 << 20)}});
  EXPECT_EQ(full.code, 2) << full.output;
  EXPECT_THAT(full.output, HasSubstr("MiB"));
  const End old = refusal({{"TROIKA_STAND_IN_CAPABILITY", "75"}});
  EXPECT_EQ(old.code, 2);
  EXPECT_THAT(old.output, HasSubstr("train.device is 'cuda', but Troika's kernels need compute capability 8.0 or later, but this GPU has 7.5"));
  EXPECT_EQ(old.output.find("preparing"), std::string::npos);
  const End driver = refusal({{"TROIKA_STAND_IN_DRIVER", "11040"}});
  EXPECT_EQ(driver.code, 2);
  EXPECT_THAT(driver.output, HasSubstr("11.4"));
  const End unknown = run(train("cuda", "refused", {"--layout", "auto"}), stand_ins());
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("'Stand-in GPU'")) << "as its driver calls it, though this machine's /proc shows none";
  const End hidden = refusal({{"TROIKA_STAND_IN_DEVICES", "0"}});
  EXPECT_EQ(hidden.code, 2);
  EXPECT_THAT(hidden.output, HasSubstr("CUDA_VISIBLE_DEVICES"));
  const End beyond = run(train("cuda:2", "refused"), stand_ins());
  EXPECT_EQ(beyond.code, 2);
  EXPECT_THAT(beyond.output, HasSubstr("cuda:1"));
  const End none = run(train("cuda", "refused"), {});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.output, HasSubstr("NVIDIA driver"));
}

TEST_F(GpuRuns, ThatFailAreNotHeldUpByADriverThatDoesNotEnd) {
  const double begin = base::monotonic_seconds();
  const End end = run(train("cuda", "failed"), stand_ins({{"TROIKA_STAND_IN_BYTES", std::to_string(20 << 20)},
                                                          {"TROIKA_STAND_IN_EXIT_SECONDS", "40"}}));
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.output, HasSubstr("MiB"));
  EXPECT_LT(base::monotonic_seconds() - begin, 30);
}

}  // namespace
}  // namespace troika::commands

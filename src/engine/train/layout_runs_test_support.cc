#include "tensor/device.h"
#include "train/layout_runs_test_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "tensor/libtorch_test_support.h"

namespace troika::train {

int apply_layout(const std::string& words, config::Settings* s) {
  auto& p = s->parallel;
  p.dp = 1;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    std::string value;
    const auto number = [&] {
      in >> value;
      return std::stoll(value);
    };
    if (word == "dp")
      p.dp = number();
    else if (word == "pp")
      p.pp = number();
    else if (word == "tp")
      p.tp = number();
    else if (word == "cp")
      p.cp = number();
    else if (word == "zero")
      p.zero = number();
    else if (word == "plain")
      p.sequence_parallel = false;
    else if (word == "gpipe" || word == "zb-h1")
      p.schedule = config::parse_word<config::Schedule>(word).value();
    else if (word == "interleaved")
      p.schedule = config::Schedule::interleaved, p.virtual_stages = number();
    else if (word == "recompute")
      in >> value, p.recompute = config::parse_word<config::Recompute>(value).value();
    else if (word == "offload")
      in >> value, p.offload = config::parse_word<config::Offload>(value).value();
    else if (word == "overlap")
      in >> value, p.overlap = value != "off";
    else if (word == "bf16" || word == "fp16")
      s->precision.compute = config::parse_word<config::Precision>(word).value();
    else if (word == "accumulation")
      s->batch.accumulation = number();
    else if (word == "threads")
      s->train.threads = number();
    else if (word == "shares") {
      in >> value;
      for (const std::string& share : base::split(value, ',')) p.shares.push_back(std::stoll(share));
      p.dp = static_cast<std::int64_t>(p.shares.size());
    } else if (word == "stages") {
      in >> value;
      for (const std::string& layers : base::split(value, ',')) p.stage_layers.push_back(std::stoll(layers));
      p.pp = static_cast<std::int64_t>(p.stage_layers.size());
    } else
      throw base::BugError("a test names the layout word '" + word + "'");
  }
  return static_cast<int>(p.dp * p.pp * p.tp * p.cp);
}

std::string take_turns(const std::string& layout, std::size_t turn) {
  const auto first = static_cast<std::size_t>(tensor::threads() - 1);
  return fmt::format("{} threads {}", layout, (first + turn) % 3 + 1);
}

void use_gpt2(config::Settings* s) {
  s->model.architecture = config::Family::gpt2;
  s->model.kv_heads = s->model.heads;
  s->model.head_dim = s->model.hidden / s->model.heads;
  s->model.max_positions = s->batch.seq_len + 3;
  s->model.norm_eps = 1e-5;
}

void use_qwen2(config::Settings* s) { s->model.architecture = config::Family::qwen2; }

void use_llama(config::Settings* s) {
  s->model.architecture = config::Family::llama;
  s->model.rope_scaling = config::RopeScaling::llama3;
  s->model.rope_original_positions = 40;
}

void use_gemma(config::Settings* s) {
  s->model.architecture = config::Family::gemma3_text;
  s->model.layer_types = "wwf";
  s->model.sliding_window = 11;
  s->model.rope_local_theta = 300;
}

void use_windowed_mistral(config::Settings* s) {
  s->model.architecture = config::Family::mistral;
  s->model.sliding_window = 9;
}

// Weights follow from losses and norms, so their last ones speak for all before.
static void expect_alike(const std::vector<Outcome>& ranks, const std::string& layout) {
  for (const Outcome& rank : ranks) {
    EXPECT_EQ(rank.summary.loss_sum, ranks[0].summary.loss_sum) << layout << ", rank " << rank.summary.rank;
    EXPECT_EQ(rank.last_step.loss, ranks[0].last_step.loss) << layout << ", rank " << rank.summary.rank;
    EXPECT_EQ(rank.last_step.tokens, ranks[0].last_step.tokens) << layout << ", rank " << rank.summary.rank;
    if (!rank.last_step.finite && !ranks[0].last_step.finite) continue;
    EXPECT_EQ(rank.last_step.gradient_norm, ranks[0].last_step.gradient_norm)
        << layout << ", rank " << rank.summary.rank;
  }
}

LayoutRuns::LayoutRuns() : settings(small_settings("")), stream_(small_corpus(folder_.path())) {
  settings.model.layers = 8;
  settings.model.hidden = 32;
  settings.model.head_dim = 8;
  settings.model.ffn = 80;
}

Rows LayoutRuns::train(const std::string& name, const std::string& layout, const Customise& customise) {
  config::Settings s = settings;
  s.train.out = folder(name);
  const int world = apply_layout(layout, &s);
  base::make_directories(s.train.out);
  expect_alike(train_on_threads(s, world, *stream_, customise, segments, channels, valid, samples), layout);
  return metrics::MetricsFile(s.train.out + "/metrics.jsonl").read();
}

bool equal_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == b.numel() &&
         std::memcmp(a.data_ptr<float>(), b.data_ptr<float>(), static_cast<std::size_t>(a.numel()) * 4) == 0;
}

// The facts of a step beside its loss; not its use of a GPU, which depends on the layout.
static std::map<std::string, double> facts_of(const metrics::StepMetrics& row) {
  std::map<std::string, double> facts;
  for (const auto& [name, value] : row.extra)
    if (name.rfind("gpu_", 0) != 0) facts[name] = value;
  return facts;
}

void expect_equal_rows(const Rows& rows, const Rows& expected, const std::string& what) {
  ASSERT_EQ(rows.size(), expected.size()) << what;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto said = fmt::format("{}, step {}", what, expected[i].step);
    EXPECT_EQ(rows[i].step, expected[i].step) << said;
    EXPECT_EQ(rows[i].loss_bits, expected[i].loss_bits) << said;
    EXPECT_EQ(facts_of(rows[i]), facts_of(expected[i])) << said;
    EXPECT_EQ(std::isnan(rows[i].grad_norm), std::isnan(expected[i].grad_norm)) << said;
    if (!std::isnan(expected[i].grad_norm)) {
      EXPECT_EQ(rows[i].grad_norm, expected[i].grad_norm) << said;
    }
  }
}

}  // namespace troika::train

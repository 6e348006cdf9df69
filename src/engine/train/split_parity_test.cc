// Tensor and context parallelism stay within rounding: ranks that split the sums lie no farther from the same training in
// double than one process does; and whatever else the layout has changes no bit of theirs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "data/samples.h"
#include "model/decoder.h"
#include "model/reference_test_support.h"
#include "tensor/libtorch_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

struct ExactStep {
  double loss = 0, norm = 0;
};

// The whole training once more, in double, written from the papers: autograd, the norm of all gradients, clipping, AdamW
// (I. Loshchilov, F. Hutter, 2019), cosine schedule. It shares with the program the first weights and the order of the data.
class ExactTraining {
 public:
  ExactTraining(const config::Settings& settings, const data::TokenStream& stream)
      : s_(settings),
        dataset_(std::shared_ptr<const data::TokenStream>(std::shared_ptr<void>(), &stream), s_.batch.seq_len),
        sampler_(dataset_.samples(), s_.train.seed) {
    for (int segment = 0; segment < shape::segment_count(s_.model); ++segment) {
      const shape::SegmentLayout layout = shape::segment_layout(s_.model, segment);
      const at::Tensor flat = at::empty({layout.elements}, at::kFloat);
      model::initialise(layout, flat, s_.train.seed, s_.model.init_std);
      for (const shape::Slot& slot : layout.slots) {
        const at::Tensor first = tensor::theirs(model::Decoder::view(flat, slot)).to(at::kDouble);
        weights_[slot.info.name] = first.clone().set_requires_grad(true);
        m_[slot.info.name] = at::zeros_like(first);
        v_[slot.info.name] = at::zeros_like(first);
      }
    }
  }

  std::vector<ExactStep> run() {
    std::vector<ExactStep> steps;
    for (std::int64_t step = 1; step <= s_.train.steps; ++step) steps.push_back(train_step(step));
    return steps;
  }

 private:
  ExactStep train_step(std::int64_t step) {
    const std::int64_t rows = *s_.batch.global_batch_size, T = s_.batch.seq_len;
    const at::Tensor ids = at::empty({rows, T}, at::kInt), targets = at::empty({rows, T}, at::kInt);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::uint64_t sample = sampler_.sample_at(static_cast<std::uint64_t>((step - 1) * rows + row));
      dataset_.read(static_cast<std::int64_t>(sample), ids.data_ptr<std::int32_t>() + row * T,
                    targets.data_ptr<std::int32_t>() + row * T);
    }
    const at::Tensor loss = model::reference_loss_sum(s_.model, weights_, ids.to(at::kLong), targets.to(at::kLong)) /
                            static_cast<double>(rows * T);
    model::reference_backward(loss);
    double squares = 0;
    for (const auto& [name, weight] : weights_) squares += weight.grad().square().sum().item<double>();
    const double norm = std::sqrt(squares), clip = s_.optimizer.clip_norm;
    for (auto& [name, weight] : weights_) update(name, weight, norm > clip ? clip / norm : 1, step);
    return {loss.item<double>(), norm};
  }

  void update(const std::string& name, at::Tensor& weight, double factor, std::int64_t step) {
    const config::OptimizerSettings& o = s_.optimizer;
    const double t = static_cast<double>(step), pi = std::acos(-1.0);
    const double lr = o.min_lr + (o.lr - o.min_lr) * (1 + std::cos(pi * t / static_cast<double>(s_.train.steps))) / 2;
    const at::Tensor g = weight.grad() * factor;
    m_[name] = o.beta1 * m_[name] + (1 - o.beta1) * g;
    v_[name] = o.beta2 * v_[name] + (1 - o.beta2) * g * g;
    const at::Tensor m = m_[name] / (1 - std::pow(o.beta1, t)), v = v_[name] / (1 - std::pow(o.beta2, t));
    const double decay = weight.dim() > 1 ? o.weight_decay : 0;
    const at::Tensor before = weight.detach();
    weight = (before - lr * (m / (at::sqrt(v) + o.eps) + decay * before)).set_requires_grad(true);
  }

  const config::Settings s_;
  const data::TokenSamples dataset_;
  const data::Sampler sampler_;
  model::Weights weights_, m_, v_;
};

// Layouts whose bits are those of the first: the same tensor and context axes.
using Alike = std::vector<std::string>;

const std::vector<Alike>& tied() {
  static const std::vector<Alike> all{
      {"tp 2", "tp 2 pp 4", "tp 2 dp 2 pp 2 zb-h1 zero 2 recompute selective", "tp 2 dp 4 zero 3", "tp 2 offload file"},
      {"tp 3 plain", "tp 3 plain pp 2 interleaved 2 recompute selective"},
      {"tp 4", "tp 4 dp 2 zero 1"},
      {"cp 2", "cp 2 dp 2 pp 2 zb-h1 zero 1", "cp 2 pp 2 interleaved 2 recompute full", "cp 2 zero 3",
       "cp 2 dp 2 pp 2 zero 2", "cp 2 shares 3,1"},
      {"cp 3 zero 3 overlap off", "cp 3 dp 2 zero 2", "cp 3 zero 1"},
      {"cp 4"},
      {"tp 2 cp 2", "tp 2 cp 2 pp 2 zb-h1 zero 1 recompute full"},
      {"tp 4 cp 2 plain"},
  };
  return all;
}

// One case of each axis.
const std::vector<Alike>& some() {
  static const std::vector<Alike> all{
      {"tp 2", "tp 2 dp 2 pp 2 zb-h1 zero 2 recompute selective"},
      {"tp 3 plain", "tp 3 plain pp 2 interleaved 2 recompute selective"},
      {"cp 2", "cp 2 dp 2 pp 2 zb-h1 zero 1"},
      {"cp 3 zero 3 overlap off"},
      {"tp 2 cp 2"},
  };
  return all;
}

const std::vector<Alike>& untied() {
  static const std::vector<Alike> all{
      {"tp 2 plain", "tp 2 plain dp 2 pp 2 zero 2 offload file", "tp 2 plain pp 2 interleaved 2 recompute full"},
      {"tp 3", "tp 3 pp 2 zb-h1", "tp 3 dp 2 zero 3 recompute full"},
      {"tp 4 plain", "tp 4 plain pp 2 gpipe"},
      {"cp 2 zero 1", "cp 2 dp 4 offload file", "cp 2 dp 2 recompute selective", "cp 2 zero 2"},
      {"cp 3", "cp 3 pp 2 zb-h1"},
      {"cp 4 zero 2", "cp 4 dp 2 zero 3"},
      {"tp 2 cp 2 zero 2", "tp 2 cp 2 dp 2 zero 3 recompute selective"},
      {"tp 3 cp 2"},
      {"tp 2 cp 4"},
  };
  return all;
}

const std::vector<Alike>& gpt2() {
  static const std::vector<Alike> all{
      {"tp 2", "tp 2 dp 2 pp 2 zb-h1 zero 2 recompute selective"},
      {"cp 2", "cp 2 pp 2 dp 2 zero 1"},
      {"tp 3 plain cp 2 zero 2"},
  };
  return all;
}

struct Model {
  const char* name;
  bool tied;
  const std::vector<Alike>& (*layouts)();
};

class Splits : public testing::TestWithParam<Model> {
 protected:
  // Uneven: heads over 3 ranks, key/value heads over 3 and 4, ffn and vocabulary over all, rows of a microbatch over 3 and
  // 4, positions in chunks of 4, 6 and 8.
  void SetUp() override {
    config::Settings& s = runs_.settings;
    s.model.tie_embeddings = GetParam().tied;
    s.model.layers = 4;
    s.model.heads = 8;
    s.model.kv_heads = 2;
    s.model.ffn = 77;
    s.batch.seq_len = 19;
    s.batch.micro_batch_size = 2;
    s.batch.global_batch_size = 8;
    s.optimizer.lr = 1e-3;
    s.optimizer.warmup_steps = 0;
    s.train.steps = 10;
    if (GetParam().layouts == gpt2) use_gpt2(&s);
    exact_ = ExactTraining(s, runs_.stream()).run();
    alone_ = runs_.train("alone", "threads 1");
    ASSERT_EQ(alone_.size(), exact_.size());
  }

  double from_exact(const Rows& rows, std::size_t step) const {
    return std::abs(rows[step].loss / exact_[step].loss - 1);
  }

  void expect_within_rounding(const Rows& rows, const std::string& layout) {
    ASSERT_EQ(rows.size(), exact_.size()) << layout;
    EXPECT_LT(std::abs(rows[0].loss / alone_[0].loss - 1), 1e-6) << layout;
    EXPECT_LT(std::abs(rows[0].grad_norm / alone_[0].grad_norm - 1), 1e-6) << layout;
    double farthest = 0;
    for (std::size_t step = 0; step < rows.size(); ++step) {
      EXPECT_LE(from_exact(rows, step), std::max(2e-7, 3 * from_exact(alone_, step)))
          << layout << ", step " << step + 1;
      farthest = std::max(farthest, from_exact(rows, step));
    }
    RecordProperty(layout, fmt::format("{:.1e}", farthest));
  }

  // Goes on in `layout` until step `last`, as if rank 0 were told to stop then.
  Rows train_until(std::int64_t last, const std::string& name, const std::string& layout) {
    return runs_.train(name, layout, [&](Surroundings& surroundings, int rank) {
      const metrics::MetricsFile file(runs_.folder(name) + "/metrics.jsonl");
      if (rank == 0)
        surroundings.hooks.stop_requested = [file, last] {
          return static_cast<std::int64_t>(file.read().size()) + 1 >= last;
        };
    });
  }

  LayoutRuns runs_;
  std::vector<ExactStep> exact_;
  Rows alone_;
};

TEST_P(Splits, OneProcessTrainsLikeTheSameTrainingInDouble) {
  for (std::size_t step = 0; step < exact_.size(); ++step) {
    EXPECT_LT(from_exact(alone_, step), 2e-7) << "step " << step + 1;
    EXPECT_LT(std::abs(alone_[step].grad_norm / exact_[step].norm - 1), 1e-4) << "step " << step + 1;
  }
  EXPECT_LT(exact_.back().loss, 0.95 * exact_.front().loss);
}

TEST_P(Splits, LieNoFartherFromItThanThreeTimesOneProcessAndTheRestOfTheLayoutChangesNoBit) {
  for (const Alike& alike : GetParam().layouts()) {
    const Rows first = runs_.train(alike.front(), alike.front() + " threads 1");
    expect_within_rounding(first, alike.front());
    for (std::size_t i = 1; i < alike.size(); ++i)
      expect_equal_rows(runs_.train(alike[i], take_turns(alike[i], i)), first, alike[i]);
  }
}

class SplitResumes : public Splits {};

TEST_P(SplitResumes, AResumeInAnotherLayoutOfTheSameSplitGivesItsBitsAndOneInAnotherSplitStaysWithinRounding) {
  const Rows whole = runs_.train("whole", "tp 2 cp 2 threads 1");
  for (const auto& [last, layout] :
       {std::pair{3, "tp 2 cp 2 pp 2 zb-h1 threads 2"}, {6, "tp 2 cp 2 dp 2 zero 1 threads 3"}})
    train_until(last, "chain", layout);
  expect_equal_rows(runs_.train("chain", "tp 2 cp 2 recompute full"), whole, "chain");
  for (const auto& [last, layout] : {std::pair{2, "tp 3 dp 2 zero 3"}, {4, "cp 3"}, {6, ""}, {8, "tp 4 cp 2"}})
    train_until(last, "changes", layout);
  expect_within_rounding(runs_.train("changes", "dp 2 pp 2"), "changes");
}

const Model some_model{"Some", true, some}, tied_model{"Tied", true, tied}, untied_model{"Untied", false, untied}, gpt2_model{"Gpt2", true, gpt2};
std::string name_of_model(const testing::TestParamInfo<Model>& which) { return which.param.name; }

INSTANTIATE_TEST_SUITE_P(Models, Splits, testing::Values(some_model), name_of_model);
INSTANTIATE_TEST_SUITE_P(FullModels, Splits, testing::Values(tied_model, untied_model, gpt2_model), name_of_model);
INSTANTIATE_TEST_SUITE_P(Models, SplitResumes, testing::Values(untied_model), name_of_model);
INSTANTIATE_TEST_SUITE_P(FullModels, SplitResumes, testing::Values(tied_model), name_of_model);

}  // namespace
}  // namespace troika::train

// An evaluation gives the loss that a computation of its own gives, with the same bits in every layout, and changes nothing of
// the training around it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "comm/channel.h"
#include "data/loader.h"
#include "inference/evaluator.h"
#include "model/reference_test_support.h"
#include "shape/layout.h"
#include "tensor/libtorch_test_support.h"
#include "train/evaluation_test_support.h"
#include "train/layout_runs_test_support.h"

namespace troika::train {
namespace {

class Evaluations : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    runs_.settings.model.tie_embeddings = GetParam();
    runs_.settings.model.layers = 6;
    runs_.settings.batch.seq_len = 16;
    runs_.settings.train.steps = 4;
    runs_.settings.train.eval_every = 2;
    samples_ = samples_of_varied_lengths(runs_.folder("samples"), 16);
    runs_.valid = samples_.get();
  }

  config::Settings settings() const {
    config::Settings s = runs_.settings;
    s.train.out = runs_.folder("nowhere");
    return s;
  }

  // The evaluation of the run's checkpoint, in a layout; alike on all ranks.
  inference::Evaluation evaluate(const std::string& run, const std::string& layout) {
    config::Settings s = settings();
    const int world = apply_layout(layout, &s);
    const auto all = evaluate_on_threads(evaluation_plan_for(s, world, *samples_), runs_.folder(run), *samples_);
    for (const RankEvaluation& rank : all) {
      EXPECT_EQ(rank.evaluation.loss, all[0].evaluation.loss) << layout;
      EXPECT_EQ(rank.evaluation.tokens, all[0].evaluation.tokens) << layout;
    }
    return all[0].evaluation;
  }

  model::Weights weights_of(const std::string& run) const {
    std::vector<checkpoint::Slice> wanted;
    for (const auto& info : shape::all_parameters(runs_.settings.model)) {
      const std::int64_t elements = info.elements();
      wanted.push_back({info.name, info.shape, {0, elements, elements, 1}, at::empty({elements}, at::kFloat)});
    }
    const auto self = comm::make_self_channel("test");
    checkpoint::load(checkpoint::open_any(runs_.folder(run), *self), wanted, *self);
    model::Weights weights;
    for (const auto& slice : wanted) weights[slice.name] = tensor::theirs(slice.data).to(at::kDouble).view(slice.shape);
    return weights;
  }

  // In double, from the weights, the model written once more.
  inference::Evaluation exact(const std::string& run) const {
    const at::Tensor inputs = at::zeros({samples_->samples(), samples_->seq_len()}, at::kLong),
                     targets = at::full_like(inputs, data::ignore_index);
    for (std::int64_t i = 0; i < samples_->samples(); ++i) {
      const data::TokenBatch one = data::read_batch(*samples_, {i}, i);
      const auto length = static_cast<std::int64_t>(one.inputs.size());
      inputs[i].narrow(0, 0, length).copy_(at::tensor(one.inputs, at::kInt));
      targets[i].narrow(0, 0, length).copy_(at::tensor(one.targets, at::kInt));
    }
    inference::Evaluation result;
    result.tokens = targets.ne(data::ignore_index).sum().item<std::int64_t>();
    const at::Tensor sum = model::reference_loss_sum(runs_.settings.model, weights_of(run), inputs, targets);
    result.loss = sum.item<double>() / static_cast<double>(result.tokens);
    return result;
  }

  LayoutRuns runs_;
  std::unique_ptr<data::SequenceSamples> samples_;
};

const std::vector<std::string>& equal_layouts() {
  static const std::vector<std::string> all{"pp 2",
                                            "pp 4",
                                            "dp 2",
                                            "dp 3 zero 1",
                                            "dp 2 zero 2",
                                            "dp 2 zero 3",
                                            "dp 4 zero 3",
                                            "dp 2 pp 2 zero 3",
                                            "pp 2 interleaved 2",
                                            "dp 2 pp 3 interleaved 2 zero 3",
                                            "dp 2 pp 2 zero 2 zb-h1",
                                            "stages 1,4,1",
                                            "pp 2 recompute full offload file"};
  return all;
}

TEST_P(Evaluations, DuringTrainingChangeNoBitOfItAndAreTheSameInEveryLayout) {
  const auto valid_of = [](const std::vector<metrics::StepMetrics>& rows, std::size_t row, const char* name) {
    return rows.at(row).extra.at(name);
  };
  runs_.valid = nullptr;
  const auto without = runs_.train("without", "");
  runs_.valid = samples_.get();
  const auto alone = runs_.train("alone", "threads 1");
  ASSERT_EQ(alone.size(), 4u);
  EXPECT_EQ(valid_of(alone, 1, "valid_tokens"), static_cast<double>(exact("alone").tokens));
  EXPECT_LT(valid_of(alone, 3, "valid_loss"), 6);
  EXPECT_NE(valid_of(alone, 3, "valid_loss"), valid_of(alone, 1, "valid_loss"));
  for (const std::size_t row : {0, 2}) EXPECT_EQ(alone[row].extra.count("valid_loss"), 0u);
  std::size_t turn = 0;
  for (const std::string& layout : equal_layouts()) {
    const auto rows = runs_.train(layout, take_turns(layout, ++turn));
    ASSERT_EQ(rows.size(), 4u) << layout;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(rows[i].loss_bits, without[i].loss_bits) << layout;
      EXPECT_EQ(rows[i].grad_norm, without[i].grad_norm) << layout;
    }
    for (const std::size_t row : {1, 3}) {
      EXPECT_EQ(valid_of(rows, row, "valid_loss"), valid_of(alone, row, "valid_loss")) << layout << ", row " << row;
      EXPECT_EQ(valid_of(rows, row, "valid_tokens"), valid_of(alone, row, "valid_tokens")) << layout;
    }
  }
}

TEST_P(Evaluations, OfACheckpointHaveTheBitsOfTheTrainersInEveryLayoutAndLieAtTheExactLoss) {
  const auto rows = runs_.train("run", "dp 2 pp 2 zero 3");
  const double trained = rows.back().extra.at("valid_loss");
  const inference::Evaluation judge = exact("run");
  EXPECT_EQ(samples_->truncated(), 1);
  EXPECT_NEAR(trained, judge.loss, 1e-6 * judge.loss);
  for (const std::string& layout : equal_layouts()) {
    const inference::Evaluation got = evaluate("run", layout);
    EXPECT_EQ(got.loss, trained) << layout;
    EXPECT_EQ(got.tokens, judge.tokens) << layout;
    EXPECT_EQ(got.samples, 11) << layout;
  }
  for (const std::string layout : {"tp 2", "tp 3 dp 2 zero 3", "cp 2", "tp 2 cp 2 pp 2", "tp 2 plain pp 2"}) {
    const inference::Evaluation got = evaluate("run", layout);
    EXPECT_NEAR(got.loss, judge.loss, 1e-6 * judge.loss) << layout;
    EXPECT_EQ(got.tokens, judge.tokens) << layout;
  }
}

TEST_P(Evaluations, InHalfPrecisionHaveTheBitsOfTheTrainers) {
  for (const std::string precision : {"bf16", "fp16"}) {
    const double trained = runs_.train(precision, precision + " dp 2 zero 1").back().extra.at("valid_loss");
    for (const std::string layout : {"", "pp 3", "dp 2 zero 3", "dp 2 pp 2 zero 2"})
      EXPECT_EQ(evaluate(precision, layout + " " + precision).loss, trained) << precision << " " << layout;
    EXPECT_NEAR(trained, exact(precision).loss, 0.02) << precision;
  }
}

// The rows of a microbatch that ends inside a source are computed once more by themselves.
TEST_P(Evaluations, GiveEachSourceTheLossOfItsOwnSamplesAndChangeNoBitOfAll) {
  runs_.train("run", "");
  const std::vector<data::SourcePart> sources{{"a", 4}, {"b", 1}, {"c", 6}};
  for (const std::int64_t micro : {1, 2, 3, 4, 20}) {
    runs_.settings.batch.micro_batch_size = micro;
    runs_.settings.batch.global_batch_size = 2 * micro;
    const inference::Evaluation all = evaluate("run", "");
    EXPECT_TRUE(all.sources.empty());
    std::vector<inference::SourceLoss> alone;
    for (const std::string layout : {"", "pp 2", "dp 2 zero 3"}) {
      config::Settings s = settings();
      const int world = apply_layout(layout, &s);
      const auto ranks =
          evaluate_on_threads(evaluation_plan_for(s, world, *samples_), runs_.folder("run"), *samples_, sources);
      const inference::Evaluation& got = ranks.front().evaluation;
      EXPECT_EQ(got.loss, all.loss) << layout << ", micro " << micro;
      EXPECT_EQ(got.tokens, all.tokens);
      ASSERT_EQ(got.sources.size(), 3u);
      double sum = 0;
      std::int64_t tokens = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(got.sources[i].name, sources[i].name);
        EXPECT_EQ(got.sources[i].samples, sources[i].samples);
        tokens += got.sources[i].tokens;
        if (got.sources[i].tokens > 0) sum += got.sources[i].loss * static_cast<double>(got.sources[i].tokens);
        if (!alone.empty() && alone[i].tokens > 0) {
          EXPECT_EQ(got.sources[i].loss, alone[i].loss) << layout;
        }
      }
      EXPECT_EQ(tokens, all.tokens);
      EXPECT_NEAR(sum / static_cast<double>(tokens), all.loss, 1e-6 * all.loss) << "micro " << micro;
      if (alone.empty()) alone = got.sources;
    }
    EXPECT_TRUE(std::isnan(alone[1].loss) || alone[1].tokens > 0);
  }
}

// Microbatches of three rows, of which the last has two: other sums inside a microbatch, the same tokens.
TEST_P(Evaluations, CountEveryTokenOnceForAnySizeOfMicrobatches) {
  runs_.train("run", "");
  const inference::Evaluation judge = exact("run");
  for (const std::int64_t micro : {2, 3, 4, 11, 20}) {
    runs_.settings.batch.micro_batch_size = micro;
    runs_.settings.batch.global_batch_size = 2 * micro;
    const double alone = evaluate("run", "").loss;
    EXPECT_NEAR(alone, judge.loss, 1e-6 * judge.loss);
    for (const std::string layout : {"dp 2 zero 3", "pp 2"}) {
      const inference::Evaluation got = evaluate("run", layout);
      EXPECT_EQ(got.loss, alone) << layout << ", micro " << micro;
      EXPECT_EQ(got.tokens, judge.tokens) << layout << ", micro " << micro;
    }
  }
}

TEST_P(Evaluations, HoldParametersAndOneMicrobatchToTheByteOfThePlan) {
  runs_.train("run", "");
  for (const std::string layout :
       {"", "pp 2", "pp 3", "pp 2 interleaved 2", "dp 2", "dp 2 zero 1", "dp 2 zero 3", "dp 3 pp 2 zero 3", "tp 2",
        "tp 2 plain", "cp 2 zero 3", "bf16", "bf16 pp 2 dp 2 zero 3", "fp16 dp 2 zero 1"}) {
    config::Settings s = settings();
    const int world = apply_layout(layout, &s);
    const plan::Plan plan = evaluation_plan_for(s, world, *samples_);
    const auto ranks = evaluate_on_threads(plan, runs_.folder("run"), *samples_);
    std::vector<std::int64_t> most(plan.memory.size()), parameters = most, activations = most;
    for (int rank = 0; rank < world; ++rank) {
      const tensor::Ledger& ledger = ranks[static_cast<std::size_t>(rank)].ledger;
      const auto grid_rank = static_cast<std::size_t>(mesh::grid_rank_of(plan.shape, rank));
      EXPECT_EQ(ledger.peak(tensor::MemoryUse::gradients), 0) << layout;
      EXPECT_EQ(ledger.peak(tensor::MemoryUse::state), 0) << layout;
      if (ledger.peak() <= most[grid_rank]) continue;
      most[grid_rank] = ledger.peak();
      parameters[grid_rank] = ledger.peak(tensor::MemoryUse::parameters);
      activations[grid_rank] = ledger.peak(tensor::MemoryUse::activations);
    }
    for (std::size_t grid_rank = 0; grid_rank < most.size(); ++grid_rank) {
      // One of the data-parallel ranks has the largest microbatch, which the plan counts for each.
      const std::size_t dp = static_cast<std::size_t>(plan.shape.dp), first = grid_rank / dp * dp;
      const auto begin = activations.begin() + static_cast<std::ptrdiff_t>(first);
      EXPECT_EQ(*std::max_element(begin, begin + static_cast<std::ptrdiff_t>(dp)), plan.memory[grid_rank].activations) << layout;
      EXPECT_EQ(plan.memory[grid_rank].at_once - most[grid_rank], plan.memory[grid_rank].activations - activations[grid_rank])
          << layout << ", grid rank " << grid_rank;
      EXPECT_EQ(parameters[grid_rank], plan.memory[grid_rank].parameters) << layout << ", grid rank " << grid_rank;
      EXPECT_EQ(plan.memory[grid_rank].state + plan.memory[grid_rank].gradients, 0) << layout;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Embeddings, Evaluations, testing::Values(true),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });
INSTANTIATE_TEST_SUITE_P(FullEmbeddings, Evaluations, testing::Values(false),
                         [](const auto& which) { return which.param ? "Tied" : "Untied"; });

TEST(Logits, AreRefusedWhereTheFileWouldBeTooLarge) {
  const config::Settings s = small_settings("nowhere");
  plan::DataFacts facts{259, 1000000, 0, "many", 1000000, {}};
  const auto self = comm::make_self_channel("test");
  try {
    inference::LogitsFile(plan::make_evaluation_plan(config::resolve(s, 1), facts, 1), data::RandomSamples(2, 2, 1),
                          "nowhere.safetensors", {}, *self);
    FAIL() << "accepted";
  } catch (const base::ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("1000000 samples x 32 positions x 259 logits, more than 16.0 GiB"),
              std::string::npos)
        << error.what();
  }
}

// A learning rate that spoils the model: the first evaluation stays the best.
class Best : public testing::Test {
 protected:
  Best() {
    runs_.settings.model.layers = 2;
    runs_.settings.batch.seq_len = 16;
    runs_.settings.train.steps = 5;
    runs_.settings.train.eval_every = 1;
    runs_.settings.optimizer.lr = 0.5;
    runs_.settings.optimizer.min_lr = 0.5;
    runs_.settings.checkpoint.keep = 1;
    samples_ = samples_of_varied_lengths(runs_.folder("samples"), 16);
    runs_.valid = samples_.get();
  }
  std::vector<std::string> kept(const std::string& run) const {
    return base::list_directory(runs_.folder(run) + "/checkpoints");
  }
  static std::int64_t best_of(const std::vector<metrics::StepMetrics>& rows) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      if (rows[i].extra.at("valid_loss") < rows[best].extra.at("valid_loss")) best = i;
    }
    return rows[best].step;
  }

  LayoutRuns runs_;
  std::unique_ptr<data::SequenceSamples> samples_;
};

std::string name_of(std::int64_t step) { return fmt::format("step-{:08}", step); }

TEST_F(Best, IsKeptBesideTheNewestAndSurvivesAResumeInAnotherLayout) {
  const auto rows = runs_.train("run", "dp 2");
  const std::int64_t best = best_of(rows);
  ASSERT_LT(best, 5);
  EXPECT_EQ(kept("run"), (std::vector<std::string>{name_of(best), name_of(5)}));
  const auto facts = checkpoint::open_any(runs_.folder("run"), *comm::make_self_channel("self")).facts.extra;
  EXPECT_EQ(facts.at("best_step"), std::to_string(best));
  EXPECT_EQ(std::stod(facts.at("best_loss")), rows[static_cast<std::size_t>(best) - 1].extra.at("valid_loss"));

  runs_.settings.train.steps = 7;
  runs_.settings.optimizer.lr = runs_.settings.optimizer.min_lr = 1e-9;  // the spoilt model stays as it is
  const auto more = runs_.train("run", "pp 2");
  ASSERT_EQ(best_of(more), best);
  EXPECT_EQ(kept("run"), (std::vector<std::string>{name_of(best), name_of(7)}));
}

TEST_F(Best, IsNotKeptWhereItIsNotWanted) {
  runs_.settings.checkpoint.keep_best = false;
  runs_.train("run", "");
  EXPECT_EQ(kept("run"), std::vector<std::string>{name_of(5)});
}

TEST_F(Best, EndsARunThatGetsNoBetterAndSurvivesAResume) {
  runs_.settings.train.steps = 9;
  runs_.settings.train.early_stopping_patience = 3;
  runs_.settings.data.valid = "the samples";
  const auto rows = runs_.train("run", "dp 2");
  const std::int64_t best = best_of(rows);
  EXPECT_EQ(static_cast<std::int64_t>(rows.size()), best + 3);
  const auto facts = checkpoint::open_any(runs_.folder("run"), *comm::make_self_channel("self")).facts.extra;
  EXPECT_EQ(facts.at("evaluations_without_lower"), "3");
  EXPECT_EQ(runs_.train("run", "").size(), rows.size());  // it is over
  runs_.settings.train.early_stopping_patience = 4;
  EXPECT_EQ(runs_.train("run", "pp 2").size(), rows.size() + 1);
}

TEST_F(Best, AThresholdAsksForMoreThanALowerLoss) {
  runs_.settings.optimizer.lr = runs_.settings.optimizer.min_lr = 1e-5;
  runs_.settings.train.steps = 9;
  const auto all = runs_.train("free", "");
  ASSERT_EQ(best_of(all), 9);  // lower in every step, by little
  runs_.settings.train.early_stopping_patience = 2;
  runs_.settings.data.valid = "the samples";
  EXPECT_EQ(runs_.train("patient", "").size(), 9u);
  runs_.settings.train.early_stopping_threshold = 1;
  EXPECT_EQ(runs_.train("strict", "").size(), 3u);
}

TEST_F(Best, OfOtherSamplesDoesNotCount) {
  runs_.train("run", "");
  runs_.settings.train.steps = 6;
  const auto others = samples_of_varied_lengths(runs_.folder("others"), 16);
  class Cut final : public data::Samples {  // the same without the last
   public:
    explicit Cut(const data::Samples& all) : all_(all) {}
    std::int64_t samples() const override { return all_.samples() - 1; }
    std::int64_t seq_len() const override { return all_.seq_len(); }
    void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override {
      all_.read(sample, inputs, targets);
    }
    std::vector<std::int64_t> lengths(std::int64_t sample) const override { return all_.lengths(sample); }
    bool are_full() const override { return false; }
    std::string fingerprint() const override { return "cut"; }

   private:
    const data::Samples& all_;
  } cut(*others);
  runs_.valid = &cut;
  runs_.train("run", "");
  EXPECT_EQ(checkpoint::open_any(runs_.folder("run"), *comm::make_self_channel("self")).facts.extra.at("best_step"),
            "6");
}

// 4 epochs of 11 samples.
class ResumedEpochs : public testing::Test {
 protected:
  ResumedEpochs() {
    runs_.settings.model.layers = 2;
    runs_.settings.batch.seq_len = 16;
    runs_.settings.train.steps = 0;
    runs_.settings.train.epochs = 4;
    set_batch(2);
    samples_ = samples_of_varied_lengths(runs_.folder("samples"), 16);
    runs_.samples = samples_.get();
    const auto stop = [](Surroundings& surroundings, int) {
      surroundings.hooks.stop_requested = [asked = 0]() mutable { return ++asked == 4; };
    };
    EXPECT_EQ(runs_.train("run", "", stop).size(), 4u);
  }
  void set_batch(std::int64_t global) {
    runs_.settings.batch.global_batch_size = global;
    runs_.settings.batch.microbatches.reset();
  }

  LayoutRuns runs_;
  std::unique_ptr<data::SequenceSamples> samples_;
};

TEST_F(ResumedEpochs, AreWholeWithAnotherGlobalBatch) {
  set_batch(4);
  const auto rows = runs_.train("run", "dp 2");
  EXPECT_EQ(rows.size(), 4u + 9u);  // 8 of 44 samples were seen
  EXPECT_EQ(checkpoint::open_any(runs_.folder("run"), *comm::make_self_channel("self")).facts.extra.at("samples_seen"),
            "44");
  EXPECT_EQ(rows.back().lr, runs_.settings.optimizer.min_lr);
}

TEST_F(ResumedEpochs, GoOnInTheirOrderOrAreRefused) {
  runs_.settings.train.seed += 1;
  EXPECT_THROW(runs_.train("run", ""), base::ConfigError);
  runs_.settings.train.seed -= 1;
  EXPECT_EQ(runs_.train("run", "").size(), 22u);
  runs_.settings.train.seed += 1;
  runs_.settings.train.epochs = 5;
  EXPECT_EQ(runs_.train("run", "").size(), 27u);  // at the end of an epoch nothing is lost
}

}  // namespace
}  // namespace troika::train

#include "config/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace troika::config {
namespace {

// "" where it is right.
std::string wrong_with(const Field& field, const std::string& text, Settings* settings) {
  return set_text(field, text, settings).value_or(base::Text{}).english;
}

using testing::HasSubstr;

TEST(Fields, NoNameMeansTwoSettings) {
  std::set<std::string> seen;
  for (const auto& field : fields()) {
    EXPECT_TRUE(seen.insert(field.flag()).second) << field.key();
    for (const auto name : field.flags) EXPECT_TRUE(seen.insert(normalised(name)).second) << name;
    for (const auto name : field.familiar) EXPECT_TRUE(seen.insert(normalised(name)).second) << name;
    for (const auto name : field.variables) EXPECT_TRUE(seen.insert("$" + std::string(name)).second) << name;
  }
}

TEST(Fields, EveryDefaultKeepsItsOwnRule) {
  for (const auto& field : fields()) EXPECT_FALSE(violation(field, Settings{})) << field.key();
}

TEST(Fields, EveryRowHasHelpAndEveryEmptyDefaultAMeaning) {
  for (const auto& field : fields()) {
    EXPECT_EQ(field.help.english().back(), '.') << field.key();
    const std::string text = get_text(field, Settings{});
    EXPECT_TRUE((!text.empty() && text != "null") || !field.unset.empty()) << field.key();
  }
}

TEST(Fields, EveryValueReadsBackFromItsText) {
  for (const auto& field : fields()) {
    Settings settings;
    EXPECT_EQ(wrong_with(field, get_text(field, Settings{}), &settings), "") << field.key();
    EXPECT_EQ(get_text(field, settings), get_text(field, Settings{})) << field.key();
  }
}

TEST(Fields, ReadsEveryType) {
  Settings s;
  EXPECT_EQ(wrong_with(field_of("model.tie_embeddings"), "No", &s), "");
  EXPECT_FALSE(s.model.tie_embeddings);
  EXPECT_EQ(wrong_with(field_of("train.seed"), "18446744073709551615", &s), "");
  EXPECT_EQ(s.train.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(wrong_with(field_of("optimizer.lr"), "1e-3", &s), "");
  EXPECT_EQ(s.optimizer.lr, 1e-3);
  EXPECT_EQ(wrong_with(field_of("comm.timeout_seconds"), "2m", &s), "");
  EXPECT_EQ(s.comm.timeout_seconds, 120);
  EXPECT_EQ(wrong_with(field_of("parallel.stage_layers"), "2, 1,1", &s), "");
  EXPECT_EQ(s.parallel.stage_layers, (std::vector<std::int64_t>{2, 1, 1}));
  EXPECT_EQ(wrong_with(field_of("parallel.stage_costs"), "0.5, 1e-3,2", &s), "");
  EXPECT_EQ(s.parallel.stage_costs, (std::vector<double>{0.5, 1e-3, 2}));
  EXPECT_EQ(wrong_with(field_of("batch.micro_batch_size"), "3", &s), "");
  EXPECT_EQ(s.batch.micro_batch_size, 3);
  EXPECT_EQ(wrong_with(field_of("batch.micro_batch_size"), "null", &s), "");
  EXPECT_FALSE(s.batch.micro_batch_size.has_value());
  EXPECT_EQ(wrong_with(field_of("parallel.schedule"), "GPipe", &s), "");
  EXPECT_EQ(s.parallel.schedule, Schedule::gpipe);
}

TEST(Fields, SaysWhatIsWrongAndLeavesTheSettingAlone) {
  Settings s;
  EXPECT_EQ(wrong_with(field_of("model.layers"), "four", &s), "takes a whole number, not 'four'");
  EXPECT_EQ(wrong_with(field_of("model.layers"), "0", &s), "must be at least 1, not 0");
  EXPECT_EQ(wrong_with(field_of("model.layers"), "10001", &s), "must be at most 10000, not 10001");
  EXPECT_EQ(s.model.layers, 4);
  EXPECT_EQ(wrong_with(field_of("parallel.schedule"), "gpip", &s),
            "takes gpipe or 1f1b or interleaved or zb-h1, not 'gpip'; did you mean gpipe?");
  EXPECT_EQ(wrong_with(field_of("optimizer.lr"), "nan", &s), "takes a number, not 'nan'");
  EXPECT_EQ(wrong_with(field_of("optimizer.lr"), "-1", &s), "must be at least 0, not -1");
  EXPECT_EQ(wrong_with(field_of("train.epochs"), "0", &s), "must be above 0, not 0");
  EXPECT_EQ(wrong_with(field_of("train.seed"), "-1", &s), "takes a whole number from 0 to 2^64 - 1, not '-1'");
  EXPECT_THAT(wrong_with(field_of("parallel.stage_layers"), "2,0", &s), HasSubstr("entry that must be at least 1"));
  EXPECT_THAT(wrong_with(field_of("optimizer.beta1"), "1", &s), HasSubstr("must be at most"));
  EXPECT_THAT(wrong_with(field_of("train.out"), "runs/\xe9", &s), HasSubstr("takes text in UTF-8"));
  EXPECT_EQ(wrong_with(field_of("train.out"), "runs/\u00e9\n", &s), "");
}

TEST(Fields, DashesAndUnderscoresAreEqualInNames) {
  EXPECT_EQ(find_field("seq_len"), find_field("batch.seq-len"));
  EXPECT_EQ(find_field("max-seq-len"), find_field("max_seq_len"));
  EXPECT_EQ(find_field("model.kv-heads"), &field_of("model.kv_heads"));
  EXPECT_EQ(find_field("nonsense"), nullptr);
}

TEST(Fields, UnderstandsTheSpellingsOfOtherPrograms) {
  const std::pair<const char*, const char*> known[] = {
      {"tp_size", "parallel.tp"},
      {"pp_size", "parallel.pp"},
      {"num_microbatches", "batch.num_microbatches"},
      {"microbatch_num", "batch.num_microbatches"},
      {"pipeline_schedule", "parallel.schedule"},
      {"cp_size", "parallel.cp"},
      {"zero_stage", "parallel.zero"},
      {"virtual_pipeline_size", "parallel.virtual_stages"},
      {"num_virtual_stages", "parallel.virtual_stages"},
      {"activation_recomputation", "parallel.recompute"},
      {"offload_optimizer", "parallel.offload"},
      {"batch_size", "batch.batch_size"},
      {"gradient_accumulation_steps", "batch.accumulation"},
      {"max_seq_len", "batch.seq_len"},
      {"max_length", "batch.seq_len"},
      {"max_steps", "train.steps"},
      {"train_steps", "train.steps"},
      {"num_iterations", "train.steps"},
      {"learning_rate", "optimizer.lr"},
      {"warmup_steps", "optimizer.warmup_steps"},
      {"max_grad_norm", "optimizer.clip_norm"},
      {"save_steps", "checkpoint.every"},
      {"save_dir", "train.out"},
      {"num_epochs", "train.epochs"},
      {"vocab_size", "model.vocab"},
      {"hidden_size", "model.hidden"},
      {"num_layers", "model.layers"},
      {"middle_layers", "model.middle_layers"},
      {"model_size", "model.preset"},
      {"device_batch_size", "batch.micro_batch_size"},
      {"total_batch_size", "batch.total_batch_size"},
      {"depth", "model.layers"},
      {"profile_batch", "train.profile"},
      {"num_workers", "data.workers"},
      {"backend", "comm.backend"},
      {"steps", "train.steps"},
      {"tp", "parallel.tp"},
      {"pp", "parallel.pp"},
      {"dp", "parallel.dp"},
      {"cp", "parallel.cp"},
      {"lr", "optimizer.lr"},
      {"micro-batch-size", "batch.micro_batch_size"},
      {"global-batch-size", "batch.global_batch_size"},
      {"seed", "train.seed"},
      {"device", "train.device"},
      {"out", "train.out"},
      {"resume", "train.resume"},
      {"schedule", "parallel.schedule"},
      {"zero", "parallel.zero"},
      {"virtual-stages", "parallel.virtual_stages"},
      {"schedule-file", "parallel.schedule_file"},
      {"recompute", "parallel.recompute"},
      {"offload", "parallel.offload"},
      {"overlap", "parallel.overlap"},
      {"epochs", "train.epochs"},
      {"profile", "train.profile"},
  };
  for (const auto& [name, key] : known) EXPECT_EQ(find_field(name), &field_of(key)) << name;
}

TEST(Fields, AgreementLetsHostsDifferWhereTheyMay) {
  Settings s;
  s.train.device = "cuda:1";
  s.train.resume = "elsewhere/checkpoint";
  EXPECT_EQ(agreement_text(field_of("train.device"), s), "cuda");
  EXPECT_EQ(agreement_text(field_of("train.resume"), s), "a path");
  EXPECT_EQ(agreement_text(field_of("train.resume"), Settings{}), "auto");
  EXPECT_EQ(agreement_text(field_of("data.tokenizer"), Settings{}), "bytes");
  for (const auto* key : {"train.out", "train.threads", "comm.interface", "data.train", "data.cache", "log.level",
                          "parallel.schedule_file", "parallel.offload_folder"}) {
    EXPECT_EQ(field_of(key).agreement, Agreement::none) << key;
  }
}

}  // namespace
}  // namespace troika::config

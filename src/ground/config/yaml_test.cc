#include "config/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/say.h"
#include "config/config_test_support.h"

namespace troika::config {
namespace {

using testing::HasSubstr;
using testing::Not;

Settings from_yaml(const std::string& text) { return parsed({temporary_file("settings.yaml", text)}); }

std::string yaml_error(const std::string& text) {
  const std::string path = temporary_file("settings.yaml", text);
  std::string message = parse_error({path});
  for (auto at = message.find(path); at != std::string::npos; at = message.find(path))
    message.replace(at, path.size(), "F");
  return message;
}

TEST(Yaml, ReadsSectionsAndFamiliarKeysAtTopLevel) {
  const Settings s = from_yaml(
      "model:\n  preset: qwen3-small\n  tie_embeddings: no\n"
      "parallel:\n  pp_size: 2\n  stage_layers: [5, 3]\n"
      "batch:\n  micro-batch-size: 3\n"
      "train:\n"
      "max_seq_len: 99\nlearning_rate: 1e-4\nsudo_pass: geheim\nbf16: true\n");
  EXPECT_EQ(s.model.hidden, 512);
  EXPECT_FALSE(s.model.tie_embeddings);
  EXPECT_EQ(s.parallel.pp, 2);
  EXPECT_EQ(s.parallel.stage_layers, (std::vector<std::int64_t>{5, 3}));
  EXPECT_EQ(s.batch.micro_batch_size, 3);
  EXPECT_EQ(s.batch.seq_len, 99);
  EXPECT_EQ(s.optimizer.lr, 1e-4);
  EXPECT_EQ(s.precision.compute, Precision::bf16);
  EXPECT_THAT(to_yaml(s), Not(HasSubstr("geheim")));
}

TEST(Yaml, EmptyValuesMeanUnsetWhereThatExists) {
  const Settings s = from_yaml("data:\n  cache:\nbatch:\n  batch_size: ~\nparallel:\n  stage_layers:\n");
  EXPECT_EQ(s.data.cache, "");
  EXPECT_FALSE(s.batch.batch_size.has_value());
  EXPECT_EQ(yaml_error("train:\n  steps:\n"), "F line 2: train.steps takes a whole number, not 'null'");
}

TEST(Yaml, UnknownNamesGetTheirLineAndTheNearestName) {
  EXPECT_EQ(yaml_error("train:\n  stpes: 3\n"), "F line 2: unknown key 'stpes' in section train; did you mean steps?");
  EXPECT_EQ(yaml_error("\nmodle:\n  layers: 3\n"), "F line 2: unknown key 'modle'; did you mean model?");
  EXPECT_EQ(yaml_error("model:\n  learning_rate: 3\n"),
            "F line 2: unknown key 'learning_rate' in section model; did you mean optimizer.lr?");
  EXPECT_EQ(yaml_error("zqxwvzqxwv: 3\n"), "F line 1: unknown key 'zqxwvzqxwv'");
  EXPECT_EQ(yaml_error("kv_heads: 3\n"), "F line 1: unknown key 'kv_heads'; did you mean model.kv_heads?");
}

TEST(Yaml, WrongContentIsNamedWithItsLine) {
  EXPECT_EQ(yaml_error(""), "F is empty: it needs at least one section such as train:");
  EXPECT_EQ(yaml_error("# only a remark\n"), "F is empty: it needs at least one section such as train:");
  EXPECT_THAT(yaml_error("- 1\n- 2\n"), HasSubstr("expected sections such as model:"));
  EXPECT_THAT(yaml_error("train: 3\n"), HasSubstr("section train needs keys below it"));
  EXPECT_THAT(yaml_error("train:\n  steps: [1, 2]\n"), HasSubstr("train.steps takes one value, not a list"));
  EXPECT_THAT(yaml_error("train:\n  steps: {a: 2}\n"), HasSubstr("train.steps takes one value, not a section"));
  EXPECT_THAT(yaml_error("train:\n  steps: 1\n  max_steps: 2\n"),
              HasSubstr("line 3: train.steps is given twice, first on line 2"));
  EXPECT_THAT(yaml_error("train: {steps: 1\nmodel: 2\n"), HasSubstr("is not valid YAML"));
  EXPECT_THAT(yaml_error("[1]: 2\n"), HasSubstr("a key must be a string"));
  EXPECT_THAT(yaml_error("bf16: 3x\n"), HasSubstr("bf16 takes true or false"));
  EXPECT_EQ(yaml_error("train:\n  steps: x\n  seed: y\n"),
            "F line 2: train.steps takes a whole number, not 'x'\n"
            "F line 3: train.seed takes a whole number from 0 to 2^64 - 1, not 'y'");
}

TEST(Yaml, OneDocumentIsRead) {
  EXPECT_THAT(yaml_error("train:\n  steps: 1\n---\ntrain:\n  steps: 2\n"),
              HasSubstr("F line 4: a second YAML document begins after '---', but settings are one document"));
  EXPECT_THAT(yaml_error("stage: sft\n---\nlearning_rate: 1\n"), HasSubstr("a second YAML document begins"));
  EXPECT_THAT(yaml_error("---\n---\ntrain: {steps: 1}\n"), HasSubstr("a second YAML document begins"));
  EXPECT_EQ(from_yaml("%YAML 1.1\n---\ntrain:\n  steps: 4\n...\n").train.steps, 4);
  EXPECT_EQ(from_yaml("train:\n  steps: 4\n---\n").train.steps, 4);
}

TEST(Yaml, TruthHasTheWordsOfYamlAndOfArguments) {
  for (const char* word : {"true", "Yes", "ON", "y", "Y", "t", "1"})
    EXPECT_TRUE(from_yaml(std::string("data:\n  packing: ") + word + "\n").data.packing) << word;
  for (const char* word : {"False", "NO", "off", "n", "N", "f", "0"})
    EXPECT_FALSE(from_yaml(std::string("data:\n  shuffle: ") + word + "\n").data.shuffle) << word;
  EXPECT_THAT(yaml_error("data:\n  packing: maybe\n"), HasSubstr("F line 2: data.packing takes true or false"));
}

TEST(Yaml, AMissingFileIsADataError) {
  EXPECT_THROW(parse_settings({testing::TempDir() + "no-such-file.yaml"}, {}), base::DataError);
  EXPECT_THROW(parse_settings({testing::TempDir()}, {}), base::DataError);
  try {
    parse_settings({}, {{"CONFIG_FILE", "no-such-file.yaml"}});
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("CONFIG_FILE"));
  }
}

TEST(Yaml, TheFileOfTheCommandLineReplacesTheOneOfTheEnvironment) {
  const std::string first = temporary_file("first.yaml", "train:\n  steps: 1\n  seed: 1\n");
  const std::string second = temporary_file("second.yaml", "train:\n  steps: 2\n");
  EXPECT_EQ(parsed({}, {{"CONFIG_FILE", first}}).train.steps, 1);
  EXPECT_EQ(parsed({"--config", second}, {{"CONFIG_FILE", first}}).train.steps, 2);
  EXPECT_EQ(parsed({"--config", second}, {{"CONFIG_FILE", first}}).train.seed, 1234u);
}

TEST(Yaml, WhatIsPrintedReadsBack) {
  Settings s;
  s.model = ModelSettings{};
  s.model.layers = 7;
  s.model.tie_embeddings = false;
  s.model.norm_eps = 0.1 + 0.2;
  s.data.train = "with space: and # \"quotes\" \\ and\ttab\nline";
  s.data.cache = "1e5";
  s.data.text_key = "größe";
  s.batch.global_batch_size = 12;
  s.parallel.stage_layers = {3, 2, 2};
  s.parallel.reproducible = Reproducible::off;
  s.optimizer.lr = 1.0 / 3;
  s.train.seed = 18446744073709551615u;
  s.train.profile = "2,5-7";
  s.comm.timeout_seconds = 0.25;
  const std::string text = to_yaml(s);
  const Settings back = from_yaml(text);
  EXPECT_EQ(to_yaml(back), text);
  EXPECT_EQ(back.data.train, s.data.train);
  EXPECT_EQ(back.data.cache, "1e5");
  EXPECT_EQ(back.data.text_key, s.data.text_key);
  EXPECT_EQ(back.optimizer.lr, s.optimizer.lr);
  EXPECT_EQ(back.model.norm_eps, s.model.norm_eps);
  EXPECT_EQ(back.train.seed, s.train.seed);
}

TEST(Yaml, APrintedResolvedRunResolvesToItself) {
  const Resolved run =
      resolved({"--pp", "2", "--batch_size", "8", "--gradient_accumulation_steps", "3", "--middle_layers", "2"}, 4);
  const std::string path = temporary_file("pinned.yaml", to_yaml(run.settings));
  const Resolved again = resolved({path}, 4);
  EXPECT_EQ(to_yaml(again.settings), to_yaml(run.settings));
  EXPECT_EQ(agreement_hash(again.settings), agreement_hash(run.settings));
}

TEST(Yaml, OfHostileSizesEndsSoon) {
  std::string keys;
  for (int i = 0; i < 20000; ++i) keys += "key" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(read_yaml(keys, "F").errors.size(), 100u);
  EXPECT_EQ(read_yaml("train: {" + std::string(100000, 'x') + ": 1}", "F").errors.size(), 1u);
  EXPECT_EQ(read_yaml("train: " + std::string(100000, '['), "F").errors.size(), 1u);
  EXPECT_THAT(base::in(read_yaml(std::string(2 << 20, ' '), "F").errors, base::Language::english),
              testing::ElementsAre(HasSubstr("at most 1048576")));
}

}  // namespace
}  // namespace troika::config

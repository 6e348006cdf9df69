#include "config/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/say.h"
#include "base/text_files_test_support.h"
#include "config/config_test_support.h"
#include "config/flag_table.h"

namespace troika::config {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(CommandLine, ReadsThePinnedInterface) {
  const Settings s = parsed({"--model.preset",
                             "qwen3-tiny",
                             "--data.train",
                             "PATH",
                             "--data.tokenizer",
                             "bytes",
                             "--seq-len",
                             "64",
                             "--micro-batch-size",
                             "1",
                             "--global-batch-size",
                             "12",
                             "--steps",
                             "20",
                             "--seed",
                             "7",
                             "--out",
                             "RUN",
                             "--model.layers",
                             "4",
                             "--model.hidden",
                             "64",
                             "--model.heads",
                             "4",
                             "--model.kv-heads",
                             "2",
                             "--model.head-dim",
                             "16",
                             "--model.ffn",
                             "192",
                             "--model.vocab",
                             "259",
                             "--pp",
                             "2",
                             "--schedule",
                             "gpipe",
                             "--checkpoint.every",
                             "10",
                             "--checkpoint.keep",
                             "3",
                             "--resume",
                             "never"});
  EXPECT_EQ(s.data.train, "PATH");
  EXPECT_EQ(s.batch.seq_len, 64);
  EXPECT_EQ(s.batch.global_batch_size, 12);
  EXPECT_EQ(s.train.steps, 20);
  EXPECT_EQ(s.train.seed, 7u);
  EXPECT_EQ(s.train.out, "RUN");
  EXPECT_EQ(s.model.kv_heads, 2);
  EXPECT_EQ(s.model.vocab, 259);
  EXPECT_EQ(s.parallel.schedule, Schedule::gpipe);
  EXPECT_EQ(s.checkpoint.keep, 3);
  EXPECT_EQ(s.train.resume, "never");
}

TEST(CommandLine, TakesValuesBehindASpaceOrAnEqualsSign) {
  EXPECT_EQ(parsed({"--steps=5"}).train.steps, 5);
  EXPECT_EQ(parsed({"--steps", "5"}).train.steps, 5);
  EXPECT_EQ(parsed({"--data.train=a=b"}).data.train, "a=b");
  EXPECT_EQ(parsed({"--data.cache="}).data.cache, "");
  EXPECT_EQ(parsed({"--steps", "5", "--max_steps", "6"}).train.steps, 6);
}

TEST(CommandLine, ATrueOrFalseFlagAloneMeansTrue) {
  EXPECT_TRUE(parsed({"--model.tie-embeddings"}).model.tie_embeddings);
  EXPECT_FALSE(parsed({"--model.tie-embeddings", "false"}).model.tie_embeddings);
  EXPECT_FALSE(parsed({"--model.tie_embeddings=0"}).model.tie_embeddings);
  const CommandLine line = read_command_line({"--model.tie-embeddings", "run.yaml"});
  EXPECT_EQ(line.file, "run.yaml");
}

TEST(CommandLine, KnowsItsOwnFlags) {
  EXPECT_TRUE(parse_settings({"--print-config"}, {}).print_config);
  EXPECT_TRUE(parse_settings({"--print_config"}, {}).print_config);
  EXPECT_TRUE(parse_settings({"-h"}, {}).help);
  EXPECT_TRUE(parse_settings({"--help", "--nonsense"}, {}).help);
  EXPECT_EQ(read_command_line({"--config", "a.yaml"}).file, "a.yaml");
  EXPECT_EQ(read_command_line({"a.yaml", "--steps", "3"}).file, "a.yaml");
}

TEST(CommandLine, ASingleErrorIsJustItsSentence) {
  EXPECT_EQ(parse_error({"--stpes", "3"}), "unknown flag --stpes; did you mean --steps?");
  EXPECT_EQ(parse_error({"--model.hiden=3"}), "unknown flag --model.hiden; did you mean --model.hidden?");
  EXPECT_EQ(parse_error({"--data", "x"}), "unknown flag --data; did you mean --data.train?");
  EXPECT_EQ(parse_error({"--data.pth", "x"}), "unknown flag --data.pth; did you mean --data.train?");
  EXPECT_EQ(parse_error({"--layers", "3"}), "unknown flag --layers; did you mean --model.layers?");
  EXPECT_EQ(parse_error({"--layrs", "3"}), "unknown flag --layrs; did you mean --model.layers?");
  EXPECT_EQ(parse_error({"--zqxwvzqxwv", "3"}), "unknown flag --zqxwvzqxwv; --help lists all");
  EXPECT_EQ(parse_error({"-x"}), "unknown flag -x: flags begin with two dashes");
  EXPECT_EQ(parse_error({"--steps"}), "--steps needs a value");
  EXPECT_EQ(parse_error({"--steps", "--lr", "1"}), "--steps needs a value");
  EXPECT_EQ(parse_error({"--steps", "abc"}), "--steps: train.steps takes a whole number, not 'abc'");
  EXPECT_EQ(parse_error({"--train.steps", "-3"}), "--train.steps must be at least 0, not -3");
  EXPECT_EQ(parse_error({"--model.tie-embeddings=maybe"}), "--model.tie-embeddings takes true or false, not 'maybe'");
}

TEST(CommandLine, ANumberMayHaveAPlus) {
  EXPECT_EQ(parsed({"--lr", "+2e-5"}).optimizer.lr, 2e-5);
  EXPECT_EQ(parsed({"--steps=+12", "--seed", "+7", "--comm.timeout-seconds", "+2m"}).train.steps, 12);
  EXPECT_THAT(parse_error({"--lr", "+-2e-5"}), HasSubstr("optimizer.lr takes a number, not '+-2e-5'"));
  EXPECT_THAT(parse_error({"--lr", "+"}), HasSubstr("not '+'"));
}

TEST(CommandLine, OfTwoValuesForOneSettingTheLastCountsWithANote) {
  const ParsedSettings both = parse_settings({"--lr", "1e-3", "--steps", "3", "--learning-rate", "2e-3"}, {});
  EXPECT_EQ(both.settings.optimizer.lr, 2e-3);
  EXPECT_THAT(in_english(both.notes), testing::ElementsAre(
                              "optimizer.lr is given twice: --lr 1e-3, then --learning-rate 2e-3; the last one applies"));
  EXPECT_THAT(in_english(parse_settings({"--bf16", "--fp32"}, {}).notes),
              testing::ElementsAre(HasSubstr("precision.compute is given twice: --bf16 bf16, then --fp32 fp32")));
  EXPECT_THAT(in_english(parse_settings({"--lr", "1e-3", "--learning_rate=0.001", "--bf16", "--precision", "bf16"}, {}).notes),
              testing::IsEmpty());
}

TEST(CommandLine, TwoModelsAreRefused) {
  const std::string a = temporary_file("first", "") + "-model", b = temporary_file("second", "") + "-model";
  for (const std::string& folder : {a, b}) base::make_directories(folder);
  for (const auto& words : {std::vector<std::string>{a, b}, {a, "--model.path", b}, {"--model.path=" + a, b},
                            {"--model_name_or_path", a, "--model.path", b}})
    EXPECT_THAT(parse_error(words), HasSubstr("'" + b + "' is a second model besides '" + a + "': keep one of them"));
  for (const std::string& folder : {a, b}) base::remove_tree(folder);
}

TEST(CommandLine, DataInThePlaceOfSettingsAreShownTheirFlag) {
  const std::string records = temporary_file("ok.jsonl", "{\"instruction\": \"a\", \"output\": \"b\"}\n");
  EXPECT_EQ(parse_error({records}), "'" + records + "' holds data, not settings: name it with --data.train " + records +
                                        ", or to evaluate on it with --data.valid " + records);
  for (const auto& [name, content] :
       {std::pair{"rows.CSV", "a,b\n"}, {"list.json", "[{\"text\": \"a\"}]"}, {"lines", "{\"a\": 1}\n{\"a\": 2}\n"},
        {"one.json", "{\n\"messages\": []}"}, {"book.txt", "train:\n"}})
    EXPECT_THAT(parse_error({temporary_file(name, content)}), HasSubstr("holds data, not settings")) << name;
  EXPECT_THAT(parse_error({temporary_file("ds.json", "{\"zero_optimization\": {\"stage\": 2}}")}),
              HasSubstr("contains DeepSpeed settings: name it with --deepspeed "));
  EXPECT_EQ(parsed({temporary_file("ours.json", "{\"train\": {\"steps\": 3}}")}).train.steps, 3);
}

TEST(CommandLine, AWordBehindATruthThatIsNoFileIsItsValue) {
  EXPECT_EQ(parse_error({"--bf16", "maybe"}), "unexpected argument 'maybe'; --bf16 takes true or false");
  EXPECT_THAT(parse_error({"--data.packing", "2"}), HasSubstr("unexpected argument '2'; --data.packing takes true or false"));
  EXPECT_EQ(read_command_line({"--bf16", "no-such.yaml"}).file, "no-such.yaml");
  EXPECT_EQ(parsed({"--bf16", "balanced"}).train.preset, TrainPreset::balanced);
  EXPECT_EQ(parsed({"--bf16", "n"}).precision.compute, Precision::fp32);
  EXPECT_THAT(base::message_of<base::DataError>([] { parse_settings({"nothere"}, {}); }),
              HasSubstr("cannot open 'nothere': there is no settings file or model folder with this name"));
}

TEST(CommandLine, AWordWithAnEqualsSignIsAFlagWithoutItsDashes) {
  EXPECT_EQ(parsed({"learning_rate=1e-5", "train.steps=3"}).train.steps, 3);
  EXPECT_EQ(read_command_line({"runs/a=b.yaml"}).file, "runs/a=b.yaml");
}

TEST(CommandLine, DeepSpeedsFileIsAFlagToo) {
  const std::string file = temporary_file("ds.json", R"({"zero_optimization": {"stage": 2}})");
  EXPECT_EQ(parsed({"--deepspeed", file}).parallel.zero, 2);
  EXPECT_EQ(parsed({"--deepspeed", file, "--zero", "2"}).parallel.zero, 2);
  for (const auto& words : {std::vector<std::string>{"--deepspeed", file, "--zero", "1"},
                            std::vector<std::string>{"--zero", "1", "--deepspeed", file}})
    EXPECT_THAT(parse_error(words), testing::HasSubstr("--zero: parallel.zero is 1, but 2 in deepspeed"));
}

TEST(CommandLine, DeepSpeedsFileCountsAsTheFlagsOfItsSettings) {
  const std::string file = temporary_file(
      "ds.json", R"({"bf16": {"enabled": false}, "gradient_clipping": 0.5, "zero_optimization": {"stage": 2}})");
  const ParsedSettings read = parse_settings({"--zero", "2", "--deepspeed", file}, {});
  std::vector<std::string> words;
  for (const FlagReading::Given& given : read.given) words.insert(words.end(), given.words.begin(), given.words.end());
  EXPECT_THAT(words, testing::IsSupersetOf({"--zero", "--optimizer.clip_norm", "--precision.compute", "fp32"}));
  EXPECT_THAT(words, testing::Not(testing::Contains("--deepspeed")));
  EXPECT_EQ(parsed(words).precision.compute, Precision::fp32);
  EXPECT_TRUE(read.states("precision.compute"));
}

TEST(CommandLine, OneFileIsRead) {
  const CommandLine line = read_command_line({"a.yaml", "b.yaml", "--config"});
  EXPECT_THAT(base::in(line.layer.errors, base::Language::english),
              testing::ElementsAre("'b.yaml' is a second configuration file besides 'a.yaml'; only one is read",
                                   "--config needs a value"));
}

TEST(CommandLine, AnUnreadableFileIsReportedBesideTheOtherErrors) {
  EXPECT_THAT(parse_error({"--stpes", "3", "no-such-file.yaml"}), HasSubstr("cannot open 'no-such-file.yaml'"));
}

TEST(CommandLine, AllErrorsComeTogetherALineEach) {
  const std::string text = parse_error(
      {"--stpes", "3", "--seq-len", "0", "--schedule", "gpip", "--model.preset", "smal"}, {{"BATCH_SIZE", "many"}});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_EQ(text.find("unknown flag --stpes"), 0u);
  EXPECT_THAT(text, HasSubstr("--seq-len: batch.seq_len must be at least 1, not 0"));
  EXPECT_THAT(text, HasSubstr("did you mean gpipe?"));
  EXPECT_THAT(text, HasSubstr("did you mean qwen3-small?"));
  EXPECT_THAT(text, HasSubstr("BATCH_SIZE in the environment: batch.batch_size takes a whole number, not 'many'"));
}

TEST(CommandLine, APasswordIsNeitherKeptNorShown) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--sudo_pass", "geheim"}, {"--sudo-pass=geheim"}, {"--sudo_pass", "--geheim"}}) {
    const ParsedSettings result = parse_settings(arguments, {});
    ASSERT_EQ(result.notes.size(), 1u);
    EXPECT_THAT(result.notes[0].english, HasSubstr("is ignored"));
    EXPECT_THAT(result.notes[0].english + to_yaml(result.settings), Not(HasSubstr("geheim")));
  }
  EXPECT_THAT(parse_error({"--sudo_pas", "geheim"}), Not(HasSubstr("geheim")));
  EXPECT_THAT(parse_error({"--sudo_pas=geheim"}), Not(HasSubstr("geheim")));
  EXPECT_EQ(parsed({"--sudo_pass", "--steps", "3"}).train.steps, 3);
  EXPECT_THAT(in_english(parse_settings({"--hf_hub_token", "geheim"}, {}).notes),
              ElementsAre(AllOf(HasSubstr("--hf_hub_token is ignored"), Not(HasSubstr("geheim")))));
  for (const char* word : {"password=geheim", "hf_token=geheim"})
    EXPECT_THAT(parse_error({word}), AllOf(HasSubstr("unknown flag --"), Not(HasSubstr("geheim")))) << word;
}

TEST(CommandLine, AHiddenValueIsNotAmongTheWordsThatArePassedOn) {
  SettingsReading scratch;
  const FlagTable table = settings_table(scratch);
  EXPECT_THAT(without_hidden_values({&table}, {"--sudo_pass", "geheim", "--steps", "3", "--hf-hub-token=geheim", "c.yaml",
                                               "sudo_pass=geheim", "--sudo-pass", "--geheim", "--sudo_pass"}),
              ElementsAre("--sudo_pass", "...", "--steps", "3", "--hf-hub-token=...", "c.yaml", "sudo_pass=...",
                          "--sudo-pass", "...", "--sudo_pass"));
  const ParsedSettings run = parse_settings({"--sudo_pass", "geheim", "sudo_pass=geheim"}, {});
  for (const FlagReading::Given& given : run.given)
    EXPECT_THAT(given.words, Not(Contains(HasSubstr("geheim"))));
}

TEST(CommandLine, RankFlagsOfOtherLaunchersAreAcceptedWithANote) {
  const ParsedSettings result = parse_settings({"--local_rank=1", "--local-rank", "1", "--world_size", "4"}, {});
  EXPECT_EQ(result.notes.size(), 3u);
}

TEST(CommandLine, PrecisionSwitchesSetTheComputeType) {
  EXPECT_EQ(parsed({"--bf16"}).precision.compute, Precision::bf16);
  EXPECT_EQ(parsed({"--fp16", "true"}).precision.compute, Precision::fp16);
  EXPECT_EQ(parsed({"--fp16", "false"}).precision.compute, Precision::fp32);
  EXPECT_EQ(parsed({"--bf16", "--fp32"}).precision.compute, Precision::fp32);
  EXPECT_EQ(parsed({"--precision.compute", "bfloat16"}).precision.compute, Precision::bf16);
}

TEST(CommandLine, WordsOfOtherProgramsForMemoryAreUnderstood) {
  EXPECT_EQ(parsed({"--gradient_checkpointing"}).parallel.recompute, Recompute::full);
  EXPECT_EQ(parsed({"--activation-checkpointing", "true"}).parallel.recompute, Recompute::full);
  EXPECT_EQ(parsed({"--gradient-checkpointing", "false"}).parallel.recompute, Recompute::none);
  EXPECT_EQ(parsed({"--activation_recomputation", "selective"}).parallel.recompute, Recompute::selective);
  EXPECT_EQ(parsed({"--offload_optimizer", "cpu"}).parallel.offload, Offload::host);
  EXPECT_EQ(parsed({"--offload", "nvme"}).parallel.offload, Offload::file);
  EXPECT_FALSE(parsed({"--overlap", "off"}).parallel.overlap);
}

TEST(CommandLine, APythonFileIsRefusedWithThePresets) {
  const std::string text = parse_error({"configs/dual_gpu/fast.py"});
  EXPECT_THAT(text, HasSubstr("'configs/dual_gpu/fast.py' is a Python file"));
  EXPECT_THAT(text, HasSubstr("qwen3-tiny, qwen3-small"));
}

TEST(Environment, GivesDefaultsThatTheCommandLineOverrides) {
  const Environment environment = {{"BATCH_SIZE", "12"},  {"MICROBATCH_NUM", "6"},       {"TP_SIZE", "2"},
                                   {"PP_SIZE", "3"},      {"HIDDEN_SIZE", "128"},        {"NUM_LAYERS", "6"},
                                   {"NCCL_TIMEOUT", "7"}, {"GLOO_SOCKET_IFNAME", "eth1"}};
  const Settings s = parsed({"--pp", "2"}, environment);
  EXPECT_EQ(s.batch.batch_size, 12);
  EXPECT_EQ(s.batch.num_microbatches, 6);
  EXPECT_EQ(s.parallel.tp, 2);
  EXPECT_EQ(s.parallel.pp, 2);
  EXPECT_EQ(s.model.hidden, 128);
  EXPECT_EQ(s.model.layers, 6);
  EXPECT_EQ(s.comm.timeout_seconds, 7);
  EXPECT_EQ(s.comm.interface, "eth1");
  EXPECT_FALSE(parsed({}, {{"BATCH_SIZE", ""}}).batch.batch_size.has_value());
}

TEST(Environment, AnInterfaceListGivesItsFirstNameAndAnExclusionNothing) {
  EXPECT_EQ(parsed({}, {{"NCCL_SOCKET_IFNAME", "=eth0,eth1"}}).comm.interface, "eth0");
  const ParsedSettings result = parse_settings({}, {{"NCCL_SOCKET_IFNAME", "^docker"}, {"GLOO_SOCKET_IFNAME", "eth2"}});
  EXPECT_EQ(result.settings.comm.interface, "eth2");
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_THAT(result.notes[0].english, HasSubstr("names interfaces to avoid"));
}

TEST(Environment, VariablesOfOtherToolsAreNotedWithoutTheirValues) {
  const ParsedSettings result = parse_settings(
      {}, {{"WANDB_API_KEY", "geheim"}, {"WANDB_MODE", "geheim"}, {"USE_LIBUV", "0"}, {"TORCH_COMPILE", "1"}});
  ASSERT_EQ(result.notes.size(), 3u);
  EXPECT_THAT(result.notes[0].english, HasSubstr("WANDB_API_KEY, WANDB_MODE in the environment are ignored"));
  for (const auto& note : result.notes) EXPECT_THAT(note.english, Not(HasSubstr("geheim")));
}

TEST(CommandLine, KnowsHowOtherProgramsAskForTensorboard) {
  EXPECT_EQ(parsed({}).log.tensorboard, "off");
  EXPECT_EQ(parsed({"--report_to", "tensorboard"}).log.tensorboard, "on");
  EXPECT_EQ(parsed({"--report-to=all"}).log.tensorboard, "on");
  EXPECT_EQ(parsed({"--report_to", "none"}).log.tensorboard, "off");
  EXPECT_EQ(parsed({"--tensorboard-dir", "runs/tb"}).log.tensorboard, "runs/tb");
  EXPECT_EQ(parsed({"--log.tensorboard", "true"}).log.tensorboard, "on");
  const ParsedSettings both = parse_settings({"--report_to", "wandb,tensorboard"}, {});
  EXPECT_EQ(both.settings.log.tensorboard, "on");
  ASSERT_EQ(both.notes.size(), 1u);
  EXPECT_THAT(both.notes[0].english, HasSubstr("--report_to is ignored except for tensorboard"));
}

}  // namespace
}  // namespace troika::config

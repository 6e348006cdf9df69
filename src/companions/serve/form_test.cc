#include "serve/form.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/say.h"
#include "base/translation_test_support.h"
#include "config/fields.h"
#include "serve/form_routes.h"
#include "serve/served_runs_test_support.h"

namespace troika::serve {
namespace {
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

class RunForm : public testing::Test {
 protected:
  RunForm() { base::write_file_atomic(served.options.root + "/data/a.txt", "some text\n"); }

  CheckedForm read(const nlohmann::json& settings) const {
    return checked_form(nlohmann::json{{"name", "first"}, {"processes", 2}, {"settings", settings}}.dump(),
                        served.options);
  }
  std::vector<std::string> errors(const nlohmann::json& settings,
                                  base::Language language = base::Language::english) const {
    return base::in(read(settings).errors, language);
  }
  nlohmann::json plan(const nlohmann::json& settings, base::Language language = base::Language::english) const {
    return nlohmann::json::parse(plan_json(read(settings), served.options, language));
  }

  const ServedRuns served;
};

TEST_F(RunForm, IsTheSameRunAsACommandLineAndAsYaml) {
  const CheckedForm checked =
      read({{"train.steps", "100"}, {"optimizer.min_lr", "1e-4"}, {"data.train", "data/a.txt"}});
  EXPECT_THAT(checked.errors, IsEmpty());
  const std::string path = served.options.root + "/data/a.txt", out = served / "first";
  EXPECT_EQ(command_of(checked.form, served.options.folder),
            "troika launch --nproc-per-node 2 -- train --data.train " + path +
                " --optimizer.min-lr 1e-4 --train.steps 100 --train.out " + out);
  const std::string yaml = yaml_of(checked.form, served.options.folder);
  EXPECT_EQ(yaml,
            "data:\n  train: " + path + "\noptimizer:\n  min_lr: 0.0001\ntrain:\n  steps: 100\n  out: " + out + "\n");
  config::ParsedSettings parsed = settled(checked.form, {});
  parsed.settings.train.out = out;
  EXPECT_EQ(config::to_yaml(config::settings_from_yaml(yaml, "it")), config::to_yaml(parsed.settings));
}

TEST_F(RunForm, SpeaksChineseToAChinesePage) {
  const auto chinese = [&](const nlohmann::json& settings) { return errors(settings, base::Language::chinese); };
  EXPECT_THAT(chinese({{"train.steps", "many"}, {"batch.seq_len", "0"}, {"parallel.schedule", "gpip"}}),
              testing::UnorderedElementsAre("train.steps 应为整数，而不是“many”", "batch.seq_len 至少为 1，而不能是 0",
                                            HasSubstr("您是想写 gpipe 吗？")));
  EXPECT_THAT(chinese({{"data.train", "nowhere.txt"}}), ElementsAre(HasSubstr("路径“nowhere.txt”不存在")));
  EXPECT_THAT(chinese({{"trian.steps", "1"}}), ElementsAre(HasSubstr("没有名为“trian.steps”的设置")));
  const nlohmann::json misfit = plan({{"batch.seq_len", "1000000"}}, base::Language::chinese);
  EXPECT_THAT(misfit["errors"].dump(), HasSubstr("batch.seq_len 1000000 超过了 model.max_positions"));
  const nlohmann::json fits = plan({{"data.train", "data/a.txt"}}, base::Language::chinese);
  EXPECT_THAT(fits["questions"].dump(), HasSubstr("放得下模型"));
  for (const nlohmann::json& reason : fits["layouts"][0]["reasons"])
    EXPECT_EQ(base::fault_of("English", reason.get_ref<const std::string&>()), "");
}

TEST_F(RunForm, NamesEveryError) {
  EXPECT_THAT(errors({{"trian.steps", "1"}, {"train.steps", "many"}, {"batch.seq_len", "0"}, {"train.seed", 5}}),
              testing::UnorderedElementsAre("unknown setting 'trian.steps'; did you mean train.steps?",
                                            "train.steps takes a whole number, not 'many'",
                                            HasSubstr("batch.seq_len must be"), "train.seed is not a string"));
  EXPECT_THAT(errors({{"train.profile", "a\nb"}}), ElementsAre("train.profile holds a control character"));
  EXPECT_THAT(refusal_of([&] { checked_form("[]", served.options); }), HasSubstr("400"));
  EXPECT_THAT(base::in(checked_form(R"({"name": "a/b", "processes": 0, "shell": "x"})", served.options).errors,
                       base::Language::english),
              testing::UnorderedElementsAre(HasSubstr("may contain only letters from a to z"), HasSubstr("from 1 to"),
                                            HasSubstr("no field 'shell'")));
}

TEST_F(RunForm, SetsNoFolderAndNoCommand) {
  EXPECT_THAT(
      errors({{"train.out", "x"}, {"log.on_event", "rm"}}),
      testing::UnorderedElementsAre(HasSubstr("train.out cannot be set here"), HasSubstr("log.on_event cannot be set here")));
}

TEST_F(RunForm, NamesFilesBelowTheRootAlone) {
  const base::TemporaryFolder elsewhere;
  base::write_file_atomic(elsewhere.path() + "/b.txt", "b");
  ASSERT_EQ(::symlink(elsewhere.path().c_str(), (served.options.root + "/away").c_str()), 0);
  for (const char* key : {"model.path", "model.base", "lora.path", "data.train", "data.valid", "data.folder",
                          "data.chat_template", "data.tokenizer", "data.cache", "parallel.schedule_file",
                          "parallel.offload_folder", "train.resume", "log.tensorboard"})
    for (const std::string& path :
         {std::string("/etc/passwd"), std::string("../b.txt"), std::string("away/b.txt"), elsewhere.path() + "/b.txt"})
      EXPECT_THAT(errors({{key, path}}), ElementsAre(AllOf(HasSubstr(key), HasSubstr("is not below")))) << key << path;
  EXPECT_THAT(errors({{"data.train", "data/a.txt,/etc/passwd"}}), ElementsAre(HasSubstr("is not below")));
  EXPECT_THAT(errors({{"data.train", "data/a.txt, data/a.txt"}}), IsEmpty());
  EXPECT_THAT(errors({{"data.train", "a_name,data/a.txt"}}), ElementsAre(HasSubstr("'a_name' does not exist")));
  EXPECT_THAT(errors({{"data.train", "a_name,other"}, {"data.folder", "data"}}), IsEmpty());
  EXPECT_THAT(errors({{"data.train", "away,other"}, {"data.folder", "data"}}), ElementsAre(HasSubstr("is not below")));
  EXPECT_THAT(errors({{"data.tokenizer", "bytes"}, {"train.resume", "never"}, {"log.tensorboard", "on"}}), IsEmpty());
  EXPECT_THAT(errors({{"data.cache", "cache/new"}}), IsEmpty());
}

// A new setting with a text for its value is either a path of paths_below.cc or listed here.
TEST_F(RunForm, KnowsOfEverySettingWhetherItNamesAFile) {
  const std::set<std::string> no_paths = {"model.preset",   "model.layer_types", "lora.targets", "lora.rank_pattern", "lora.alpha_pattern",
                                          "data.text_key",  "train.freeze", "train.device",      "train.profile",
                                          "comm.interface", "train.out",    "log.on_event"};
  for (const config::Field& field : config::fields()) {
    config::Settings defaults;
    const bool free_text = field.is_text() && !std::holds_alternative<config::WordTarget>(field.target(defaults));
    if (!free_text) continue;
    EXPECT_NE(path_kind_of(field.key()) == PathKind::none, no_paths.count(field.key()) == 0) << field.key();
  }
}

TEST_F(RunForm, HasNamesThatAreNoPaths) {
  for (const char* name : {"a", "Run_1.b-c", "9"}) EXPECT_FALSE(fault_of_run_name(name)) << name;
  for (const char* name : {"", ".", "..", "-a", ".hidden", "a/b", "a b", "ä", "a\n"})
    EXPECT_TRUE(fault_of_run_name(name)) << name;
  EXPECT_TRUE(fault_of_run_name(std::string(101, 'a')));
}

TEST_F(RunForm, IsNotChangedByTheEnvironmentOfTheServer) {
  const config::Environment left =
      environment_of_runs({{"BATCH_SIZE", "7"}, {"CONFIG_FILE", "x"}, {"OMP_NUM_THREADS", "1"}, {"HOME", "/root"}});
  EXPECT_THAT(left, testing::UnorderedElementsAre(Pair("OMP_NUM_THREADS", "1"), Pair("HOME", "/root")));
}

TEST_F(RunForm, IsPlanned) {
  const nlohmann::json small = {{"model.hidden", "64"}, {"model.head_dim", "16"}, {"model.ffn", "128"},
                                {"model.vocab", "256"}, {"batch.seq_len", "32"},  {"batch.global_batch_size", "8"},
                                {"parallel.dp", "2"}};
  const nlohmann::json answer = plan(small);
  EXPECT_THAT(answer["errors"], IsEmpty()) << answer["errors"];
  ASSERT_FALSE(answer["layouts"].empty());
  EXPECT_EQ(answer["layouts"][0]["dp"], 2);
  EXPECT_EQ(answer["asked"]["dp"], 2);
  EXPECT_TRUE(answer["asked"]["fits"]);
  EXPECT_TRUE(answer["nearest"].is_null());
  EXPECT_THAT(answer["yaml"].get<std::string>(), HasSubstr("hidden: 64\n"));

  nlohmann::json wrong = small;
  wrong["parallel.pp"] = "2";
  wrong["model.path"] = "data";
  EXPECT_FALSE(plan(wrong)["errors"].empty());
  EXPECT_TRUE(plan(wrong)["layouts"].empty());
}

TEST_F(RunForm, SaysWhatIsLackingWhereNothingFits) {
  const nlohmann::json answer = plan({{"model.preset", "llama3-70b"}, {"model.vocab", "128256"}, {"parallel.dp", "2"}});
  EXPECT_TRUE(answer["layouts"].empty());
  EXPECT_THAT(answer["nearest"].get<std::string>(), HasSubstr("no layout fits"));
}

TEST_F(RunForm, ComesFromAFileOfSettings) {
  const auto of = [](const std::string& yaml) {
    return nlohmann::json::parse(form_of_file(nlohmann::json{{"yaml", yaml}}.dump(), base::Language::english));
  };
  const nlohmann::json ours =
      of("train:\n  steps: 5\n  out: runs/a\n  resume: never\nparallel:\n  stage_layers: [2, 1]\n");
  EXPECT_EQ(ours["settings"], (nlohmann::json{{"train.steps", "5"}, {"parallel.stage_layers", "2,1"}}));
  EXPECT_THAT(ours["errors"], IsEmpty());
  EXPECT_EQ(of("max_steps: 7\n")["settings"]["train.steps"], "7");
  EXPECT_THAT(of("train:\n  stepz: 5\n")["errors"].dump(), HasSubstr("stepz"));
  EXPECT_THAT(of("train:\n  steps: five\n")["errors"].dump(), HasSubstr("train.steps takes a whole number"));
  EXPECT_THAT(refusal_of([] { form_of_file("{}", base::Language::english); }), HasSubstr("400"));
}

TEST_F(RunForm, TellsWhatIsWrongWithAFileOfAnotherProgramInChinese) {
  const auto of = [](const std::string& yaml) {
    return nlohmann::json::parse(form_of_file(nlohmann::json{{"yaml", yaml}}.dump(), base::Language::chinese));
  };
  const nlohmann::json told = of("stage: dpo\nfp8: true\ncutoff_lne: 5\ndo_train: true\nsave_strategy: epoch\n");
  EXPECT_THAT(told["errors"].dump(), AllOf(HasSubstr("该文件 第 1 行：stage dpo 需要偏好数据"),
                                           HasSubstr("不支持 fp8：以 fp32、bf16 和 fp16 计算"),
                                           HasSubstr("未知的键“cutoff_lne”；您是想写 cutoff_len 吗？")));
  EXPECT_THAT(told["notes"].dump(), AllOf(HasSubstr("未写明的项取其默认值"), HasSubstr("检查点按步数")));
  EXPECT_THAT(of("deepspeed: {amp: {enabled: true}}\nstage: sft\n")["errors"].dump(),
              HasSubstr("不支持 amp：计算精度由"));
}

TEST_F(RunForm, HasTheTableOfSettings) {
  const nlohmann::json table = nlohmann::json::parse(settings_json());
  std::map<std::string, nlohmann::json> settings;
  for (const nlohmann::json& section : table["sections"])
    for (const nlohmann::json& setting : section["settings"]) settings[setting["key"]] = setting;
  EXPECT_EQ(settings.size() + 2, config::fields().size());
  EXPECT_EQ(settings.count("train.out") + settings.count("log.on_event"), 0u);
  EXPECT_EQ(settings["train.steps"]["type"], "integer");
  EXPECT_EQ(settings["train.steps"]["min"], 0);
  EXPECT_EQ(settings["model.layers"]["help"],
            (nlohmann::json{{"en", "Transformer layers."}, {"zh", "transformer 层数。"}}));
  EXPECT_EQ(settings["model.path"]["unset"]["en"], "none; new weights");
  EXPECT_THAT(settings["train.steps"]["familiar"], Contains("max-steps"));
  EXPECT_EQ(settings["optimizer.lr"]["type"], "number");
  EXPECT_EQ(settings["optimizer.lr"]["default"], "0.0003");
  EXPECT_EQ(settings["data.packing"]["type"], "truth");
  EXPECT_EQ(settings["parallel.stage_layers"]["type"], "list");
  EXPECT_EQ(settings["precision.compute"]["words"], (nlohmann::json{"fp32", "bf16", "fp16"}));
  EXPECT_EQ(settings["data.train"]["path"], "inputs");
  EXPECT_THAT(settings["model.preset"]["offered"].dump(), AllOf(HasSubstr("qwen3-tiny"), Not(HasSubstr("{}"))));
}

}  // namespace
}  // namespace troika::serve

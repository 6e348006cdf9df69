#include <gmock/gmock.h>

#include "base/error.h"
#include "commands/cli.h"
#include "commands/entry_points.h"

namespace troika::commands {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string page_of_plan(Words words, config::Environment environment = {}) {
  words.insert(words.begin(), "plan");
  return plan_report(call_of(words, std::move(environment)));
}

std::string refusal_in_chinese(Words words) {
  words.insert(words.end(), {"--lang", "zh"});
  try {
    return page_of_plan(std::move(words));
  } catch (const base::Error& error) {
    return error.in(base::Language::chinese);
  }
}

// Two ranks on accelerators, so that nothing of this host is told.
Words on_two(Words words) {
  words.insert(words.end(), {"--gpu", "h100", "--gpus", "2", "--model.preset", "qwen3-small", "--batch.seq_len", "256",
                             "--batch.global_batch_size", "16"});
  return words;
}

TEST(PlanLanguage, ThePageIsChineseWhereThatIsAskedForOrTheLocaleIs) {
  const std::string english = page_of_plan(on_two({"--lang", "en"}), {{"LANG", "zh_CN.UTF-8"}});
  EXPECT_THAT(english, AllOf(HasSubstr("layouts considered"), Not(HasSubstr("种布局"))));
  for (const std::string& chinese : {page_of_plan(on_two({"--lang=zh"})), page_of_plan(on_two({}), {{"LANG", "zh_CN.UTF-8"}})}) {
    EXPECT_THAT(chinese, AllOf(HasSubstr("模型    "), HasSubstr("考虑了 "), HasSubstr("放得下")));
    for (const char* word : {"considered", "layout ", "holds", "takes", "start "})
      EXPECT_THAT(chinese, Not(HasSubstr(word)));
  }
  EXPECT_THAT(page_of_plan(on_two({"--json", "--lang", "zh"})), AllOf(HasSubstr("\"step_seconds\""), HasSubstr("放得下")));
}

TEST(PlanLanguage, RefusalsAreInItToo) {
  EXPECT_EQ(refusal_in_chinese({"--gpus", "2"}), "--gpus 只说明数量：请再用 --gpu 给出加速器名称，如 --gpu h100");
  EXPECT_EQ(refusal_in_chinese({"--gpsu", "2"}), "未知的选项 --gpsu；您是想写 --gpu 吗？");
  EXPECT_EQ(refusal_in_chinese({"--gpu", "h1000"}), "没有名为“h1000”的 --gpu（您是想写 h100 吗？）");
  EXPECT_THAT(refusal_in_chinese({"--cluster", "no/such.yaml"}), HasSubstr("没有集群文件“no/such.yaml”"));
  EXPECT_THAT(refusal_in_chinese({"no/such.yaml"}), HasSubstr("无法打开“no/such.yaml”：没有这个名称的设置文件"));
  EXPECT_THROW(page_of_plan({"--lang", "fr"}), base::ConfigError);
}

}  // namespace
}  // namespace troika::commands

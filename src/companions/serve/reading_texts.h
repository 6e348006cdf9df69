// What the rooms that read a run say beside its numbers.
#pragma once

#include <vector>

#include "base/language.h"

namespace troika::serve {

struct ReadingTexts {
  base::Bilingual rates_of_a_profile = {
      "The seconds are predicted with usual rates, which may be off by a factor of two: `troika probe` measures this "
      "host's.",
      "时间按常见的性能参数预测，误差可能达到一倍：运行 `troika probe` 可测得本机的实际性能。"};
  base::Bilingual of_this_host = {
      "The seconds are predicted as if all ranks ran on hosts like this one ({0}); the run's are: {1}.",
      "时间按所有 rank 都运行在与本机（{0}）相同的主机上来预测；该运行的主机为：{1}。"};
  base::Bilingual no_seconds = {"No seconds are predicted: {0}", "无法预测时间：{0}"};
  base::Bilingual no_memory = {"No memory is predicted: {0}", "无法预测内存：{0}"};
  base::Bilingual no_settings = {"the run has no config.yaml.", "该运行没有 config.yaml。"};
  base::Bilingual no_ranks = {"it is not known how many ranks take part.", "不知道有多少个 rank 参与。"};
  base::Bilingual not_measured = {"Nothing has been measured yet: no rank has told of itself.",
                                  "尚无实测数据：还没有任何 rank 上报。"};
  base::Bilingual in_units = {
      "Every computation is drawn equally long, for the rates of this machine are not known: {0}",
      "由于不知道这台机器的性能，所有计算都画成同样长：{0}"};
  base::Bilingual left_out = {"The {0} shortest intervals are left out.", "最短的 {0} 个区间未显示。"};
};
inline constexpr ReadingTexts reading_texts{};

// Every one of them, for tests.
inline std::vector<base::Bilingual> all_reading_texts() {
  const ReadingTexts& t = reading_texts;
  return {t.rates_of_a_profile, t.of_this_host, t.no_seconds, t.no_memory, t.no_settings,
          t.no_ranks,           t.not_measured, t.in_units,   t.left_out};
}

}  // namespace troika::serve

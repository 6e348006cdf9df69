#include "records/place.h"

#include <array>
#include <tuple>
#include <utility>

#include "base/digits.h"
#include "base/say.h"
#include "records/sentences.h"

namespace troika::records {
namespace {

using NamedActivity = std::pair<Activity, base::Bilingual>;

// The English word is the form in records.
constexpr std::array<NamedActivity, 18> activities = {
    {{Activity::nothing, {"", "尚无消息"}},
     {Activity::fitting_microbatch, {"finding the microbatch that fits", "寻找合适的微批次大小"}},
     {Activity::preparing_data, {"preparing the data", "准备数据"}},
     {Activity::agreeing, {"agreeing on settings", "核对设置"}},
     {Activity::choosing_layout, {"choosing the layout", "选择布局"}},
     {Activity::measuring_segments, {"measuring the segments", "测量各段用时"}},
     {Activity::measuring_products, {"measuring products", "测量矩阵乘法"}},
     {Activity::warming_device, {"warming the device", "预热设备"}},
     {Activity::connecting, {"connecting", "建立连接"}},
     {Activity::measuring_link, {"measuring the link", "测量链路"}},
     {Activity::opening_model, {"opening the model", "打开模型"}},
     {Activity::reading_weights, {"reading the weights", "读取权重"}},
     {Activity::loading_weights, {"loading the weights", "载入权重"}},
     {Activity::restoring, {"taking a checkpoint back", "恢复检查点"}},
     {Activity::reporting, {"reporting the step", "汇报这一步"}},
     {Activity::evaluating, {"evaluating", "评估"}},
     {Activity::saving, {"saving a checkpoint", "保存检查点"}},
     {Activity::finishing_save, {"finishing the last checkpoint", "完成最后一个检查点"}}}};

constexpr base::Bilingual in_milliseconds{"{} ms", "{} 毫秒"};
constexpr base::Bilingual in_seconds{"{} s", "{} 秒"};
constexpr base::Bilingual before_its_first_word{"before its first word", "尚无消息"};
constexpr base::Bilingual step_and_place{"step {}, {}", "第 {} 步，{}"};
constexpr base::Bilingual as_usual{" (usually {})", "（通常 {}）"};
constexpr base::Bilingual place_and_seconds{"{} for {}{}", "{}，已 {}{}"};

// As people say durations: "21 ms", "0.21 s", "12 s", "640 s".
base::Text spoken(double seconds) {
  if (seconds < 0.1) return base::say(in_milliseconds, base::format_digits(seconds * 1000, 2));
  return base::say(in_seconds, base::format_digits(seconds, 2));
}

base::Text text_of(const Doing& doing) {
  return {said(base::Language::english, doing), said(base::Language::chinese, doing)};
}

}  // namespace

bool is_saving(Activity activity) { return activity == Activity::saving || activity == Activity::finishing_save; }

Doing Doing::instruction_of(std::string text) {
  Doing doing(Activity::instruction);
  doing.instruction = std::move(text);
  return doing;
}

bool operator==(const Doing& a, const Doing& b) {
  return std::tie(a.activity, a.instruction) == std::tie(b.activity, b.instruction);
}

std::string word_of(const Doing& doing) {
  for (const auto& [activity, words] : activities)
    if (activity == doing.activity) return std::string(words.english);
  return doing.instruction;
}

Doing doing_of(const std::string& word) {
  for (const auto& [activity, words] : activities)
    if (words.english == word) return activity;
  return Doing::instruction_of(word);
}

std::string said(base::Language language, const Doing& doing) {
  for (const auto& [activity, words] : activities)
    if (activity == doing.activity) return std::string(words.in(language));
  return doing.instruction;
}

base::Text said(const Place& place) {
  if (place.step < 0) return base::say(before_its_first_word);
  return place.step == 0 ? text_of(place.at) : base::say(step_and_place, place.step, text_of(place.at));
}

base::Text usually(const Place& place) {
  if (place.usual_seconds <= 0) return {};
  return base::say(as_usual, spoken(place.usual_seconds));
}

base::Text said_with_seconds(const Place& place) {
  return base::say(place_and_seconds, said(place), spoken(place.seconds), usually(place));
}

std::vector<base::Bilingual> texts_of_places() {
  std::vector<base::Bilingual> all = {before_its_first_word, step_and_place, as_usual, place_and_seconds};
  for (const auto& [activity, words] : activities)
    if (activity != Activity::nothing && activity != Activity::instruction) all.push_back(words);
  return all;
}

}  // namespace troika::records

// What is wrong with the text of a step program, in both languages. docs/formats/program.md
#pragma once

#include "base/language.h"

namespace troika::schedule {

struct ProgramTexts {
  base::Bilingual instruction = {"instruction '{}', character {}: {}", "指令“{}”第 {} 个字符：{}"};
  base::Bilingual header = {
      "program text, line 1 '{}': {}; it reads like 'pp 2 dp 1 replicas 1 zero 0 microbatches 4 stages 0,1 segments "
      "0,3,6 tied'",
      "步程序文本第 1 行“{}”：{}；它的写法形如“pp 2 dp 1 replicas 1 zero 0 microbatches 4 stages 0,1 segments 0,3,6 "
      "tied”"};
  base::Bilingual ranks = {"program text has {} rank lines, but pp {} x dp {} needs {}",
                           "步程序文本有 {} 行 rank，而 pp {} x dp {} 需要 {} 行"};
  base::Bilingual no_index = {"'{}' is neither a whole number nor '*'; write it like 'fwd 4.1'",
                              "“{}”既不是整数也不是“*”；写法形如“fwd 4.1”"};
  base::Bilingual no_kind = {"'{}' is no kind of instruction{}", "没有“{}”这种指令{}"};
  base::Bilingual nearest_kind = {"; nearest is '{}'", "；最接近的是“{}”"};
  base::Bilingual too_long = {"an instruction is never that long", "指令不会这么长"};
  base::Bilingual too_many = {"more than microbatch.stage.segment", "多于 microbatch.stage.segment 三项"};
  base::Bilingual behind = {
      "word {}: only 'tied', 'trained_from', 'all_load' and 'evaluation' may follow the segments, in this order",
      "第 {} 个词：segments 之后只能依次是“tied”“trained_from”“all_load”和“evaluation”"};
  base::Bilingual key = {"word {} must be '{}', and a value must follow", "第 {} 个词必须是“{}”，其后必须有值"};
  base::Bilingual number = {"word {} ('{}') must hold whole numbers from 0 to {}, not '{}'",
                            "第 {} 个词（“{}”）必须是 0 到 {} 的整数，而不是“{}”"};
  base::Bilingual many_numbers = {"word {} ('{}') has more than {} numbers", "第 {} 个词（“{}”）有多于 {} 个数"};
};
inline constexpr ProgramTexts program_texts{};

}  // namespace troika::schedule

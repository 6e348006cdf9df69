// What is wrong with the traces of a step, in both languages.
#pragma once

#include "base/language.h"

namespace troika::schedule {

struct TraceTexts {
  base::Bilingual no_trace = {"there is no rank trace to merge", "没有可合并的 rank 时间线"};
  base::Bilingual other_step = {"rank {} traced step {}, but rank {} step {}: merge files of one step",
                                "rank {} 记录的是第 {} 步，而 rank {} 是第 {} 步：请合并同一步的文件"};
  base::Bilingual twice = {"rank {} comes twice in the traces of step {}", "rank {} 在第 {} 步的时间线中出现了两次"};
  base::Bilingual no_rank = {"{}: an event's tid belongs to no rank of otherData",
                             "{}：有事件的 tid 不属于 otherData 中的任何 rank"};
  base::Bilingual nothing_to_merge = {
      "{} has no rank files of step {} to merge; leave --merge out to read the merged file",
      "{} 中没有第 {} 步的 rank 文件可合并；去掉 --merge 即读取已合并的文件"};
  base::Bilingual other_name = {"{} holds step {} of rank {}, not what its name says",
                                "{} 的内容是第 {} 步、rank {}，与文件名不符"};
  base::Bilingual activity = {"{}: '{}' is none of compute, wait, transfer", "{}：“{}”不是 compute、wait 或 transfer"};
  base::Bilingual instruction = {"{}: {}", "{}：{}（时间线）"};
  base::Bilingual index = {"{}: '{}' is {}, but it must be from 0 to {}", "{}：“{}”为 {}，但必须在 0 到 {} 之间"};
  base::Bilingual seconds = {"{}: '{}' is {:g} s, which is no time", "{}：“{}”为 {:g} 秒，不是有效的时间"};
  base::Bilingual backwards = {"{}: '{}' ends {:.9f} s before it begins", "{}：“{}”在开始之前 {:.9f} 秒就结束了"};
  base::Bilingual link = {"{}: a link of {:g} s and {:g} bytes/s is none", "{}：{:g} 秒、{:g} 字节/秒不是有效的链路"};
};
inline constexpr TraceTexts trace_texts{};

}  // namespace troika::schedule

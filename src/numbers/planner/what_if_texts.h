// What a recorded step would take with changes, in both languages.
#pragma once

#include "base/language.h"

namespace troika::planner {

struct WhatIfTexts {
  // What the step is of.
  base::Bilingual one_rank = {"one rank", "1 个 rank"};
  base::Bilingual schedule_file = {", a schedule file", "，调度文件"};
  base::Bilingual microbatches = {"{}, {} microbatches of {} x {} tokens", "{}，{} 个微批，每个 {} x {} 个 token"};

  // Notes.
  base::Bilingual left_out = {"step{} {} left out: {}", "略去第{} {} 步：{}"};
  base::Bilingual other_program = {"of another program than the newest", "所属的程序不是最新的程序"};
  base::Bilingual ran_again = {"the program ran more than once", "程序运行了不止一次"};
  base::Bilingual first_step = {"the first of a run, which makes its buffers", "运行的第一步，要分配缓冲区"};
  base::Bilingual inside_passes = {
      "what tp and cp ranks exchange inside passes stands with computing where it is replayed",
      "重放时，tp 和 cp 各 rank 在前向和反向中交换的数据计入计算时间"};
  base::Bilingual one_step = {"of one step: record several, such as --profile 3,4,5,6, for error bars that hold",
                              "只有一步：请多记录几步（如 --profile 3,4,5,6），误差范围才可靠"};

  // What limits it.
  base::Bilingual twice_as_fast = {"{}: links twice as fast would make the step {}, processors twice as fast {}",
                                   "{}：链路快一倍时一步为 {}，处理器快一倍时为 {}"};
  base::Bilingual links = {"the links limit it", "受链路限制"};
  base::Bilingual computing = {"computing limits it", "受计算限制"};
  base::Bilingual slowest = {"{} limits it: it alone twice as fast would make the step {}, links twice as fast {}",
                             "受{}限制：仅它快一倍时一步为 {}，链路快一倍时为 {}"};
  base::Bilingual host = {"host {} ({})", "主机 {}（{}）"};
  base::Bilingual new_host = {"the new host {}", "新增的主机 {}"};

  // The page.
  base::Bilingual run = {"run", "运行"};
  base::Bilingual steps = {"{}, step{} {}: {}", "{}，第{} {} 步：{}"};
  base::Bilingual link = {"link", "链路"};
  base::Bilingual of_run = {"{}, as the run measured it", "{}，由该运行测得"};
  base::Bilingual of_transfers = {"{}, as the transfers of these steps went", "{}，由这些步的传输推得"};
  base::Bilingual transfers_went = {"; the transfers of these steps went: {}", "；由这些步的传输推得：{}"};
  base::Bilingual run_measured = {"; the run measured: {}", "；该运行测得：{}"};
  base::Bilingual change = {"change", "改动"};
  base::Bilingual new_link = {"; the link {}", "；链路 {}"};
  base::Bilingual step = {"step", "一步"};
  base::Bilingual compute = {"compute", "计算"};
  base::Bilingual communication = {"communication", "通信"};
  base::Bilingual bubble = {"bubble", "气泡"};
  base::Bilingual measured = {"measured", "实测"};
  base::Bilingual replayed = {"replayed", "重放"};
  base::Bilingual with_change = {"with change", "改动后"};
  base::Bilingual range = {"range", "范围"};
  base::Bilingual of_range = {"{0} to {1} with the change; the replay without it is {2:.1f} % {3} than measured",
                              "改动后为 {0} 到 {1}；无改动的重放比实测{3} {2:.1f} %"};
  base::Bilingual shorter = {"shorter", "短"};
  base::Bilingual longer = {"longer", "长"};
  base::Bilingual limit = {"limit", "瓶颈"};
  base::Bilingual note = {"note", "说明"};
};
inline constexpr WhatIfTexts what_if_texts{};

}  // namespace troika::planner

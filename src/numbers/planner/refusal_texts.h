// Why a run is not planned or started, or a recorded one not replayed, in both languages.
#pragma once

#include "base/language.h"

namespace troika::planner {

struct RefusalTexts {
  base::Bilingual nearest_that_fits = {"{}; the nearest layout that fits is {} ({} a rank)",
                                       "{}；最接近的可行布局是 {}（每个 rank {}）"};

  // Of --what-if: its changes.
  base::Bilingual change = {"--what-if: {}; changes are {}", "--what-if：{}；可用的改动有 {}"};
  base::Bilingual factor = {"the factor '{}' is not above 0", "系数“{}”不大于 0"};
  base::Bilingual no_change = {"no change is named", "没有给出改动"};
  base::Bilingual nothing_behind = {"behind '{}' stands no {}", "“{}”之后缺少{}"};
  base::Bilingual a_change = {"a change", "一项改动"};
  base::Bilingual factor_or_rate = {"factor or rate", "系数或速率"};
  base::Bilingual factor_or_duration = {"factor or duration", "系数或时长"};
  base::Bilingual number_or_name = {"number or name", "编号或名称"};
  base::Bilingual a_factor = {"factor", "系数"};
  base::Bilingual a_host = {"'host'", " 'host' 一词"};
  base::Bilingual a_schedule = {"schedule", "调度名称"};
  base::Bilingual a_number = {"number", "数字"};
  base::Bilingual unknown_change = {"'{}' is no change{}", "“{}”不是改动{}"};
  base::Bilingual nearest = {"; nearest is '{}'", "；最接近的是“{}”"};
  base::Bilingual link = {"link '{}' is neither a factor such as x10 nor a rate such as 100Mbit/s",
                          "link “{}”既不是 x10 之类的系数，也不是 100Mbit/s 之类的速率"};
  base::Bilingual latency = {"latency '{}' is neither a factor such as x2 nor a duration such as 5ms",
                             "latency “{}”既不是 x2 之类的系数，也不是 5ms 之类的时长"};
  base::Bilingual host_factor = {"host {} '{}' is no factor such as x0.5", "host {} “{}”不是 x0.5 之类的系数"};
  base::Bilingual hosts = {"'{}' is no number of hosts", "“{}”不是主机数"};
  base::Bilingual not_host = {"behind '{}' stands '{}', not 'host'", "“{}”之后是“{}”，而不是“host”"};
  base::Bilingual no_schedule = {"--what-if: '{}' is no schedule{}; schedules are {}",
                                 "--what-if：没有名为“{}”的调度{}；可用的有 {}"};
  base::Bilingual micro = {"micro_batch '{}' is no number of sequences", "micro_batch “{}”不是序列数"};

  // Of the plan with them.
  base::Bilingual last_host = {"--what-if: the run had one host, which cannot be taken away",
                               "--what-if：该运行只有一台主机，不能去掉"};
  base::Bilingual no_host_left = {"--what-if: {} hosts without {} leave none; take away {} at most",
                                  "--what-if：{} 台主机去掉 {} 台后一台不剩；最多去掉 {} 台"};
  base::Bilingual no_multiple_of_pp = {
      "--what-if: {} ranks are no multiple of pp {}; a host for each of its stages, such as {} more, makes a "
      "data-parallel rank",
      "--what-if：{} 个 rank 不是 pp {} 的倍数；每个阶段一台主机，例如再加 {} 台，可组成一个数据并行 rank"};
  base::Bilingual no_such_host = {"--what-if: there is no host {}; the run had {}",
                                  "--what-if：没有主机 {}；该运行有 {}"};
  base::Bilingual changed_and_gone = {"--what-if: host {} is changed and taken away",
                                      "--what-if：主机 {} 既被修改又被去掉"};
  base::Bilingual other_batch = {"a step then has {} sequences instead of {}: compare positions/s",
                                 "这样一步有 {} 个序列，而不是 {} 个：请比较 positions/s"};
  base::Bilingual unknown_link = {
      "--what-if: the run tells of no link between {}; say what it carries, such as link 100Mbit/s",
      "--what-if：该运行没有{}之间链路的数据；请给出其速率，如 link 100Mbit/s"};
  base::Bilingual its_ranks = {"its ranks", "各 rank "};
  base::Bilingual new_hosts = {"hosts, for it had one", "主机（它只有一台）"};

  // Of recorded steps.
  base::Bilingual no_file_of_rank_0 = {"{}/{}{} is missing, which rank 0 of every run writes; copy it from its host",
                                       "缺少 {}/{}{}，每个运行的 rank 0 都会写出它；请从其主机复制"};
  base::Bilingual no_event = {"{}/timeline: step {} holds no event; record another with --profile",
                              "{}/timeline：第 {} 步没有任何事件；请用 --profile 另行记录"};
  base::Bilingual no_rank = {
      "{0}/timeline: step {1} lacks rank {2}; copy timeline_batch{1}_rank{2}.json from its host and merge: troika "
      "timeline {0} --step {1} --merge",
      "{0}/timeline：第 {1} 步缺少 rank {2}；请从其主机复制 timeline_batch{1}_rank{2}.json 并合并：troika timeline {0} "
      "--step {1} --merge"};
  base::Bilingual no_run = {"there is no run folder {}", "没有运行目录 {}"};
  base::Bilingual no_step = {"{} holds no recorded step; run it with --profile, such as --profile 3,4,5, and ask again",
                             "{} 中没有记录过的步；请用 --profile（如 --profile 3,4,5）运行后再试"};
  base::Bilingual no_program = {"no program of the run has the instructions of its step {}",
                                "该运行没有一个程序包含第 {} 步的指令"};
  base::Bilingual of_file = {"{}: {}", "文件 {}：{}"};
  base::Bilingual no_replay = {"{} cannot be replayed: {}", "无法重放 {}：{}"};
  base::Bilingual several_times = {
      "every recorded step of {} ran its program more than once; record a later one with --profile",
      "{} 记录的每一步都不止一次地运行了程序；请用 --profile 记录之后的步"};
};
inline constexpr RefusalTexts refusal_texts{};

}  // namespace troika::planner

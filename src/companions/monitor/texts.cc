#include "monitor/texts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/counted.h"
#include "base/units.h"
#include "records/sentences.h"

namespace troika::monitor {
namespace {

using base::Bilingual;

// In the order of Text.
constexpr std::array texts = {
    Bilingual{"no record yet", "尚无记录"},
    Bilingual{"state unknown", "状态未知"},
    Bilingual{"preparing", "准备中"},
    Bilingual{"training", "训练中"},
    Bilingual{"evaluating", "评估中"},
    Bilingual{"saving", "保存中"},
    Bilingual{"finished", "已完成"},
    Bilingual{"failed", "已失败"},
    Bilingual{"stopped", "已停止"},
    Bilingual{"failed, another attempt follows", "已失败，即将重新启动"},
    Bilingual{"silent for {}", "已 {} 没有消息"},

    Bilingual{"step {} of {}", "第 {} 步，共 {} 步"},
    Bilingual{"step {}", "第 {} 步"},
    Bilingual{"{} tokens", "{} 个 token"},
    Bilingual{"ETA {}", "预计还需 {}"},
    Bilingual{"attempt {}", "第 {} 次启动"},
    Bilingual{"loss", "损失"},
    Bilingual{"valid {} at step {}", "验证损失 {}（第 {} 步）"},
    Bilingual{"grad norm", "梯度范数"},
    Bilingual{"lr {}", "学习率 {}"},
    Bilingual{"tokens/s", "token/秒"},
    Bilingual{"{} a step", "每步 {}"},
    Bilingual{"skipped {}", "跳过 {} 步"},
    Bilingual{"repeated {}", "重算 {} 步"},
    Bilingual{"loss scale {}", "损失缩放 {}"},

    Bilingual{"host", "主机"},
    Bilingual{"at", "坐标"},
    Bilingual{"step", "步"},
    Bilingual{"where", "正在执行"},
    Bilingual{"waits for", "在等谁"},
    Bilingual{"fwd", "前向"},
    Bilingual{"bwd", "反向"},
    Bilingual{"wait", "等待"},
    Bilingual{"opt", "优化"},
    Bilingual{"load", "读取"},
    Bilingual{"save", "保存"},
    Bilingual{"pace", "计算用时"},
    Bilingual{"memory", "内存"},
    Bilingual{"params", "参数"},
    Bilingual{"grads", "梯度"},
    Bilingual{"state", "状态"},
    Bilingual{"acts", "激活"},
    Bilingual{"sent/s", "发送/秒"},
    Bilingual{"recv/s", "接收/秒"},
    Bilingual{"{} for {}", "{} 已 {}"},
    Bilingual{"silent for {}", "{} 没有消息"},
    Bilingual{"not heard yet", "尚无消息"},
    Bilingual{"others", "其他 rank"},
    Bilingual{"(circle)", "（循环）"},
    Bilingual{"{} more: {} work, {} wait, {} silent, {} not heard",
              "其余 {} 个：{} 个在工作，{} 个在等待，{} 个没有消息，{} 个尚未出现"},
    Bilingual{"pace {} to {}", "计算用时 {} 至 {}"},
    Bilingual{"{} more hosts", "其余 {} 台主机"},
    Bilingual{"waited {} %", "等待 {} %"},

    Bilingual{"ranks", "rank 数"},
    Bilingual{"cores", "核数"},
    Bilingual{"load", "负载"},
    Bilingual{"clock", "频率"},
    Bilingual{"temp", "温度"},
    Bilingual{"throttled", "降频"},
    Bilingual{"free memory", "可用内存"},
    Bilingual{"swap used", "已用交换区"},
    Bilingual{"pressure", "压力"},
    Bilingual{"free disk", "可用磁盘"},
    Bilingual{"link errors", "链路错误"},
    Bilingual{"links", "链路"},
    Bilingual{"events", "事件"},
    Bilingual{"q leaves", "按 q 退出"},

    Bilingual{"no rank has said anything for {}: the run or its host may have ended without a word",
              "所有 rank 已 {} 没有消息：运行或其主机可能已意外结束"},
    Bilingual{"rank {} (host {}) is slow: it computes {} a step, ranks with the same work {}",
              "rank {}（主机 {}）慢：每步计算 {}，做同样工作的其他 rank 为 {}"},
    Bilingual{"rank {} (host {}) has been silent for {}", "rank {}（主机 {}）已 {} 没有消息"},
    Bilingual{"ranks {} have waited for each other for {}: no message passes, see the network between their hosts",
              "rank {} 互相等待已 {}：消息无法通过，请检查它们所在主机之间的网络"},
    Bilingual{"ranks {} on host {} have waited for each other for {}: no message passes between them, see their logs",
              "rank {}（主机 {}）互相等待已 {}：它们之间没有消息通过，请查看它们的日志"},
    Bilingual{"host {} was throttled {} by heat in the last minute: see its cooling",
              "主机 {} 最近一分钟因过热降频 {} 次：请检查散热"},
    Bilingual{"host {} is at {} degrees Celsius", "主机 {} 的温度为 {} 摄氏度"},
    Bilingual{"host {} stood still {} % of the time because its CPU quota was used up",
              "主机 {} 有 {} % 的时间因 CPU 配额用完而停顿"},
    Bilingual{"host {} swaps: {} pages/s are read back, which slows every step",
              "主机 {} 正在换页：每秒读回 {} 页，每一步都会变慢"},
    Bilingual{"host {} has {} of its {} of memory left", "主机 {} 的内存只剩 {}，共 {}"},
    Bilingual{"host {}: {} killed because memory ran out", "主机 {}：内存耗尽，{} 个进程被终止"},
    Bilingual{"host {} has {} of disk left; saving needs about {}", "主机 {} 的磁盘只剩 {}；保存大约需要 {}"},
    Bilingual{"host {} had {} in the last minute: see cable and port",
              "主机 {} 最近一分钟出现 {} 次链路错误：请检查网线和端口"},
    Bilingual{"host {} has too little voltage: use the power supply made for it", "主机 {} 电压不足：请使用原装电源"},
    Bilingual{"{} of the last {} steps were skipped: their loss or gradients were not finite",
              "有 {} 步（最近 {} 步之中）被跳过：损失或梯度不是有限数"},

    Bilingual{"there is no record of a run in '{}' yet; waiting for one", "'{}' 中还没有运行记录，正在等待"},
    Bilingual{"there is no run below 'runs' yet: name its folder, such as `troika monitor RUN`",
              "'runs' 下还没有运行：请写出运行的目录，例如 `troika monitor RUN`"},
    Bilingual{"there is no folder 'runs' here: name the folder of the run, such as `troika monitor RUN`",
              "当前目录下没有 'runs'：请写出运行的目录，例如 `troika monitor RUN`"},
    Bilingual{"'{}' holds no records of a run (events.jsonl, state.json, metrics.jsonl){}",
              "'{}' 中没有运行记录（events.jsonl、state.json、metrics.jsonl）{}"},
    Bilingual{"'{}' is no run and has none below it{}", "'{}' 不是运行目录，其下也没有{}"},
    Bilingual{"'{}' is no file of a run{}", "'{}' 不是某次运行的文件{}"},
    Bilingual{"there is no run '{}'{}", "没有运行 '{}'{}"},
    Bilingual{"; did you mean '{}'?", "；是否指 '{}'？"},
    Bilingual{"; the run that changed last is '{}'", "；最近有变化的运行是 '{}'"},
    Bilingual{"; name the folder that --train.out gave the run", "；请写出 --train.out 给出的运行目录"},
};
static_assert(texts.size() == static_cast<std::size_t>(Text::name_the_folder) + 1);

constexpr std::array<std::pair<records::EventKind, Bilingual>, 17> kinds_of_events = {
    {{records::EventKind::launch, {"launch", "启动"}},
     {records::EventKind::start, {"start", "开始训练"}},
     {records::EventKind::resume, {"resume", "继续训练"}},
     {records::EventKind::save, {"save", "已保存"}},
     {records::EventKind::save_failed, {"save failed", "保存失败"}},
     {records::EventKind::evaluation, {"evaluation", "评估"}},
     {records::EventKind::skipped_step, {"skipped step", "跳过一步"}},
     {records::EventKind::repeated_step, {"repeated step", "重算一步"}},
     {records::EventKind::rolled_back, {"rolled back", "已回退"}},
     {records::EventKind::notice, {"notice", "提示"}},
     {records::EventKind::rank_failed, {"rank failed", "rank 出错"}},
     {records::EventKind::rank_ended, {"rank ended", "rank 异常退出"}},
     {records::EventKind::failure, {"failure", "失败"}},
     {records::EventKind::restart, {"restart", "重新启动"}},
     {records::EventKind::stop_requested, {"stop requested", "请求停止"}},
     {records::EventKind::stop, {"stop", "已停止"}},
     {records::EventKind::finish, {"finish", "已完成"}}}};

std::string bytes(double value) { return base::format_bytes(static_cast<std::int64_t>(value)); }
std::string whole(double value) { return fmt::format("{:.0f}", value); }
std::string counted(Language language, double value, std::string_view one, std::string_view many = "") {
  return base::counted_text(static_cast<std::int64_t>(value + 0.5), one, many).in(language);
}

}  // namespace

const base::Bilingual& text_of(Text text) { return texts[static_cast<std::size_t>(text)]; }

std::string said(Language language, Condition condition) {
  return said(language, static_cast<Text>(static_cast<int>(Text::no_record) + static_cast<int>(condition)));
}

std::string said(Language language, records::EventKind kind) {
  const auto found =
      std::find_if(kinds_of_events.begin(), kinds_of_events.end(), [&](const auto& row) { return row.first == kind; });
  return found == kinds_of_events.end() ? "" : std::string(found->second.in(language));
}

std::string said_text(Language language, const records::Event& event) {
  return records::in_both(event.text, event.incident).in(language);
}

std::string said_end(Language language, const records::RunState& state) {
  return records::in_both(state.text, state.incident).in(language);
}

std::string said_seconds(double seconds) {
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  return seconds < 59.95 ? fmt::format("{:.3g} s", seconds) : base::format_duration(seconds);
}

std::string said(Language language, const Finding& f) {
  switch (f.trouble) {
    case Trouble::run_silent:
      return said(language, Text::run_silent, said_seconds(f.value));
    case Trouble::slow_rank:
      return said(language, Text::slow_rank, f.rank, f.host, said_seconds(f.value), said_seconds(f.reference));
    case Trouble::silent_rank:
      return said(language, Text::silent_rank, f.rank, f.host, said_seconds(f.value));
    case Trouble::circle:
      return f.host.empty() ? said(language, Text::circle, f.text, said_seconds(f.value))
                            : said(language, Text::circle_on_host, f.text, f.host, said_seconds(f.value));
    case Trouble::watch:
      return records::in_both(f.text, f.notice).in(language);
    case Trouble::throttled:
      return said(language, Text::throttled, f.host, counted(language, f.value, "time"));
    case Trouble::hot:
      return said(language, Text::hot, f.host, whole(f.value));
    case Trouble::quota:
      return said(language, Text::quota, f.host, whole(100 * f.value));
    case Trouble::swapping:
      return said(language, Text::swapping, f.host, whole(f.value));
    case Trouble::memory_low:
      return said(language, Text::memory_low, f.host, bytes(f.value), bytes(f.reference));
    case Trouble::memory_killed:
      return said(language, Text::memory_killed, f.host, counted(language, f.value, "process was", "processes were"));
    case Trouble::disk_low:
      return said(language, Text::disk_low, f.host, bytes(f.value), bytes(f.reference));
    case Trouble::link_errors:
      return said(language, Text::link_errors, f.host, counted(language, f.value, "link error"));
    case Trouble::under_voltage:
      return said(language, Text::under_voltage, f.host);
    case Trouble::skipped_steps:
      return said(language, Text::skipped_steps, whole(f.value), whole(f.reference));
  }
  return "";
}

std::vector<base::Bilingual> all_texts() {
  std::vector<base::Bilingual> all(texts.begin(), texts.end());
  for (const auto& [kind, text] : kinds_of_events) all.push_back(text);
  return all;
}

}  // namespace troika::monitor

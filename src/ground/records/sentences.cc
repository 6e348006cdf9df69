#include "records/sentences.h"

#include <array>
#include <cstring>
#include <utility>

#include "base/digits.h"
#include "base/say.h"
#include "host/signal_name.h"

namespace troika::records {
namespace {

constexpr std::array<std::pair<IncidentKind, std::string_view>, 21> kinds_of_incidents = {
    {{IncidentKind::told, "told"},
     {IncidentKind::rank_failed, "rank_failed"},
     {IncidentKind::rank_exited, "rank_exited"},
     {IncidentKind::rank_killed, "rank_killed"},
     {IncidentKind::rank_left, "rank_left"},
     {IncidentKind::rank_silent, "rank_silent"},
     {IncidentKind::rank_hung, "rank_hung"},
     {IncidentKind::launcher_left, "launcher_left"},
     {IncidentKind::store_ended, "store_ended"},
     {IncidentKind::store_silent, "store_silent"},
     {IncidentKind::rank_behind, "rank_behind"},
     {IncidentKind::rank_unheard, "rank_unheard"},
     {IncidentKind::rank_continues, "rank_continues"},
     {IncidentKind::rank_stopped, "rank_stopped"},
     {IncidentKind::host_slow, "host_slow"},
     {IncidentKind::host_recovered, "host_recovered"},
     {IncidentKind::save_stalled, "save_stalled"},
     {IncidentKind::save_continues, "save_continues"},
     {IncidentKind::launcher_unheard, "launcher_unheard"},
     {IncidentKind::launcher_heard, "launcher_heard"},
     {IncidentKind::stranger_refused, "stranger_refused"}}};

struct IncidentTexts {
  using Text = base::Bilingual;

  // Names.
  Text rank{"rank {}", "rank {}"};
  Text rank_on_host{"rank {} (host {})", "rank {}（主机 {}）"};
  Text rank_of_host{"rank {} (host {}, pid {})", "rank {}（主机 {}，pid {}）"};
  Text launcher_of_host{"the launcher of host {} (host {}, pid {})", "{} 号主机的启动器（主机 {}，pid {}）"};

  // Ends.
  Text failed{"{} failed: {}", "{} 出错：{}"};
  Text exited{"{} ended with exit code {}", "{} 以退出码 {} 结束"};
  Text killed{"{} was killed by signal {} (SIG{})", "{} 被信号 {}（SIG{}）杀死"};
  Text killer_acted{
      "{}, and the system's out-of-memory killer acted meanwhile: use a smaller micro batch, seq-len or model, or more "
      "stages",
      "{}，其间系统的内存不足终止机制（OOM killer）有动作：请用更小的微批次、seq-len 或模型，或更多的流水线阶段"};
  Text perhaps_memory{
      "{}; if nobody did that, memory ran out: use a smaller micro batch, seq-len or model, or more stages",
      "{}；如果不是有人这样做，那就是内存耗尽：请用更小的微批次、seq-len 或模型，或更多的流水线阶段"};
  Text left{"{} ended without an error message or its host is gone: its connections broke; see its output",
            "{} 没有留下错误信息就结束了，或者它的主机已经不在：连接断开；请查看它的输出"};
  Text silent{"{} has been silent for {:g} s; {}: {} (comm.heartbeat_seconds sets the limit)",
              "{} 已 {:g} 秒没有消息；{}：{}（上限由 comm.heartbeat_seconds 设定）"};
  Text last_heartbeat{"its last heartbeat came from step {}, {}{}", "它最后一次心跳来自第 {} 步的 {}{}"};
  Text no_step_begun{"it had not begun a step", "它还没有开始任何一步"};
  Text no_heartbeat{"it joined and sent no heartbeat", "它加入后没有发出过心跳"};
  Text stopped_by_signal{"a signal has stopped the process", "该进程被信号停住"};
  Text see_whether_stopped{"see whether the process is stopped, its host overloaded or off the network",
                           "请看该进程是否被停住、主机是否过载或断网"};
  Text timeout_limit{"{}; comm.timeout_seconds ({:g}) is the limit", "{}；上限是 comm.timeout_seconds（{:g}）"};
  Text launcher_left{"{} was killed or its host has ended, and its ranks with it",
                     "{} 被杀死，或其主机已停机，它的各 rank 也随之结束"};
  Text store_ended{"the launcher of host 0 at {} has ended: this run ends with it",
                   "0 号主机（{}）的启动器已结束：本次运行随之结束"};
  Text store_silent{
      "the launcher of host 0 at {} has not answered for {:g} s: it is stopped, or its host is gone or off the network",
      "0 号主机（{}）的启动器已 {:g} 秒没有应答：它被停住了，或者它的主机已停机或断网"};

  // Notices.
  Text behind{"{} is behind: {}", "{} 落后：{}"};
  Text no_message_passes{
      "{}; it waits for {} and that one for it: no message passes, see the network between their hosts",
      "{}；它等待 {}，而对方也在等它：消息无法通过，请检查它们所在主机之间的网络"};
  Text no_message_passes_around{
      "{}; it waits for {} and that one, by way of others, for it: no message passes, see the network between their "
      "hosts",
      "{}；它等待 {}，而对方经由其他 rank 也在等它：消息无法通过，请检查它们所在主机之间的网络"};
  Text unheard{"{} has not been heard for {:.0f} s; its last word was {}{}",
               "{} 已 {:.0f} 秒没有消息；它最后报告的是 {}{}"};
  Text one_waits{"{}; 1 rank waits for it", "{}；有 1 个 rank 在等它"};
  Text several_wait{"{}; {} ranks wait for it", "{}；有 {} 个 rank 在等它"};
  Text one_more_behind{"{}; 1 more rank is behind", "{}；另有 1 个 rank 也落后"};
  Text more_behind{"{}; {} more ranks are behind", "{}；另有 {} 个 rank 也落后"};
  Text continues{"{} continues after {:.0f} s", "{} 在 {:.0f} 秒后继续"};
  Text stopped{"{} is stopped by signal {} (SIG{}); kill -CONT {} on its host lets it continue",
               "{} 被信号 {}（SIG{}）停住；在其主机上执行 kill -CONT {} 可让它继续"};
  Text slow{"host {} computes {:.1f} times slower than its like (rank {}: {} s a step, others that do the same {} s)",
            "主机 {} 的计算比同类慢 {:.1f} 倍（rank {}：每步 {} 秒，做同样工作的其他 rank 为 {} 秒）"};
  Text slow_by_work{
      "host {} computes {:.1f} times slower than its like (rank {}: {} s a step, by the work of the others {} s)",
      "主机 {} 的计算比同类慢 {:.1f} 倍（rank {}：每步 {} 秒，按其他 rank 的工作量折算为 {} 秒）"};
  Text recovered{"host {} computes as fast as its like again", "主机 {} 的计算速度恢复正常"};
  Text save_stalled{
      "{} has written nothing for {:.0f} s of the checkpoint of step {} in '{}': see its disk; training continues, and "
      "no newer checkpoint is complete before that one",
      "{} 已 {:.0f} 秒没有写第 {} 步的检查点（“{}”）：请检查它的磁盘；训练继续，但在它完成之前不会有更新的完整检查点"};
  Text one_more_stalled{"{}; 1 more rank does the same", "{}；另有 1 个 rank 也是如此"};
  Text more_stalled{"{}; {} more ranks do the same", "{}；另有 {} 个 rank 也是如此"};
  Text save_continues{"{} writes again after {:.0f} s (the checkpoint of step {})",
                      "{} 在 {:.0f} 秒后恢复写入（第 {} 步的检查点）"};
  Text launcher_heard{"{} is heard again after {:.0f} s", "{} 在 {:.0f} 秒后恢复了消息"};
  Text launcher_unheard{
      "{} has not been heard for {:.1f} s: it is stopped, or its host overloaded or off the network; the run continues "
      "while its ranks are heard",
      "{} 已 {:.1f} 秒没有消息：它被停住了，或者它的主机过载或断网；只要它的各 rank 还有消息，运行就继续"};
  Text turned_away{"{} and was turned away", "{}，已被拒绝"};
};

constexpr IncidentTexts incident_texts;

using base::say;
using base::Text;
constexpr int kill_signal = 9;

Text name(const Party& party) {
  if (party.node >= 0 && party.rank < 0) return say(incident_texts.launcher_of_host, party.node, party.host, party.pid);
  if (party.host.empty()) return say(incident_texts.rank, party.rank);
  return party.pid == 0 ? say(incident_texts.rank_on_host, party.rank, party.host)
                        : say(incident_texts.rank_of_host, party.rank, party.host, party.pid);
}

// `one` where there is one, `several` with how many, and nothing where there are none.
Text counted(const Text& sentence, int count, const base::Bilingual& one, const base::Bilingual& several) {
  if (count <= 0) return sentence;
  return count == 1 ? say(one, sentence) : say(several, sentence, count);
}

Text said_killed(const Incident& i) {
  const Text killed = say(incident_texts.killed, name(i.who), i.signal, host::signal_name(i.signal));
  if (i.signal != kill_signal) return killed;
  return say(i.count > 0 ? incident_texts.killer_acted : incident_texts.perhaps_memory, killed);
}

Text said_silent(const Incident& i) {
  const Text place = i.place.step >= 0 ? say(incident_texts.last_heartbeat, i.place.step,
                                             Text{said(base::Language::english, i.place.at),
                                                  said(base::Language::chinese, i.place.at)},
                                             usually(i.place))
                                       : say(i.unheard ? incident_texts.no_heartbeat : incident_texts.no_step_begun);
  return say(incident_texts.silent, name(i.who), i.limit_seconds, place,
             say(i.stopped ? incident_texts.stopped_by_signal : incident_texts.see_whether_stopped));
}

// Both ends of a connection that carries nothing wait, each for the other.
Text said_behind(const Incident& i) {
  Text sentence = i.kind == IncidentKind::rank_unheard
                      ? say(incident_texts.unheard, name(i.who), i.seconds, said(i.place), usually(i.place))
                      : say(incident_texts.behind, name(i.who), said_with_seconds(i.place));
  if (i.peer.rank >= 0)
    sentence = say(i.by_way_of_others ? incident_texts.no_message_passes_around : incident_texts.no_message_passes, sentence,
                   name(i.peer));
  sentence = counted(sentence, i.waiting, incident_texts.one_waits, incident_texts.several_wait);
  sentence = counted(sentence, i.others, incident_texts.one_more_behind, incident_texts.more_behind);
  return i.kind == IncidentKind::rank_hung ? say(incident_texts.timeout_limit, sentence, i.limit_seconds) : sentence;
}

Text said_slow(const Incident& i) {
  return say(i.alike ? incident_texts.slow : incident_texts.slow_by_work, i.who.host, i.seconds / i.reference_seconds, i.who.rank,
             base::format_digits(i.seconds, 2), base::format_digits(i.reference_seconds, 2));
}

Text said_stalled(const Incident& i) {
  return counted(say(incident_texts.save_stalled, name(i.who), i.seconds, i.place.step, i.address), i.others,
                 incident_texts.one_more_stalled, incident_texts.more_stalled);
}

}  // namespace

Text said(const Incident& i) {
  switch (i.kind) {
    case IncidentKind::told:
      return base::verbatim(i.words);
    case IncidentKind::rank_failed:
      return i.who.rank < 0 ? base::verbatim(i.words) : say(incident_texts.failed, name(i.who), i.words);
    case IncidentKind::rank_exited:
      return say(incident_texts.exited, name(i.who), i.exit_code);
    case IncidentKind::rank_killed:
      return said_killed(i);
    case IncidentKind::rank_left:
      return say(incident_texts.left, name(i.who));
    case IncidentKind::rank_silent:
      return said_silent(i);
    case IncidentKind::rank_hung:
    case IncidentKind::rank_behind:
    case IncidentKind::rank_unheard:
      return said_behind(i);
    case IncidentKind::launcher_left:
      return say(incident_texts.launcher_left, name(i.who));
    case IncidentKind::store_ended:
      return say(incident_texts.store_ended, i.address);
    case IncidentKind::store_silent:
      return say(incident_texts.store_silent, i.address, i.limit_seconds);
    case IncidentKind::rank_continues:
      return say(incident_texts.continues, name(i.who), i.seconds);
    case IncidentKind::rank_stopped:
      return say(incident_texts.stopped, name(i.who), i.signal, host::signal_name(i.signal), i.who.pid);
    case IncidentKind::host_slow:
      return said_slow(i);
    case IncidentKind::host_recovered:
      return say(incident_texts.recovered, i.who.host);
    case IncidentKind::save_stalled:
      return said_stalled(i);
    case IncidentKind::save_continues:
      return say(incident_texts.save_continues, name(i.who), i.seconds, i.place.step);
    case IncidentKind::launcher_unheard:
      return say(incident_texts.launcher_unheard, name(i.who), i.seconds);
    case IncidentKind::launcher_heard:
      return say(incident_texts.launcher_heard, name(i.who), i.seconds);
    case IncidentKind::stranger_refused:
      return say(incident_texts.turned_away, i.words);
  }
  return {};
}

std::string_view word_of(IncidentKind kind) {
  for (const auto& [known, word] : kinds_of_incidents)
    if (known == kind) return word;
  return "";
}

IncidentKind kind_of(std::string_view word) {
  for (const auto& [kind, known] : kinds_of_incidents)
    if (known == word) return kind;
  return IncidentKind::told;
}

std::vector<base::Bilingual> texts_of_incidents() {
  std::vector<base::Bilingual> all(sizeof incident_texts / sizeof(base::Bilingual));
  std::memcpy(static_cast<void*>(all.data()), &incident_texts, sizeof incident_texts);
  return all;
}

base::Text in_both(const std::string& written, const std::optional<Incident>& incident) {
  const Text sentence = incident ? said(*incident) : Text{};
  return {written, sentence.english == written ? sentence.chinese : written};
}

std::string english(const Incident& incident) { return said(incident).english; }

}  // namespace troika::records

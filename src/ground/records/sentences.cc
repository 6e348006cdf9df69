#include "records/incident.h"

#include <array>
#include <cstring>
#include <utility>

#include "base/units.h"
#include "base/say.h"
#include "host/signals.h"

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

using base::say;
using base::Text;
constexpr int kill_signal = 9;

Text name(const Party& party) {
  if (party.node >= 0 && party.rank < 0) return say("the launcher of host {} (host {}, pid {})", party.node, party.host, party.pid);
  if (party.host.empty()) return base::verbatim(fmt::format("rank {}", party.rank));
  return party.pid == 0 ? say("rank {} (host {})", party.rank, party.host)
                        : say("rank {} (host {}, pid {})", party.rank, party.host, party.pid);
}

// `one` where there is one, `several` with how many, and nothing where there are none.
Text counted(const Text& sentence, int count, base::Phrase one, base::Phrase several) {
  if (count <= 0) return sentence;
  return count == 1 ? say(one, sentence) : say(several, sentence, count);
}

Text said_killed(const Incident& i) {
  const Text killed = say("{} was killed by signal {} (SIG{})", name(i.who), i.signal, host::signal_name(i.signal));
  if (i.signal != kill_signal) return killed;
  return say(i.count > 0 ? base::Phrase("{}, and the system's out-of-memory killer was active: use a smaller microbatch, seq-len or model, or more stages") : base::Phrase("{}; if nobody did that, memory ran out: use a smaller microbatch, seq-len or model, or more stages"), killed);
}

Text said_silent(const Incident& i) {
  const Text place = i.place.step >= 0 ? say("its last heartbeat came from step {}, {}{}", i.place.step,
                                             Text{said(base::Language::english, i.place.at),
                                                  said(base::Language::chinese, i.place.at)},
                                             usually(i.place))
                                       : say(i.unheard ? base::Phrase("it joined but sent no heartbeat") : base::Phrase("it had not started a step"));
  return say("{} has been silent for {:g} s; {}: {} (comm.heartbeat_seconds sets the limit)", name(i.who), i.limit_seconds, place,
             say(i.stopped ? base::Phrase("a signal stopped the process") : base::Phrase("check whether the process is stopped, or its host overloaded or off the network")));
}

// Both ends of a connection that carries nothing wait, each for the other.
Text said_behind(const Incident& i) {
  Text sentence = i.kind == IncidentKind::rank_unheard
                      ? say("{} has sent no heartbeat for {:.0f} s; its last status was {}{}", name(i.who), i.seconds, said(i.place), usually(i.place))
                      : say("{} is behind: {}", name(i.who), said_with_seconds(i.place));
  if (i.peer.rank >= 0)
    sentence = say(i.by_way_of_others ? base::Phrase("{}; it and {} wait for each other, through other ranks: messages are not getting through, check the network between their hosts") : base::Phrase("{}; it and {} wait for each other: messages are not getting through, check the network between their hosts"), sentence,
                   name(i.peer));
  sentence = counted(sentence, i.waiting, base::Phrase("{}; 1 rank waits for it"), base::Phrase("{}; {} ranks wait for it"));
  sentence = counted(sentence, i.others, base::Phrase("{}; 1 more rank is behind"), base::Phrase("{}; {} more ranks are behind"));
  return i.kind == IncidentKind::rank_hung ? say("{}; comm.timeout_seconds ({:g}) is the limit", sentence, i.limit_seconds) : sentence;
}

Text said_slow(const Incident& i) {
  return say(i.alike ? base::Phrase("host {} is {:.1f}x slower than its peers (rank {}: {} s per step, others with the same work {} s)") : base::Phrase("host {} is {:.1f}x slower than its peers (rank {}: {} s per step, expected from the others {} s)"), i.who.host, i.seconds / i.reference_seconds, i.who.rank,
             base::format_digits(i.seconds, 2), base::format_digits(i.reference_seconds, 2));
}

Text said_stalled(const Incident& i) {
  return counted(say("{} has written nothing for {:.0f} s to the checkpoint of step {} in '{}': check its disk; training continues, but no newer checkpoint can complete before it", name(i.who), i.seconds, i.place.step, i.address), i.others,
                 base::Phrase("{}; 1 more rank does the same"), base::Phrase("{}; {} more ranks do the same"));
}

}  // namespace

Text said(const Incident& i) {
  switch (i.kind) {
    case IncidentKind::told:
      return i.words;
    case IncidentKind::rank_failed:
      return i.who.rank < 0 ? i.words : say("{} failed: {}", name(i.who), i.words);
    case IncidentKind::rank_exited:
      return say("{} exited with code {}", name(i.who), i.exit_code);
    case IncidentKind::rank_killed:
      return said_killed(i);
    case IncidentKind::rank_left:
      return say("{} ended without an error message or its host is down: its connections broke; check its output", name(i.who));
    case IncidentKind::rank_silent:
      return said_silent(i);
    case IncidentKind::rank_hung:
    case IncidentKind::rank_behind:
    case IncidentKind::rank_unheard:
      return said_behind(i);
    case IncidentKind::launcher_left:
      return say("{} was killed or its host is down, and its ranks with it", name(i.who));
    case IncidentKind::store_ended:
      return say("the launcher of host 0 at {} has exited: this run ends with it", i.address);
    case IncidentKind::store_silent:
      return say("the launcher of host 0 at {} has not answered for {:g} s: it is stopped, or its host is down or off the network", i.address, i.limit_seconds);
    case IncidentKind::rank_continues:
      return say("{} resumed after {:.0f} s", name(i.who), i.seconds);
    case IncidentKind::rank_stopped:
      return say("{} is stopped by signal {} (SIG{}); kill -CONT {} on its host resumes it", name(i.who), i.signal, host::signal_name(i.signal), i.who.pid);
    case IncidentKind::host_slow:
      return said_slow(i);
    case IncidentKind::host_recovered:
      return say("host {} computes as fast as its peers again", i.who.host);
    case IncidentKind::save_stalled:
      return said_stalled(i);
    case IncidentKind::save_continues:
      return say("{} is writing again after {:.0f} s (the checkpoint of step {})", name(i.who), i.seconds, i.place.step);
    case IncidentKind::launcher_unheard:
      return say("{} has sent no heartbeat for {:.1f} s: it is stopped, or its host overloaded or off the network; the run continues while its ranks respond", name(i.who), i.seconds);
    case IncidentKind::launcher_heard:
      return say("{} responds again after {:.0f} s", name(i.who), i.seconds);
    case IncidentKind::stranger_refused:
      return say("{} and was rejected", i.words);
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

base::Text in_both(const std::string& written, const std::optional<Incident>& incident) {
  if (incident && incident->words.english == written) return incident->words;  // in the words of a rank
  const Text sentence = incident ? said(*incident) : Text{};
  return {written, sentence.chinese.empty() ? written : sentence.chinese};
}

std::string english(const Incident& incident) { return said(incident).english; }

}  // namespace troika::records

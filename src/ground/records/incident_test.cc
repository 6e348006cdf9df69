#include "records/incident.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "records/event.h"
#include "records/old_sentences.h"

namespace troika::records {
namespace {
using testing::HasSubstr;

Incident some(IncidentKind kind) {
  Incident i;
  i.kind = kind;
  i.who = {2, kind == IncidentKind::launcher_left || kind == IncidentKind::launcher_unheard ||
                      kind == IncidentKind::launcher_heard
                  ? 1
                  : -1,
           "pi3", 7};
  if (i.who.node >= 0) i.who.rank = -1;
  i.place = {41, Doing::instruction_of("fwd 3.2"), 12, 0.2};
  i.seconds = 12;
  i.limit_seconds = 60;
  i.reference_seconds = 4;
  i.exit_code = 3;
  i.signal = 9;
  i.address = "10.0.0.1:29500";
  i.words = base::verbatim("shard 7 is truncated");
  return i;
}

std::vector<Incident> one_of_each_kind() {
  std::vector<Incident> all;
  for (int kind = 0; kind <= static_cast<int>(IncidentKind::stranger_refused); ++kind)
    all.push_back(some(static_cast<IncidentKind>(kind)));
  return all;
}

TEST(Incident, ComesBackAsItWasWritten) {
  for (Incident incident : one_of_each_kind()) {
    incident.cause = base::Cause::disk_full;
    incident.peer = {5, -1, "pi4", 8};
    incident.stopped = incident.alike = true;
    incident.waiting = 2;
    const Incident read = parse_incident(to_json(incident));
    EXPECT_EQ(to_json(read), to_json(incident));
    EXPECT_EQ(read.kind, incident.kind);
    EXPECT_EQ(read.cause, base::Cause::disk_full);
  }
  EXPECT_EQ(parse_incident("no object").words.english, "no object");
}

TEST(Incident, IsToldInBothLanguages) {
  for (const Incident& incident : one_of_each_kind()) {
    EXPECT_FALSE(said(incident).english.empty());
    EXPECT_FALSE(said(incident).chinese.empty());
    if (incident.kind != IncidentKind::told) {
      EXPECT_NE(said(incident).english, said(incident).chinese);
    }
  }
}

// The sentence that the previous version wrote for some().
std::string sentence_of_before(IncidentKind kind) {
  const std::string rank = "rank 2 (host pi3, pid 7)", launcher = "the launcher of host 1 (host pi3, pid 7)";
  switch (kind) {
    case IncidentKind::rank_failed:
      return rank + " failed: shard 7 is truncated";
    case IncidentKind::rank_exited:
      return rank + " ended with exit code 3";
    case IncidentKind::rank_killed:
      return rank +
             " was killed by signal 9 (SIGKILL); if nobody did that, memory ran out: use a smaller micro batch, seq-len "
             "or model, or more stages";
    case IncidentKind::rank_left:
      return rank + " ended without an error message or its host is gone: its connections broke; see its output";
    case IncidentKind::rank_silent:
      return rank +
             " has been silent for 60 s; its last heartbeat came from step 41, fwd 3.2 (usually 0.2 s): see whether the "
             "process is stopped, its host overloaded or off the network (comm.heartbeat_seconds sets the limit)";
    case IncidentKind::rank_hung:
      return rank + " is behind: step 41, fwd 3.2 for 12 s (usually 0.2 s); comm.timeout_seconds (60) is the limit";
    case IncidentKind::launcher_left:
      return launcher + " was killed or its host has ended, and its ranks with it";
    case IncidentKind::store_ended:
      return "the launcher of host 0 at 10.0.0.1:29500 has ended: this run ends with it";
    case IncidentKind::store_silent:
      return "the launcher of host 0 at 10.0.0.1:29500 has not answered for 60 s: it is stopped, or its host is gone or "
             "off the network";
    case IncidentKind::rank_behind:
      return rank + " is behind: step 41, fwd 3.2 for 12 s (usually 0.2 s)";
    case IncidentKind::rank_unheard:
      return rank + " has not been heard for 12 s; its last word was step 41, fwd 3.2 (usually 0.2 s)";
    case IncidentKind::rank_continues:
      return rank + " continues after 12 s";
    case IncidentKind::rank_stopped:
      return rank + " is stopped by signal 9 (SIGKILL); kill -CONT 7 on its host lets it continue";
    case IncidentKind::host_slow:
      return "host pi3 computes 3.0 times slower than its like (rank 2: 12 s a step, by the work of the others 4 s)";
    case IncidentKind::host_recovered:
      return "host pi3 computes as fast as its like again";
    case IncidentKind::save_stalled:
      return rank +
             " has written nothing for 12 s of the checkpoint of step 41 in '10.0.0.1:29500': see its disk; training "
             "continues, and no newer checkpoint is complete before that one";
    case IncidentKind::save_continues:
      return rank + " writes again after 12 s (the checkpoint of step 41)";
    case IncidentKind::launcher_unheard:
      return launcher +
             " has not been heard for 12.0 s: it is stopped, or its host overloaded or off the network; the run "
             "continues while its ranks are heard";
    case IncidentKind::launcher_heard:
      return launcher + " is heard again after 12 s";
    case IncidentKind::told:
    case IncidentKind::stranger_refused:
      break;
  }
  return "";
}

TEST(Incident, OfBeforeIsReadFromItsSentence) {
  for (const Incident& incident : one_of_each_kind()) {
    const std::string sentence = sentence_of_before(incident.kind);
    if (sentence.empty()) continue;
    const Incident read = incident_in(sentence);
    EXPECT_EQ(read.kind, incident.kind) << sentence;
    EXPECT_EQ(english(read), english(incident));
  }
}

TEST(Incident, OfBeforeStaysAsItWasWrittenAndIsToldInChinese) {
  for (const Incident& incident : one_of_each_kind()) {
    const std::string sentence = sentence_of_before(incident.kind);
    if (sentence.empty()) continue;
    const base::Text both = in_both(sentence, incident_in(sentence));
    EXPECT_EQ(both.english, sentence);
    EXPECT_EQ(both.chinese, said(incident).chinese);
  }
  const Incident refused = told({"the disk is full", "磁盘已满"});
  EXPECT_EQ(in_both("the disk is full", refused).chinese, "磁盘已满") << "in the words of a rank";
  EXPECT_EQ(in_both("step 1 of 5 is next", std::nullopt).chinese, "step 1 of 5 is next");
}

TEST(Incident, OfBeforeHasThePlaceAndThePeer) {
  const Incident circle = incident_in(
      "rank 0 (host pi0, pid 7) is behind: measuring the link for 31 s; it waits for rank 1 (host pi1, pid 8) and that "
      "one for it: no message passes, see the network between their hosts");
  EXPECT_EQ(circle.kind, IncidentKind::rank_behind);
  EXPECT_EQ(circle.place.at, Activity::measuring_link);
  EXPECT_EQ(circle.peer, (Party{1, -1, "pi1", 8}));
  const Incident hung = incident_in(
      "rank 1 (host pi1, pid 7) is behind: step 31, finishing the last checkpoint for 60 s; 1 rank waits for it; "
      "comm.timeout_seconds (60) is the limit");
  EXPECT_EQ(hung.kind, IncidentKind::rank_hung);
  EXPECT_EQ(hung.place.step, 31);
  EXPECT_EQ(hung.place.at, Activity::finishing_save);
  EXPECT_EQ(hung.limit_seconds, 60);
}

TEST(Incident, OfAnEventTravelsWithItAndOneOfBeforeIsRead) {
  Event event;
  event.kind = EventKind::failure;
  event.incident = failed({1, -1, "pi1", 7}, base::verbatim("disk"), base::Cause::disk_full);
  event.text = "another sentence";
  const auto read = parse_event(to_json(event));
  ASSERT_TRUE(read && read->incident);
  EXPECT_EQ(read->incident->cause, base::Cause::disk_full);
  EXPECT_EQ(read->incident->words.english, "disk");
  event.incident.reset();
  event.text = "rank 1 (host pi1, pid 7) failed: cannot write 'x': No space left on device";
  const auto of_before = parse_event(to_json(event));
  ASSERT_TRUE(of_before && of_before->incident);
  EXPECT_EQ(of_before->incident->cause, base::Cause::disk_full);
  EXPECT_EQ(of_before->incident->who.pid, 7);
}

TEST(Place, EveryActivityHasAWordThatIsReadBack) {
  for (int number = 2; number <= static_cast<int>(Activity::finishing_save); ++number) {
    const Doing doing(static_cast<Activity>(number));
    EXPECT_FALSE(word_of(doing).empty()) << number;
    EXPECT_EQ(doing_of(word_of(doing)), doing);
    EXPECT_NE(said(base::Language::chinese, doing), word_of(doing));
  }
  EXPECT_EQ(doing_of("taking a checkpoint back"), Doing(Activity::restoring)) << "as a version before wrote it";
  EXPECT_EQ(doing_of("fwd 3.2").activity, Activity::instruction);
  EXPECT_EQ(word_of(doing_of("fwd 3.2")), "fwd 3.2");
}

TEST(Incident, ACauseIsReadFromWordsOfOthers) {
  EXPECT_EQ(cause_in("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0"), base::Cause::job_memory_limit);
  EXPECT_EQ(cause_in("ibv_reg_mr failed with error Cannot allocate memory"), base::Cause::infiniband);
  EXPECT_EQ(cause_in("batch.batch_size 7 is not a multiple"), base::Cause::not_told);
  EXPECT_EQ(port_in("host 0 did not answer at 10.0.0.1:29511 within 5 s"), 29511);
  EXPECT_EQ(port_in("port 29500 is held by 'python3' (pid 7)"), 29500);
  EXPECT_EQ(signal_in("the launcher got signal 15 (SIGTERM)"), 15);
}

}  // namespace
}  // namespace troika::records

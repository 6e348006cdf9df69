// The events of a run, one JSON object a line in RUN/events.jsonl. Format: docs/formats/records.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "records/incident.h"

namespace troika::records {

enum class EventKind {
  launch,         // a launcher begins an attempt; numbers: its pid and process_start
  start,          // the first step of an attempt is next
  resume,         // the same, from a checkpoint
  save,           // a checkpoint is complete
  save_failed,    // one failed; the run continues
  evaluation,     // numbers: valid_loss
  skipped_step,   // its loss or gradients were not finite
  repeated_step,  // it ran twice: a gradient was larger than its exponent allowed
  rolled_back,    // to the last checkpoint
  notice,         // of the watch over ranks: who is slow, behind, stopped; whose save is stuck
  rank_failed,    // a rank ends with an error of its own; numbers: exit_code
  rank_ended,  // a launcher has seen a rank of its host end badly; numbers: exit_code or signal, and counters of the host
  failure,     // the failure report that ends an attempt; numbers: exit_code
  restart,     // another attempt follows
  stop_requested,  // by a signal
  stop,            // ended before the last step because it was asked to
  finish,          // ended after the last step
};

std::string_view word_of(EventKind kind);
std::optional<EventKind> event_kind_of(std::string_view word);

struct Event {
  double time = 0;  // seconds since 1970, by the clock of `host`
  EventKind kind = EventKind::notice;
  std::string host;
  int attempt = 0;         // of its launch, from 0
  int rank = -1;           // -1: of no single rank
  std::int64_t step = -1;  // -1: of no step
  std::string text;        // a sentence, in English
  std::optional<Incident> incident{};  // the same as values: of notices, failures, ranks and saves that fail
  std::map<std::string, double> numbers{};
  std::map<std::string, std::string> words{};

  double number(const std::string& name, double otherwise = 0) const;  // `otherwise` where there is none
  std::string word(const std::string& name) const;                     // "" where there is none
};

std::string to_json(const Event& event);  // one line, without newline
// Nothing for a line that is no event, or of a kind that this version does not know.
std::optional<Event> parse_event(std::string_view line);

}  // namespace troika::records

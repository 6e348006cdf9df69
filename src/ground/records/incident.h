// Reports of a rank, a launcher or the watch over ranks, as values: who, what, where, for how long. They travel through the store,
// launchers and records; the sentence is made where it is shown (said), in the reader's language.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/cause.h"
#include "base/language.h"
#include "records/place.h"

namespace troika::records {

enum class IncidentKind {
  told,  // words alone: an error of a launcher, what somebody without a rank has said
  // Ends of an attempt.
  rank_failed,       // in its own words
  rank_exited,       // exit_code; its launcher saw it
  rank_killed,       // signal, count: acts of the out-of-memory killer shortly before
  rank_left,         // without a word: its connections broke
  rank_silent,       // for limit_seconds; place; unheard: it joined and sent no heartbeat; stopped: by a signal
  rank_hung,         // as rank_behind, for longer than limit_seconds
  launcher_left,     // without a word, and its ranks with it
  store_ended,       // of host 0; address
  store_silent,      // for limit_seconds; address
  // Notices: the run continues.
  rank_behind,        // place, waiting, others; peer: each waits for the other, by_way_of_others: around a circle
  rank_unheard,       // for seconds; place is its last word
  rank_continues,     // after seconds
  rank_stopped,       // by signal
  host_slow,          // who.rank takes seconds a step, the others reference_seconds; alike: they do the same work
  host_recovered,     // computes as fast as the others again
  save_stalled,       // nothing was written for seconds; place.step of the checkpoint, address its folder, others
  save_continues,     // after seconds
  launcher_unheard,   // for seconds
  launcher_heard,     // again, after seconds
  stranger_refused,   // words: who came without the secret
};

// A rank, or the launcher of a host.
struct Party {
  int rank = -1;  // -1: none, or not known
  int node = -1;  // of a launcher: the number of its host
  std::string host;
  int pid = 0;
};
bool operator==(const Party& a, const Party& b);

struct Incident {
  IncidentKind kind = IncidentKind::told;
  Party who{}, peer{};
  Place place{};
  double seconds = 0, limit_seconds = 0, reference_seconds = 0;
  int exit_code = 0, signal = 0;
  std::int64_t count = -1;       // -1: nobody counts
  int waiting = 0, others = 0;   // ranks that wait for it; more that are as it is
  bool by_way_of_others = false, alike = false, stopped = false, unheard = false;
  std::string address;           // or a folder
  base::Text words;              // quoted: an error's sentence
  base::Cause cause{};           // of the error
};

// An error, in its own words.
Incident told(base::Text words, base::Cause cause = base::Cause::not_told);
// A rank that failed and said so itself.
Incident failed(const Party& who, base::Text words, base::Cause cause);

// The sentence, in both languages; words that are quoted stay as they are.
base::Text said(const Incident& incident);
std::string english(const Incident& incident);

// What `later` tells is that what `earlier` tells is over.
bool is_over(const Incident& earlier, const Incident& later);
bool is_recovery(IncidentKind kind);

// An object; what has its default is left out.
nlohmann::ordered_json to_json_object(const Incident& incident);
Incident incident_of(const nlohmann::json& object);  // what is damaged or of another version has its default
std::string to_json(const Incident& incident);       // one line
// Text that is not such an object becomes an incident told in those words.
Incident parse_incident(const std::string& text);

// The words of incidents: their kinds in records, and every sentence. A new kind is an enumerator (incident.h) with a row, a sentence and
// a case in sentences.cc.
std::string_view word_of(IncidentKind kind);
IncidentKind kind_of(std::string_view word);  // told where this version knows no such word

// A sentence as it was written, by this version or one before, and in Chinese as its values tell it; without values as written.
base::Text in_both(const std::string& written, const std::optional<Incident>& incident);

}  // namespace troika::records

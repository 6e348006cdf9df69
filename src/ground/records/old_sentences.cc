#include "records/old_sentences.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "host/nvidia.h"

namespace troika::records {
namespace {

using base::Cause;

bool has(std::string_view text, std::string_view words) { return text.find(words) != std::string_view::npos; }

// Reads a sentence from its begin to its end.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  // Takes `words` if they come next.
  bool take(std::string_view words) {
    if (rest_.substr(0, words.size()) != words) return false;
    rest_.remove_prefix(words.size());
    return true;
  }
  // Whatever comes before the words, which are left out; all that is left where they do not come.
  std::string until(std::string_view words) {
    const std::size_t at = std::min(rest_.find(words), rest_.size());
    std::string before(rest_.substr(0, at));
    rest_.remove_prefix(std::min(at + words.size(), rest_.size()));
    return before;
  }
  bool skip_to(std::string_view words) {
    if (!has(rest_, words)) return false;
    until(words);
    return true;
  }
  double number() {
    const std::string digits(rest_.substr(0, rest_.find_first_not_of("0123456789.e+-")));
    rest_.remove_prefix(digits.size());
    return std::atof(digits.c_str());
  }
  int whole() { return static_cast<int>(number()); }

 private:
  std::string_view rest_;
};

bool begins_with_digit(const Reader& reader) {
  return !reader.rest().empty() && reader.rest()[0] >= '0' && reader.rest()[0] <= '9';
}

// "(host pi3, pid 7)", behind a space.
void take_host(Reader& reader, Party* party) {
  if (!reader.take(" (host ")) return;
  party->host = reader.until(", pid ");
  party->pid = reader.whole();
  reader.take(")");
}

bool take_rank(Reader& reader, Party* party) {
  Reader at = reader;
  if (!at.take("rank ") || !begins_with_digit(at)) return false;
  party->rank = at.whole();
  take_host(at, party);
  reader = at;
  return true;
}

// "step 41, fwd 3.2 for 12 s (usually 0.2 s)", "preparing the data for 31 s"; of a last word without the seconds.
Place take_place(Reader& reader) {
  Place place;
  place.step = 0;
  if (reader.take("step ")) {
    place.step = static_cast<std::int64_t>(reader.number());
    reader.take(", ");
  }
  const std::string_view all = reader.rest();
  const std::size_t end =
      std::min({all.find(" for "), all.find(" (usually"), all.find("; "), all.find(": "), all.size()});
  place.at = doing_of(std::string(all.substr(0, end)));
  reader.until(all.substr(0, end));
  if (reader.take(" for ")) {
    place.seconds = reader.number();
    if (reader.take(" ms")) place.seconds /= 1000;
    reader.take(" s");
  }
  if (reader.take(" (usually ")) {
    place.usual_seconds = reader.number();
    if (reader.take(" ms")) place.usual_seconds /= 1000;
  }
  return place;
}

void read_behind(Reader reader, Incident* i) {
  i->kind = IncidentKind::rank_behind;
  i->place = take_place(reader);
  Reader waits = reader;
  if (waits.skip_to("it waits for ") && take_rank(waits, &i->peer))
    i->by_way_of_others = waits.take(" and that one, by");
  Reader limit = reader;
  if (!limit.skip_to("comm.timeout_seconds (")) return;
  i->kind = IncidentKind::rank_hung;
  i->limit_seconds = limit.number();
}

void read_silent(Reader reader, Incident* i) {
  i->kind = IncidentKind::rank_silent;
  i->limit_seconds = reader.number();
  i->stopped = has(reader.rest(), "a signal has stopped the process");
  i->unheard = has(reader.rest(), "sent no heartbeat");
  if (reader.skip_to("its last heartbeat came from ")) i->place = take_place(reader);
}

bool read_of_rank(Reader reader, Incident* i) {
  if (reader.take(" failed: ")) {
    i->kind = IncidentKind::rank_failed;
    i->words = base::verbatim(std::string(reader.rest()));
    i->cause = cause_in(i->words.english);
  } else if (reader.take(" ended with exit code ")) {
    i->kind = IncidentKind::rank_exited;
    i->exit_code = reader.whole();
  } else if (reader.take(" was killed by signal ")) {
    i->kind = IncidentKind::rank_killed;
    i->signal = reader.whole();
    if (has(reader.rest(), "out-of-memory killer acted")) i->count = 1;
  } else if (reader.take(" ended without an error message")) {
    i->kind = IncidentKind::rank_left;
  } else if (reader.take(" has been silent for ")) {
    read_silent(reader, i);
  } else if (reader.take(" is behind: ")) {
    read_behind(reader, i);
  } else if (reader.take(" has not been heard for ")) {
    i->kind = IncidentKind::rank_unheard;
    i->seconds = reader.number();
    if (reader.skip_to("its last word was ")) i->place = take_place(reader);
  } else if (reader.take(" continues after ")) {
    i->kind = IncidentKind::rank_continues;
    i->seconds = reader.number();
  } else if (reader.take(" is stopped by signal ")) {
    i->kind = IncidentKind::rank_stopped;
    i->signal = reader.whole();
  } else if (reader.take(" has written nothing for ")) {
    i->kind = IncidentKind::save_stalled;
    i->seconds = reader.number();
    if (reader.skip_to("of step ")) i->place.step = reader.whole();
    if (reader.skip_to("'")) i->address = reader.until("'");
  } else if (reader.take(" writes again after ")) {
    i->kind = IncidentKind::save_continues;
    i->seconds = reader.number();
    if (reader.skip_to("of step ")) i->place.step = reader.whole();
  } else {
    return false;
  }
  return true;
}

bool read_of_launcher(Reader reader, Incident* i) {
  i->who.node = reader.whole();
  if (reader.take(" at ")) {
    i->address = reader.until(" has ");
    if (reader.take("not answered for ")) {
      i->kind = IncidentKind::store_silent;
      i->limit_seconds = reader.number();
    } else {
      i->kind = IncidentKind::store_ended;
    }
    return true;
  }
  take_host(reader, &i->who);
  if (reader.take(" was killed or its host has ended")) {
    i->kind = IncidentKind::launcher_left;
  } else if (reader.take(" has not been heard for ")) {
    i->kind = IncidentKind::launcher_unheard;
    i->seconds = reader.number();
  } else if (reader.take(" is heard again after ")) {
    i->kind = IncidentKind::launcher_heard;
    i->seconds = reader.number();
  } else {
    return false;
  }
  return true;
}

bool read_of_host(Reader reader, Incident* i) {
  i->who.host = reader.until(" computes ");
  if (reader.take("as fast as its like again")) {
    i->kind = IncidentKind::host_recovered;
    return true;
  }
  if (!reader.skip_to(" times slower than its like (rank ")) return false;
  i->kind = IncidentKind::host_slow;
  i->who.rank = reader.whole();
  reader.take(": ");
  i->seconds = reader.number();
  i->alike = has(reader.rest(), "others that do the same");
  if (reader.skip_to("that do the same ") || reader.skip_to("of the others ")) i->reference_seconds = reader.number();
  return true;
}

// The cause that an error's words tell; the first row that fits counts.
struct WordsOfCause {
  Cause cause;
  std::vector<std::string_view> any, besides;  // one of these, and, where there are some, one of those too
};

const std::vector<WordsOfCause>& words_of_causes() {
  static const std::vector<WordsOfCause> all = {
      {Cause::infiniband, {"ibv_"}, {}},
      {Cause::job_memory_limit, {"oom_kill event", "oom-kill event"}, {}},
      {Cause::device_out_of_memory, {"CUDA out of memory", "CUDA error: out of memory"}, {}},
      {Cause::out_of_memory, {"out of memory", "bad_alloc", "Cannot allocate memory", "can't allocate memory"}, {}},
      {Cause::plan_exceeds_memory, {"free memory is", "no layout fits"}, {}},
      {Cause::unreadable_file, {"cannot be read at byte"}, {}},
      {Cause::wrong_secret, {"does not take this process"}, {"secret"}},
      {Cause::port_in_use,
       {" is held by ", "does not take this process", "Address already in use", "cannot listen on port"},
       {}},
      {Cause::duplicate_rank, {"two processes say that they are rank", "another launcher has --node-rank"}, {}},
      {Cause::builds_differ, {"were started differently"}, {"build = ", "troika 0", "libtorch"}},
      {Cause::data_differ, {"were started differently"}, {"data = "}},
      {Cause::data_differ, {"the data differ from those this checkpoint"}, {}},
      {Cause::flags_differ,
       {"were started differently", "use the same flags on every host", "ranks came though the world"},
       {}},
      {Cause::folder_in_use, {"another run writes to", "another run has taken"}, {}},
      {Cause::name_unknown,
       {"Name or service not known", "Temporary failure in name resolution", "No address associated with hostname",
        "its name is not looked up", "Name does not resolve"},
       {}},
      {Cause::wrong_address, {"could not connect group"}, {"[127.", "[::1]"}},
      {Cause::firewall, {"could not connect group"}, {"No route to host", "a firewall forbids it"}},
      {Cause::group_not_connected,
       {"could not connect group"},
       {"Connection refused", "timed out", "timeout", "Timeout"}},
      {Cause::wrong_address,
       {"127.0.1.1", "cannot reach: give every host", "Network is unreachable", "set comm.interface to the interface"},
       {}},
      {Cause::nothing_at_address, {"did not answer"}, {"nothing answers at that address"}},
      {Cause::firewall, {"a firewall forbids it", "No route to host", "Operation not permitted"}, {}},
      {Cause::no_answer, {"did not come within", "host 0 did not answer at", "is rank 0's host started"},
       {"Connection timed out"}},
      {Cause::host_missing, {"did not come within"}, {"of this host is open"}},
      {Cause::rank_missing, {"did not come within", "host 0 did not answer at", "is rank 0's host started"}, {}},
      {Cause::infiniband, {"libibverbs", "Infiniband", "InfiniBand"}, {}},
      {Cause::disk_full, {"No space left on device", "Disk quota exceeded", "the next checkpoint needs"}, {}},
      {Cause::too_many_open_files, {"Too many open files"}, {}},
      {Cause::file_system_failed,
       {"Stale file handle", "Input/output error", "Transport endpoint is not connected", "Read-only file system",
        "Remote I/O error"},
       {}},
      {Cause::file_system_failed,
       {"No such file or directory"},
       {"/checkpoints", "metrics.jsonl", "run.lock", "/logs/"}},
      {Cause::no_training_tokens,
       {"has an answer to train on", "no position with a target", "every answer of "},
       {}},
      {Cause::fp16_overflow, {"fp16 overflows even with"}, {}},
      {Cause::not_finite, {"is not a finite number"}, {}},
      {Cause::changed_bits,
       {"test this host's memory", "test the memory and the processor", "memory or processor of one of these hosts",
        "the disk or the memory of this host is faulty"},
       {}},
      {Cause::store_silent, {"does not answer any more", "has not answered for"}, {}},
      {Cause::connection_broke,
       {" is gone", "connections broke", "timed out", "reset by peer", "Connection closed by peer",
        "did not answer within", "nobody wrote"},
       {}}};
  return all;
}

}  // namespace

Cause cause_in(const std::string& words) {
  const auto fits = [&](const std::vector<std::string_view>& some) {
    return std::any_of(some.begin(), some.end(), [&](std::string_view word) { return has(words, word); });
  };
  for (const WordsOfCause& row : words_of_causes())
    if (fits(row.any) && (row.besides.empty() || fits(row.besides))) return row.cause;
  return Cause::not_told;
}

int signal_in(const std::string& sentence) {
  Reader reader(sentence);
  return reader.skip_to("signal ") ? reader.whole() : 0;
}

int port_in(const std::string& words) {
  for (const std::string_view mark : {"port ", "store at ", "not answer at "}) {
    Reader reader(words);
    if (!reader.skip_to(mark)) continue;
    const std::string_view address = reader.rest().substr(0, reader.rest().find(' '));
    if (mark != "port ") reader.until(address.substr(0, address.rfind(':') + 1));
    const int port = reader.whole();
    if (port > 0 && port < 65536) return port;
  }
  return 0;
}

std::int64_t ids_in(const std::string& words) {
  for (const std::string_view mark : {"begins after ", "within "}) {
    Reader reader(words);
    if (reader.skip_to(mark) && has(reader.rest(), " ids")) return static_cast<std::int64_t>(reader.number());
  }
  return 0;
}

ThreadUse threads_in(const std::string& line) {
  ThreadUse use;
  Reader reader(line);
  if (!reader.skip_to(" info rank ") || !reader.skip_to(": threads: ")) return use;
  use.threads = reader.whole();
  if (reader.take(", on ")) use.usable = reader.whole();
  if (reader.take(" of ")) use.online = reader.whole();
  if (reader.take(" cores (bound to ")) use.bound_to = host::parse_cores(reader.until(")"));
  return use;
}

bool is_line_of_ours(const std::string& line) { return has(line, " info rank "); }

Incident incident_in(const std::string& sentence) {
  Incident incident;
  Reader reader(sentence);
  const bool known = take_rank(reader, &incident.who)                 ? read_of_rank(reader, &incident)
                     : reader.take("the launcher of host ") ? read_of_launcher(reader, &incident)
                     : reader.take("host ")                 ? read_of_host(reader, &incident)
                                                            : false;
  return known ? incident : told(base::verbatim(sentence), cause_in(sentence));
}

}  // namespace troika::records

#include "planner/changes.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "machine/quantities.h"
#include "planner/refusal_texts.h"

namespace troika::planner {
namespace {

constexpr const char* all_changes =
    "link x10, link 100Mbit/s, latency x2, latency 5ms, host 2 x0.5, +1 host, -1 host, schedule zb-h1, micro_batch 2";

[[noreturn]] void refuse_change(const base::Text& what) {
  throw base::ConfigError(base::say(refusal_texts.change, what, all_changes));
}

base::Text nearest(const std::string& near) {
  return near.empty() ? base::Text{} : base::say(refusal_texts.nearest, near);
}

// "x0.5". False for anything else.
bool parse_factor(const std::string& word, double* factor) {
  double value = 0;
  if (word.size() < 2 || (word[0] != 'x' && word[0] != 'X') || !base::parse_double(word.substr(1), &value))
    return false;
  if (!std::isfinite(value) || value <= 0) refuse_change(base::say(refusal_texts.factor, word));
  *factor = value;
  return true;
}

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& words) {
    for (const std::string& word : base::split(base::join(words, " "), ' ')) {
      if (!word.empty()) words_.push_back(word);
    }
  }

  Changes read() {
    if (words_.empty()) refuse_change(base::say(refusal_texts.no_change));
    while (next_ < words_.size()) read_one(take(refusal_texts.a_change));
    return changes_;
  }

 private:
  const std::string& take(const base::Bilingual& what) {
    if (next_ == words_.size()) refuse_change(base::say(refusal_texts.nothing_behind, words_.back(), base::say(what)));
    return words_[next_++];
  }

  void read_one(const std::string& word) {
    static const std::vector<std::string> names{"link", "latency", "host", "schedule", "micro_batch"};
    if (word == "link") return read_link();
    if (word == "latency") return read_latency();
    if (word == "host") return read_host();
    if (word == "schedule") return read_schedule();
    if (word == "micro_batch" || word == "micro-batch") return read_micro();
    if (word[0] == '+' || word[0] == '-') return read_count(word);
    const std::string near = base::nearest(word, names);
    refuse_change(base::say(refusal_texts.unknown_change, word, nearest(near)));
  }

  using Parse = bool (*)(std::string_view, double*);
  // One word, "100Mbit/s", or two, "100 Mbit/s".
  bool parse_quantity(const std::string& word, Parse parse, double* value) {
    if (parse(word, value)) return true;
    if (next_ == words_.size() || !parse(word + " " + words_[next_], value)) return false;
    ++next_;
    return true;
  }

  void read_link() {
    const std::string& word = take(refusal_texts.factor_or_rate);
    double factor = 0, rate = 0;
    if (parse_factor(word, &factor)) {
      changes_.link.bandwidth_factor *= factor;
    } else if (parse_quantity(word, machine::parse_byte_rate, &rate)) {
      changes_.link.bytes_per_second = rate;
    } else {
      refuse_change(base::say(refusal_texts.link, word));
    }
  }

  void read_latency() {
    const std::string& word = take(refusal_texts.factor_or_duration);
    double factor = 0, seconds = 0;
    if (parse_factor(word, &factor)) {
      changes_.link.latency_factor *= factor;
    } else if (parse_quantity(word, machine::parse_latency, &seconds)) {
      changes_.link.latency_seconds = seconds;
    } else {
      refuse_change(base::say(refusal_texts.latency, word));
    }
  }

  void read_host() {
    HostChange change{take(refusal_texts.number_or_name), 1};
    const std::string& word = take(refusal_texts.a_factor);
    if (!parse_factor(word, &change.factor)) refuse_change(base::say(refusal_texts.host_factor, change.host, word));
    changes_.hosts.push_back(change);
  }

  void read_count(const std::string& word) {
    constexpr std::int64_t most = 10000;
    std::int64_t count = 0;
    if (!base::parse_int(word.substr(1), &count) || count < 1 || count > most)
      refuse_change(base::say(refusal_texts.hosts, word));
    const std::string& unit = take(refusal_texts.a_host);
    if (unit != "host" && unit != "hosts") refuse_change(base::say(refusal_texts.not_host, word, unit));
    changes_.more_hosts += static_cast<int>(word[0] == '+' ? count : -count);
  }

  void read_schedule() {
    const std::string& word = take(refusal_texts.a_schedule);
    changes_.schedule = config::parse_word<config::Schedule>(word);
    if (changes_.schedule) return;
    std::vector<std::string> names;
    for (const std::string_view name : config::words_of(config::Schedule{})) names.emplace_back(name);
    const std::string near = base::nearest(word, names);
    throw base::ConfigError(base::say(refusal_texts.no_schedule, word, nearest(near), base::join(names, ", ")));
  }

  void read_micro() {
    const std::string& word = take(refusal_texts.a_number);
    std::int64_t micro = 0;
    if (!base::parse_int(word, &micro) || micro < 1) refuse_change(base::say(refusal_texts.micro, word));
    changes_.micro = micro;
  }

  std::vector<std::string> words_;
  std::size_t next_ = 0;
  Changes changes_;
};

}  // namespace

schedule::Link LinkChange::of(const schedule::Link& recorded) const {
  schedule::Link link = recorded;
  link.bytes_per_second = bytes_per_second.value_or(link.bytes_per_second) * bandwidth_factor;
  link.latency_seconds = latency_seconds.value_or(link.latency_seconds) * latency_factor;
  return link;
}

Changes parse_changes(const std::vector<std::string>& words) { return Reader(words).read(); }

}  // namespace troika::planner

#include "doctor/judge.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "base/units.h"

namespace troika::doctor {
namespace {

constexpr double apart_seconds = 0.05;
constexpr double enough_of_links = 0.5, late_times = 5, late_seconds = 10e-3;

std::string pair_name(const std::string& a, const std::string& b) { return a < b ? a + ", " + b : b + ", " + a; }

// The slower of both directions.
double rate_of(const PairReport& pair) { return std::min(pair.there_bytes_per_second, pair.back_bytes_per_second); }

// The median rate of all measured ways, each direction counted; 0 without any.
double median_rate(const std::vector<const PairReport*>& pairs) {
  std::vector<double> rates;
  for (const PairReport* pair : pairs)
    if (rate_of(*pair) > 0) rates.insert(rates.end(), {pair->there_bytes_per_second, pair->back_bytes_per_second});
  return base::median_or(rates, 0);
}

bool is_slow(const PairReport& pair, double middle) {
  return rate_of(pair) > 0 && rate_of(pair) < enough_of_links * middle;
}

// Whether a link that was measured often enough is late.
bool is_late(const PairReport& pair) {
  const double usual = pair.round_trip_seconds, late = pair.late_round_trip_seconds;
  return rate_of(pair) > 0 && usual > 0 && late > late_times * usual && late - usual > late_seconds;
}

// One bad way between two hosts.
struct Bad {
  std::string from, to;
  const PairReport* report;
};

class Judgement {
 public:
  Judgement(const std::vector<HostReport>& reports, const std::vector<PairReport>& pairs,
            const std::set<std::string>& silent)
      : reports_(reports) {
    for (const PairReport& pair : pairs) {
      if (silent.count(pair.from) != 0 || silent.count(pair.to) != 0) continue;
      pairs_.push_back(&pair);
      hosts_.insert({pair.from, pair.to});
    }
  }

  std::vector<Finding> run() {
    if (pairs_.empty()) return {};
    judge_ports();
    judge_mtu();
    judge_clocks();
    judge_names();
    judge_interfaces();
    judge_links();
    return std::move(findings_);
  }

 private:
  std::string all() const { return base::join({hosts_.begin(), hosts_.end()}, ", "); }

  void add(const std::string& host, const char* check, Status status, base::Text measured, base::Text wanted, base::Text advice = {}) {
    findings_.push_back({host, check, status, std::move(measured), std::move(wanted), std::move(advice)});
  }

  // The one host that takes part in every bad pair, where two of them or more show it; else "".
  std::string common_host(const std::vector<Bad>& bad) const {
    std::map<std::string, int> count;
    std::set<std::string> names;
    for (const Bad& one : bad) {
      ++count[one.from];
      ++count[one.to];
      names.insert(pair_name(one.from, one.to));
    }
    if (names.size() < 2) return "";
    std::string common;
    for (const auto& [host, times] : count)
      if (times == static_cast<int>(bad.size())) common = common.empty() ? host : "";
    return common;
  }

  // The host that all bad ways lead to, where every other host finds it so and there are several of them; else "".
  std::string common_target(const std::vector<Bad>& bad, const std::string& to) const {
    std::set<std::string> from;
    for (const Bad& one : bad)
      if (one.to == to) from.insert(one.from);
    return from.size() > 1 && from.size() + 1 == hosts_.size() ? to : "";
  }

  // One finding for the host that all have in common, else for each target, or each pair where others reach the target.
  template <class Tell>
  void add_by_target(std::vector<Bad> bad, const Tell& tell_of) {
    const std::string common = common_host(bad);
    std::stable_partition(bad.begin(), bad.end(), [&](const Bad& one) { return one.to == common; });
    std::set<std::string> told;
    for (const Bad& one : bad) {
      const std::string target = common.empty() ? common_target(bad, one.to) : common;
      const std::string host = target.empty() ? pair_name(one.from, one.to) : target;
      if (told.insert(host).second) tell_of(host, one);
    }
  }

  static base::Text describe(const std::string& to, const Connecting& way) {
    const std::string place = fmt::format("{}:{}", way.address, way.port);
    switch (way.code) {
      case ECONNREFUSED:
        return base::say("{} refused at {}", to, place);
      case EHOSTUNREACH:
      case ENETUNREACH:
      case EACCES:
        return base::say("no route to {} at {}", to, place);
      case ETIMEDOUT:
        return base::say("no response from {} at {}", to, place);
      default:
        return base::say("no connection to {} at {}: {}", to, place, base::system_cause(way.code));
    }
  }
  static base::Text advice_for(const std::string& to, const Connecting& way) {
    if (way.code == ECONNREFUSED) return base::say("Connections to {} are refused: open its TCP ports to the other hosts (a firewall with REJECT).", to);
    return way.code == ETIMEDOUT ? base::say("A firewall drops packets to {}, or its address is wrong: open its TCP ports to the other hosts.", to) : base::say("A firewall (firewalld rejects like this) or a missing route blocks {}: open its TCP ports to the other hosts.", to);
  }

  void judge_ports() {
    std::vector<Bad> bad;
    std::size_t unanswered = 0;
    for (const PairReport* pair : pairs_) {
      const bool named_failed = pair->named && pair->named->code != 0;
      if (pair->connecting.code != 0 || named_failed) bad.push_back({pair->from, pair->to, pair});
      if (pair->connecting.code == 0 && !pair->answered) {
        ++unanswered;
        add(pair_name(pair->from, pair->to), "ports", Status::not_checked, base::say("the other host did not answer"), {});
      }
    }
    add_by_target(bad, [this](const std::string& host, const Bad& one) {
      const Connecting& way = one.report->connecting.code != 0 ? one.report->connecting : *one.report->named;
      add(host, "ports", Status::fail, describe(one.to, way), base::say("ports open between all hosts"), advice_for(one.to, way));
    });
    if (bad.empty() && unanswered == 0) add(all(), "ports", Status::ok, base::say("all hosts reach each other"), base::say("ports open between all hosts"));
  }

  void judge_mtu() {
    std::vector<Bad> stuck, lost;
    bool tried = false, by_datagrams = false;
    for (const PairReport* pair : pairs_) {
      if (!pair->answered) continue;
      tried = true;
      by_datagrams = by_datagrams || pair->small_datagrams.value_or(false);
      if (pair->stuck_bytes > 0)
        stuck.push_back({pair->from, pair->to, pair});
      else if (!pair->full_datagrams.value_or(true) || !pair->jumbo_datagrams.value_or(true))
        lost.push_back({pair->from, pair->to, pair});
    }
    const base::Text wanted = base::say("messages of every size arrive");
    add_by_target(stuck, [&](const std::string& host, const Bad& one) {
      add(host, "mtu", Status::fail, base::say("small messages arrive, but those of {} bytes do not", one.report->stuck_bytes), wanted,
          base::say("Large packets to {} are lost: use the same MTU on hosts and switch, or lower it with `ip link set dev NAME mtu 1400`.", one.to));
    });
    add_by_target(lost, [&](const std::string& host, const Bad& one) {
      const bool full = one.report->full_datagrams.value_or(true);
      add(host, "mtu", Status::warn, base::say("small messages arrive, but those of {} bytes do not", full ? one.report->jumbo_bytes : one.report->full_bytes),
          wanted, base::say("Full-size packets to {} are lost, while TCP finds a smaller size: use the same MTU on hosts and switch.", one.to));
    });
    if (!tried || !stuck.empty() || !lost.empty()) return;
    add(all(), "mtu", Status::ok, by_datagrams ? base::say("large messages arrive") : base::say("UDP is blocked, so large packets were tested only over TCP"), wanted);
  }

  static double apart(const PairReport& pair) {
    return std::max(0.0, std::abs(pair.clock_seconds) - pair.clock_error_seconds);
  }

  void judge_clocks() {
    std::vector<Bad> bad;
    double most = -1;
    for (const PairReport* pair : pairs_) {
      if (pair->clock_error_seconds < 0) continue;
      most = std::max(most, apart(*pair));
      if (apart(*pair) > apart_seconds) bad.push_back({pair->from, pair->to, pair});
    }
    const std::string common = common_host(bad);
    std::set<std::string> told;
    for (const Bad& one : bad) {
      const std::string host = common.empty() ? pair_name(one.from, one.to) : common;
      const std::string seconds = base::format_duration(apart(*one.report));
      if (told.insert(host).second)
        add(host, "clock", Status::warn, base::say("{} apart", seconds), base::say("below 50 ms"),
            base::say("The clocks of {} are {} apart: install chrony (this affects only timelines and timestamps).", pair_name(one.from, one.to), seconds));
    }
    if (bad.empty() && most >= 0)
      add(all(), "clock", Status::ok, base::say("at most {} apart", base::format_duration(most)), base::say("below 50 ms"));
  }

  // A host's own name, as the other hosts resolve it. A name unknown there is no fault: addresses are exchanged.
  void judge_names() {
    for (const PairReport* pair : pairs_) {
      const auto& addresses = pair->addresses_of_name;
      const bool wrong = !addresses.empty() && std::all_of(addresses.begin(), addresses.end(), [](const auto& address) {
        return address.compare(0, 4, "127.") == 0 || address == "::1" || address.compare(0, 5, "fe80:") == 0;
      });
      // Several doctors may be tried out on one host.
      if (wrong && pair->connecting.address.compare(0, 4, "127.") != 0)
        add(pair->from, "names", Status::warn, base::say("{} resolves {} to {}", pair->from, pair->to, addresses.front()),
            base::say("the host name resolves to an address that others reach"), base::say("Correct that line of /etc/hosts, or give --master-addr as an IP address."));
    }
  }

  const HostReport* report_of(const std::string& host) const {
    const auto found =
        std::find_if(reports_.begin(), reports_.end(), [&](const HostReport& one) { return one.host == host; });
    return found == reports_.end() ? nullptr : &*found;
  }

  void judge_interfaces() {
    std::set<std::string> told;
    for (const PairReport* pair : pairs_) {
      const HostReport* report = report_of(pair->from);
      if (report == nullptr || pair->interface.empty() || pair->interface == "lo") continue;
      const std::vector<Interface>& interfaces = report->facts.interfaces;
      const std::string& stated = report->facts.interface;
      if (!stated.empty() && stated != pair->interface && told.insert(pair->from).second) {
        add(pair->from, "nic_choice", Status::warn, base::say("traffic leaves through {}", pair->interface),
            base::verbatim(fmt::format("comm.interface {}", stated)),
            base::say("Traffic to {} leaves through {}, not through comm.interface {}: correct the routes or the setting.", pair->to, pair->interface, stated));
        continue;
      }
      const Interface* one = find_interface(interfaces, pair->interface);
      const auto wired = std::find_if(interfaces.begin(), interfaces.end(), [](const Interface& other) {
        return !other.wireless && !other.addresses.empty();
      });
      if (one != nullptr && one->wireless && wired != interfaces.end() && told.insert(pair->from).second)
        add(pair->from, "nic_choice", Status::warn, base::say("traffic leaves through {}", one->name), base::say("a wired interface"),
            base::say("Traffic to {0} leaves through {1}, but {2} is wired: set comm.interface to {2}.", pair->to, one->name, wired->name));
    }
  }

  static std::string megabytes(double rate) { return base::format_digits(rate / 1e6, 3); }

  void judge_links() {
    const double middle = median_rate(pairs_);
    if (middle <= 0) return;
    const std::size_t before = findings_.size();
    judge_rates(middle);
    judge_delays();
    if (findings_.size() > before) return;
    double least = middle, most = middle, longest = 0;
    for (const PairReport* pair : pairs_) {
      if (rate_of(*pair) <= 0) continue;
      least = std::min(least, rate_of(*pair));
      most = std::max({most, pair->there_bytes_per_second, pair->back_bytes_per_second});
      longest = std::max(longest, pair->round_trip_seconds);
    }
    add(all(), "all_pairs", Status::ok,
        base::say("{} to {} MB/s, {} round trip at most", megabytes(least), megabytes(most), base::format_duration(longest)),
        base::say("at least half of the median, {} MB/s", megabytes(middle)));
  }

  void judge_rates(double middle) {
    std::vector<Bad> slow;
    for (const PairReport* pair : pairs_)
      if (is_slow(*pair, middle)) slow.push_back({pair->from, pair->to, pair});
    const std::string common = common_host(slow);
    std::set<std::string> told;
    for (const Bad& one : slow) {
      const std::string host = common.empty() ? pair_name(one.from, one.to) : common;
      if (told.insert(host).second)
        add(host, "all_pairs", Status::warn,
            base::say("{} MB/s, {} round trip", megabytes(rate_of(*one.report)), base::format_duration(one.report->round_trip_seconds)),
            base::say("at least half of the median, {} MB/s", megabytes(middle)),
            common.empty() ? base::say("This link is slower than the others: check the cables and ports of the two hosts.") : base::say("All slow links have {} in common: check its cable, its port and its other load.", common));
    }
  }

  void judge_delays() {
    for (const PairReport* pair : pairs_)
      if (is_late(*pair))
        add(pair_name(pair->from, pair->to), "all_pairs", Status::warn,
            base::say("one message in a hundred takes {}, the median {}", base::format_duration(pair->late_round_trip_seconds),
                 base::format_duration(pair->round_trip_seconds)),
            base::say("at most 5 times the median"), base::say("Messages on this link are delayed at times: by Wi-Fi, a loaded switch, or other work on the hosts."));
  }

  const std::vector<HostReport>& reports_;
  std::vector<const PairReport*> pairs_;
  std::set<std::string> hosts_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> judge_pairs(const std::vector<HostReport>& reports, const std::vector<PairReport>& pairs,
                                 const std::set<std::string>& silent) {
  return Judgement(reports, pairs, silent).run();
}

std::vector<std::size_t> worth_a_second_look(const std::vector<PairReport>& pairs) {
  std::vector<const PairReport*> all;
  for (const PairReport& pair : pairs) all.push_back(&pair);
  const double middle = median_rate(all);
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (is_slow(pairs[i], middle) || is_late(pairs[i])) some.push_back(i);
  std::stable_sort(some.begin(), some.end(),
                   [&](std::size_t a, std::size_t b) { return rate_of(pairs[a]) < rate_of(pairs[b]); });
  return some;
}

void take_better(const PairReport& again, PairReport& pair) {
  pair.there_bytes_per_second = std::max(pair.there_bytes_per_second, again.there_bytes_per_second);
  pair.back_bytes_per_second = std::max(pair.back_bytes_per_second, again.back_bytes_per_second);
  if (!is_late(again) && again.round_trip_seconds > 0) {
    pair.round_trip_seconds = again.round_trip_seconds;
    pair.late_round_trip_seconds = again.late_round_trip_seconds;
  }
}

}  // namespace troika::doctor

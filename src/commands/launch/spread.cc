#include "commands/launch/spread.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/version.h"
#include "commands/launch/greeting.h"
#include "commands/launch/options.h"
#include "commands/launch/orders.h"
#include "commands/launch/say.h"
#include "commands/launch/signals.h"
#include "commands/launch/store_line.h"
#include "commands/own_program.h"
#include "commands/shell_word.h"
#include "commands/ssh/host_process.h"
#include "commands/ssh/hosts.h"
#include "config/flag_table.h"
#include "rendezvous/access.h"
#include "rendezvous/identity.h"

namespace troika::commands {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr int ssh_failed = 255;                  // what ssh ends with when it has no connection, or lost it
constexpr double greeting_seconds = 20;          // for all hosts together
constexpr double end_together_seconds = 20;      // hosts end together by themselves; one that does not is told to stop
constexpr double after_last_order_seconds = 10;  // then ssh is killed
constexpr double same_press_seconds = 0.3;       // `timeout` and some terminals send one signal twice

struct Place {
  SshHost host;
  bool here = false;
};

std::string name_of(const Place& place) { return place.here ? "this host" : place.host.destination; }

// What is wrong with flags that say the same as --hosts.
void refuse_contradictions(const LaunchFlags& f, std::size_t hosts) {
  config::FlagReading reading;
  if (f.hosts.node_rank)
    reading.refuse("--hosts and --node-rank are both given: --hosts numbers the hosts itself; leave --node-rank out");
  if (f.hosts.standalone) reading.refuse("--hosts and --standalone are both given; leave one of them out");
  if (!f.hosts.endpoint.empty())
    reading.refuse("--hosts and --rdzv-endpoint are both given; say --master-addr and --master-port where it matters");
  if (!f.hosts.nnodes.empty() && f.hosts.nnodes != std::to_string(hosts))
    reading.refuse(fmt::format("--nnodes is {} but --hosts names {}; leave --nnodes out", f.hosts.nnodes, hosts));
  if (f.orders_on_input) reading.refuse("--hosts and --orders-on-input are both given; leave --orders-on-input out");
  if (f.worker.empty())
    reading.refuse(
        "there is nothing to launch: end with what each rank runs, as in `troika launch --hosts a,b -- train ...`");
  reading.finish();
}

std::string secret_for(const LaunchFlags& f, Environment environment) {
  if (!f.hosts.secret_file.empty()) environment["TROIKA_SECRET_FILE"] = f.hosts.secret_file;
  if (const std::string given = rendezvous::secret_of(environment); !given.empty()) return given;
  std::string secret;
  for (const char byte : rendezvous::new_nonce()) secret += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return secret;
}

// ssh itself fails with 255 and passes on what the launcher returns; a signal ended one of the two.
bool is_loss(const Place& place, int code) {
  return !place.here && (code == ssh_failed || (code > 128 && code != base::exit_interrupted));
}

class Spread {
 public:
  Spread(const LaunchFlags& f, const Environment& environment)
      : f_(f), environment_(environment), secret_(secret_for(f, environment)) {
    for (const SshHost& host : hosts_of(f.by_ssh)) places_.push_back({host, is_this_host(host)});
    folder_ = f.remote_folder.empty() ? std::filesystem::current_path().string() : f.remote_folder;
    program_ = f.remote_program.empty() ? own_program() : f.remote_program;
  }

  std::size_t hosts() const { return places_.size(); }
  int run();

 private:
  struct Asked {
    std::size_t host;
    HostProcess process;
    std::string said{};
  };
  void greet();
  bool all_answered(std::deque<Asked>& asked);
  void judge_greetings(std::deque<Asked>& asked);
  std::string fault_of(Asked& asked, bool* unreachable);
  std::string meeting_address() const;
  void start(const std::string& address);
  void hear(int signal);
  void tell_all(const std::string& order);
  void stop_all();
  bool take_ends();
  void hurry();
  int code() const;

  const LaunchFlags& f_;
  const Environment& environment_;
  const std::string secret_;
  std::vector<Place> places_;
  std::string folder_, program_;
  std::vector<Greeting> greetings_;  // of each host; empty ones for this host
  Signals signals_;
  std::deque<HostProcess> launchers_;
  std::vector<std::optional<int>> ends_;
  bool lost_ = false;  // ssh has ended before its launcher
  int stops_ = 0;
  double last_order_ = 0;  // when, base::monotonic_seconds(); 0: none was given
  double first_end_ = 0;   // of a host
};

// Every host at once, so that many that do not answer take no longer than one.
void Spread::greet() {
  greetings_.resize(places_.size());
  std::deque<Asked> asked;
  for (std::size_t host = 0; host < places_.size(); ++host) {
    if (places_[host].here) continue;
    const auto words = ssh_words(places_[host].host, greeting_command(folder_, program_));
    asked.push_back({host, HostProcess(words, environment_, HostProcess::Output::read)});
    asked.back().process.end_input();
  }
  const double until = base::monotonic_seconds() + greeting_seconds;
  while (!all_answered(asked) && base::monotonic_seconds() < until)
    if (asks_to_stop(signals_.wait(50))) throw Stopped();
  judge_greetings(asked);
}

bool Spread::all_answered(std::deque<Asked>& asked) {
  bool all = true;
  for (Asked& one : asked) {
    one.said += one.process.read_output();
    one.process.read_complaints();
    all = all && one.process.output() < 0 && one.process.end();
  }
  return all;
}

void Spread::judge_greetings(std::deque<Asked>& asked) {
  std::vector<std::string> faults;
  bool any_unreachable = false;
  for (Asked& one : asked) {
    greetings_[one.host] = read_greeting(one.said);
    if (std::string fault = fault_of(one, &any_unreachable); !fault.empty())
      faults.push_back(fmt::format("host {} ({}): {}", one.host, name_of(places_[one.host]), fault));
  }
  if (faults.empty()) return;
  if (any_unreachable) throw base::PeerError(base::join(faults, "\n"));
  throw base::ConfigError(base::join(faults, "\n"));
}

std::string Spread::fault_of(Asked& asked, bool* unreachable) {
  const Place& place = places_[asked.host];
  const std::optional<int> code = asked.process.end();
  const std::string by_hand = fmt::format("`{}` must work without a password",
                                          shell_words(ssh_words(place.host, greeting_command(folder_, program_))));
  if (!code || *code == ssh_failed) {
    *unreachable = true;
    return fmt::format(
        "{}; {}", code ? asked.process.complaint() : fmt::format("no word within {:g} s", greeting_seconds), by_hand);
  }
  if (*code != 0)
    return fmt::format(
        "{} (exit code {}); --remote-folder and --remote-program say where the run's folder and troika are there",
        asked.process.complaint(), *code);
  const std::string here = "troika " + std::string(base::version);
  if (greetings_[asked.host].version != here)
    return fmt::format("'{}' is {} there and {} here; install one version on all hosts", program_,
                       base::printable(greetings_[asked.host].version, 60), here);
  return "";
}

// How the others reach host 0: as this machine does, or, where host 0 is this machine, as the next host sees it.
std::string Spread::meeting_address() const {
  if (!f_.hosts.master_address.empty()) return f_.hosts.master_address;
  std::string address;
  if (!places_[0].here) address = greetings_[0].host_address;
  for (std::size_t host = 1; host < places_.size() && places_[0].here && address.empty(); ++host)
    address = greetings_[host].from;
  const bool nobody_else = places_.size() == 1;
  if (address.empty() && !nobody_else)
    throw base::ConfigError("ssh does not say by which address host 0 is reached; give --master-addr");
  return address.empty() ? "127.0.0.1" : address;
}

void Spread::start(const std::string& address) {
  ends_.resize(places_.size());
  for (std::size_t host = 0; host < places_.size(); ++host) {
    std::vector<std::string> words =
        launch_words(f_, {static_cast<int>(places_.size()), static_cast<int>(host), address});
    words.insert(words.begin(), places_[host].here ? own_program() : program_);
    if (!places_[host].here) words = ssh_words(places_[host].host, in_folder(folder_) + "exec " + shell_words(words));
    launchers_.emplace_back(words, environment_, HostProcess::Output::inherited);
    launchers_.back().tell(secret_);
  }
}

void Spread::tell_all(const std::string& order) {
  for (HostProcess& launcher : launchers_) launcher.tell(order);
}

void Spread::stop_all() {
  ++stops_;
  last_order_ = base::monotonic_seconds();
  tell_all("stop");
}

void Spread::hear(int signal) {
  if (signal == SIGUSR1) tell_all("where");
  if (!asks_to_stop(signal)) return;
  if (stops_ == 0 || base::monotonic_seconds() - last_order_ > same_press_seconds) stop_all();
}

// Whether all have ended.
bool Spread::take_ends() {
  bool all = true;
  for (std::size_t host = 0; host < launchers_.size(); ++host) {
    if (ends_[host]) continue;
    ends_[host] = launchers_[host].end();
    if (!ends_[host]) {
      all = false;
      continue;
    }
    if (first_end_ == 0) first_end_ = base::monotonic_seconds();
    if (!is_loss(places_[host], *ends_[host])) continue;
    lost_ = true;
    launcher_says(
        fmt::format("host {} ({}): ssh has ended before the launcher there (exit code {}); that one stops by itself, "
                    "and so does the run",
                    host, name_of(places_[host]), *ends_[host]));
    if (stops_ == 0) stop_all();
  }
  return all;
}

// Hosts end together by themselves. One that does not is told, told again, and left.
void Spread::hurry() {
  const double now = base::monotonic_seconds();
  if (stops_ == 0 && first_end_ > 0 && now - first_end_ > end_together_seconds) {
    launcher_says(
        fmt::format("not all hosts have ended {:g} s after the first: they are told to stop", end_together_seconds));
    stop_all();
  } else if (stops_ == 1 && first_end_ > 0 && now - std::max(first_end_, last_order_) > end_together_seconds) {
    stop_all();
  } else if (stops_ > 1 && now - last_order_ > after_last_order_seconds) {
    for (std::size_t host = 0; host < launchers_.size(); ++host) {
      if (ends_[host]) continue;
      launcher_says(fmt::format("host {} ({}) has not ended; look there for what is left of the run", host,
                                name_of(places_[host])));
      launchers_[host].kill();
    }
  }
}

int Spread::code() const {
  if (lost_) return 75;
  int code = *ends_[0];
  for (const std::optional<int>& end : ends_)
    if (code == 0) code = *end;
  return code > 128 && code != base::exit_interrupted ? 75 : code;
}

int Spread::run() {
  greet();
  const std::string address = meeting_address();
  if (places_.size() > 1)
    launcher_says(fmt::format("{} hosts meet at {}:{} on host 0 ({})", places_.size(), address,
                              f_.hosts.master_port.value_or(29500), name_of(places_[0])));
  start(address);
  double said_here = 0;
  while (!take_ends()) {
    if (const double now = base::monotonic_seconds(); now - said_here > order_pause_seconds)
      said_here = now, tell_all("here");
    hear(signals_.wait(200));
    hurry();
  }
  return code();
}

}  // namespace

std::vector<std::string> launch_words(const LaunchFlags& f, const HostPlace& place) {
  std::vector<std::string> words = {"launch", "--orders-on-input"};
  const auto say = [&words](const std::string& flag, const std::string& value) {
    if (value.empty()) return;
    words.push_back("--" + flag);
    words.push_back(value);
  };
  say("nnodes", std::to_string(place.nnodes));
  say("node-rank", std::to_string(place.node_rank));
  say("master-addr", place.master_address);
  if (f.hosts.master_port) say("master-port", std::to_string(*f.hosts.master_port));
  say("nproc-per-node", f.nproc_per_node);
  if (f.hosts.join_seconds) say("join-timeout", fmt::format("{:g}", *f.hosts.join_seconds));
  if (f.max_restarts > 0) say("max-restarts", std::to_string(f.max_restarts));
  say("log-dir", f.log_folder);
  if (f.bind == Bind::none) say("bind", "none");
  if (f.metrics_port && place.node_rank == 0) {
    say("metrics-port", std::to_string(*f.metrics_port));
    say("metrics-address", f.metrics_address);
  }
  say("program", f.program);
  words.emplace_back("--");
  words.insert(words.end(), f.worker.begin(), f.worker.end());
  return words;
}

int spread_launch(const LaunchFlags& f, const Environment& environment) {
  Spread spread(f, environment);
  refuse_contradictions(f, spread.hosts());
  try {
    return spread.run();
  } catch (const Stopped&) {
    return base::exit_interrupted;
  }
}

}  // namespace troika::commands

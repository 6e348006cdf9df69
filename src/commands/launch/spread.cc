#include "commands/launch/launch.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "commands/launch/options.h"
#include "config/flag_table.h"
#include "host/process.h"
#include "host/subprocess.h"
#include "host/signals.h"
#include "host/worker.h"
#include "launch/host_process.h"
#include "launch/launcher.h"
#include "commands/launch/roll_call.h"
#include "launch/starter.h"
#include "rendezvous/socket.h"
#include "rendezvous/identity.h"

namespace troika::commands {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr double end_together_seconds = 20;      // hosts end together by themselves; one that does not is told to stop
constexpr double after_last_order_seconds = 10;  // then ssh is killed
constexpr double same_press_seconds = 0.3;       // `timeout` and some terminals send one signal twice

// Refuses flags that state the same as --hosts.
void refuse_contradictions(const launch::LaunchFlags& f, std::size_t hosts) {
  config::FlagReading reading;
  if (f.hosts.node_rank)
    reading.refuse(base::say("--hosts and --node-rank are both given: --hosts numbers the hosts itself; leave --node-rank out"));
  if (f.hosts.standalone) reading.refuse(base::say("--hosts and --standalone are both given; leave one of them out"));
  if (!f.hosts.endpoint.empty())
    reading.refuse(base::say("--hosts and --rdzv-endpoint are both given; say --master-addr and --master-port where it matters"));
  if (!f.hosts.nnodes.empty() && f.hosts.nnodes != std::to_string(hosts))
    reading.refuse(base::say("--nnodes is {} but --hosts names {}; leave --nnodes out", f.hosts.nnodes, hosts));
  if (f.orders_on_input) reading.refuse(base::say("--hosts and --orders-on-input are both given; leave --orders-on-input out"));
  if (f.worker.empty())
    reading.refuse(base::say(
        "nothing to launch: end the command with what each rank runs, as in `troika launch --hosts a,b -- train ...`"));
  reading.finish();
}

// Before signals are heard: what is read may not come.
std::vector<launch::LaunchHost> launch_hosts(const launch::LaunchFlags& f) {
  std::vector<launch::LaunchHost> hosts;
  for (const launch::SshHost& host : launch::hosts_of(f.by_ssh)) hosts.push_back({host, launch::is_this_host(host)});
  return hosts;
}

std::string secret_for(const launch::LaunchFlags& f, Environment environment, const launch::Speaker& speaker) {
  if (!f.hosts.secret_file.empty()) environment["TROIKA_SECRET_FILE"] = f.hosts.secret_file;
  if (const auto note = rendezvous::note_about_secret_file(environment)) speaker.say(base::say("note: {}", *note));
  if (const std::string given = rendezvous::secret_of(environment); !given.empty()) return given;
  return rendezvous::new_token();
}

// ssh itself fails with 255 and passes on what the launcher returns; a signal ended one of the two.
bool is_loss(const launch::LaunchHost& host, int code) {
  return !host.here && (code == ssh_failed || (code > 128 && code != base::exit_interrupted));
}

class Spread {
 public:
  Spread(const launch::LaunchFlags& f, const Environment& environment, base::Language language)
      : f_(f),
        environment_(environment),
        speaker_{"troika launch", language},
        secret_(secret_for(f, environment, speaker_)),
        hosts_(launch_hosts(f)) {
    run_.folder = f.remote_folder.empty() ? std::filesystem::current_path().string() : f.remote_folder;
    run_.program = f.remote_program.empty() ? host::own_program() : f.remote_program;
  }

  std::size_t count() const { return hosts_.size(); }
  int run();

 private:
  std::string meeting_address(const std::vector<Greeting>& greetings) const;
  void start(const std::string& address);
  void hear(int signal);
  void tell_all(const std::string& order);
  void stop_all();
  bool take_ends();
  void hurry();
  int code() const;

  const launch::LaunchFlags& f_;
  const Environment& environment_;
  const launch::Speaker speaker_;
  const std::string secret_;
  std::vector<launch::LaunchHost> hosts_;
  RemoteRun run_;
  host::Signals signals_;
  std::deque<launch::HostProcess> launchers_;
  std::vector<std::optional<int>> ends_;
  bool lost_ = false;  // ssh has ended before its launcher
  int stops_ = 0;
  double last_order_ = 0;  // when, base::monotonic_seconds(); 0: none was given
  double first_end_ = 0;   // of a host
};

// How the others reach host 0: as this machine does, or, where host 0 is this machine, as the next host sees it.
std::string Spread::meeting_address(const std::vector<Greeting>& greetings) const {
  if (!f_.hosts.master_address.empty()) return f_.hosts.master_address;
  std::string address;
  if (!hosts_[0].here) address = greetings[0].host_address;
  for (std::size_t host = 1; host < hosts_.size() && hosts_[0].here && address.empty(); ++host)
    address = greetings[host].from;
  const bool nobody_else =
      std::all_of(hosts_.begin(), hosts_.end(), [](const launch::LaunchHost& host) { return host.here; });
  if (address.empty() && !nobody_else)
    throw base::ConfigError(base::say("ssh does not report the address of host 0; give --master-addr"));
  return address.empty() ? "127.0.0.1" : address;
}

void Spread::start(const std::string& address) {
  ends_.resize(hosts_.size());
  for (std::size_t host = 0; host < hosts_.size(); ++host) {
    std::vector<std::string> words =
        launch_words(f_, {static_cast<int>(hosts_.size()), static_cast<int>(host), address}, speaker_.language);
    words.insert(words.begin(), hosts_[host].here ? host::own_program() : run_.program);
    if (!hosts_[host].here)
      words =
          launch::ssh_words(hosts_[host].ssh, in_folder(run_.folder) + "exec " + launch::shell_words(words));
    launchers_.emplace_back(words, environment_, launch::HostProcess::Output::inherited);
    launchers_.back().tell(secret_);
  }
}

void Spread::tell_all(const std::string& order) {
  for (launch::HostProcess& launcher : launchers_) launcher.tell(order);
}

void Spread::stop_all() {
  ++stops_;
  last_order_ = base::monotonic_seconds();
  tell_all("stop");
}

void Spread::hear(int signal) {
  if (signal == SIGUSR1) tell_all("where");
  if (!host::asks_to_stop(signal)) return;
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
    if (!is_loss(hosts_[host], *ends_[host])) continue;
    lost_ = true;
    speaker_.say(base::say(
        "host {} ({}): ssh exited before the launcher there (exit code {}); that launcher and the run stop by themselves",
        host, hosts_[host].name(), *ends_[host]));
    if (stops_ == 0) stop_all();
  }
  return all;
}

// Hosts end together by themselves. One that does not is told, told again, and left.
void Spread::hurry() {
  const double now = base::monotonic_seconds();
  if (stops_ == 0 && first_end_ > 0 && now - first_end_ > end_together_seconds) {
    speaker_.say(
        base::say("some hosts are still running {:g} s after the first exited, so they are asked to stop", end_together_seconds));
    stop_all();
  } else if (stops_ == 1 && first_end_ > 0 && now - std::max(first_end_, last_order_) > end_together_seconds) {
    stop_all();
  } else if (stops_ > 1 && now - last_order_ > after_last_order_seconds) {
    for (std::size_t host = 0; host < launchers_.size(); ++host) {
      if (ends_[host]) continue;
      speaker_.say(
          base::say("host {} ({}) has not exited; check it for leftover processes of the run", host, hosts_[host].name()));
      launchers_[host].kill();
    }
  }
}

int Spread::code() const {
  if (lost_) return base::exit_peer_lost;
  int code = *ends_[0];
  for (const std::optional<int>& end : ends_)
    if (code == 0) code = *end;
  return code > 128 && code != base::exit_interrupted ? base::exit_peer_lost : code;
}

// The launchers of the hosts are not reached by Ctrl-Z, and miss this one's word.
base::Text about_pause() {
  return base::say(
      "paused, but the run goes on: unless `fg`, `bg` or kill -CONT {} continues this launcher within {:g} s, its "
      "hosts "
      "save and stop",
      ::getpid(), launch::order_patience_seconds);
}

int Spread::run() {
  signals_.around_pauses({[this] { speaker_.say(about_pause()); }, [this] { speaker_.say(base::say("continues")); }});
  const std::string address = meeting_address(call_roll(hosts_, run_, environment_, signals_));
  if (hosts_.size() > 1)
    speaker_.say(base::say("{} hosts meet at {} on host 0 ({})", hosts_.size(),
                           rendezvous::endpoint_text(address, static_cast<int>(f_.hosts.master_port.value_or(29500))),
                           hosts_[0].name()));
  start(address);
  launch::service_manager(environment_).tell("READY=1");
  double said_here = 0;
  while (!take_ends()) {
    if (const double now = base::monotonic_seconds(); now - said_here > launch::order_pause_seconds)
      said_here = now, tell_all("here");
    hear(signals_.wait(200));
    hurry();
  }
  return code();
}

}  // namespace

std::vector<std::string> launch_words(const launch::LaunchFlags& f, const HostPlace& place, base::Language language) {
  std::vector<std::string> words = host::language_flag(language);
  words.insert(words.begin(), {"launch", "--orders-on-input"});
  const auto add = [&words](const std::string& flag, const std::string& value) {
    if (value.empty()) return;
    words.push_back("--" + flag);
    words.push_back(value);
  };
  add("nnodes", std::to_string(place.nnodes));
  add("node-rank", std::to_string(place.node_rank));
  add("master-addr", place.master_address);
  if (f.hosts.master_port) add("master-port", std::to_string(*f.hosts.master_port));
  add("nproc-per-node", f.nproc_per_node);
  if (f.hosts.join_seconds) add("join-timeout", fmt::format("{:g}", *f.hosts.join_seconds));
  if (f.max_restarts > 0) add("max-restarts", std::to_string(f.max_restarts));
  add("log-dir", f.log_folder);
  if (f.bind == launch::Bind::none) add("bind", "none");
  if (f.metrics_port && place.node_rank == 0) {
    add("metrics-port", std::to_string(*f.metrics_port));
    add("metrics-address", f.metrics_address);
  }
  add("program", f.program);
  words.emplace_back("--");
  words.insert(words.end(), f.worker.begin(), f.worker.end());
  return words;
}

int spread_launch(const launch::LaunchFlags& f, const Environment& environment, base::Language language) {
  Spread spread(f, environment, language);
  refuse_contradictions(f, spread.count());
  try {
    return spread.run();
  } catch (const launch::Stopped&) {
    return base::exit_interrupted;
  }
}

}  // namespace troika::commands

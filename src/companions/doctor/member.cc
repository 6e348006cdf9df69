#include "doctor/consultation.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "doctor/check.h"
#include "doctor/echo.h"
#include "doctor/host_report.h"

namespace troika::doctor {
namespace {

const std::string question_origin = "what a doctor was asked";

// By which others may reach this host, the likeliest first: as stated, where ssh came in, then each interface that runs use.
std::vector<std::string> addresses_of(const MemberJob& job) {
  std::vector<std::string> addresses;
  const auto add = [&](const std::string& address) {
    const bool local = address.empty() || address.compare(0, 4, "127.") == 0 || address.compare(0, 5, "fe80:") == 0;
    if (!local && std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(address);
  };
  if (const Interface* stated = find_interface(job.view.interfaces, job.view.want.interface); stated != nullptr)
    for (const Address& address : stated->addresses) add(address.text);
  add(job.address);
  for (const Interface& one : job.view.interfaces)
    if (one.up && carries_runs(one))
      for (const Address& address : one.addresses) add(address.text);
  if (addresses.empty()) addresses.emplace_back("127.0.0.1");
  return addresses;
}

// A file in the run's folder that the members of other hosts look for; gone with this object.
class Nonce {
 public:
  Nonce(const std::string& folder, const std::string& name) : path_(folder + "/" + name) {
    try {
      base::write_file_atomic(path_, "troika doctor\n");
      written_ = true;
    } catch (const base::DataError&) {  // check_file_system tells of it
    }
  }
  ~Nonce() {
    if (written_) ::unlink(path_.c_str());
  }
  Nonce(const Nonce&) = delete;
  Nonce& operator=(const Nonce&) = delete;
  bool written() const { return written_; }

 private:
  const std::string path_;
  bool written_ = false;
};

class MemberRun {
 public:
  MemberRun(const MemberJob& job, Lines& lines)
      : job_(job), lines_(lines), server_(job.view.port == PortState::free ? job.view.want.port : 0) {}

  void run() {
    const double until = base::monotonic_seconds() + job_.life_seconds;
    say_here();
    say_report();
    while (const auto line = lines_.hear(until))
      if (!answer(base::parse_json(*line, question_origin))) return;
  }

 private:
  void say_here() {
    const PeerDoctor me{
        "", job_.view.name, addresses_of(job_), server_.tcp_port(), server_.udp_port(), server_.named_port()};
    lines_.say(nlohmann::json({{"here", to_json(me)}}).dump());
  }

  void say_report() {
    HostView view = job_.view;
    if (!job_.quick) view.measured = measure(view, job_.pace);
    if (job_.quick) view.resolve = nullptr;
    const HostReport report{view.name, facts_of(view, job_.program), look_at(view)};
    lines_.say(nlohmann::json({{"report", to_json(report)}}).dump());
  }

  bool answer(const nlohmann::json& question) {
    const std::string what = base::json_string(question, "ask", question_origin);
    if (what == "meet") meet(question);
    if (what == "write") write(question);
    if (what == "look") look(question);
    static constexpr std::string_view last = "end";
    return what != last;
  }

  void meet(const nlohmann::json& question) {
    const PeerDoctor peer = parse<PeerDoctor>(base::json_object(question, "peer", question_origin));
    const Depth depth = base::json_int(question, "rates", question_origin) != 0 ? Depth::all : Depth::reach;
    const PairReport met =
        measure_peer(peer, depth, base::json_double(question, "seconds", question_origin), job_.view.interfaces);
    lines_.say(nlohmann::json({{"met", to_json(met)}}).dump());
  }

  std::string folder() const { return job_.view.disk ? job_.view.disk->folder : "."; }

  void write(const nlohmann::json& question) {
    nonce_ = std::make_unique<Nonce>(folder(), base::json_string(question, "name", question_origin));
    lines_.say(nlohmann::json({{"written", nonce_->written() ? 1 : 0}, {"folder", folder()}}).dump());
  }

  // A network file system may show it late, a disk of this host at once.
  void look(const nlohmann::json& question) {
    const std::string path = folder() + "/" + base::json_string(question, "name", question_origin);
    constexpr std::uint64_t local_types[] = {0xEF53, 0x58465342, 0x9123683E, 0x1021994, 0x794c7630};
    const bool local =
        job_.view.disk && std::count(std::begin(local_types), std::end(local_types), job_.view.disk->type) > 0;
    const double begin = base::monotonic_seconds(), until = begin + (local ? 0 : 5);
    double seconds = -1;
    do {
      if (base::file_exists(path)) seconds = base::monotonic_seconds() - begin;
      if (seconds < 0 && !local) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (seconds < 0 && base::monotonic_seconds() < until);
    lines_.say(nlohmann::json({{"seen", seconds}}).dump());
  }

  const MemberJob& job_;
  Lines& lines_;
  const EchoServer server_;
  std::unique_ptr<Nonce> nonce_;
};

}  // namespace

void run_member(const MemberJob& job, Lines& lines) { MemberRun(job, lines).run(); }

}  // namespace troika::doctor

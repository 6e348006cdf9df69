#include "probe/team.h"

#include <fmt/format.h>
#include <sched.h>

#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "gpu/device.h"
#include "host/memory.h"
#include "host/process.h"
#include "kernels/linear.h"
#include "probe/timed_kernel.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troika::probe {

static double number_said(const std::string& line) {
  double number = 0;
  if (!base::parse_double(line, &number))
    throw base::BugError(fmt::format("a process that measures said '{}' for a number", base::printable(line, 100)));
  return number;
}

Team::Team(const std::vector<Membership>& members, const std::map<std::string, std::string>& environment) {
  for (const Membership& member : members) {
    auto variables = environment_of_nobody(environment);
    variables["OMP_NUM_THREADS"] = std::to_string(member.threads);
    std::vector<std::string> words{host::own_program(), "probe"};
    for (const std::string& word : words_of(member)) words.push_back(word);
    members_.push_back(std::make_unique<Child>(words, variables));
  }
  for (const auto& member : members_) {
    const auto bytes = static_cast<std::int64_t>(number_said(member->hear()));
    if (resident_bytes_ == 0) resident_bytes_ = bytes;
  }
}

double Team::time(std::size_t number, double seconds) {
  for (const auto& member : members_) member->say(fmt::format("prepare {}", number));
  for (const auto& member : members_) member->hear();
  for (const auto& member : members_) member->say(fmt::format("run {:.6f}", seconds));
  double sum = 0;
  for (const auto& member : members_) sum += number_said(member->hear());
  return sum / static_cast<double>(members_.size());
}

namespace {

constexpr double end_seconds = 2;

host::Subprocess started(std::vector<std::string> words, const std::map<std::string, std::string>& environment) {
  host::Command command{std::move(words), environment};
  command.input = command.output = host::Stream::pipe();
  command.signals = host::signals_of_this_thread();
  return host::Subprocess(command);
}

}  // namespace

Child::Child(std::vector<std::string> words, const std::map<std::string, std::string>& environment)
    : name_(words.at(0)), process_(started(std::move(words), environment)) {
  in_ = ::fdopen(process_.input().release(), "w");
  out_ = ::fdopen(process_.output().release(), "r");
}

Child::~Child() {
  std::fclose(in_);
  std::fclose(out_);
  process_.ends_within(end_seconds);
}

void Child::say(const std::string& line) {
  std::fprintf(in_, "%s\n", line.c_str());
  std::fflush(in_);
}

std::string Child::hear() {
  std::string line;
  for (int c = std::fgetc(out_); c != '\n'; c = std::fgetc(out_)) {
    if (c != EOF) {
      line.push_back(static_cast<char>(c));
      continue;
    }
    const int code = wait();
    throw base::PeerError(
        base::say("'{}', started to measure in a separate process, ended with {}; if nobody did that, memory ran out",
                  name_, code > 128 ? base::say("signal {}", code - 128) : base::say("exit code {}", code)));
  }
  return line;
}

std::string Child::hear_all() {
  std::string text;
  for (int c = std::fgetc(out_); c != EOF; c = std::fgetc(out_)) text.push_back(static_cast<char>(c));
  return text;
}

int Child::wait() { return process_.wait().code(); }

std::map<std::string, std::string> environment_of_nobody(std::map<std::string, std::string> environment) {
  static const std::string names =
      "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT TROIKA_STORE "
      "TROIKA_SECRET TROIKA_LAUNCH TROIKA_GENERATION TROIKA_SECRET_FILE NNODES NUM_NODES PET_NNODES NODE_RANK "
      "PET_NODE_RANK PET_MASTER_ADDR NUM_GPUS SLURM_STEP_ID SLURM_PROCID FORCE_TORCHRUN OMP_NUM_THREADS "
      "OMP_WAIT_POLICY NPROC_PER_NODE PET_NPROC_PER_NODE PET_MASTER_PORT OMPI_COMM_WORLD_RANK "
      "OMPI_COMM_WORLD_SIZE";
  for (const std::string& name : base::split(names, ' ')) environment.erase(name);
  return environment;
}

namespace {

constexpr const char member_word[] = "--member";

void bind_to(int core) {
  if (core < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  ::sched_setaffinity(0, sizeof set, &set);  // runs unbound when refused
}

bool read_line(std::FILE* in, std::string* line) {
  line->clear();
  for (int c = std::fgetc(in); c != '\n'; c = std::fgetc(in)) {
    if (c == EOF) return false;
    line->push_back(static_cast<char>(c));
  }
  return true;
}

void answer(std::FILE* out, const std::string& text) {
  std::fprintf(out, "%s\n", text.c_str());
  std::fflush(out);
}

class Member {
 public:
  explicit Member(int threads)
      : device_(gpu::pick_device("auto", 0)),
        clock_(threads == 1 && device_.is_cpu() ? Clock::of_thread : Clock::wall),
        kernels_(kernels_of(device_)) {}

  std::string resident() const {
    kernels::linear_forward(tensor::zeros_float({64, 64}, device_), tensor::zeros_float({64, 64}, device_));
    tensor::synchronize(device_);
    return std::to_string(host::process_memory().resident_bytes);
  }

  std::string reply(const std::string& line) {
    const auto space = line.find(' ');
    const std::string verb = line.substr(0, space), value = space == std::string::npos ? "" : line.substr(space + 1);
    std::int64_t number = 0;
    double seconds = 0;
    if (verb == "prepare" && base::parse_int(value, &number)) {
      body_ = nullptr;
      body_ = kernels_.at(static_cast<std::size_t>(number)).prepare(device_);
      body_();
      tensor::synchronize(device_);
      return "ready";
    }
    if (verb == "run" && base::parse_double(value, &seconds) && body_)
      return fmt::format("{:.9g}", seconds_of_call(body_, device_, clock_, seconds));
    throw base::BugError("a process that measures was asked '" + line + "'");
  }

 private:
  const tensor::Device device_;
  const Clock clock_;
  const std::vector<TimedKernel> kernels_;
  KernelBody body_;
};

}  // namespace

std::vector<std::string> words_of(const Membership& m) {
  return {member_word, std::to_string(m.threads), std::to_string(m.core)};
}

bool read_membership(const std::vector<std::string>& words, Membership* membership) {
  std::int64_t threads = 0, core = 0;
  if (words.size() != 3 || words[0] != member_word) return false;
  if (!base::parse_int(words[1], &threads) || !base::parse_int(words[2], &core)) return false;
  *membership = {static_cast<int>(threads), static_cast<int>(core)};
  return true;
}

int run_member(const Membership& membership, std::FILE* in, std::FILE* out) {
  bind_to(membership.core);
  tensor::set_threads(membership.threads);
  Member member(membership.threads);
  answer(out, member.resident());
  std::string line;
  while (read_line(in, &line)) answer(out, member.reply(line));
  return 0;
}

}  // namespace troika::probe

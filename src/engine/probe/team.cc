#include "probe/team.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "host/process.h"

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
        base::say("'{}', started to measure beside this process, ended with {}; if nobody did that, memory ran out",
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
  static const char* const names[] = {"RANK",
                                      "WORLD_SIZE",
                                      "LOCAL_RANK",
                                      "LOCAL_WORLD_SIZE",
                                      "GROUP_RANK",
                                      "MASTER_ADDR",
                                      "MASTER_PORT",
                                      "TROIKA_STORE",
                                      "TROIKA_SECRET",
                                      "TROIKA_LAUNCH",
                                      "TROIKA_GENERATION",
                                      "TROIKA_SECRET_FILE",
                                      "NNODES",
                                      "NUM_NODES",
                                      "PET_NNODES",
                                      "NODE_RANK",
                                      "PET_NODE_RANK",
                                      "PET_MASTER_ADDR",
                                      "NUM_GPUS",
                                      "SLURM_STEP_ID",
                                      "SLURM_PROCID",
                                      "FORCE_TORCHRUN",
                                      "OMP_NUM_THREADS",
                                      "OMP_WAIT_POLICY",
                                      "NPROC_PER_NODE",
                                      "PET_NPROC_PER_NODE",
                                      "PET_MASTER_PORT",
                                      "OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE"};
  for (const char* name : names) environment.erase(name);
  return environment;
}

}  // namespace troika::probe

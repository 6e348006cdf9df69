#include "commands/train/program_test_support.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "base/await_test_support.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "metrics/step_metrics.h"
#include "rendezvous/store.h"

namespace troika::commands {
using base::monotonic_seconds;

static constexpr const char* mark_name = "TROIKA_TEST_MARK";

static host::Subprocess started(const Words& words, const Variables& variables, const std::string& input,
                                const std::string& output) {
  const base::Descriptor in(::open(input.c_str(), O_RDONLY | O_CLOEXEC)),
      out(::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  host::Command command{words, variables};
  for (const auto& [name, value] :
       Variables{{"PATH", "/usr/bin:/bin"}, {"OMP_NUM_THREADS", "1"}})
    command.environment.insert({name, value});
  command.input = host::Stream::to(in);
  command.output = command.errors = host::Stream::to(out);
  command.signals = host::signals_of_this_thread();
  return host::Subprocess(command);
}

static Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Program::Program(const Words& words, const Variables& variables, const std::string& input)
    : process_(started(words, with(variables, mark_name, folder_.path()), input, folder_ / "output.txt")) {}

Program::~Program() {
  for (const pid_t process : processes()) ::kill(process, SIGKILL);
}

End Program::wait() {
  const bool ended = process_.ends_within(patience_seconds);
  EXPECT_TRUE(ended) << "it did not end:\n" << output();
  if (!ended) return {-1, monotonic_seconds(), output()};
  const double when = monotonic_seconds();
  const host::End end = process_.wait();
  return {end.signal != 0 ? 1000 + end.signal : end.exit_code, when, output()};
}

void Program::signal(int number) const { process_.send(number); }

std::string Program::output() const { return base::read_file(folder_ / "output.txt"); }

void Program::await_output(const std::string& text) const {
  const bool came = base::await(patience_seconds, [&] { return output().find(text) != std::string::npos; });
  EXPECT_TRUE(came) << "it never said '" << text << "' but:\n" << output();
}

// The environment a process was started with; empty when it is gone, or a zombie.
static std::vector<std::string> environment_of(const std::string& pid) {
  try {
    return base::split(base::read_file("/proc/" + pid + "/environ"), '\0');
  } catch (const base::DataError&) {
    return {};
  }
}

static bool has(const std::vector<std::string>& entries, const std::string& entry) {
  return std::find(entries.begin(), entries.end(), entry) != entries.end();
}

static std::vector<pid_t> processes_with(const std::string& first, const std::string& second) {
  std::vector<pid_t> found;
  for (const std::string& name : base::list_directory("/proc")) {
    std::int64_t pid = 0;
    if (!base::parse_int(name, &pid)) continue;
    const auto entries = environment_of(name);
    if (has(entries, first) && has(entries, second)) found.push_back(static_cast<pid_t>(pid));
  }
  return found;
}

std::string Program::mark() const { return std::string(mark_name) + "=" + folder_.path(); }

std::vector<pid_t> Program::processes() const { return processes_with(mark(), mark()); }

pid_t Program::rank(int world_rank) const {
  const auto found = processes_with(mark(), fmt::format("RANK={}", world_rank));
  return found.empty() ? 0 : found.front();
}

Words troika(const Words& words) { return Words{TROIKA_BINARY_DIR "/troika"} + words; }

Words launch(int ranks, const Words& train) {
  return troika({"launch", "--nproc-per-node", std::to_string(ranks), "--"}) + train;
}

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

End run(const Words& words, const Variables& variables) { return Program(words, variables).wait(); }

Variables as_torchrun(int rank, int world_size, int master_port) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(world_size)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(world_size)},
          {"GROUP_RANK", "0"},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(master_port)}};
}

std::string write_corpus(const Folder& folder) {
  const base::Philox random(3, "corpus");
  const char* words[] = {"the ", "model ", "learns ", "a ", "layout ", "never ", "changes ", "loss\n"};
  std::string text;
  for (std::uint64_t i = 0; i < 6000; ++i) text += words[random.bits(i) % 8];
  base::write_file_atomic(folder / "corpus.txt", text);
  return folder / "corpus.txt";
}

Words small_run(const std::string& corpus, const std::string& out) {
  return {"train", "--data.train",
          corpus,  "--data.tokenizer",
          "bytes", "--seq-len",
          "16",    "--micro-batch-size",
          "1",     "--global-batch-size",
          "12",    "--steps",
          "20",    "--seed",
          "7",     "--model.layers",
          "4",     "--model.hidden",
          "32",    "--model.heads",
          "2",     "--model.kv-heads",
          "1",     "--model.head-dim",
          "16",    "--model.ffn",
          "64",    "--model.vocab",
          "259",   "--out",
          out};
}

Rows read_rows(const std::string& out) { return metrics::MetricsFile(out + "/metrics.jsonl").read(); }

void expect_rows(const Rows& rows, const Rows& expected, const std::string& what) {
  ASSERT_EQ(rows.size(), expected.size()) << what;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].step, static_cast<std::int64_t>(i) + 1) << what;
    EXPECT_EQ(rows[i].loss_bits, expected[i].loss_bits) << what << ", step " << i + 1;
    EXPECT_EQ(rows[i].grad_norm, expected[i].grad_norm) << what << ", step " << i + 1;
  }
}

void await_step(const std::string& out, std::int64_t step) {
  const auto lines = [&] {
    const std::string path = out + "/metrics.jsonl";
    const std::string text = base::file_exists(path) ? base::read_file(path) : "";
    return std::count(text.begin(), text.end(), '\n');
  };
  ASSERT_TRUE(base::await(patience_seconds, [&] { return lines() >= step; })) << "step " << step << " did not come";
}

void await_steps(const std::string& out, int rank) {
  const std::string log = fmt::format("{}/logs/rank-{:05}.log", out, rank);
  const auto begun = [&] {
    return base::file_exists(log) && base::read_file(log).find("the steps begin") != std::string::npos;
  };
  ASSERT_TRUE(base::await(patience_seconds, begun)) << "rank " << rank << " began no step";
}

// An orphan that has ended stays in /proc until init looks.
static bool is_left(pid_t process) {
  try {
    const std::string status = base::read_file(fmt::format("/proc/{}/status", process));
    return status.find("State:\tZ") == std::string::npos || status.find("PPid:\t1\n") == std::string::npos;
  } catch (const base::Error&) {
    return false;
  }
}

void expect_ended(const std::vector<pid_t>& processes) {
  for (const pid_t process : processes)
    EXPECT_TRUE(base::await(2, [process] { return !is_left(process); })) << "process " << process << " is left";
}

std::vector<std::string> checkpoints(const std::string& out) { return base::list_directory(out + "/checkpoints"); }

}  // namespace troika::commands

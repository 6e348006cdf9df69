// Starts the real program, as a user would, and watches what it does: output, exit code, time, and what it leaves behind.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/temporary_folder_test_support.h"
#include "host/subprocess.h"
#include "metrics/step_metrics.h"
#include "rendezvous/free_port_test_support.h"

namespace troika::commands {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// Limits of the tests' own patience, for a machine that is busy; what users are promised is asserted apart.
inline constexpr double patience_seconds = 120;

// A folder of its own, removed at the end.
class Folder {
 public:
  const std::string& path() const { return folder_.path(); }
  std::string operator/(const std::string& name) const { return path() + "/" + name; }

 private:
  const base::TemporaryFolder folder_;
};

struct End {
  int code = -1;       // exit code, 1000 + the signal that killed it, or -1 when it did not end in time
  double when = 0;     // base::monotonic_seconds()
  std::string output;  // stdout and stderr together, as on a terminal
};

// A started program. Its ranks and other children are those processes that carry its mark in their environment.
class Program {
 public:
  // words[0] is a path. The environment is PATH, OMP_NUM_THREADS=1 and `variables`; the standard input is `input`.
  explicit Program(const Words& words, const Variables& variables = {}, const std::string& input = "/dev/null");
  ~Program();  // kills what is left
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  End wait();  // a failure of the test when it does not end in time
  void signal(int number) const;
  std::string output() const;
  void await_output(const std::string& text) const;

  pid_t pid() const { return process_.pid(); }
  std::vector<pid_t> processes() const;  // alive, of this program, the program itself included
  pid_t rank(int world_rank) const;      // 0: none

 private:
  std::string mark() const;

  const Folder folder_;
  host::Subprocess process_;
};

// The program under test and `words`: "troika" itself, and the ranks of a launched run.
Words troika(const Words& words);
Words launch(int ranks, const Words& train);
Words operator+(Words a, const Words& b);

End run(const Words& words, const Variables& variables = {});

// The environment that torchrun leaves to a rank.
Variables as_torchrun(int rank, int world_size, int master_port);

using rendezvous::free_port;

// Text of some thousand words, the same always.
std::string write_corpus(const Folder& folder);

// A small model, 12 microbatches, 20 steps; `out` is the run's folder.
Words small_run(const std::string& corpus, const std::string& out);

using Rows = std::vector<metrics::StepMetrics>;
Rows read_rows(const std::string& out);
// Fails when the steps are not 1, 2, ... `last`, each once, or loss bits or gradient norms differ from `expected`.
void expect_rows(const Rows& rows, const Rows& expected, const std::string& what);

void await_step(const std::string& out, std::int64_t step);  // waits until its row is in metrics.jsonl
void await_steps(const std::string& out, int rank);          // this rank has begun the first one
// All, within 2 s. A zombie may be left only where it is init's to collect.
void expect_ended(const std::vector<pid_t>& processes);

std::vector<std::string> checkpoints(const std::string& out);  // names, ascending

}  // namespace troika::commands

// Processes that time the same kernel at the same time, each with threads and cores of its own.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/subprocess.h"

namespace troika::probe {

// A process that times kernels as its team says (team.h).
// A member's part of the cores: a number of threads, and the core that it is bound to, -1 for none.
struct Membership {
  int threads = 1;
  int core = -1;
};

// The words behind `probe` that start it, and what they say; false for other words.
std::vector<std::string> words_of(const Membership& membership);
bool read_membership(const std::vector<std::string>& words, Membership* membership);

// Says "<bytes it takes with the program loaded and one product made>", then answers until `in` ends:
//   prepare N   makes the operands of the N-th of kernels_of() and runs it once: "ready"
//   run S       times it for S seconds: seconds of one call
int run_member(const Membership& membership, std::FILE* in, std::FILE* out);

// A process that is asked on its standard input and answers on its standard output, line by line.
// It may run where the calling thread may. When this object goes, its input ends, at which a child of ours ends; one that does
// not within two seconds is killed. So does a child whose parent dies.
class Child {
 public:
  // words[0] is the program's path. ConfigError when it cannot be started.
  Child(std::vector<std::string> words, const std::map<std::string, std::string>& environment);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void say(const std::string& line);  // without its end; a child that is gone is found by hear()
  std::string hear();                 // waits for a line, without its end; PeerError when the child ended instead
  std::string hear_all();             // until it ends; what it has said since
  int wait();                         // exit code, or 128 + the signal

 private:
  std::string name_;
  host::Subprocess process_;
  std::FILE* in_ = nullptr;   // it reads
  std::FILE* out_ = nullptr;  // it writes
};

// Without what makes a process a rank of a launched run, or says how many threads it has.
std::map<std::string, std::string> environment_of_nobody(std::map<std::string, std::string> environment);

class Team {
 public:
  // Returns once all members have started. PeerError, here and later, when one of them ended.
  Team(const std::vector<Membership>& members, const std::map<std::string, std::string>& environment);

  // Seconds of one call of the number'th of kernels_of(): the mean of the members, which run for `seconds` at the same time.
  double time(std::size_t number, double seconds);

  std::int64_t resident_bytes() const { return resident_bytes_; }  // of the first, with the program loaded

 private:
  std::vector<std::unique_ptr<Child>> members_;
  std::int64_t resident_bytes_ = 0;
};

}  // namespace troika::probe

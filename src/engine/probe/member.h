// A process that times kernels as its team says (team.h).
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace troika::probe {

// What such a process does of the cores: a number of threads, and the core that it is bound to, -1 for none.
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

}  // namespace troika::probe

#include "probe/member.h"

#include <fmt/format.h>
#include <sched.h>

#include <functional>

#include "base/error.h"
#include "base/text.h"
#include "gpu/device.h"
#include "host/memory.h"
#include "kernels/linear.h"
#include "probe/timed_kernel.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace troika::probe {
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

#include "soak/process.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

namespace troika::soak {

bool await(double seconds, const std::function<bool()>& ready) {
  const double until = base::monotonic_seconds() + seconds;
  while (!ready()) {
    if (base::monotonic_seconds() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

static host::Subprocess started(const std::vector<std::string>& words, const std::vector<std::string>& variables,
                                const std::string& output) {
  const base::Descriptor file(::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  host::Command command{words, {{"PATH", "/usr/bin:/bin"}}};
  for (const std::string& variable : variables) {
    const std::size_t name_end = variable.find('=');
    command.environment[variable.substr(0, name_end)] = variable.substr(name_end + 1);
  }
  command.input = host::Stream::nothing();
  command.output = command.errors = host::Stream::to(file);
  command.signals = host::signals_of_this_thread();
  return host::Subprocess(command);
}

Process::Process(const std::vector<std::string>& words, const std::vector<std::string>& variables,
                 const std::string& output)
    : process_(started(words, variables, output)) {}

std::optional<int> Process::ended() {
  if (!process_.ends_within(0)) return std::nullopt;
  const host::End end = process_.wait();
  return end.signal != 0 ? 1000 + end.signal : end.exit_code;
}

std::string text_from(const std::string& path, std::size_t from) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(from));
  return file ? std::string(std::istreambuf_iterator<char>(file), {}) : "";
}

bool has_ended(pid_t pid) {
  const std::string stat = text_from("/proc/" + std::to_string(pid) + "/stat", 0);
  const auto name_end = stat.rfind(") ");
  return name_end == std::string::npos || stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X';
}

std::vector<pid_t> processes_with(const std::vector<std::string>& entries) {
  std::vector<pid_t> found;
  for (const std::string& name : base::list_directory("/proc")) {
    std::int64_t pid = 0;
    if (!base::parse_int(name, &pid)) continue;
    const std::vector<std::string> all = base::split(text_from("/proc/" + name + "/environ", 0), '\0');
    const bool has_all = std::all_of(entries.begin(), entries.end(), [&](const std::string& entry) {
      return std::find(all.begin(), all.end(), entry) != all.end();
    });
    if (has_all && !has_ended(static_cast<pid_t>(pid))) found.push_back(static_cast<pid_t>(pid));
  }
  return found;
}

bool maps(pid_t pid, const std::string& part) {
  return text_from("/proc/" + std::to_string(pid) + "/maps", 0).find(part) != std::string::npos;
}

}  // namespace troika::soak

#include "commands/cli.h"

#include <cstdio>
#include <exception>
#include <new>

#include "base/error.h"

namespace troika::commands {

std::map<std::string, std::string> capture_environment(char** environment) {
  std::map<std::string, std::string> variables;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

int guarded(const std::function<int()>& verb) {
  try {
    return verb();
  } catch (const base::Error& error) {
    std::fprintf(stderr, "troika: %s\n", error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    std::fprintf(
        stderr, "troika: out of memory; use a smaller --micro-batch-size, --seq-len or model, or more stages (--pp)\n");
    return 70;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "troika: a fault of Troika itself: %s\n", error.what());
    return 70;
  }
}

}  // namespace troika::commands

#include "commands/cli.h"

#include <cstdio>
#include <exception>
#include <new>

#include "base/error.h"
#include "host/thread_limit.h"

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

std::string_view memory_remedy(std::string_view verb) {
  if (verb == "train" || verb == "launch" || verb == "eval" || verb == "bench")
    return "use a smaller --micro-batch-size, --seq-len or model, or more stages (--pp)";
  if (verb == "data") return "use fewer --workers, or free some memory";
  return "free some memory, or use a host with more";
}

int guarded(const std::function<int()>& verb, const std::function<void(const std::string& text)>& last_words,
            std::string_view name) {
  const auto end = [&](const std::string& text, int code) {
    std::fprintf(stderr, "troika: %s\n", text.c_str());
    if (last_words) last_words(text);
    return code;
  };
  try {
    return verb();
  } catch (const base::Error& error) {
    return end(error.what(), error.exit_code());
  } catch (const std::bad_alloc&) {
    if (const std::string limit = host::address_limit_text(); !limit.empty())
      return end("out of memory: " + limit + "; raise it, or remove the limit (ulimit -v unlimited)", 2);
    return end("out of memory; " + std::string(memory_remedy(name)), 70);
  } catch (const std::exception& error) {
    if (host::is_thread_limit(error)) {
      const base::ConfigError named(host::no_more_threads());
      return end(named.what(), named.exit_code());
    }
    return end(std::string("a fault of Troika itself: ") + error.what(), 70);
  }
}

}  // namespace troika::commands

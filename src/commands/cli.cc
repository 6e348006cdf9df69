#include "commands/cli.h"

#include <cstdio>
#include <exception>
#include <new>

#include "base/error.h"
#include "base/say.h"
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

namespace {

// Calls `other(index)` for each word but those of --lang, and `language(value)` for these.
template <class Language, class Other>
void each_word(const std::vector<std::string>& arguments, const Language& language, const Other& other) {
  bool ours = true;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& word = arguments[at];
    ours = ours && word != "--";
    if (ours && word.rfind("--lang=", 0) == 0)
      language(word.substr(7));
    else if (ours && word == "--lang" && at + 1 < arguments.size())
      language(arguments[++at]);
    else
      other(at);
  }
}

}  // namespace

base::Language language_of_words(const std::vector<std::string>& arguments,
                                 const std::map<std::string, std::string>& environment) {
  std::string chosen = "auto";
  each_word(
      arguments, [&](const std::string& value) { chosen = value; }, [](std::size_t) {});
  return base::language_of(chosen, base::locale_in(environment));
}

std::vector<std::string> without_language(const std::vector<std::string>& arguments) {
  std::vector<std::string> others;
  for (const std::size_t at : places_without_language(arguments)) others.push_back(arguments[at]);
  return others;
}

std::vector<std::size_t> places_without_language(const std::vector<std::string>& arguments) {
  std::vector<std::size_t> places;
  each_word(
      arguments, [](const std::string&) {}, [&](std::size_t at) { places.push_back(at); });
  return places;
}

base::Text memory_remedy(std::string_view verb) {
  if (verb == "train" || verb == "launch" || verb == "eval" || verb == "bench")
    return base::say("use a smaller --micro-batch-size, --seq-len or model, or more stages (--pp)");
  if (verb == "data") return base::say("use fewer --workers, or free some memory");
  return base::say("free some memory, or use a host with more");
}

int guarded(const std::function<int()>& verb, base::Language language,
            const std::function<void(const std::string& text)>& last_words, std::string_view name) {
  const auto end = [&](const base::Text& text, int code) {
    std::fprintf(stderr, "troika: %s\n", text.in(language).c_str());
    if (last_words) last_words(text.in(language));
    return code;
  };
  try {
    return verb();
  } catch (const base::BugError& error) {
    return end(base::say("a fault of Troika itself: {}", error.what()), error.exit_code());
  } catch (const base::Error& error) {
    return end(base::text_of(error), error.exit_code());
  } catch (const std::bad_alloc&) {
    if (const base::Text limit = host::address_limit_text(); !limit.empty())
      return end(base::say("out of memory: {}; raise it, or remove the limit (ulimit -v unlimited)", limit), 2);
    return end(base::say("out of memory; {}", memory_remedy(name)), 70);
  } catch (const std::exception& error) {
    if (host::is_thread_limit(error)) {
      const base::ConfigError named(host::no_more_threads());
      return end(base::text_of(named), named.exit_code());
    }
    return end(base::say("a fault of Troika itself: {}", error.what()), 70);
  }
}

}  // namespace troika::commands

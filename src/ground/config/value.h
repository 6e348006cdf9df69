// Values of settings and of verbs' flags: parsing a text for a row, and printing a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/language.h"
#include "config/choices.h"
#include "config/flag.h"

namespace troika::config {

// A variable whose type is an enum of choices.h or one like it, by the place of its word in Flag::words.
struct WordTarget {
  void* value;
  std::size_t (*read)(const void*);
  void (*write)(void*, std::size_t);
};

// The variable that holds the value of a row. It must live as long as what reads and writes through it.
using Target = std::variant<WordTarget, bool*, std::int64_t*, std::uint64_t*, double*, std::string*,
                            std::optional<std::int64_t>*, std::optional<double>*, std::optional<std::string>*,
                            std::vector<std::int64_t>*, std::vector<double>*, std::vector<std::string>*>;

template <class T>
Target target_of(T& value) {
  if constexpr (std::is_enum_v<T>) {
    return WordTarget{&value, [](const void* at) { return static_cast<std::size_t>(*static_cast<const T*>(at)); },
                      [](void* at, std::size_t place) { *static_cast<T*>(at) = static_cast<T>(place); }};
  } else {
    return &value;
  }
}

// The value as text that set_text reads back: shortest decimal that round-trips, lists as "2,1,1", unset as "null".
std::string get_text(const Flag& flag, const Target& target);

// Writes a value given as text; a repeated row's is added to its list. Returns nothing, or what is wrong, as the end of a
// sentence: "takes a whole number, not 'abc'", "must be at least 1, not 0". On error the variable is unchanged.
std::optional<base::Text> set_text(const Flag& flag, const std::string& text, const Target& target);

// Nothing, or the rule that the present value breaks, as the end of a sentence.
std::optional<base::Text> violation(const Flag& flag, const Target& target);

bool is_truth(const Target& target);  // a variable that is true or false
bool is_text(const Target& target);   // a text or the word of an enum
bool is_list(const Target& target);

// "true", "yes", "on", "1", "y", "t" and their opposites, in any case, as YAML 1.1 and transformers' parser of arguments have
// them; nothing for other text.
std::optional<bool> parse_bool(std::string_view text);

}  // namespace troika::config

// What a form can offer to train and to train on: model folders and files of data below one folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/language.h"

namespace troika::serve {

struct Choice {
  std::string path;  // from the folder on
  std::string text;  // a few words about it
  std::int64_t bytes = 0;
  std::optional<bool> has_chat_template = std::nullopt;  // of a model that brings its tokenizer
  std::optional<std::int64_t> lines = std::nullopt;      // of a small file with a record on each
};

struct Choices {
  std::vector<Choice> models, data;  // by path, at most `most` of each
  static constexpr std::size_t most = 500;
};

// Four levels deep, without folders behind links, hidden ones, those of builds and packages, and runs, of which what they have exported
// counts as well.
Choices choices_below(const std::string& root, base::Language language);

std::string to_json(const Choices& choices);

// Lines that are not blank, of `name` in `folder`; takes the file's size off the `budget` of bytes. Nothing where the budget is smaller,
// or there is no such file.
std::optional<std::int64_t> lines_of(const std::string& folder, const std::string& name, std::int64_t* budget);

}  // namespace troika::serve

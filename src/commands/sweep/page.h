// A sweep as one HTML page that asks nothing of anybody: FOLDER/sweep.html.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "commands/sweep/row.h"

namespace troika::commands {

struct SweepPage {
  std::string title;                                       // "Sweep of qwen3-tiny on 4 processes"
  std::string conclusion;                                  // sweep_conclusion
  std::string command;                                     // that trains the best layout; "" where there is none
  std::vector<std::pair<std::string, std::string>> facts;  // of the training and the machine: name, value
  std::vector<std::string> svgs;                           // as gnuplot writes them
  std::string note;                                        // instead of pictures
  std::string settings;                                    // YAML
};

// One file: style, script and pictures stand in it, and its policy forbids every request. All texts are escaped.
std::string to_html(const SweepPage& page, const SweepRows& rows);

std::string html_text(const std::string& text);  // & < > " '

}  // namespace troika::commands

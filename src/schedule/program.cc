// The text form of whole programs.
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "schedule/instruction.h"

namespace troika::schedule {

static constexpr std::string_view separator = " | ";

std::string to_text(const Program& program) {
  std::vector<std::string> stages;
  for (const int rank : program.pp_rank_of_stage) stages.push_back(std::to_string(rank));
  std::string text = fmt::format("pp {} dp {} microbatches {} stages {}{}\n", program.pp, program.dp,
                                 program.microbatches, base::join(stages, ","), program.tied ? " tied" : "");
  for (const auto& lane : program.lanes) {
    std::vector<std::string> words;
    words.reserve(lane.size());
    for (const auto& instruction : lane) words.push_back(to_text(instruction));
    text += base::join(words, separator) + "\n";
  }
  return text;
}

[[noreturn]] static void refuse_header(std::string_view line, const std::string& reason) {
  throw base::ConfigError(fmt::format(
      "program text, line 1 '{}': {}; it reads like 'pp 3 dp 1 microbatches 12 stages 0,1,2 tied'", line, reason));
}

static int header_number(std::string_view line, const std::vector<std::string>& words, std::size_t at,
                         const char* key) {
  if (words.size() <= at + 1 || words[at] != key)
    refuse_header(line, fmt::format("'{}' and a number are missing", key));
  std::int64_t value = 0;
  if (!base::parse_int(words[at + 1], &value) || value < 1 || value > 1000000) {
    refuse_header(line, fmt::format("'{}' must be a whole number from 1 to 1000000, not '{}'", key, words[at + 1]));
  }
  return static_cast<int>(value);
}

static std::vector<int> header_stages(std::string_view line, const std::string& list, int pp) {
  std::vector<int> ranks;
  for (const auto& word : base::split(list, ',')) {
    std::int64_t value = 0;
    if (!base::parse_int(word, &value) || value < 0 || value >= pp) {
      refuse_header(line,
                    fmt::format("stage {} sits on pp rank '{}', which is not in 0..{}", ranks.size(), word, pp - 1));
    }
    ranks.push_back(static_cast<int>(value));
  }
  return ranks;
}

static Program parse_header(std::string_view line) {
  const auto words = base::split(line, ' ');
  Program program;
  program.pp = header_number(line, words, 0, "pp");
  program.dp = header_number(line, words, 2, "dp");
  program.microbatches = header_number(line, words, 4, "microbatches");
  if (program.microbatches % program.dp != 0) {
    refuse_header(line, fmt::format("{} microbatches do not divide over dp {}", program.microbatches, program.dp));
  }
  if (words.size() < 8 || words[6] != "stages") refuse_header(line, "'stages' and a list are missing");
  program.pp_rank_of_stage = header_stages(line, words[7], program.pp);
  if (words.size() > 9 || (words.size() == 9 && words[8] != "tied"))
    refuse_header(line, "only 'tied' may follow the stages");
  program.tied = words.size() == 9;
  return program;
}

static std::vector<Instruction> parse_lane(const std::string& line, std::size_t line_number) {
  std::vector<Instruction> lane;
  if (line.empty()) return lane;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(separator, begin);
    try {
      lane.push_back(
          parse_instruction(std::string_view(line).substr(begin, end == std::string::npos ? end : end - begin)));
    } catch (base::Error& error) {
      error.add_context(fmt::format("in line {} of the program text, column {}, instruction {} of lane {}", line_number,
                                    begin + 1, lane.size(), line_number - 2));
      throw;
    }
    if (end == std::string::npos) return lane;
    begin = end + separator.size();
  }
}

Program parse_program(std::string_view text) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const auto lines = base::split(text, '\n');
  Program program = parse_header(lines.empty() ? "" : lines[0]);
  const auto wanted = static_cast<std::size_t>(program.pp) * static_cast<std::size_t>(program.dp);
  if (lines.size() - 1 != wanted) {
    throw base::ConfigError(fmt::format("program text has {} lane lines, but pp {} x dp {} needs {}", lines.size() - 1,
                                        program.pp, program.dp, wanted));
  }
  for (std::size_t i = 1; i < lines.size(); ++i) program.lanes.push_back(parse_lane(lines[i], i + 1));
  return program;
}

}  // namespace troika::schedule

// Step programs as text (a schedule file), and traces of steps (JSON).
#include <string>

#include "fuzz/input.h"
#include "fuzz/outcome.h"
#include "schedule/check/checker.h"
#include "schedule/trace/summary.h"
#include "schedule/trace/trace_json.h"
#include "schedule/instruction/program.h"

namespace troika::fuzz {

// check() is made for files too and refuses by a BugError, which the caller turns into an error about the file.
static void check(const schedule::Program& program) {
  try {
    schedule::check(program, {});
    require(!schedule::grid(program).empty(), "a right program has a grid");
  } catch (const base::BugError& error) {
    require_message(error.what());
  }
}

static void read_program(std::string_view text) {
  schedule::Program program;
  if (!accepted([&] { program = schedule::parse_program(text); })) return;
  const std::string again = schedule::to_text(program);
  require(schedule::to_text(schedule::parse_program(again)) == again, "a program reads back");
  check(program);
}

static void show(const schedule::StepTrace& trace) {
  schedule::grid(trace);
  schedule::to_text(schedule::summarize(trace), base::Language::english);
  schedule::read_chrome(schedule::write_chrome(trace), "it again");
}

static void read_traces(std::string_view text) {
  accepted([&] { show(schedule::merge({schedule::read_rank_trace(text, "a trace")})); });
  accepted([&] { show(schedule::read_chrome(text, "a merged trace")); });
}

}  // namespace troika::fuzz

TROIKA_FUZZ_TARGET(programs)(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = troika::fuzz::text_of(data, size);
  troika::fuzz::read_program(input);
  troika::fuzz::read_traces(input);
  return 0;
}

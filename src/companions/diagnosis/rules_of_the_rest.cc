// Of what no other rule knows, the kind of error tells.
#include "diagnosis/rules.h"
#include "diagnosis/texts.h"

namespace troika::diagnosis {
namespace {

int code_of_failure(const Facts& f) {
  if (f.report_code != 0) return f.report_code;
  return f.death ? f.death->exit_code : 0;
}

std::vector<Evidence> all_told(const Facts& f) {
  std::vector<Evidence> evidence;
  if (!f.told.empty()) evidence.push_back(quoted(f.told.front()));
  add_place(f, &evidence);
  return evidence;
}

AdviceList with_flags_of_message(const Facts& f) {
  AdviceList advice = f.told.empty() ? AdviceList{} : flags_named_in(f.told.front().text);
  if (advice.size() < 3) advice.push_back({say(texts.do_as_told), say(texts.why_do_as_told)});
  return advice;
}

std::optional<Finding> changed_bits(const Facts& f) {
  const Told* told = first_with(f.told, {base::Cause::changed_bits});
  if (told == nullptr) return std::nullopt;
  return Finding{"changed_bits",
                 {quoted(*told)},
                 {command("memtester 1G 1", say(texts.why_memtester)),
                  {say(texts.leave_host_out), say(texts.why_leave_faulty_host_out)},
                  same_again(f)}};
}

std::optional<Finding> by_exit_code(const Facts& f) {
  if (!f.failed()) return std::nullopt;
  switch (code_of_failure(f)) {
    case 2:
      return Finding{"settings_refused", all_told(f), with_flags_of_message(f)};
    case 3:
      return Finding{
          "data_refused",
          all_told(f),
          {{say(texts.do_as_told), say(texts.why_do_as_told)}, command("troika data inspect", say(texts.why_inspect))}};
    case 70:
      return Finding{"internal_fault", all_told(f), {{say(texts.report_it), say(texts.why_report_it)}, same_again(f)}};
    default:
      return Finding{"peer_lost",
                     all_told(f),
                     {{say(texts.see_the_logs), say(texts.why_see_the_logs)},
                      run_doctor(),
                      launch(LaunchFlag::max_restarts, "3", say(texts.restart_by_itself))}};
  }
}

}  // namespace

Rules rules_of_the_rest() { return {changed_bits, by_exit_code}; }

}  // namespace troika::diagnosis

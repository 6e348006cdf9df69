#include "serve/run_events.h"

#include "records/run_reader.h"

namespace troika::serve {

std::string events_json(const std::string& folder) {
  constexpr records::Kept kept{1, 1, 1000, 4 << 20};
  records::RunReader run(folder, kept);
  run.refresh();
  std::string text = "[";
  for (const records::Event& event : run.events()) text += (text.size() > 1 ? ",\n" : "") + to_json(event);
  return text + "]\n";
}

}  // namespace troika::serve

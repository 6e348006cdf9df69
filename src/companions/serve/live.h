// Server-sent events: what happens in runs, to all pages that look at them. A run is looked at once, however many look.
#pragma once

#include <memory>

#include "http/message.h"
#include "serve/desk.h"
#include "serve/routes.h"

namespace troika::serve {

class RunViews;

// A thread of its own. Threads: any.
class Live {
 public:
  // What is passed must outlive it.
  Live(RunCatalog& catalog, RunViews& views);
  ~Live();  // end()
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  // /api/live?run=NAME&...; waits for no disk: a stream of events until the client leaves. At most 16 runs a stream; names that are none are left out.
  http::Response follow(const Asked& asked);
  bool end();  // open streams end; false where a run is still being looked at, on a disk that does not answer

 private:
  struct Impl;
  struct Worker;
  std::shared_ptr<Impl> impl_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace troika::serve

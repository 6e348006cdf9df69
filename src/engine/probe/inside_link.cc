#include "probe/inside_link.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "config/config.h"
#include "probe/measure_pair.h"
#include "rendezvous/identity.h"

namespace troika::probe {

int run_inside_link(const std::map<std::string, std::string>& environment) {
  const rendezvous::Identity me = rendezvous::identify(environment);
  if (me.world_size != 2)
    throw base::ConfigError(base::say("the link between two processes needs two ranks, as probe starts them"));
  return in_ranks(me, "", environment, [&](train::Session& session) {
    const machine::Link link = measure_pair(*session.channels().world, 1 - me.world_rank);
    if (me.world_rank == 0)
      std::fputs(fmt::format("link {:.9g} {:.9g}\n", link.latency_seconds, link.bytes_per_second).c_str(), stdout);
  });
}

bool read_inside_link(const std::string& printed, machine::Link* link) {
  for (const std::string& line : base::split(printed, '\n')) {
    const auto words = base::split(line, ' ');
    if (words.size() == 3 && words[0] == "link" && base::parse_double(words[1], &link->latency_seconds) &&
        base::parse_double(words[2], &link->bytes_per_second))
      return true;
  }
  return false;
}

int in_ranks(const rendezvous::Identity& me, const std::string& interface,
             const std::map<std::string, std::string>& environment, const std::function<void(train::Session&)>& body) {
  config::CommSettings comm = config::parse_settings({}, environment).settings.comm;
  if (!interface.empty()) comm.interface = interface;
  train::Session session(me, comm);
  try {
    session.join();
    mesh::Shape shape;
    shape.dp = me.world_size;
    session.connect(shape, nullptr);
    body(session);
    session.finish();
    return 0;
  } catch (const base::PeerError& error) {
    const train::FailureCause cause = session.fail({error.exit_code(), base::text_of(error), error.cause()});
    if (cause.launcher_tells) return error.exit_code();
    throw base::PeerError(cause.failure.empty() ? base::text_of(error) : cause.failure);
  } catch (const base::Error& error) {
    if (session.fail({error.exit_code(), base::text_of(error), error.cause()}).launcher_tells) return error.exit_code();
    throw;
  }
}

}  // namespace troika::probe

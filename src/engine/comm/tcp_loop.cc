#include "comm/tcp_link.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "host/thread_limit.h"

namespace troika::comm {

static constexpr TcpLoop::Id stop_event = 0;

struct TcpLoop::Impl {
  int events = ::epoll_create1(EPOLL_CLOEXEC);
  int stop = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::mutex mutex;  // guards the two that follow
  std::map<Id, std::shared_ptr<Watched>> watched;
  Id last = stop_event;
  std::thread thread;

  void run();
  std::shared_ptr<Watched> of(Id id);
  void tick(double now);
};

TcpLoop::TcpLoop() : impl_(std::make_unique<Impl>()) {
  if (impl_->events < 0 || impl_->stop < 0) throw base::ConfigError(base::say("no more files can be opened: raise ulimit -n"));
  epoll_event event{EPOLLIN, {}};
  event.data.u64 = stop_event;
  ::epoll_ctl(impl_->events, EPOLL_CTL_ADD, impl_->stop, &event);
  impl_->thread = host::start_thread([this] { impl_->run(); });
}

TcpLoop::~TcpLoop() {
  const std::uint64_t one = 1;
  while (::write(impl_->stop, &one, sizeof one) < 0 && errno == EINTR) {
  }
  impl_->thread.join();
  // An object watched to the end may call remove() as it goes.
  std::exchange(impl_->watched, {}).clear();
  ::close(impl_->stop);
  ::close(impl_->events);
}

std::shared_ptr<TcpLoop::Watched> TcpLoop::Impl::of(Id id) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = watched.find(id);
  return found == watched.end() ? nullptr : found->second;
}

void TcpLoop::Impl::tick(double now) {
  std::vector<std::shared_ptr<Watched>> all;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& [id, one] : watched) all.push_back(one);
  }
  for (const auto& one : all) one->on_tick(now);
}

void TcpLoop::Impl::run() {
  constexpr double tick_seconds = 0.1;
  std::array<epoll_event, 64> ready{};
  double ticked = 0;
  for (;;) {
    const int count = ::epoll_wait(events, ready.data(), static_cast<int>(ready.size()), static_cast<int>(tick_seconds * 1000));
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = ready[static_cast<std::size_t>(i)];
      if (event.data.u64 == stop_event) return;
      if (const auto one = of(event.data.u64); one != nullptr) one->on_events(event.events);
    }
    const double now = base::monotonic_seconds();
    if (now - ticked < tick_seconds) continue;
    ticked = now;
    tick(now);
  }
}

TcpLoop::Id TcpLoop::add(int socket, std::uint32_t events, std::shared_ptr<Watched> watched) {
  Id id = 0;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    id = ++impl_->last;
    impl_->watched[id] = std::move(watched);
  }
  epoll_event event{events, {}};
  event.data.u64 = id;
  ::epoll_ctl(impl_->events, EPOLL_CTL_ADD, socket, &event);
  return id;
}

void TcpLoop::change(Id id, int socket, std::uint32_t events) {
  epoll_event event{events, {}};
  event.data.u64 = id;
  ::epoll_ctl(impl_->events, EPOLL_CTL_MOD, socket, &event);
}

void TcpLoop::remove(Id id, int socket) {
  ::epoll_ctl(impl_->events, EPOLL_CTL_DEL, socket, nullptr);
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->watched.erase(id);
}

}  // namespace troika::comm

#!/usr/bin/env python3
"""Three hosts of a pipeline, of which the last one stands still or crawls in eight ways: what is said, where, and after how long.

  tools/stalls.py [FOLDER_WITH_TROIKA]      (default: build/release)

Needs root, iproute2 and util-linux. A host is a network, host name and mount namespace with a folder of its own; a fourth is
the bridge between them. Prints a row of Markdown for each way, and fails when a sentence is late or names another rank.
"""
import ctypes, os, re, shutil, signal, subprocess, sys, tempfile, threading, time

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes, libc.ptrace.restype = [ctypes.c_long] * 4, ctypes.c_long
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_CONT, WALL = 0x4206, 0x4207, 7, 0x40000000

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
binaries = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else root + '/build/release')
addresses = ['10.77.0.1', '10.77.0.2', '10.77.0.3']
MODEL = ('--model.layers 6 --model.hidden 64 --model.heads 4 --model.kv-heads 2 --model.head-dim 16 --model.ffn 192 '
         '--model.vocab 259 --seq-len 64 --micro-batch-size 1 --global-batch-size 12 --seed 7 --train.threads 1 '
         '--data.train corpus.txt --data.tokenizer bytes --steps 1000000 --log.progress none --pp 3 '
         '--checkpoint.every-minutes 0').split()


def hold(flags):
  """A process that keeps namespaces alive."""
  process = subprocess.Popen(['unshare', *flags, 'sh', '-c', 'echo; exec sleep 900'], stdout=subprocess.PIPE)
  process.stdout.readline()
  return process


class Hosts:
  """The three hosts and the bridge; they vanish with this object."""

  def __init__(self, folder):
    self.folder, self.launchers = folder, []
    self.holders = [hold(['--net', '--uts', '--mount', '--propagation', 'private']) for _ in range(4)]
    self.inside(3, 'ip', 'link', 'add', 'switch', 'type', 'bridge')
    self.inside(3, 'ip', 'link', 'set', 'switch', 'up')
    for node in range(3):
      self.inside(node, 'hostname', 'host%d' % node)
      self.inside(node, 'ip', 'link', 'add', 'lan', 'type', 'veth', 'peer', 'name', 'port%d' % node, 'netns',
                  str(self.holders[3].pid))
      self.inside(3, 'ip', 'link', 'set', 'port%d' % node, 'master', 'switch', 'up')
      self.inside(node, 'ip', 'address', 'add', addresses[node] + '/24', 'dev', 'lan')
      self.inside(node, 'ip', 'link', 'set', 'lan', 'up')
      self.inside(node, 'ip', 'link', 'set', 'lo', 'up')
      os.makedirs('%s/host%d' % (folder, node))
      with open(root + '/LICENSE') as license, open('%s/host%d/corpus.txt' % (folder, node), 'w') as corpus:
        corpus.write(license.read(8000))

  def enter(self, node):
    return ['nsenter', '--target', str(self.holders[node].pid), '--net', '--uts', '--mount', '--wdns=/', '--']

  def inside(self, node, *words):
    subprocess.run([*self.enter(node), *words], check=True)

  def start(self, more):
    for node in range(3):
      words = ['sh', '-c', 'cd "$0" && exec "$@"', '%s/host%d' % (self.folder, node), binaries + '/troika', 'launch',
               '--nnodes', '3', '--node-rank', str(node), '--master-addr', addresses[0], '--nproc-per-node', '1', '--',
               'train', *MODEL, '--out', 'run', *more]
      with open('%s/host%d/screen' % (self.folder, node), 'w') as screen:
        self.launchers.append(subprocess.Popen([*self.enter(node), *words], stdout=screen, stderr=screen,
                                               env={**os.environ, 'OMP_NUM_THREADS': '1'}))

  def text(self, path):
    try:
      with open(self.folder + '/' + path) as file:
        return file.read()
    except OSError:
      return ''

  def await_step(self, step):
    until = time.monotonic() + 120
    while self.text('host0/run/metrics.jsonl').count('\n') < step:
      if time.monotonic() > until or self.launchers[0].poll() is not None:
        sys.exit('the run did not begin:\n' + self.text('host0/screen'))
      time.sleep(0.05)

  def rank(self, number):
    for name in os.listdir('/proc'):
      try:
        with open('/proc/%s/environ' % name, 'rb') as file:
          variables = file.read().split(b'\0')
        if b'RANK=%d' % number in variables and os.readlink('/proc/%s/cwd' % name).startswith(self.folder):
          return int(name)
      except OSError:
        continue
    sys.exit('rank %d is gone' % number)

  def close(self):
    for launcher in self.launchers:
      launcher.kill()
    for holder in self.holders:  # and with each the processes of its network
      network = os.readlink('/proc/%d/ns/net' % holder.pid)
      for name in filter(str.isdigit, os.listdir('/proc')):
        try:
          if os.readlink('/proc/%s/ns/net' % name) == network:
            os.kill(int(name), signal.SIGKILL)
        except OSError:
          continue
      holder.wait()
    for launcher in self.launchers:
      launcher.wait()


class BlockedThread:
  """The main thread of rank 2 is stopped where it computes; its others run."""

  def __init__(self, hosts):
    self.pid, log = hosts.rank(2), 'host2/run/logs/rank-00002.log'
    assert libc.ptrace(PTRACE_SEIZE, self.pid, 0, 0) == 0
    while True:
      assert libc.ptrace(PTRACE_INTERRUPT, self.pid, 0, 0) == 0
      os.waitpid(self.pid, WALL)
      before = len(hosts.text(log))
      os.kill(self.pid, signal.SIGUSR1)
      while ' is at step' not in hosts.text(log)[before:]:
        time.sleep(0.01)
      if re.search(r' is at step \d+, [fb]wd [^,]*; ', hosts.text(log)[before:]):
        return
      libc.ptrace(PTRACE_CONT, self.pid, 0, 0)
      time.sleep(0.003)


class SilentFuse:
  """A file system that nobody serves, where rank 2 keeps its checkpoints."""

  def __init__(self, hosts):
    place = '%s/host2/run/checkpoints' % hosts.folder
    os.makedirs(place, exist_ok=True)
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
      namespace = os.open('/proc/%d/ns/mnt' % hosts.holders[2].pid, os.O_RDONLY)
      device = os.open('/dev/fuse', os.O_RDWR)
      ok = libc.setns(namespace, 0) == 0 and libc.mount(
          b'stuck', place.encode(), b'fuse', 0, b'fd=%d,rootmode=40000,user_id=0,group_id=0' % device) == 0
      os.write(told, b'y' if ok else b'n')
      time.sleep(600)
      os._exit(0)
    self.pid = pid
    if os.read(ready, 1) != b'y':
      sys.exit('cannot mount a FUSE file system here')


class Stopped:
  def __init__(self, hosts):
    os.kill(hosts.rank(2), signal.SIGSTOP)


class StoppedAsLaunchersSee(Stopped):
  screens = ['host0/screen', 'host2/screen']


class LinkDown:
  def __init__(self, hosts):
    hosts.inside(2, 'ip', 'link', 'set', 'lan', 'down')


class OneRouteCut:
  def __init__(self, hosts):
    hosts.inside(1, 'ip', 'route', 'add', 'blackhole', addresses[2])


class Crawl:
  """Rank 2 runs a third of the time."""

  def __init__(self, hosts):
    self.pid = hosts.rank(2)
    threading.Thread(target=self.run, daemon=True).start()

  def run(self):
    try:
      while True:
        os.kill(self.pid, signal.SIGSTOP)
        time.sleep(0.02)
        os.kill(self.pid, signal.SIGCONT)
        time.sleep(0.01)
    except OSError:
      pass


# What, how, the sentence, by when, further flags.
CASES = [
    ('its computing blocks', BlockedThread, r'rank 2 \(host host2, pid \d+\) is behind: step \d+, \S+ [\d.]+ for .* 2 ranks wait for it', 10, []),
    ('its disk does not answer (FUSE)', SilentFuse, r'rank 2 \(host host2, pid \d+\) is behind: step \d+, (saving a|finishing the last) checkpoint for .*', 12, ['--checkpoint.every', '5']),
    ('its disk does not answer, and the next save is far', SilentFuse, r'rank 2 \(host host2, pid \d+\) has written nothing for \d+ s to the checkpoint of step \d+ in \'run/checkpoints/step-\d+\': check its disk', 30, ['--checkpoint.every-minutes', '0.1']),
    ('the process is stopped (SIGSTOP)', StoppedAsLaunchersSee, r'rank 2 \(host host2, pid \d+\) is stopped by signal 19 .*', 4, []),
    ('and stays so', Stopped, r'rank 2 \(host host2, pid \d+\) has been silent for 10 s; .*: a signal stopped the process', 13, []),
    ('its link is cut', LinkDown, r'rank 2 \(host host2, pid \d+\) has (sent no heartbeat for|been silent for 10 s).*', 12, []),
    ('the link between ranks 1 and 2 is cut, that to the store is not', OneRouteCut, r'rank [12] \(host host[12], pid \d+\) is behind: step \d+, .*', 10, []),
    ('it computes three times slower', Crawl, r'host host2 is [\d.]+x slower than its peers.*', 70, []),
]


def run(what, fault, pattern, seconds, more):
  folder = tempfile.mkdtemp(prefix='troika-stalls-')
  hosts, texts, at = Hosts(folder), ['host0/screen', *['host%d/run/logs/rank-%05d.log' % (r, r) for r in range(3)]], {}
  texts = getattr(fault, 'screens', texts)
  unreachable = {'host2/run/logs/rank-00002.log'} if fault in (Stopped, LinkDown) else set()
  try:
    hosts.start(more)
    hosts.await_step(100)
    planted = fault(hosts)
    began, sentence = time.monotonic(), ''
    while len(at) + len(unreachable) < len(texts) and time.monotonic() < began + seconds + 20:
      for path in texts:
        found = re.search(pattern, hosts.text(path))
        if found and path not in at:
          at[path], sentence = time.monotonic() - began, found.group(0)
      time.sleep(0.02)
    missing = [path for path in texts if path not in at and path not in unreachable]
    late = max(at.values(), default=0) > seconds
    print('| %s | `%s` | %s |' % (what, re.sub(r', pid \d+', '', sentence), '%.1f s' % max(at.values()) if at else '-'), flush=True)
    if missing or late:
      print('FAIL: %s: %s' % (what, 'not said in %s' % missing if missing else 'late'), file=sys.stderr)
      for path in texts:
        print('--- %s\n%s' % (path, hosts.text(path)[-3000:]), file=sys.stderr)
    return not missing and not late
  finally:
    if hasattr(locals().get('planted'), 'pid') and fault is SilentFuse:
      os.kill(planted.pid, signal.SIGKILL)
    hosts.close()
    shutil.rmtree(folder, ignore_errors=True)


if os.geteuid() != 0:
  sys.exit('stalls: namespaces need root; run it with sudo')
print('| rank 2 | is said on the screen and in every log | after |\n|---|---|---|')
wanted = sys.argv[2:]
results = [run(*case) for case in CASES if not wanted or case[1].__name__ in wanted]
sys.exit(0 if all(results) else 1)

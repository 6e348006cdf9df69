// Hosts of a guide: network namespaces behind one switch, each with a folder of its own. They vanish with their last process,
// whatever becomes of the test. Needs root, iproute2 with tc and util-linux. A guide without hosts runs where the test runs.
import fs from 'node:fs'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'

function must(command, ...args) {
  const done = spawnSync(command, args, { encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${done.error ?? done.stderr}`)
}

export class Hosts {
  // hosts: Map(name -> address); rate: of every link, as tc has it; folder: below it lie the hosts' folders.
  constructor(hosts, rate, folder) {
    this.folder = folder
    this.keepers = new Map()
    if (hosts.size === 0) return
    const router = this.keep('router')
    this.in('router', 'ip', 'link', 'add', 'switch', 'type', 'bridge')
    this.in('router', 'ip', 'link', 'set', 'switch', 'up')
    for (const [name, address] of hosts) {
      this.keep(name)
      fs.mkdirSync(path.join(folder, name))
      this.in(name, 'hostname', name)
      this.in(name, 'ip', 'link', 'set', 'lo', 'up')
      this.in(name, 'ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', `to-${name}`, 'netns', String(router))
      this.in(name, 'ip', 'address', 'add', `${address}/24`, 'dev', 'eth0')
      this.in(name, 'ip', 'link', 'set', 'eth0', 'up')
      this.in('router', 'ip', 'link', 'set', `to-${name}`, 'master', 'switch', 'up')
      const queue = ['root', 'tbf', 'rate', rate, 'burst', '16kb', 'latency', '200ms']
      this.in(name, 'tc', 'qdisc', 'add', 'dev', 'eth0', ...queue)
      this.in('router', 'tc', 'qdisc', 'add', 'dev', `to-${name}`, ...queue)
    }
  }

  keep(name) {
    const keeper = spawn('unshare', ['--net', '--uts', 'sleep', '900'], { stdio: 'ignore' })
    this.keepers.set(name, keeper)
    const own = fs.readlinkSync('/proc/self/ns/net')
    for (let i = 0; i < 200; ++i) {
      let there = own
      try { there = fs.readlinkSync(`/proc/${keeper.pid}/ns/net`) } catch { /* not there yet */ }
      if (there !== own && fs.readFileSync(`/proc/${keeper.pid}/comm`, 'utf8') === 'sleep\n') return keeper.pid
      spawnSync('sleep', ['0.02'])
    }
    throw new Error('cannot make namespaces; they need root')
  }
  in(name, ...command) {
    must('nsenter', '--target', String(this.keepers.get(name).pid), '--net', '--uts', '--', ...command)
  }

  folderOf(name) { return name === null ? this.folder : path.join(this.folder, name) }

  // Starts a script of bash on a host (null: here), in its folder; resolves to {code, output}. Variables that it exports
  // are there in the next script on that host.
  start(name, script, environment) {
    const folder = this.folderOf(name)
    const state = path.join(this.folder, `.exports-${name ?? 'here'}`)
    const whole = `set -e\n[ ! -f '${state}' ] || . '${state}'\n${script}\nexport -p > '${state}'\n`
    const enter = name === null ? [] : ['nsenter', '--target', String(this.keepers.get(name).pid), '--net', '--uts', '--']
    const [program, ...args] = [...enter, 'bash', '-c', whole]
    const child = spawn(program, args, { cwd: folder, env: environment, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => { output += data })
    const ended = new Promise((resolve) => child.on('close', (code, signal) => resolve({ code: code ?? signal, output })))
    return { child, ended, said: () => output }
  }

  end() {
    for (const keeper of this.keepers.values()) keeper.kill('SIGKILL')
  }
}
